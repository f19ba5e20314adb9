"""The result of an import, and the end of each of its units."""

from dataclasses import dataclass, field

from day1.errors import Json
from day1.model.rows.change import Message
from day1.ports.store import Work
from day1.services.rows.bulk_writes import LeftRow


@dataclass(slots=True)
class Imported:
    """The result of an import, in rows. A row that occurs twice in a unit counts once."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    left: list[LeftRow] = field(default_factory=list)
    branches: list[str] = field(default_factory=list)
    """The branches that were created."""
    left_out: dict[str, list[str]] = field(default_factory=dict)
    """The places that were left out of the import, by reason."""

    @property
    def rows(self) -> int:
        """The number of rows and events that the import compared with the branch."""
        return self.added + self.changed + self.unchanged + len(self.left)

    def leave_out(self, why: str, place: str) -> None:
        """Record that a part of the source is not imported, and why."""
        self.left_out.setdefault(why, []).append(place)

    def take(self, unit: "Imported") -> None:
        """Add the counts of a unit that was committed."""
        self.added += unit.added
        self.changed += unit.changed
        self.unchanged += unit.unchanged
        self.left += unit.left

    def counts(self) -> dict[str, Json]:
        """Return the counts for an error's `details`: what was stored before the failure."""
        return {
            "added": self.added,
            "changed": self.changed,
            "unchanged": self.unchanged,
            "left": len(self.left),
        }


def commit_unit(work: Work, unit: Imported) -> None:
    """Commit a unit of work if anything in it is new; else leave no commit."""
    row_count = unit.added + unit.changed
    if row_count:
        work.commit(Message("import", f"import {row_count} {'row' if row_count == 1 else 'rows'}"))
