"""The kinds of versioned rows. Each has one description, and everything else follows from it.

Tables and their indexes, exports and what they may hold, diffs, the cells of a merge, facets of
search, masks of redactions, what importers claim, what a person may set, and how tools, pages and
lists show a row are derived from the columns below. A new column is a line and a schema step.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Final

from day1.model.rows.column import Column
from day1.model.values.ids import LONG, content_hash, short_hash

Cell = None | int | float | str
Row = dict[str, Cell]

WHOLE: Final = "*"
"""The cell that stands for a row's presence."""


@dataclass(frozen=True, eq=False)
class Kind:
    """One versioned table. There is one object for each kind, so they are compared by identity."""

    table: str
    name: str
    prefix: str
    cells: tuple[tuple[Column, ...], ...]
    """Columns that change together are one cell in a merge, named by the first of them."""
    says: tuple[str, ...] = ()
    """The columns that tell a reader what the row is about."""
    line: str = ""
    """The format of the line by which a list shows a row."""
    about: str = "id"
    """The column with the id of the row that this row is about."""
    origin_indexes: tuple[str, ...] = ("session_id", "task_id", "created_at")

    @cached_property
    def column(self) -> Mapping[str, Column]:
        """Every column by name, id first."""
        own_columns = (column for cell in self.cells for column in cell)
        return {column.name: column for column in (_ID, *own_columns, *_ORIGIN)}

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns, id first."""
        return tuple(self.column)

    def row(self, values: Sequence[Cell]) -> Row:
        """Build a row from its values, in the order of the columns."""
        return dict(zip(self.columns, values, strict=True))

    @cached_property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The names of the columns of each cell."""
        return tuple(tuple(column.name for column in cell) for cell in self.cells)

    @cached_property
    def text(self) -> str | None:
        """The column that search indexes, by the `content_hash` in its cell."""
        return next((cell[0].name for cell in self.cells if _CONTENT_HASH in cell), None)

    @cached_property
    def pointer(self) -> tuple[str, str] | None:
        """The column that names the row which this one needs, and that row's kind."""
        pointing_columns = (c for c in self.column.values() if c.points_to is not None)
        return next(((column.name, str(column.points_to)) for column in pointing_columns), None)

    @cached_property
    def facets(self) -> tuple[str, ...]:
        """The columns by which search can narrow."""
        return tuple(column.name for column in self.column.values() if column.facet)

    @cached_property
    def claimed(self) -> tuple[str, ...]:
        """The cells that importers of foreign sources may set."""
        return tuple(cell[0].name for cell in self.cells if any(column.claimed for column in cell))

    @cached_property
    def private(self) -> tuple[str, ...]:
        """The columns that leave the store only on request."""
        return tuple(column.name for column in self.column.values() if column.private)

    @cached_property
    def younger(self) -> frozenset[str]:
        """The columns that later versions of the schema added."""
        return frozenset(column.name for column in self.column.values() if column.since > 1)

    @cached_property
    def rendered(self) -> tuple[str, ...]:
        """The columns that are derived from the words of the row's text."""
        cell = next((cell for cell in self.cells if _CONTENT_HASH in cell), ())
        return tuple(c.name for c in cell[2:])

    @cached_property
    def blank(self) -> Row:
        """The values of a new row in the columns that it does not set."""
        return {column.name: column.default for cell in self.cells for column in cell}

    @cached_property
    def _by_cell(self) -> Mapping[str, tuple[str, ...]]:
        group_by_cell = {group[0]: group for group in self.groups}
        return {**group_by_cell, WHOLE: tuple(name for group in self.groups for name in group)}

    def group(self, name: str) -> tuple[str, ...]:
        """Return the columns of the cell called `name` (`*`: all that can change)."""
        return self._by_cell[name]


_ID = Column("id", "id", required=True)
_ORIGIN = (
    Column("agent_id"),
    Column("session_id"),
    Column("task_id"),
    Column("source", among=("user", "agent", "tool", "import", "merge")),
    Column("created_at", "time", required=True),
    Column("origin_id", "id", shown=False),
    Column("origin_branch", shown=False),
)
ORIGIN: Final = tuple(column.name for column in _ORIGIN)
"""Columns written once, when the row first enters a store. They never conflict in a merge."""

