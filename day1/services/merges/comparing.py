"""The difference of two branches: what one has changed since their merge base."""

from dataclasses import dataclass

from day1.model.branches.branch import Branch
from day1.model.merge.held import HeldItem
from day1.model.merge.plan import MergePlan
from day1.model.rows.change import Changes, CommitId, Pending, Ref, RowChange
from day1.model.rows.kind import FACT, MEMORIES, Row
from day1.services.merges.planning import MergeRequest, look
from day1.services.repository.repository import Repository
from day1.services.rows.deriving import shown_changes


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
    fitting = {
        kind.table: [c for c in seen.sides.changes.get(kind.table, ()) if _fits(c, category)]
        for kind in MEMORIES
        if category is None or kind is FACT
    }
    refs = [Ref(branch=source.name), Ref(branch=target.name)]
    shown = shown_changes(repo, refs, fitting)
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


def _sides(change: RowChange) -> tuple[Row | None, Row | None]:
    return (change.before, change.after)
