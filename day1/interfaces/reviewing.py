"""Words and fields of a review for people, on the web pages and inside a chat."""

from __future__ import annotations

from typing import Final, NamedTuple

from day1.model.rows.column import Column
from day1.model.rows.kind import MEMORIES, WHOLE, Kind

GROUPS: Final = {
    "conflicts": "Conflicts",
    "held": "Held by an earlier merge",
    "duplicates": "Possible duplicates",
    "new": "New",
    "changed": "Changed",
    "removed": "Removed",
    "kept": "Kept as it is",
}
"""Headings of the groups of changes in a review, by code."""
REASONS: Final = {
    "both_changed": "both sides changed it",
    "delete_modify": "one side changed it, the other removed it",
    "belongs_to": "it goes with another memory",
    "duplicate": "it may be a duplicate",
    "skipped": "it was skipped",
}
"""Words for why a change is in conflict or held, by code."""
TIERS: Final = {"none": "needs no look", "one": "needs a look", "two": "needs two looks"}
"""Words for the tier of a change."""
TAKEN: Final = {
    "ours": "ours",
    "theirs": "theirs",
    "value": "as edited",
    "skip": "skip",
    "delete": "delete",
}
"""Words for a decision, by code."""
KEYS: Final = (
    (("j", "↓", "k", "↑"), "next, previous"),
    (("o",), "ours: keep what {ours} has"),
    (("t",), "theirs: take what {theirs} has"),
    (("e",), "edit: write the value yourself; Esc closes the form"),
    (("s",), "skip: hold it back and decide later"),
    (("c",), "clear: take a decision back"),
    (("m",), "merge, after a question"),
)
"""Keys of the review page, each with what it does."""
TEXTS: Final = frozenset(kind.text for kind in MEMORIES if kind.text)
"""Columns that hold the text of a memory."""
NUMBERS: Final = frozenset(
    c.name for kind in MEMORIES for c in kind.column.values() if c.type == "real"
)
"""Columns that hold a number."""


class Field(NamedTuple):
    """A column that a reviewer can edit."""

    column: str
    form: str
    """`text`, `line`, `number`, or the allowed values, separated by blanks."""


def fields(kind: Kind, cell: str) -> list[Field]:
    """List the columns of an edit form: the cell's own, or a whole row's main columns."""
    columns = (
        column
        for name, column in kind.column.items()
        if column.given
        and column.type != "json"
        and (column.main if cell == WHOLE else name == cell)
    )
    return [Field(column.name, _form(column)) for column in columns]


def _form(column: Column) -> str:
    if column.among and column.choices:
        return " ".join(column.choices)
    return {"text": "text", "real": "number"}.get(column.type, "line")
