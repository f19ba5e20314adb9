"""The difference of two branches: what the source changed since their merge base."""

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
    """The changes of a source branch, and the plan of merging them into the target."""

    plan: MergePlan
    changes: Changes
    source_commit: CommitId
    target_commit: CommitId
    pending: Pending
    """Added rows of the source that are not committed yet; `changes` includes them."""
    held: tuple[HeldItem, ...]


def compare(
    repo: Repository, source: Branch, target: Branch, category: str | None = None
) -> Comparison:
    """List what the source changed since its merge base with the target, without a lock.

    Words that may not be shown (of secret rows, and words that neither branch shows any more) are
    replaced by placeholders. A row that both branches removed is not a difference.

    With `category`, only facts that have or had that category.
    """
    merge_preview = look(repo, MergeRequest(source, target, "auto"))
    now = repo.clock()
    changes_by_table = {
        kind.table: [
            _shown(kind, change, merge_preview.sides, now)
            for change in merge_preview.sides.changes.get(kind.table, ())
            if (change.after or change.id in merge_preview.sides.target) and _fits(change, category)
        ]
        for kind in MEMORIES
        if category is None or kind is FACT
    }
    return Comparison(
        merge_preview.plan,
        {table: row_changes for table, row_changes in changes_by_table.items() if row_changes},
        merge_preview.source_commit,
        merge_preview.target_commit,
        merge_preview.pending,
        merge_preview.held,
    )


def _fits(change: RowChange, category: str | None) -> bool:
    if category is None:
        return True
    row_versions = (change.before, change.after)
    return any(row is not None and row.get("category") == category for row in row_versions)


def _shown(kind: Kind, change: RowChange, sides: Sides, now: int) -> RowChange:
    """Return a change with placeholders for the words that may not be shown."""
    target_row = sides.target.get(change.id)
    if any(map(_may_be_marked, (change.before, change.after, target_row))):
        mark = mark_of(now, change.after, target_row, past=change.before)
        change = shown_change(kind, change, mark)
    veil = sides.veils.get(change.id)
    if veil:
        change = RowChange(change.id, veiled(change.before, veil), veiled(change.after, veil))
    return change


def _may_be_marked(row: Row | None) -> bool:
    return row is not None and (row.get("sensitivity") or row.get("expires_at")) is not None
