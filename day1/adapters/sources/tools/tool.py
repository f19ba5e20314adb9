"""The base of readers of other tools' memory: derives ids, and records what is left out."""

import hashlib
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from typing_extensions import override

from day1.adapters.sources.counting import CountingSource
from day1.adapters.sources.files import decoded, text_of
from day1.errors import Day1Error, Json, NotFound
from day1.foreign_files import MOST_BYTES, broken, is_text, shown
from day1.model.values import instant
from day1.model.values.ids import derived_id
from day1.ports.source import (
    FactDraft,
    Item,
    Machine,
    ObservationDraft,
    RelationDraft,
    ToolMemory,
)

STDIN = Path("-")

_LATEST = 2**47 * 1000
"""Latest time that fits an id, in microseconds since 1970."""


class ToolSource(CountingSource, ToolMemory):
    """`ports.source.ToolMemory` over paths; a subclass reads one path."""

    name: ClassVar[str]

    def __init__(self, paths: Sequence[Path], machine: Machine) -> None:
        """Set the paths; nothing is read before `items` is called.

        Raises:
            NotFound: a path does not exist.
            ImportBroken: it is no file and no folder; a pipe would be waited for.
        """
        super().__init__()
        for path in paths:
            if path == STDIN or path.is_file() or path.is_dir():
                continue
            if path.exists():
                raise broken(path, 1, "it is not an ordinary file")
            raise NotFound(f"There is no {shown(path)}.", path=shown(path))
        self._paths, self._machine = list(paths), machine

    @classmethod
    def found(cls, machine: Machine) -> list[Path]:
        """Return the paths at which the tool keeps its memory on a machine; by default empty."""
        del machine
        return []

    @property
    @override
    def paths(self) -> Sequence[Path]:
        return self._paths

    @override
    def total(self) -> None:
        return None

    @override
    def items(self) -> Iterator[Sequence[Item]]:
        self._left_out.clear()
        for path in self._paths:
            if not is_text(path):
                raise broken(path, 1, "its name is not UTF-8: rename it")
        digests_by_id: dict[str, set[bytes]] = {}
        for item_drafts in self.every(self._paths):
            distinct_drafts = (self._distinct(draft, digests_by_id) for draft in item_drafts)
            yield [draft for draft in distinct_drafts if draft is not None]

    def every(self, paths: Sequence[Path]) -> Iterator[Sequence[Item]]:
        """Yield the drafts of each item at all paths."""
        for path in paths:
            yield from self.read(path)

    def _distinct(self, draft: Item, contents: dict[str, set[bytes]]) -> Item | None:
        """Return the draft, with another id if the tool used its key for something else before.

        The first one keeps the id, so a second run finds it again. None for a repetition.
        """
        content_digest = hashlib.sha256(repr(draft).encode(errors="surrogatepass")).digest()
        seen_digests = contents.setdefault(draft.id, set())
        if content_digest in seen_digests or (seen_digests and isinstance(draft, RelationDraft)):
            if not isinstance(draft, RelationDraft):
                self.leave_out("exact repetitions", draft.id)
            return None
        seen_digests.add(content_digest)
        if len(seen_digests) == 1:
            return draft
        prefix = draft.id.partition("_")[0]
        return replace(draft, id=derived_id(prefix, None, draft.id, str(len(seen_digests))))

    @abstractmethod
    def read(self, path: Path) -> Iterator[Sequence[Item]]:
        """Yield the drafts of each item at one path."""

    def text(self, path: Path) -> str:
        """Read a text file, or standard input.

        Raises:
            ImportBroken: it cannot be read so; `details` names the line.
        """
        if path != STDIN:
            return text_of(path)
        if len(self._machine.stdin) > MOST_BYTES:
            raise broken(path, 1, f"it is longer than {MOST_BYTES >> 20} MB")
        return decoded(self._machine.stdin, path)

    def fact(
        self, key: Sequence[str], text: str, category: str | None = None, at: int | None = None
    ) -> FactDraft:
        """Build the draft of a fact; `key` tells it from the tool's others, in every run."""
        return FactDraft(derived_id("fact", None, self.name, *key), text, category, at)

    def superseded(self, fact: FactDraft, key: Sequence[str]) -> FactDraft:
        """Return the draft marked as superseded by the fact of another key."""
        return replace(fact, superseded_by=derived_id("fact", None, self.name, *key))

    def observation(
        self, key: Sequence[str], text: str, at: int | None = None, kind: str = "insight"
    ) -> ObservationDraft:
        """Build the draft of an observation of the type `kind`."""
        return ObservationDraft(
            derived_id("obs", None, self.name, *key), kind, text, happened_at=at
        )

    def readable(
        self, rows: Iterable[Mapping[str, Json]], key: str
    ) -> Iterator[Mapping[str, Json]]:
        """Yield the rows of a database whose texts are UTF-8; count the others as left out."""
        for row in rows:
            try:
                "".join(value for value in row.values() if isinstance(value, str)).encode()
            except UnicodeEncodeError:
                row_name = str(row[key]).encode(errors="replace").decode()
                self.leave_out("rows whose text is not UTF-8", f"{key} {row_name}")
            else:
                yield row

    def relation(self, triple: tuple[str, str, str], at: int | None = None) -> RelationDraft:
        """Build the draft of a relation; a relation that the tool repeats has the same id."""
        return RelationDraft(derived_id("rel", None, self.name, *triple), *triple, at)


def instant_of(value: Json, unit: int = instant.SECOND) -> int | None:
    """Convert an ISO text or a number of units since 1970 to microseconds UTC; None for no time.

    Args:
        value: as a file has it.
        unit: microseconds; 1,000 for numbers of milliseconds.
    """
    try:
        match value:
            case bool():
                return None
            case int() | float():
                microseconds = int(value * unit)
            case str() if value.strip():
                microseconds = instant.parse(value)
            case _:
                return None
    except (Day1Error, ValueError, OverflowError):
        return None
    return microseconds if 0 <= microseconds < _LATEST else None


def text_at(item: Mapping[str, Json], key: str) -> str:
    """Return a text of an object, stripped; "" if it is missing or something else."""
    value = item.get(key)
    return value.strip() if isinstance(value, str) else ""


def texts_at(item: Mapping[str, Json], key: str) -> list[str]:
    """Return the texts of a list in an object that are not empty."""
    value = item.get(key)
    list_items = value if isinstance(value, list) else []
    return [text.strip() for text in list_items if isinstance(text, str) and text.strip()]
