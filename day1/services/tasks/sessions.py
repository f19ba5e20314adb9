"""Sessions: which agent, session and task wrote on which branch."""

from dataclasses import dataclass

from day1.model.branches.branch import Branch
from day1.model.records.merge_record import MergeRecord
from day1.model.records.session import Session, session_of
from day1.model.rows.change import Ref
from day1.model.rows.origin import Origin
from day1.services.repository.repository import Repository


def register_writer(
    repo: Repository, branch: Branch, origin: Origin, now: int, token_id: str | None = None
) -> None:
    """Record that a writer writes on a branch; repeated calls cost nothing."""
    writer_ids = (origin.agent_id, origin.session_id, origin.task_id)
    if not any((*writer_ids, token_id)):
        return
    writer_key = (branch.id, *writer_ids, token_id)
    if writer_key in repo.registered_writers:
        return
    session = session_of(branch.id, writer_ids, now, token_id)
    if repo.ledger.record(Session, session.id) is None:
        repo.ledger.put(session)
    repo.registered_writers.add(writer_key)


@dataclass(frozen=True, slots=True)
class WrittenBranch:
    """A branch that a writer wrote on, and the state to read its rows from."""

    branch: Branch
    ref: Ref
    """The branch itself, or the commit at which it was retired."""


def written_branches(
    repo: Repository,
    *,
    agent_id: str | None = None,
    session_id: str | None = None,
    task_id: str | None = None,
) -> list[WrittenBranch]:
    """Return the branches that a writer wrote on, the newest first; all given ids must match.

    A deleted branch is replaced by the branches that it was merged into.
    """
    session_fields = {"agent_id": agent_id, "session_id": session_id, "task_id": task_id}
    session_filter = {name: value for name, value in session_fields.items() if value is not None}
    sessions = repo.ledger.records(Session, **session_filter)
    branch_ids = list(dict.fromkeys(session.branch_id for session in reversed(sessions)))
    written_branch_by_id: dict[str, WrittenBranch] = {}
    for branch_id in branch_ids:
        branch = repo.ledger.record(Branch, branch_id)
        if branch is not None:
            written_branch_by_id[branch_id] = WrittenBranch(branch, ref_of(branch))
        else:
            merges = repo.ledger.records(MergeRecord, source_id=branch_id)
            branch_ids += [merge.target_id for merge in merges if merge.target_id not in branch_ids]
    return list(written_branch_by_id.values())


def ref_of(branch: Branch) -> Ref:
    """Return where to read a branch: the branch itself, or the last commit of a retired one."""
    if branch.retired_tip is not None:
        return Ref(commit=branch.retired_tip)
    return Ref(branch=branch.name)
