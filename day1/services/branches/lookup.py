"""Looking up branches by name, and checking that they take writes."""

from collections.abc import Iterator, Sequence
from contextlib import suppress

from day1.errors import (
    Advice,
    BranchClosed,
    BranchProtected,
    Json,
    Step,
    StoreBusy,
    StoreReadOnly,
    UnknownBranch,
)
from day1.model.branches.branch import MAIN, Branch, DeletedBranch
from day1.model.rows.change import CommitId, Ref
from day1.model.rows.kind import Kind
from day1.services.repository.repository import Repository


def find(repo: Repository, name: str) -> Branch:
    """Find a branch by its name; upper and lower case count.

    Raises:
        UnknownBranch: no branch has the name; the message suggests one that differs in case only.
        StoreBusy: the branch is being deleted or retired, which may still fail.
    """
    branch = _decided(repo, name)
    if branch is not None and branch.name == name and branch.retired_tip is None:
        return branch
    hint = Advice("{memory_branch_list} lists the branches.")
    if branch is not None and branch.name != name:
        hint = Advice("Did you mean {name}?", name=repr(branch.name))
    elif branch is not None:
        hint = Advice("It was retired; {memory_branch_revive} brings it back.")
    elif deletion_of(repo, name) is not None:
        hint = Advice("It was deleted; {undelete} brings it back.", undelete=undeletion_of(name))
    raise UnknownBranch(f"There is no branch {name!r}.", hint, branch=name)


def deletion_of(repo: Repository, name: str) -> DeletedBranch | None:
    """Return the record of the branch that was deleted last of those with a name, or None."""
    deleted_branches = repo.ledger.records(DeletedBranch, name=name)
    return max(deleted_branches, key=lambda deleted: deleted.created_at, default=None)


def revival_of(branch: Branch) -> Step:
    """Build the call that brings a retired branch back."""
    return Step("memory_branch_revive", {"branch_name": branch.name}, whole=True)


def undeletion_of(name: str) -> Step:
    """Build the call that brings a deleted branch back."""
    arguments: dict[str, Json] = {"branch_name": name, "deleted": True}
    return Step("memory_branch_revive", arguments, whole=True)


def _decided(repo: Repository, name: str) -> Branch | None:
    """Find a branch by its name, after recovery of a deletion that a dead process began.

    Raises:
        StoreBusy: a running process is deleting or retiring it.
    """
    branch = repo.ledger.branch(name)
    if branch is None or branch.retired_tip is None or branch.name not in repo.history.branches():
        return branch
    with suppress(StoreReadOnly):  # a read-only store cannot be recovered
        if repo.ledger.recover_orphans():
            return _decided(repo, name)
    raise StoreBusy(f"{branch.name!r} is being deleted or retired: try again.", branch=branch.name)


def find_again(repo: Repository, branch: Branch) -> Branch:
    """Read a branch again by its name, and check that it is still the same branch.

    Raises:
        UnknownBranch: it was deleted or retired meanwhile.
    """
    current_branch = find(repo, branch.name)
    if current_branch.id != branch.id:
        raise UnknownBranch(
            f"{branch.name!r} was deleted meanwhile, and another branch has its name now: call "
            "again to use that one.",
            branch=branch.name,
        )
    return current_branch


def tip_of(repo: Repository, name: str) -> CommitId:
    """Return the newest commit of a branch that was there when the call began.

    Raises:
        UnknownBranch: it was deleted or retired meanwhile.
    """
    tip = repo.history.branches().get(name)
    if tip is None:
        raise UnknownBranch(f"{name!r} was deleted or retired meanwhile.", branch=name)
    return tip


def name_of(repo: Repository, branch_id: str) -> str:
    """Return the name of a branch, also of a retired one; empty if it was deleted."""
    branch = repo.ledger.record(Branch, branch_id)
    return "" if branch is None else branch.name


def find_open_again(repo: Repository, branch: Branch) -> Branch:
    """Read a branch again, and check that it still takes writes.

    Raises:
        UnknownBranch: as `find_again`.
        BranchClosed, BranchProtected: as `refuse_protected`.
    """
    return refuse_protected(find_again(repo, branch))


def refuse_protected(branch: Branch) -> Branch:
    """Refuse a closed or protected branch; return one that takes writes.

    Raises:
        BranchClosed: it was squashed, or is kept as a template or bundle.
        BranchProtected: it takes merges only.
    """
    if refuse_closed(branch).protection:
        raise BranchProtected(
            f"{branch.name!r} is protected, and takes merges only.",
            Advice(
                "Fork a branch with {memory_branch_create}, write there, and bring it here with "
                "{review_open}."
            ),
            branch=branch.name,
            requires=list(branch.protection),
        )
    return branch


def refuse_closed(branch: Branch) -> Branch:
    """Refuse a closed branch; return one that takes writes or merges.

    Raises:
        BranchClosed: it was squashed, or is kept as a template or bundle.
    """
    if branch.closed:
        raise BranchClosed(
            f"{branch.name!r} is closed: it was squashed into another branch, or is kept as a "
            "template or bundle. Fork a new branch and write there.",
            branch=branch.name,
        )
    return branch


def first_commit(repo: Repository, branch: str = MAIN) -> CommitId:
    """Find the store's first commit, which is in the past of every branch and has no rows."""
    return next(commit for commit in repo.history.log(branch) if commit.op == "init").id


def branches_with(
    repo: Repository, kind: Kind, row_id: str, first: Sequence[str] = ()
) -> Iterator[str]:
    """Yield the branches that have a row: first those of `first`, then main, then by age.

    Only branches with pending rows are opened: reading a row at a commit is about a hundred times
    quicker.
    """
    dirty_branches = repo.history.dirty_branches()  # before the tips, or a row could be in neither
    tip_by_branch = repo.history.branches()
    branch_names = (*first, MAIN, *(branch.name for branch in repo.ledger.branches()))
    for name in dict.fromkeys(branch_names):
        if name in dirty_branches:
            with repo.store.reading(Ref(branch=name)) as reading:
                has_row = bool(reading.get(kind, [row_id]))
        else:
            has_row = (
                name in tip_by_branch
                and repo.history.row(kind, row_id, tip_by_branch[name]) is not None
            )
        if has_row:
            yield name
