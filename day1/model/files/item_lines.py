"""Lines of items: the format in which gwt exports and imports memory, as JSON Lines, version 1.

A line has the ten keys of the format, sorted. `expires_at` and `valid_until` are additions of day1;
only lines of items that end have them, so that an import does not make such an item last.

A line tells of the item alone: nobody's workspace travels with it, and it always reads `long_term`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from day1.errors import InvalidRequest, Json, Refused
from day1.model.files.export import json_object
from day1.model.rows.origin import MAX_LABEL
from day1.model.rows.validation import filled, one_memory
from day1.model.values.instant import parse, show
from day1.model.workspace.item import MEMORY_TYPES

LINES: Final = "gwt-memory-jsonl-v1"
"""The name of the format."""
BACKUP: Final = "gwt-memory-backup-v1"
"""The name of the backup format: lines of items, with the namespace they are from."""
MOST_BYTES: Final = 8 * 1024 * 1024
"""Maximum number of bytes of the lines that a call answers."""
_MOST_TAGS: Final = 100
_MOST_LINKS: Final = 10_000
_STATE: Final = "long_term"
_encoded = json.JSONEncoder(sort_keys=True).encode

Key = tuple[str, str, tuple[str, ...]]
"""The words, source and tags of an item; items with equal keys are the same."""


@dataclass(frozen=True, slots=True)
class ItemLine:
    """An item, as one line of the format describes it. Times are in microseconds UTC."""

    content: str
    memory_type: str = "semantic"
    tags: tuple[str, ...] = ()
    source: str | None = None
    """The source that the line names; None: it names none."""
    id: str | None = None
    linked_ids: tuple[str, ...] = ()
    created_at: int | None = None
    last_accessed: int | None = None
    expires_at: int | None = None
    valid_until: int | None = None

    @property
    def key(self) -> Key:
        """The words, source and tags, which are equal for the same items."""
        return " ".join(self.content.split()), self.source or "", tuple(sorted(set(self.tags)))

    @property
    def written(self) -> str:
        """The item as a line of JSON, without a line end."""
        created_at = self.created_at or 0
        accessed_at = created_at if self.last_accessed is None else self.last_accessed
        end_by_name = {"expires_at": self.expires_at, "valid_until": self.valid_until}
        return _encoded(
            {
                "id": self.id,
                "content": self.content,
                "summary": "",
                "memory_type": self.memory_type,
                "activation_state": _STATE,
                "source": self.source or "",
                "tags": self.tags,
                "linked_ids": self.linked_ids,
                "created_at": show(created_at),
                "last_accessed": show(accessed_at),
                **{
                    name: show(end_time)
                    for name, end_time in end_by_name.items()
                    if end_time is not None
                },
            }
        )


def written_lines(items: Iterable[ItemLine]) -> str:
    """Write items in the order of their times and ids, which an import keeps.

    Raises:
        Refused: the lines have more bytes than a call answers.
    """
    lines = [item.written for item in sorted(items, key=_order)]
    byte_count = sum(map(len, lines)) + len(lines)  # ASCII
    if byte_count > MOST_BYTES:
        raise Refused(
            f"These {len(lines):,} memories take {byte_count:,} bytes as lines, and an answer may "
            f"have {MOST_BYTES:,}: name a `memory_type` or a `tag` where the tool takes one, or "
            "run `day1 export`, which writes a file of any size, or `day1 backup`.",
            item_count=len(lines),
            bytes=byte_count,
        )
    return "\n".join(lines)


def _order(item: ItemLine) -> tuple[int, str]:
    return item.created_at or 0, item.id or ""


class NumberedLine(NamedTuple):
    """An item of a file, and the number of its line, from 1."""

    number: int
    item: ItemLine


class BadLine(NamedTuple):
    """A line that cannot be imported, by its number from 1, and why."""

    number: int
    error: str


@dataclass(frozen=True, slots=True)
class LinesRead:
    """The parsed lines of a file: the items, and the lines that cannot be used."""

    items: Sequence[NumberedLine]
    bad: Sequence[BadLine]


def read_lines(
    jsonl: str, default_type: str = "semantic", more_tags: Sequence[str] = ()
) -> LinesRead:
    """Parse all lines of a file; blank ones are passed over.

    Args:
        jsonl: the file.
        default_type: the memory type of lines that name none.
        more_tags: tags that each item gets besides its own.

    Raises:
        InvalidRequest: the file has no line at all.
    """
    items: list[NumberedLine] = []
    bad_lines: list[BadLine] = []
    for line_number, line in enumerate(jsonl.split("\n"), 1):
        if not line or line.isspace():
            continue
        try:
            line_object = json_object(line.encode(errors="surrogatepass"))
            items.append(NumberedLine(line_number, _item(line_object, default_type, more_tags)))
        except ValueError as error:
            bad_lines.append(BadLine(line_number, str(error)))
    if not items and not bad_lines:
        raise InvalidRequest("`jsonl` has no line: each is a JSON object with a text as `content`.")
    return LinesRead(items, bad_lines)


def _item(value: Mapping[str, Json], default_type: str, more_tags: Sequence[str]) -> ItemLine:
    """Read the parts of a line; other keys are ignored.

    Raises:
        ValueError: a part is not valid; the message says which, and has none of its words.
    """
    content, memory_type = value.get("content"), value.get("memory_type")
    if not isinstance(content, str):
        raise ValueError("it has no text under `content`")  # noqa: TRY004 - the one error of a line
    try:
        one_memory(content)
    except ValueError as error:
        raise ValueError(f"its `content` {error}") from None
    if memory_type is not None and memory_type not in MEMORY_TYPES:
        raise ValueError(f"its `memory_type` must be one of {', '.join(MEMORY_TYPES)}")
    tags = tuple(dict.fromkeys((*_names(value, "tags", _MOST_TAGS), *more_tags)))
    if len(tags) > _MOST_TAGS:
        raise ValueError(f"it has more than {_MOST_TAGS} tags")
    return ItemLine(
        content=content,
        memory_type=default_type if memory_type is None else str(memory_type),
        tags=tags,
        source=_name(value, "source"),
        id=_name(value, "id"),
        linked_ids=tuple(_names(value, "linked_ids", _MOST_LINKS)),
        created_at=_time(value, "created_at"),
        last_accessed=_time(value, "last_accessed"),
        expires_at=_time(value, "expires_at"),
        valid_until=_time(value, "valid_until"),
    )


def _name(value: Mapping[str, Json], name: str) -> str | None:
    """Read an optional name; None if it is missing or empty.

    Raises:
        ValueError: it is no name.
    """
    raw_value = value.get(name)
    if raw_value is None or raw_value == "":
        return None
    if not isinstance(raw_value, str) or len(raw_value) > MAX_LABEL:
        raise ValueError(f"its `{name}` is not a text of at most {MAX_LABEL} characters")
    return _checked(raw_value, name)


def _names(value: Mapping[str, Json], name: str, limit: int) -> Iterator[str]:
    raw_values = value.get(name)
    if raw_values is None:
        return
    if not isinstance(raw_values, list) or len(raw_values) > limit:
        raise ValueError(f"its `{name}` is not a list of at most {limit} texts")
    for raw_value in raw_values:
        if not isinstance(raw_value, str) or len(raw_value) > MAX_LABEL:
            raise ValueError(f"its `{name}` must hold only texts of at most {MAX_LABEL} characters")
        yield _checked(raw_value, name)


def _checked(text: str, name: str) -> str:
    try:
        return filled(text)
    except ValueError as error:
        raise ValueError(f"its `{name}` {error}") from None


def _time(value: Mapping[str, Json], name: str) -> int | None:
    raw_value = value.get(name)
    if raw_value is None or raw_value == "":
        return None
    try:
        return parse(raw_value if isinstance(raw_value, str) else "")
    except InvalidRequest:
        raise ValueError(f"its `{name}` is not an ISO 8601 time") from None
