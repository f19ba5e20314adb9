"""What people are told of a review, on the web pages and inside a chat, and what they may write."""

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
REASONS: Final = {
    "both_changed": "both sides changed it",
    "delete_modify": "one side changed it, the other removed it",
    "belongs_to": "it goes with another memory",
    "duplicate": "it may be a duplicate",
    "skipped": "it was skipped",
}
"""Why something is in conflict."""
TIERS: Final = {"none": "may merge unseen", "one": "needs a look", "two": "needs two looks"}
TAKEN: Final = {
    "ours": "ours",
    "theirs": "theirs",
    "value": "as edited",
    "skip": "skip",
    "delete": "delete",
}
"""What was decided."""
KEYS: Final = (
    (("j", "↓", "k", "↑"), "next, previous"),
    (("o",), "ours: keep what {ours} has"),
    (("t",), "theirs: take what {theirs} has"),
    (("e",), "edit: write what it is to be; Esc leaves that"),
    (("s",), "skip: hold it back, for a later decision"),
    (("c",), "clear: take a decision back"),
    (("m",), "merge, after a question"),
)
TEXTS: Final = frozenset(kind.text for kind in MEMORIES if kind.text)
NUMBERS: Final = frozenset(
    c.name for kind in MEMORIES for c in kind.column.values() if c.type == "real"
)


class Field(NamedTuple):
    """A column that a reviewer can give a value for."""

    column: str
    form: str
    """text, line, number, or the values there are, with blanks."""


def fields(kind: Kind, cell: str) -> list[Field]:
    """The columns that a form asks for: of a cell its first, of a row as a whole the main ones."""
    wanted = (
        column
        for name, column in kind.column.items()
        if column.given
        and column.type != "json"
        and (column.main if cell == WHOLE else name == cell)
    )
    return [Field(column.name, _form(column)) for column in wanted]


def _form(column: Column) -> str:
    if column.among and column.choices:
        return " ".join(column.choices)
    return {"text": "text", "real": "number"}.get(column.type, "line")
