"""The kinds of versioned rows, and which of their columns are one cell in a merge.

A kind is data, so that diffing, merging, copying, exporting and restoring are written once.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from day1.model.values.ids import content_hash, short_hash

Cell = None | int | float | str
Row = dict[str, Cell]

ORIGIN: Final = (
    "agent_id",
    "session_id",
    "task_id",
    "source",
    "created_at",
    "origin_id",
    "origin_branch",
)
"""Columns written once, when the row first enters a store. They never clash in a merge."""

WHOLE: Final = "*"
"""The group that stands for a row's presence."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One versioned table."""

    table: str
    name: str
    prefix: str
    groups: tuple[tuple[str, ...], ...]
    """Columns that change together; a group is named by its first column."""
    text: str | None = None
    """The column that search indexes, by `content_hash`."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column, id first."""
        return ("id", *(c for group in self.groups for c in group), *ORIGIN)

    def group(self, name: str) -> tuple[str, ...]:
        """The columns of the group called `name` (`*`: all that can change)."""
        if name == WHOLE:
            return tuple(c for group in self.groups for c in group)
        return next(group for group in self.groups if group[0] == name)


FACT: Final = Kind(
    "facts",
    "fact",
    "fact",
    (
        ("fact_text", "content_hash"),
        ("category",),
        ("confidence",),
        ("status", "superseded_by"),
        ("verification", "scores"),
        ("happened_at",),
    ),
    text="fact_text",
)
OBSERVATION: Final = Kind(
    "observations",
    "observation",
    "obs",
    (
        ("summary", "content_hash"),
        ("observation_type",),
        ("tool_name",),
        ("raw_input",),
        ("raw_output",),
        ("happened_at",),
    ),
    text="summary",
)
RELATION: Final = Kind(
    "relations",
    "relation",
    "rel",
    (
        ("source_entity",),
        ("target_entity",),
        ("relation_type",),
        ("properties",),
        ("happened_at",),
    ),
)
CONVERSATION: Final = Kind("conversations", "conversation", "conv", (("title",), ("happened_at",)))
MESSAGE: Final = Kind(
    "messages",
    "message",
    "msg",
    (
        ("content", "content_hash"),
        ("conversation_id", "previous_id"),
        ("role",),
        ("thinking",),
        ("tool_calls",),
        ("model",),
        ("happened_at",),
    ),
    text="content",
)
MEMORIES: Final = (FACT, OBSERVATION, RELATION, CONVERSATION, MESSAGE)
"""What agents write; what diffs show and merges count."""

EDIT: Final = Kind("edits", "edit", "edit", (("row_id", "row_kind", "cell", "value", "reason"),))
"""Who changed which cell when. Only ever added; always merges whole."""

HELD: Final = Kind(
    "held",
    "held item",
    "held",
    (
        (
            "row_id",
            "row_kind",
            "cell",
            "ours",
            "theirs",
            "source_branch",
            "source_commit",
            "merge_id",
            "reason",
            "closes",
            "decision",
        ),
    ),
)
"""What a merge withheld, and (rows with `closes`) how it was decided. Only ever added."""

RECORDS: Final = (EDIT, HELD)
KINDS: Final = (*MEMORIES, *RECORDS)
BY_TABLE: Final[Mapping[str, Kind]] = {kind.table: kind for kind in KINDS}
BY_PREFIX: Final[Mapping[str, Kind]] = {kind.prefix: kind for kind in KINDS}


def kind_of(row_id: str) -> Kind | None:
    """The kind that an id's prefix names; None for an id that is not day1's."""
    return BY_PREFIX.get(row_id.split("_", 1)[0])


def cells(row: Mapping[str, Cell] | None, columns: Iterable[str]) -> tuple[Cell, ...] | None:
    """The values of `columns`, None for a row that is not there."""
    return None if row is None else tuple(row[c] for c in columns)


def when(row: Mapping[str, Cell]) -> int:
    """When it happened, else when it was learned; the first instant of 1970 is a time too."""
    happened = row.get("happened_at")
    return int((row["created_at"] if happened is None else happened) or 0)


def text_of(cell: Cell) -> str | None:
    """A cell that is a text or empty."""
    return None if cell is None else str(cell)


def complete(kind: Kind | None, columns: Row) -> Row:
    """Columns with the hash of a text that is among them."""
    text = None if kind is None or kind.text is None else columns.get(kind.text)
    return columns if text is None else {**columns, "content_hash": content_hash(str(text))}


def canonical(value: object) -> str:
    """JSON with sorted keys and no spaces: equal values are equal texts."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def revision(kind: Kind, row: Mapping[str, Cell]) -> str:
    """Name the content of a row: a hash of all columns but id and origin, 32 hex digits."""
    return short_hash(canonical([row[c] for c in kind.group(WHOLE)]))


def cell_value(kind: Kind, row: Mapping[str, Cell], group: str) -> str:
    """Hash one cell (column group) of a row: what an edit records as the value it gave."""
    return short_hash(canonical([row[c] for c in kind.group(group)]))
