"""Archiving and deleting branches; tags that keep their commits."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import Final

from day1.errors import Advice, BranchProtected, Json, Refused, Step
from day1.model.branches.branch import MAIN, Branch
from day1.model.records.intent import IntentKind
from day1.model.rows.change import CommitId, Ref
from day1.services.branches.desks import forget_branch
from day1.services.branches.lookup import find_again
from day1.services.branches.notes import mark, unmark_retired
from day1.services.branches.tree import states
from day1.services.repository.repository import Repository

_PREFIX: Final = "keep/"
"""The beginning of the names of tags that keep commits of branches whose refs are gone."""


def archive(repo: Repository, branch: Branch, *, archived: bool = True) -> Branch:
    """Mark a branch as archived, so that the topology leaves it out by default.

    Raises:
        Refused: the branch is `main`.
    """
    if branch.name == MAIN:
        raise Refused("main cannot be archived.", branch=branch.name)
    return mark(repo, branch, archived=archived)


def delete(
    repo: Repository, branch: Branch, current: str | None, now: int, deletion: str | None = None
) -> Branch:
    """Delete a branch and its desks; a tag keeps the commits that only it reached.

    With the id of a request as `deletion`, `deleted_by` tells that the request deleted it.

    Raises:
        Refused: it is `main` or the caller's current branch.
        BranchProtected: it is protected.
        UnknownBranch: it was deleted or retired meanwhile.
        StoreBusy: writers held the branch for longer than the limit; it stays.
    """
    name = _refuse_deletion(branch, current).name
    with repo.ledger.open_intent(DELETE, DeleteIntent(branch.id, name), now, (name,)):
        repo.point("delete.after_intent")
        with leaving(repo, branch) as (retired_branch, tip):
            keep(repo, branch.id, tip, deletion)
            repo.point("delete.after_keep")
            repo.history.drop(name)
            repo.point("delete.after_engine")
        with repo.ledger.ending():
            forget_branch(repo, branch.id)
        repo.point("delete.after_ledger")
    return retired_branch


def delete_taken(
    repo: Repository, branch: Branch, current: str | None, now: int, deletion: str | None = None
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
    return delete(repo, branch, current, now, deletion)


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
    """Whether another branch has all memories of this one."""
    branch_states = states(repo)
    own_state = next(state for state in branch_states if state.branch.id == branch.id)
    with repo.store.reading(Ref(branch=own_state.branch.name)) as reading:
        if reading.pending.count:
            return False
    if own_state.status == "merged":
        return True
    return any(
        repo.history.merge_base(other_state.tip, own_state.tip) == own_state.tip
        for other_state in branch_states
        if other_state is not own_state
    )


def keep(repo: Repository, branch_id: str, tip: CommitId, deletion: str | None = None) -> None:
    """Tag the last commit of a branch; `deletion` is the id of the request that deletes it.

    A branch may leave several times, further on each time: so the commit is in the tag's name.
    """
    parts = (f"{_PREFIX}{branch_id}", tip[:8], deletion)
    repo.history.tag(".".join(part for part in parts if part is not None), tip)


def kept_tip(repo: Repository, branch_id: str) -> CommitId | None:
    """Return the last commit of a branch that a tag keeps; None if no tag keeps any."""
    name = f"{_PREFIX}{branch_id}"  # the whole name of a tag that an earlier version made
    commits = {
        commit
        for tag, commit in repo.history.tags().items()
        if tag == name or tag.startswith(f"{name}.")
    }
    if not commits:
        return None

    def later(first: CommitId, second: CommitId) -> CommitId:
        return second if repo.history.merge_base(first, second) == first else first

    return reduce(later, commits)


def deleted_by(repo: Repository, deletion: str) -> CommitId | None:
    """Return the last commit of the branch that a request deleted; None if it deleted none."""
    tag = repo.history.tag_ending(f".{deletion}")
    if tag is None:
        return None
    name, commit = tag
    branch_id = name.removeprefix(_PREFIX).partition(".")[0]
    is_gone = repo.ledger.record(Branch, branch_id) is None  # else its process died before
    return commit if is_gone else None


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


def _finish_delete(repo: Repository, intent: DeleteIntent) -> None:
    """Finish a deletion: remove records if the ref is gone, else keep the branch."""
    if intent.name in repo.history.branches():
        unmark_retired(repo, intent.name)
    else:
        forget_branch(repo, intent.id)


DELETE = IntentKind("delete", DeleteIntent, _finish_delete)
