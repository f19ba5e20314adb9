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
    """What a new row has that says nothing of it."""
    required: bool = False
    """A row from a file must have a value."""
    among: tuple[str, ...] = ()
    """The values that a row from a file may have, which must be one of them; empty: any."""
    indexed: bool = False
    indexed_with: str | None = None
    """The column that comes after this one in its index."""
    points_to: str | None = None
    """The name of the kind whose row this one needs: a revert keeps both or none."""
    redacted: Literal["with_text", "with_row"] | None = None
    """Hidden where the row's text is redacted, or where the row is."""
    facet: bool = False
    """Search narrows by it, so views hold it."""
    claimed: bool = False
    """Importers of foreign sources have a say in its cell."""
    given: bool = False
    """Whoever decides a conflict or a held item may set it."""
    choices: tuple[str, ...] = ()
    """What it may be set to; empty: anything of its type."""
    main: bool = False
    """A page asks for it where a row is decided whole."""
    shown: bool = True
    """Tools and pages show it."""
    private: bool = False
    """It leaves the store only where somebody asks for it, and is not shown."""
    since: int = 1
    """The version of the schema that brought it: earlier states read it as without a value."""
