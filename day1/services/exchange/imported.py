"""What an import did."""

from dataclasses import dataclass, field

from day1.errors import Json
from day1.model.rows.change import Message
from day1.ports.store import Work
from day1.services.rows.bulk_writes import LeftRow


@dataclass(slots=True)
class Imported:
    """What an import did, in rows. Rows that a unit repeats are counted once."""

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
        """How many rows and events were looked at."""
        return self.added + self.changed + self.unchanged + len(self.left)

    def leave_out(self, why: str, place: str) -> None:
        """Note that a part of the source is not imported."""
        self.left_out.setdefault(why, []).append(place)

    def take(self, unit: "Imported") -> None:
        """Count a unit that has become durable."""
        self.added += unit.added
        self.changed += unit.changed
        self.unchanged += unit.unchanged
        self.left += unit.left

    def counts(self) -> dict[str, Json]:
        """The numbers, as a failure names what was stored before it."""
        return {
            "added": self.added,
            "changed": self.changed,
            "unchanged": self.unchanged,
            "left": len(self.left),
        }


def commit_unit(work: Work, unit: Imported) -> None:
    """End a unit of work: with a commit if anything in it is new, else without a trace."""
    rows = unit.added + unit.changed
    if rows:
        work.commit(Message("import", f"import {rows} {'row' if rows == 1 else 'rows'}"))