_CONTENT_HASH = Column(
    "content_hash", "id", required=True, indexed=True, redacted="with_text", shown=False
)
_HAPPENED_AT = Column("happened_at", "time", claimed=True, given=True)
_SAID_AT = Column("happened_at", "time")
_VERDICTS = ("unverified", "verified", "invalidated")
_RENDERED = (
    # What the text renders, and the vector that its writer gave. In the cell of the text, so that
    # a merge pairs no text with the parts of another.
    Column("structure", "json", redacted="with_text", since=2),
    Column("vector", "json", redacted="with_text", shown=False, since=2),
)
_VALID_UNTIL = Column("valid_until", "time", given=True, since=2)
_SPACE = Column("space", redacted="with_row", since=2)
_DETAIL = Column("detail", "json", redacted="with_row", since=2)
_KEPT: Final = (
    (replace(_SPACE, indexed=True),),
    (Column("tags", "json", redacted="with_row", since=2),),
    (_DETAIL,),
    (Column("expires_at", "time", since=2),),
    (Column("sensitivity", since=2),),
)
"""Where a memory belongs, how long it is kept, and how it is handled."""


def _text(name: str) -> Column:
    """Declare a column of text that search indexes; its hash stands beside it."""
    return Column(name, "text", required=True, redacted="with_text")


def _set_by_all(column: Column) -> Column:
    """Build a column that importers claim, that may be set, and that a page asks for."""
    return replace(column, claimed=True, given=True, main=True)


FACT: Final = Kind(
    "facts",
    "fact",
    "fact",
    (
        (_set_by_all(_text("fact_text")), _CONTENT_HASH, *_RENDERED),
        (_set_by_all(Column("category", facet=True, redacted="with_row")),),
        (Column("confidence", "real", default=1.0, required=True, given=True, main=True),),
        (
            Column(
                "status",
                default="active",
                among=("active", "superseded", "archived"),
                given=True,
                choices=("active", "archived"),
            ),
            Column("superseded_by", "id", points_to="fact"),
            _VALID_UNTIL,  # who supersedes a fact ends it: the two are decided together
        ),
        (
            Column(
                "verification",
                default="unverified",
                among=_VERDICTS,
                given=True,
                choices=_VERDICTS,
            ),
            Column("scores", "json", redacted="with_text"),
        ),
        (_HAPPENED_AT,),
        *_KEPT,
    ),
    says=("fact_text",),
    line="{fact_text}",
)
OBSERVATION: Final = Kind(
    "observations",
    "observation",
    "obs",
    (
        (_set_by_all(_text("summary")), _CONTENT_HASH, *_RENDERED),
        (
            Column(
                "observation_type",
                facet=True,
                claimed=True,
                given=True,
                choices=("tool_use", "discovery", "decision", "error", "insight"),
            ),
        ),
        (Column("tool_name", redacted="with_row", claimed=True, given=True),),
        (Column("raw_input", "text", redacted="with_row", claimed=True, given=True),),
        (Column("raw_output", "text", redacted="with_row", given=True),),
        (_HAPPENED_AT,),
        *_KEPT,
    ),
    says=("summary",),
    line="({observation_type}) {summary}",
)


def _end(name: str, *, indexed: bool = True) -> Column:
    column = Column(name, required=True, indexed=indexed, redacted="with_row")
    return _set_by_all(column)


RELATION: Final = Kind(
    "relations",
    "relation",
    "rel",
    (
        (_end("source_entity"),),
        (_end("target_entity"),),
        (_end("relation_type", indexed=False),),
        (Column("properties", "json", redacted="with_row", given=True),),
        (_HAPPENED_AT,),
        (_VALID_UNTIL,),
        (_SPACE,),
    ),
    says=("source_entity", "relation_type", "target_entity"),
    line="{source_entity} -{relation_type}-> {target_entity}",
    origin_indexes=("session_id", "created_at"),
)
CONVERSATION: Final = Kind(
    "conversations",
    "conversation",
    "conv",
    ((Column("title", "text", redacted="with_row"),), (_SAID_AT,), (_SPACE,), (_DETAIL,)),
    says=("title",),
    line="{title}",
    origin_indexes=("session_id", "created_at"),
)
MESSAGE: Final = Kind(
    "messages",
    "message",
    "msg",
    (
        (_text("content"), _CONTENT_HASH, replace(_RENDERED[0], since=3)),
        (
            # A conversation's newest message is what a new one looks for first.
            Column(
                "conversation_id",
                "id",
                required=True,
                indexed_with="created_at",
                points_to="conversation",
                facet=True,
            ),
            Column("previous_id", "id"),
        ),
        (Column("role", among=("user", "assistant", "system", "tool"), facet=True),),
        (Column("thinking", "text", redacted="with_row", private=True),),
        (Column("tool_calls", "json", redacted="with_row"),),
        (Column("model", redacted="with_row"),),
        (_SAID_AT,),
    ),
    says=("content",),
    line="({role}) {content}",
)
MEMORIES: Final = (FACT, OBSERVATION, RELATION, CONVERSATION, MESSAGE)
"""The kinds that agents write, diffs show and merges count."""

