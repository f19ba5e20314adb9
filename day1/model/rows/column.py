"""One column of a versioned row: its type, and everything that follows from it."""

from dataclasses import dataclass
from typing import Literal

ColumnType = Literal["id", "label", "text", "json", "time", "real"]
"""An id has up to 64 characters, a label up to 255, a text any number; `json` is a text of
canonical JSON, `time` is microseconds UTC, and `real` has 64 bits."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a kind of row, and what follows from it."""

    name: str
    type: ColumnType = "label"
    default: int | float | str | None = None
    """The value of a new row that sets none."""
    required: bool = False
    """Whether a row from a file must have a value."""
    among: tuple[str, ...] = ()
    """The values that a row from a file may have; empty: any."""
    indexed: bool = False
    indexed_with: str | None = None
    """The column that comes after this one in its index."""
    points_to: str | None = None
    """The name of the kind whose row this one needs: a revert keeps both or none."""
    redacted: Literal["with_text", "with_row"] | None = None
    """Whether the column is hidden with a redacted text, or with a redacted row."""
    facet: bool = False
    """Whether search narrows by the column; then views hold it."""
    claimed: bool = False
    """Whether importers of foreign sources may set the column's cell."""
    given: bool = False
    """Whether a person who decides a conflict or a held item may set the column."""
    choices: tuple[str, ...] = ()
    """The values to which a person may set the column; empty: any of its type."""
    main: bool = False
    """Whether a page asks for the column where a row is decided whole."""
    shown: bool = True
    """Whether tools and pages show the column."""
    private: bool = False
    """Whether the column leaves the store only on request, and is never shown."""
    since: int = 1
    """The schema version that added the column: earlier states read it as empty."""
