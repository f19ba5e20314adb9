"""Pruning: forgetting branches that were deleted long ago, for `day1 gc --prune-deleted`.

A deleted branch can be brought back as long as a tag keeps its commits. A tag costs as much as a
branch: whatever changes a ref writes all refs of the store anew.
"""

from collections.abc import Iterable

from day1.model.branches.branch import DeletedBranch
from day1.model.records.sharing import Bundle, Handoff, Template
from day1.model.records.snapshot import Snapshot
from day1.services.branches.deleting import branch_of_tag, keep
from day1.services.repository.repository import Repository


def prune(repo: Repository, before: int) -> list[DeletedBranch]:
    """Forget branches that were deleted before an instant, with the tags of their commits.

    A branch stays if it was brought back, or if a snapshot, handoff, template or bundle is read
    from its commits. The next compaction removes commits that nothing has any more.

    Returns:
        The forgotten branches. A call that breaks off has forgotten some of them; another call
        goes on.
    """
    candidates = [
        deleted for deleted in repo.ledger.records(DeletedBranch) if deleted.created_at < before
    ]
    if not candidates:
        return []
    _keep_retired(repo)
    tag_names_by_branch: dict[str, list[str]] = {}
    for tag_name in repo.history.tags():
        tag_names_by_branch.setdefault(branch_of_tag(tag_name), []).append(tag_name)
    return [
        deleted
        for deleted in candidates
        if _forget(repo, deleted, tag_names_by_branch.get(deleted.id, ()))
    ]


def _keep_retired(repo: Repository) -> None:
    """Tag the commits of retired branches that only the tag of a deleted branch may still have."""
    for branch in repo.ledger.branches():
        if branch.retired_tip is not None:
            keep(repo, branch, branch.retired_tip)


def _forget(repo: Repository, deleted: DeletedBranch, tag_names: Iterable[str]) -> bool:
    """Forget a deleted branch unless something needs it; return whether it is forgotten."""
    with repo.ledger.exclusive(deleted.name):  # nobody brings it back meanwhile
        is_same = repo.ledger.record(DeletedBranch, deleted.id) == deleted
        if not is_same or _is_needed(repo, deleted):
            return False
        for tag_name in tag_names:
            repo.history.untag(tag_name)
        repo.ledger.remove(DeletedBranch, deleted.id)
    return True


def _is_needed(repo: Repository, deleted: DeletedBranch) -> bool:
    """Whether the branch is there again, or a record is read from its commits."""
    ledger = repo.ledger
    return bool(
        any(branch.id == deleted.id for branch in ledger.branches())
        or ledger.records(Snapshot, branch_id=deleted.id)
        or ledger.records(Handoff, source_id=deleted.id)
        or ledger.records(Template, branch_id=deleted.id)
        or ledger.records(Bundle, commit=deleted.tip)
    )
