"""Forking a branch from the present state of its parent, under a free name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from day1.errors import Advice, BranchExists, Conflict, Json, RequestReused
from day1.model.branches.branch import Branch, DeletedBranch
from day1.model.branches.names import check_name, numbered
from day1.model.catalogue import RECORDS
from day1.model.records.codec import from_json, to_json
from day1.model.records.intent import IntentKind
from day1.model.records.sharing import FILLED, Bundle
from day1.services.branches.lookup import revival_of
from day1.services.repository.idempotency import made_by
from day1.services.repository.repository import Repository


def create(
    repo: Repository, name: str, parent: Branch, now: int, description: str | None = None
) -> Branch:
    """Fork a branch from the present state of its parent, pending rows included.

    Raises:
        InvalidRequest: the name breaks the rule.
        BranchExists: the name is taken.
        RequestReused: the request made another branch.
    """
    return fork(repo, replace(new_below(repo, parent, name, now), description=description))


def check_free(repo: Repository, name: str, branch_id: str | None = None) -> str:
    """Check that the name of a new branch follows the rule for names and is free; return it.

    The branch `branch_id` may have the name: a repeated request asks for its own branch.

    Raises:
        InvalidRequest: the name breaks the rule.
        BranchExists: the name is taken.
    """
    existing_branch = repo.ledger.branch(check_name(name))
    if existing_branch is not None and existing_branch.id != branch_id:
        hint = Advice("choose another name.")
        if existing_branch.retired_tip is not None:
            hint = Advice(
                "it was retired, and {revive} brings it back; or choose another name.",
                revive=revival_of(existing_branch),
            )
        raise BranchExists(
            f"A branch {existing_branch.name!r} exists already (case does not count):",
            hint,
            branch=existing_branch.name,
        )
    return name


def fork(
    repo: Repository, branch: Branch, *records: object, fill: Callable[[], None] | None = None
) -> Branch:
    """Make a branch's ref at its `fork_commit`, then write the branch and `records` to the ledger.

    With `fill` the ledger gets the branch only after `fill` has put a first commit on it. Nobody
    sees the branch before that, and a process that dies before it leaves nothing.

    If the same request made the branch before, that branch is returned.

    Raises:
        BranchExists: another process was quicker.
        RequestReused: the request made another branch, or its branch was deleted since.
    """
    intent = ForkIntent.of(branch, records)
    intent_kind = FORK if fill is None else FILL
    # Not of the parent: its commit stays whatever happens to it, and many fork from one.
    # A repeated request makes a branch of the same id.
    locked_names = (branch.name, branch.id) if repo.of_request else (branch.name,)
    with repo.ledger.open_intent(intent_kind, intent, branch.created_at, locked_names):
        # Nobody else has an intent with this name, so no branch gets it meanwhile.
        earlier_branch = _made_before(repo, branch) if repo.of_request else None
        if earlier_branch is not None:
            return earlier_branch
        check_free(repo, branch.name)
        repo.point("fork.after_intent")
        repo.history.fork(branch.name, str(branch.fork_commit))
        repo.point("fork.after_engine")
        if fill is not None:
            fill()
            repo.point("fill.after_rows")
        with repo.ledger.ending(own=True):
            _record(repo, branch, records)
        repo.point("fork.after_ledger")
    return branch


def _made_before(repo: Repository, branch: Branch) -> Branch | None:
    """Find the branch that the same request made before.

    Raises:
        RequestReused: the request made another branch, or its branch was deleted since.
    """
    branch_fields: dict[str, object] = {"name": branch.name, "parent_id": branch.parent_id}
    branch_fields |= {"description": branch.description, "began_at": branch.began_at}
    earlier_branch = made_by(repo.ledger, Branch, branch.id, **branch_fields)
    deleted_branch = repo.ledger.record(DeletedBranch, branch.id)
    if earlier_branch is None and deleted_branch is not None:
        raise RequestReused(
            f"The branch {deleted_branch.name!r}, which this request_id made, was deleted since: "
            "a new request_id makes it again.",
            branch=deleted_branch.name,
        )
    return earlier_branch


def new_below(repo: Repository, parent: Branch, name: str, now: int) -> Branch:
    """Build the record of a branch to fork from the present state of its parent."""
    branch_id = repo.new_id("branch", now)
    return Branch(
        id=branch_id,
        name=check_free(repo, name, branch_id),
        parent_id=parent.id,
        fork_commit=repo.store.commit_pending(parent.name),
        created_at=now,
    )


NewBranch = tuple[Branch, Sequence[object]]
"""A branch to fork, and the records that the ledger gets with it."""
_RACES = 100
"""Maximum number of attempts to find a free name while other processes take names."""


def fork_under(
    repo: Repository,
    base_name: Callable[[], str],
    make: Callable[[str], NewBranch],
    existing: Callable[[], Branch | None] = lambda: None,
) -> Branch:
    """Return the branch that `existing` finds, else a fork; a taken name gets a number."""
    for _ in range(_RACES):
        taken_names = [branch.name for branch in repo.ledger.branches()]
        # Asked after the names are read: the records of a process that took one are written by now.
        existing_branch = existing()
        if existing_branch is not None:
            return existing_branch
        try:
            new_branch, records = make(numbered(base_name(), taken_names))
            fork(repo, new_branch, *records)
        except BranchExists:
            continue
        return new_branch
    raise Conflict("Other processes took every numbered name first: try again.", branch=base_name())


_KINDS: Mapping[str, type] = {record.__name__: record for record in RECORDS}
"""Classes of records by the names that intents store."""


@dataclass(frozen=True, slots=True)
class ForkIntent:
    """The intent to fork a branch and write its records to the ledger."""

    branch: Mapping[str, Json]
    records: tuple[tuple[str, Mapping[str, Json]], ...]
    """Class name and fields of each record."""

    @classmethod
    def of(cls, branch: Branch, records: Sequence[object]) -> "ForkIntent":
        """Build the intent to fork a branch with its records."""
        return cls(
            to_json(branch), tuple((type(record).__name__, to_json(record)) for record in records)
        )

    def record(self, repo: Repository) -> None:
        """Write the branch and its records if the branch has a ref and is not in the ledger yet."""
        branch = from_json(Branch, self.branch)
        if repo.ledger.branch(branch.name) is None and branch.name in repo.history.branches():
            records: list[object] = [
                from_json(_KINDS[class_name], field_values)
                for class_name, field_values in self.records
            ]
            _record(repo, branch, records)


def _record(repo: Repository, branch: Branch, records: Sequence[object]) -> None:
    """Write a branch and its records to the ledger."""
    with repo.ledger.transaction():
        repo.ledger.put_branch(branch)
        for record in records:
            if isinstance(record, Bundle) and record.commit == FILLED:
                tip = repo.history.branches()[branch.name]
                repo.ledger.put(replace(record, commit=tip))
            else:
                repo.ledger.put(record)


def _finish_fork(repo: Repository, intent: ForkIntent) -> None:
    """Finish an interrupted fork if the branch's ref exists."""
    intent.record(repo)


def _finish_fill(repo: Repository, intent: ForkIntent) -> None:
    """Finish an interrupted fork with first rows if they are committed, else drop its ref."""
    branch = from_json(Branch, intent.branch)
    tip = repo.history.branches().get(branch.name)
    if tip == branch.fork_commit and repo.ledger.branch(branch.name) is None:
        repo.history.drop(branch.name)
    else:
        intent.record(repo)


FORK = IntentKind("fork", ForkIntent, _finish_fork)
FILL = IntentKind("fill", ForkIntent, _finish_fill)
