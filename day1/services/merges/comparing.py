"""The difference of two branches: what one has changed since their merge base."""

from dataclasses import dataclass

from day1.model.branches.branch import Branch
from day1.model.merge.held import HeldItem
from day1.model.merge.plan import MergePlan
from day1.model.redaction.derived import veiled
from day1.model.redaction.veil import shown_change
from day1.model.rows.change import Changes, CommitId, Pending, RowChange
from day1.model.rows.kind import FACT, MEMORIES, Kind, Row
from day1.services.merges.planning import MergeRequest, look
from day1.services.repository.repository import Repository


@dataclass(frozen=True, slots=True)
class Comparison:
    """The changes of a source branch, and how they would meet the target."""

    plan: MergePlan
    changes: Changes
    source_commit: CommitId
    target_commit: CommitId
    pending: Pending
    """Rows of the source that no commit holds yet; they are among the changes."""
    held: tuple[HeldItem, ...]


def compare(
    repo: Repository, source: Branch, target: Branch, category: str | None = None
) -> Comparison:
    """Compare source with target since their merge base, without a lock.

    The changes are as they are shown: words of secret and expired rows are marked.

    With `category`, only facts of that category (now or before) and no other rows.
    """
    seen = look(repo, MergeRequest(source, target, "auto"))
    now, veils = repo.clock(), seen.sides.veils
    shown = {
        kind.table: [
            _shown(kind, c, veils.get(c.id), now)
            for c in seen.sides.changes.get(kind.table, ())
            if _fits(c, category)
        ]
        for kind in MEMORIES
        if category is None or kind is FACT
    }
    return Comparison(
        seen.plan,
        {table: rows for table, rows in shown.items() if rows},
        seen.source_commit,
        seen.target_commit,
        seen.pending,
        seen.held,
    )


def _fits(change: RowChange, category: str | None) -> bool:
    if category is None:
        return True
    return any(row is not None and row.get("category") == category for row in _sides(change))


def _shown(kind: Kind, change: RowChange, veil: Row | None, now: int) -> RowChange:
    """A change as it is shown; few rows have what keeps their words from being shown."""
    may_be_marked = any(
        row is not None and (row.get("sensitivity") or row.get("expires_at")) is not None
        for row in _sides(change)
    )
    if may_be_marked:
        change = shown_change(kind, change, now)
    if veil:
        change = RowChange(change.id, veiled(change.before, veil), veiled(change.after, veil))
    return change


def _sides(change: RowChange) -> tuple[Row | None, Row | None]:
    return (change.before, change.after)
