"""Branches: create, find, list, note, archive, and draw their tree."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from day1.errors import (
    BranchClosed,
    BranchExists,
    BranchProtected,
    Conflict,
    Json,
    Refused,
    UnknownBranch,
)
from day1.model.branch import MAIN, Branch, Status, check_name, numbered
from day1.model.change import CommitId, Pending, Ref
from day1.model.record import to_json
from day1.services.deeds import Repository, deed, record_fork
from day1.services.repeating import made_by

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BranchState:
    """A branch with where it stands."""

    branch: Branch
    parent: str | None
    tip: CommitId
    pending: Pending
    status: Status


def find(repo: Repository, name: str) -> Branch:
    """The branch of a name, written as it was created.

    Raises:
        UnknownBranch: there is none; the message names one that differs in case only.
    """
    branch = repo.ledger.branch(name)
    if branch is not None and branch.name == name and branch.retired_tip is None:
        return branch
    hint = "memory_branch_list shows those there are."
    if branch is not None and branch.name != name:
        hint = f"Did you mean {branch.name!r}?"
    elif branch is not None:
        hint = "It was retired; `day1 switch` brings it back."
    raise UnknownBranch(f"There is no branch {name!r}. {hint}", branch=name)


def name_of(repo: Repository, branch_id: str) -> str:
    """The name of a branch, retired or not; empty for one that is gone."""
    branch = repo.ledger.record(Branch, branch_id)
    return "" if branch is None else branch.name


def find_open(repo: Repository, name: str) -> Branch:
    """The branch of a name, if it takes writes.

    Raises:
        UnknownBranch: there is none.
        BranchClosed, BranchProtected: as `refuse_protected`.
    """
    return refuse_protected(find(repo, name))


def refuse_protected(branch: Branch) -> Branch:
    """The branch, if it takes writes.

    Raises:
        BranchClosed: it was squashed, or is kept as a template or bundle.
        BranchProtected: it takes merges only.
    """
    if refuse_closed(branch).protection:
        raise BranchProtected(
            f"{branch.name!r} is protected, and takes merges only: fork a branch with "
            "memory_branch_create, write there, and bring it here with review_open.",
            branch=branch.name,
            requires=list(branch.protection),
        )
    return branch


def refuse_closed(branch: Branch) -> Branch:
    """The branch, if it takes writes or merges.

    Raises:
        BranchClosed: it was squashed, or is kept as a template or bundle.
    """
    if branch.closed:
        raise BranchClosed(
            f"{branch.name!r} is closed: it was squashed into another branch, or is kept as a "
            "template or bundle: fork anew and write there.",
            branch=branch.name,
        )
    return branch


def create(
    repo: Repository, name: str, parent_name: str, now: int, description: str | None = None
) -> Branch:
    """Fork a branch from where its parent stands, waiting rows included.

    Raises:
        InvalidRequest: the name breaks the rule.
        BranchExists: the name is taken.
        UnknownBranch: there is no such parent.
        RequestReused: the request made another branch.
    """
    parent = find(repo, parent_name)
    return fork(repo, replace(new_below(repo, parent, name, now), description=description))


def check_free(repo: Repository, name: str, branch_id: str | None = None) -> str:
    """Hold the name of a new branch against the rule and the branches there are.

    The branch of `branch_id` may have it: a request that is repeated asks for its own.

    Raises:
        InvalidRequest: the name breaks the rule.
        BranchExists: the name is taken.
    """
    taken = repo.ledger.branch(check_name(name))
    if taken is not None and taken.id != branch_id:
        hint = "choose another name"
        if taken.retired_tip is not None:
            hint = f"it was retired, and `day1 switch {taken.name}` brings it back; or {hint}"
        raise BranchExists(
            f"A branch {taken.name!r} exists already (case does not count): {hint}.",
            branch=taken.name,
        )
    return name


def fork(
    repo: Repository, branch: Branch, *records: object, fill: Callable[[], None] | None = None
) -> Branch:
    """Make the ref of a new branch at its `fork_commit`, and note it with what it is made for.

    With `fill` the branch is there only once that has put its first commit on it: nobody sees it
    before, and a process that dies on the way leaves nothing.

    A branch that the same request made before is answered as it is.

    Raises:
        BranchExists: another process was quicker.
        RequestReused: the request made another branch.
    """
    noted: list[Json] = [[type(record).__name__, to_json(record)] for record in records]
    payload: dict[str, Json] = {"branch": to_json(branch), "records": noted}
    with deed(repo, "fork" if fill is None else "fill", payload, branch.created_at):
        # As no other deed is going on, what is found stays so.
        same = {"name": branch.name, "parent_id": branch.parent_id}
        first = made_by(repo.ledger, Branch, branch.id, **same, description=branch.description)
        if first is not None:
            return first
        check_free(repo, branch.name)
        repo.point("fork.after_intent")
        repo.history.fork(branch.name, str(branch.fork_commit))
        repo.point("fork.after_deed")
        if fill is not None:
            fill()
            repo.point("fill.after_rows")
        record_fork(repo, branch, records)
        repo.point("fork.after_ledger")
    return branch


def new_below(repo: Repository, parent: Branch, name: str, now: int) -> Branch:
    """A branch that is to be forked from where its parent stands, waiting rows included."""
    branch_id = repo.new_id("branch", now)
    return Branch(
        id=branch_id,
        name=check_free(repo, name, branch_id),
        parent_id=parent.id,
        fork_commit=repo.store.cut(parent.name),
        created_at=now,
    )


Made = tuple[Branch, Sequence[object]]
"""A branch to be forked, and the records that are noted with it."""
_RACES = 100
"""Other processes that may take a name first before this one gives up."""


def fork_under(
    repo: Repository,
    wanted: Callable[[], str],
    make: Callable[[str], Made],
    there: Callable[[], Branch | None] = lambda: None,
) -> Branch:
    """The branch that is `there`, else a fork under the wanted name or the first free number."""
    for _ in range(_RACES):
        taken = [other.name for other in repo.ledger.branches()]
        # Asked after the names: whoever took one of them meanwhile has noted why by now.
        found = there()
        if found is not None:
            return found
        try:
            made, records = make(numbered(wanted(), taken))
            fork(repo, made, *records)
        except BranchExists:
            continue
        return made
    raise Conflict("Others take every such name first: try again.", branch=wanted())


def first_commit(repo: Repository, branch: str = MAIN) -> CommitId:
    """The commit at which the store was made, which holds no rows: every branch goes back to it."""
    return next(commit for commit in repo.history.log(branch) if commit.op == "init").id


def adopt(repo: Repository, now: int) -> list[str]:
    """Give ledger rows to branches that only the engine knows; says which.

    `main` of a new store is one, and every branch after a ledger was lost.
    """
    known = {branch.name for branch in repo.ledger.branches()}
    missing = [name for name in sorted(repo.history.branches()) if name not in known]
    root = repo.ledger.branch(MAIN)
    for name in sorted(missing, key=lambda n: n != MAIN):
        branch = Branch(
            id=repo.new_id("branch", now),
            name=name,
            parent_id=None if root is None else root.id,
            fork_commit=None,
            created_at=now,
        )
        repo.ledger.put_branch(branch)
        root = root or branch
    if missing and not _is_new(repo, missing):
        log.warning(
            "the ledger was not there, or lacked branches: %s are noted anew, below main. If it is "
            "elsewhere (ledger.db), stop what uses the store and put it back.",
            len(missing),
        )
    return missing


def _is_new(repo: Repository, missing: list[str]) -> bool:
    """Whether nothing was ever written to a store."""
    history = repo.history
    new = missing == [MAIN] and MAIN not in history.unsettled()
    return new and next(history.log(MAIN)).op == "init"


def states(repo: Repository) -> list[BranchState]:
    """Every branch that has a ref, with where it stands, oldest first."""
    tips, unsettled = repo.history.branches(), repo.history.unsettled()
    branches = repo.ledger.branches()
    names = {branch.id: branch.name for branch in branches}
    found = []
    for branch in branches:
        tip = tips.get(branch.name)
        if tip is None:
            continue
        # Waiting rows are counted only where the status hangs on them.
        counts = branch.merged_tip == tip and branch.name in unsettled
        pending = _pending(repo, branch) if counts else Pending()
        parent = names.get(branch.parent_id or "")
        status = branch.status(tip, pending)
        found.append(BranchState(branch, parent, tip, pending, status))
    return found


def _pending(repo: Repository, branch: Branch) -> Pending:
    with repo.store.reading(Ref(branch=branch.name)) as reading:
        return reading.pending


def enrich(
    repo: Repository,
    name: str,
    *,
    purpose: str | None = None,
    owner: str | None = None,
    ttl_days: int | None = None,
    tags: tuple[str, ...] | None = None,
) -> Branch:
    """Set the given notes of a branch and keep the others."""
    return mark(repo, name, purpose=purpose, owner=owner, ttl_days=ttl_days, tags=tags)


def mark(repo: Repository, name: str, **notes: object) -> Branch:
    """Set what is given of a branch; what others set at the same time is kept.

    Raises:
        UnknownBranch: there is no such branch.
    """
    with repo.ledger.together():
        branch = find(repo, name).noted(**notes)
        repo.ledger.put_branch(branch)
    return branch


def archive(repo: Repository, name: str, *, archived: bool = True) -> Branch:
    """Put a branch away: it stays as it is, and out of the topology unless asked for.

    Raises:
        Refused: it is `main`.
    """
    if name == MAIN:
        raise Refused("main cannot be archived.", branch=name)
    return mark(repo, name, archived=archived)


def delete(repo: Repository, name: str, current: str, now: int) -> Branch:
    """Delete a branch; what it alone reached stays behind a tag, so that nothing is lost.

    Raises:
        Refused: it is `main` or the caller's current branch.
        BranchProtected: it is protected.
        Conflict: it was written to meanwhile; it stays.
    """
    branch = refuse_loss(find(repo, name))
    if name in {MAIN, current}:
        which = "main" if name == MAIN else "the branch you are on"
        raise Refused(
            f"{name!r} is {which} and cannot be deleted; switch to another first.", branch=name
        )
    with deed(repo, "delete", {"id": branch.id, "name": name}, now):
        repo.point("delete.after_intent")
        tip = repo.store.cut(find(repo, name).name)
        # Marked before the ref goes: whoever comes now is refused, and who came before is seen.
        gone = mark(repo, name, retired_tip=tip)
        if repo.store.cut(name) != tip:
            raise Conflict(f"{name!r} was written to meanwhile, so it stays.", branch=name)
        repo.history.keep(f"keep/{branch.id}", tip)
        repo.point("delete.after_keep")
        repo.history.drop(name)
        repo.point("delete.after_deed")
        repo.ledger.remove_branch(branch.id)
        repo.point("delete.after_ledger")
    return gone


def refuse_loss(branch: Branch) -> Branch:
    """The branch, if it may be put out of the way.

    Raises:
        BranchProtected: it is protected.
    """
    if branch.protection:
        raise BranchProtected(
            f"{branch.name!r} is protected: `day1 branch --unprotect {branch.name}` lifts that.",
            branch=branch.name,
            requires=list(branch.protection),
        )
    return branch


@dataclass(frozen=True, slots=True)
class Node:
    """A branch in the tree with its children, oldest first."""

    state: BranchState
    children: tuple["Node", ...]


def topology(
    repo: Repository, root: str, *, max_depth: int = 10, include_archived: bool = False
) -> Node:
    """The tree below a branch, at most `max_depth` levels of children.

    A child whose parent is left out or gone hangs on `main`.
    """
    top = find(repo, root)
    shown = [
        s
        for s in states(repo)
        if include_archived or s.status != "archived" or s.branch.id == top.id
    ]
    ids = {s.branch.id for s in shown}
    main = next((s.branch.id for s in shown if s.branch.name == MAIN), None)
    children: dict[str, list[BranchState]] = {}
    for state in shown:
        parent = state.branch.parent_id
        if state.branch.name != MAIN:
            place = parent if parent in ids else main
            children.setdefault(place or "", []).append(state)

    def grow(state: BranchState, depth: int) -> Node:
        below = children.get(state.branch.id, []) if depth < max_depth else []
        return Node(state, tuple(grow(child, depth + 1) for child in below))

    return grow(next(s for s in shown if s.branch.id == top.id), 0)
