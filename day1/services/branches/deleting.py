"""Archiving and deleting branches."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from day1.errors import Advice, BranchProtected, Json, Refused, Step
from day1.model.branches.branch import MAIN, Branch, DeletedBranch
from day1.model.records.codec import from_json, to_json
from day1.model.records.intent import IntentKind
from day1.model.records.merge_record import MergeRecord
from day1.model.rows.change import CommitId, Ref
from day1.services.branches.desks import forget_branch
from day1.services.branches.lookup import find_again
from day1.services.branches.notes import mark, unmark_retired
from day1.services.branches.tree import states
from day1.services.repository.repository import Repository


def archive(repo: Repository, branch: Branch, *, archived: bool = True) -> Branch:
    """Mark a branch as archived, so that the topology leaves it out by default.

    Raises:
        Refused: the branch is `main`.
    """
    if branch.name == MAIN:
        raise Refused("main cannot be archived.", branch=branch.name)
    return mark(repo, branch, archived=archived)


def delete(
    repo: Repository, branch: Branch, current: str | None, now: int, request: str | None = None
) -> Branch:
    """Delete a branch and its desks; a tag keeps the commits that only it reached.

    `undelete` brings the branch back without its desks. `request` is the id of the request that
    deletes it: `deleted_by` finds the branch by it.

    Raises:
        Refused: it is `main` or the caller's current branch.
        BranchProtected: it is protected.
        UnknownBranch: it was deleted or retired meanwhile.
        StoreBusy: writers held the branch for longer than the limit; it stays.
    """
    name = _refuse_deletion(branch, current).name
    with repo.ledger.open_intent(DELETE, DeleteIntent(branch.id, name, request), now, (name,)):
        repo.point("delete.after_intent")
        with leaving(repo, branch) as (retired_branch, tip):
            keep(repo, branch, tip)
            repo.point("delete.after_keep")
            repo.history.drop(name)
            repo.point("delete.after_engine")
        with repo.ledger.ending():
            _record_deletion(repo, retired_branch, now, request)
        repo.point("delete.after_ledger")
    return retired_branch


def delete_taken(
    repo: Repository, branch: Branch, current: str | None, now: int, request: str | None = None
) -> Branch:
    """Delete a branch, as `delete`, if another branch has all of its memories.

    Raises:
        Refused: it is `main`, the caller's current branch, or has memories that no other has.
        BranchProtected, UnknownBranch, StoreBusy: as `delete`.
    """
    name = _refuse_deletion(branch, current).name
    if not is_taken(repo, branch):
        delete_arguments: dict[str, Json] = {"branch_name": name, "force": True}
        forced_step = Step("memory_branch_delete", delete_arguments, whole=True)
        raise Refused(
            Advice(
                "No other branch has all of {name}: merge it first, or delete it with {forced}.",
                name=repr(name),
                forced=forced_step,
            ),
            branch=name,
        )
    return delete(repo, branch, current, now, request)


def _refuse_deletion(branch: Branch, current: str | None) -> Branch:
    """Refuse to delete `main`, the current branch or a protected one; else return the branch.

    Raises:
        BranchProtected: it is protected.
        Refused: it is `main` or the caller's current branch.
    """
    name = refuse_loss(branch).name
    if name == MAIN:
        advice = Advice("The branch main cannot be deleted: {memory_remove} removes memories.")
        raise Refused(advice, branch=name)
    if name == current:
        raise Refused(
            f"{name!r} is the branch you are on and cannot be deleted; switch to another first.",
            branch=name,
        )
    return branch


def is_taken(repo: Repository, branch: Branch) -> bool:
    """Whether another branch that the caller sees has all memories of this one."""
    branch_states = states(repo)
    own_state = next(state for state in branch_states if state.branch.id == branch.id)
    with repo.store.reading(Ref(branch=own_state.branch.name)) as reading:
        if reading.pending.count:
            return False
    merges = _whole_merges(repo, branch) if branch.merged_tip == own_state.tip else []
    having_commits = {own_state.tip, *(str(merge.commit) for merge in merges)}
    target_ids = {merge.target_id for merge in merges}
    # The branches that it was merged into come first, as they most likely have it.
    other_states = sorted(
        (state for state in branch_states if state is not own_state),
        key=lambda state: state.branch.id not in target_ids,
    )
    return any(
        repo.history.merge_base(other_state.tip, commit) == commit
        for other_state in other_states
        for commit in having_commits
    )


def _whole_merges(repo: Repository, branch: Branch) -> list[MergeRecord]:
    """Return the merges of a branch that brought all of its last state elsewhere."""
    merges = [
        merge
        for merge in repo.ledger.records(MergeRecord, source_id=branch.id)
        if merge.commit is not None
        and (merge.strategy == "squash" or (merge.strategy == "auto" and not merge.rejected_count))
    ]
    # Not the branch's own tip: a correction of its clock commits after the merge.
    return [merge for merge in merges if merge.source_commit == merges[-1].source_commit]


def keep(repo: Repository, branch: Branch, tip: CommitId) -> None:
    """Tag the last commit of a branch whose ref goes, if no other branch is known to have it.

    The name of the tag has the commit, as a branch may leave several times, further on each time.
    """
    if not _is_reached_elsewhere(repo, branch, tip):
        repo.history.tag(f"keep/{branch.id}.{tip[:8]}", tip)


def branch_of_tag(name: str) -> str:
    """Return the id of the branch whose commit a tag of `keep` keeps."""
    return name.removeprefix("keep/").partition(".")[0]


def _is_reached_elsewhere(repo: Repository, branch: Branch, tip: CommitId) -> bool:
    """Whether the branch's parent, or one that it was merged into, has its last commit.

    Another branch may have it too, but to see that the whole graph would have to be read, and a tag
    costs as much as the ref that goes.

    A branch that the ledger lacks does not count: its fork may be withdrawn. Neither does one that
    is marked as retired: it may go because this branch has its commits.
    """
    merges = repo.ledger.records(MergeRecord, source_id=branch.id)
    others = {branch.parent_id, *(m.target_id for m in merges if m.source_commit == tip)}
    tip_by_branch = repo.history.branches()
    for other_id in others:
        other = None if other_id is None else repo.ledger.record(Branch, other_id)
        if other is not None and other.retired_tip is None and other.name in tip_by_branch:
            other_tip = tip_by_branch[other.name]
            if repo.history.merge_base(other_tip, tip) == tip:
                return True
    return False


def deleted_by(repo: Repository, request: str, name: str) -> DeletedBranch | None:
    """Return the record of the branch of this name that a request deleted, or None."""
    return next(iter(repo.ledger.records(DeletedBranch, request=request, name=name)), None)


def last_commit_of(repo: Repository, branch_id: str) -> CommitId | None:
    """Return the last commit of a deleted branch; None if it is unknown."""
    deleted_branch = repo.ledger.record(DeletedBranch, branch_id)
    if deleted_branch is None:  # an earlier version deleted it, and named its tag by its id alone
        return repo.history.tags().get(f"keep/{branch_id}")
    return deleted_branch.tip


def recorded_branch(repo: Repository, branch_id: str) -> Branch | None:
    """Return a branch by its id, even a retired or deleted one; None if it is unknown.

    A deleted branch is returned as a retired one.
    """
    branch = repo.ledger.record(Branch, branch_id)
    deleted = repo.ledger.record(DeletedBranch, branch_id) if branch is None else None
    return branch if deleted is None else as_retired(deleted)


def as_retired(deleted: DeletedBranch) -> Branch:
    """Return a deleted branch as it was, marked as retired.

    If an earlier version deleted it, only its name and its last commit are known.
    """
    if deleted.record is None:
        return Branch(deleted.id, deleted.name, None, None, 0, retired_tip=deleted.tip)
    return from_json(Branch, deleted.record)


def refuse_loss(branch: Branch) -> Branch:
    """Refuse to delete or retire a protected branch; else return the branch.

    Raises:
        BranchProtected: it is protected.
    """
    if branch.protection:
        raise BranchProtected(
            Advice(
                "{name} is protected: {lifting} lifts the protection.",
                name=repr(branch.name),
                lifting=_unprotecting(branch),
            ),
            branch=branch.name,
            requires=list(branch.protection),
        )
    return branch


def _unprotecting(branch: Branch) -> Step:
    """Build the step that lifts the protection of a branch."""
    arguments: dict[str, Json] = {"branch_name": branch.name, "requires": []}
    return Step("memory_branch_protect", arguments, whole=True)


@contextmanager
def leaving(repo: Repository, branch: Branch) -> Iterator[tuple[Branch, CommitId]]:
    """Keep writers from a branch during the block, which deletes its ref.

    Yields the branch, marked as retired, and its last commit, which has all of its rows. The caller
    has an intent with its name. When the ref stays, recovery takes the mark back.

    Raises:
        BranchProtected: it was protected meanwhile.
        UnknownBranch: it was deleted or retired meanwhile.
    """
    with repo.store.sealed(find_again(repo, branch).name) as tip:
        # Marked before the ref is deleted, so that nobody can protect the branch meanwhile.
        retired_branch = refuse_loss(mark(repo, branch, retired_tip=tip))
        repo.forget_primes()  # no new prime is made for a branch that is marked as retired
        yield retired_branch, tip


@dataclass(frozen=True, slots=True)
class DeleteIntent:
    """The intent to delete a branch."""

    id: str
    name: str
    request: str | None = None


def _finish_delete(repo: Repository, intent: DeleteIntent) -> None:
    """Finish a deletion: remove records if the ref is gone, else keep the branch."""
    if intent.name in repo.history.branches():
        unmark_retired(repo, intent.name)
        return
    branch = repo.ledger.record(Branch, intent.id)
    if branch is not None:
        _record_deletion(repo, branch, repo.clock(), intent.request)


def _record_deletion(repo: Repository, branch: Branch, now: int, request: str | None) -> None:
    """Replace the record of a branch, which is marked as retired, by that of its deletion."""
    deleted_branch = DeletedBranch(
        branch.id, branch.name, str(branch.retired_tip), now, request, to_json(branch)
    )
    with repo.ledger.transaction():
        repo.ledger.put(deleted_branch)
        forget_branch(repo, branch.id)


DELETE = IntentKind("delete", DeleteIntent, _finish_delete)
