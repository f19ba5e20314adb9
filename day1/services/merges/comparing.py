"""The difference of two branches: what one has changed since their merge base."""

from dataclasses import dataclass

from day1.model.branches.branch import Branch
from day1.model.merge.held import HeldItem
from day1.model.merge.plan import MergePlan, Sides
from day1.model.redaction.derived import veiled
from day1.model.redaction.veil import mark_of, shown_change
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

    The changes are as they are shown: words of secret rows are marked, and words that neither
    branch shows any more. A row that both removed is no difference.

    With `category`, only facts of that category (now or before) and no other rows.
    """
    seen = look(repo, MergeRequest(source, target, "auto"))
    now = repo.clock()
    shown = {
        kind.table: [
            _shown(kind, c, seen.sides, now)
            for c in seen.sides.changes.get(kind.table, ())
            if (c.after or c.id in seen.sides.target) and _fits(c, category)
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
    versions = (change.before, change.after)
    return any(row is not None and row.get("category") == category for row in versions)


def _shown(kind: Kind, change: RowChange, sides: Sides, now: int) -> RowChange:
    """A change with marks for the words that are not shown; few rows have such words."""
    target = sides.target.get(change.id)
    if any(map(_may_be_marked, (change.before, change.after, target))):
        mark = mark_of(now, change.after, target, past=change.before)
        change = shown_change(kind, change, mark)
    veil = sides.veils.get(change.id)
    if veil:
        change = RowChange(change.id, veiled(change.before, veil), veiled(change.after, veil))
    return change


def _may_be_marked(row: Row | None) -> bool:
    return row is not None and (row.get("sensitivity") or row.get("expires_at")) is not None