_ROW_ID = Column("row_id", "id", required=True, indexed=True)
_ROW_KIND = Column("row_kind", required=True)

EDIT: Final = Kind(
    "edits",
    "edit",
    "edit",
    (
        (
            _ROW_ID,
            _ROW_KIND,
            Column("cell"),
            Column("value"),
            Column("reason", "text", redacted="with_row"),
        ),
    ),
    about="row_id",
    origin_indexes=(),
)
"""Edits: who changed which cell when. They are only added, and merge whole."""

HELD: Final = Kind(
    "held",
    "held item",
    "held",
    (
        (
            _ROW_ID,
            _ROW_KIND,
            Column("cell"),
            Column("ours", "text"),
            Column("theirs", "text"),
            Column("source_branch"),
            Column("source_commit", "id"),
            Column("merge_id", "id"),
            Column("reason", "text"),
            Column("closes", "id"),
            Column("decision"),
        ),
    ),
    about="row_id",
    origin_indexes=(),
)
"""Held items: values that a merge withheld, and (with `closes`) decisions. Only added."""

RECORDS: Final = (EDIT, HELD)
KINDS: Final = (*MEMORIES, *RECORDS)
BY_TABLE: Final[Mapping[str, Kind]] = {kind.table: kind for kind in KINDS}
BY_NAME: Final[Mapping[str, Kind]] = {kind.name: kind for kind in KINDS}
BY_PREFIX: Final[Mapping[str, Kind]] = {kind.prefix: kind for kind in KINDS}


def kind_of(row_id: str) -> Kind | None:
    """Return the kind that an id's prefix names; None for an id that is not day1's."""
    return BY_PREFIX.get(row_id.split("_", 1)[0])


def words_of(kind: Kind, row: Mapping[str, Cell]) -> str:
    """Describe in words what a row is about."""
    return " ".join(str(row[column]) for column in kind.says if row[column] is not None)


def when(row: Mapping[str, Cell]) -> int:
    """Return when a row happened, else when it was learned; the instant 0 counts as a time."""
    happened_at = row.get("happened_at")
    return int((row["created_at"] if happened_at is None else happened_at) or 0)


def text_of(cell: Cell) -> str | None:
    """Return a cell as text; None without a value."""
    return None if cell is None else str(cell)


def complete(kind: Kind | None, columns: Row) -> Row:
    """Complete columns that hold a text: set its hash, and clear what belonged to another text."""
    text = None if kind is None or kind.text is None else columns.get(kind.text)
    if kind is None or text is None:
        return columns
    defaults: Row = dict.fromkeys(kind.rendered)
    return {**defaults, **columns, "content_hash": content_hash(str(text))}


canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode
"""JSON with sorted keys and no spaces: equal values are equal texts."""


def revision(kind: Kind, row: Mapping[str, Cell]) -> str:
    """Return the revision of a row: a hash of all columns but id and origin, 32 hex digits."""
    hashes = {c: content_hash(v) for c, v in row.items() if isinstance(v, str) and len(v) > LONG}
    content = canonical(content_of(kind, {**row, **hashes}, kind.group(WHOLE)))
    return hashlib.sha256(content.encode()).hexdigest()[:32]


def cell_value(kind: Kind, row: Mapping[str, Cell], group: str) -> str:
    """Hash one cell (column group) of a row, as an edit records the new value of the cell."""
    return short_hash(canonical(content_of(kind, row, kind.group(group))))


def content_of(kind: Kind, row: Mapping[str, Cell], columns: tuple[str, ...]) -> list[object]:
    """Return the values to hash: columns of later versions come last, and only with a value.

    So a row that has nothing in them keeps the hashes that it had before there were any.
    """
    first_columns, later_columns = _by_age(kind.younger, columns)
    content_values: list[object] = [row[column] for column in first_columns]
    younger_values = {c: value for c in later_columns if (value := row[c]) is not None}
    return [*content_values, younger_values] if younger_values else content_values


@cache
def _by_age(younger: frozenset[str], columns: tuple[str, ...]) -> tuple[list[str], list[str]]:
    return [c for c in columns if c not in younger], [c for c in columns if c in younger]


def written(kind: Kind, row: Mapping[str, Cell], columns: Iterable[str]) -> Row:
    """Return a row's columns for a file: those of later versions only with a value."""
    return {c: row[c] for c in columns if row[c] is not None or c not in kind.younger}
