"""The desks of minds: one for each client on a branch, and one for all agents of a task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Final

from day1.errors import InvalidRequest, StoreBusy, UnknownBranch
from day1.model.branches.branch import Branch
from day1.model.records.desk import Desk, desk_id, next_desk
from day1.model.records.task import Task
from day1.model.rows.kind import canonical
from day1.model.workspace.mind import MOST_BYTES, Mind, read_mind
from day1.services.access.calls import Call, branch_of
from day1.services.branches.desks import write_desk
from day1.services.repository.repository import Repository, attempts, keep_newest
from day1.services.tasks.tasks import find_task

CLIENT: Final = "gwt"
"""The client of the desks of minds."""
_MAX_MINDS: Final = 50
"""Maximum number of minds that a process keeps."""


@dataclass(frozen=True, slots=True)
class Seat:
    """The branch, the task and the agent whose mind a call is about."""

    branch: Branch
    """The branch that the call reads and writes."""
    home: str
    """The id of the branch that has the desk: the task's, else the branch of the call."""
    name: str
    task_id: str | None = None
    """The task whose agents share the mind; None: it is one client's own."""
    agent: str | None = None

    @property
    def whose(self) -> tuple[str, str, str]:
        """The branch's id, the client and the name of the desk."""
        return self.home, CLIENT, self.name


def seat_of(call: Call, branch: Branch | None = None) -> Seat:
    """Find whose mind a call is about: the task's of its caller or branch, else the caller's own.

    `branch` is the branch of the call, if it is known. A token that does not see the task of its
    branch, because it is limited to that branch, has a mind of its own.

    A caller without agent, client and token shares one mind with all such callers of the branch.

    Raises:
        NotFound: there is no such task.
        UnknownBranch: the branch of the call or of the task is gone.
    """
    branch, caller = branch or branch_of(call), call.caller
    task = (
        find_task(call.repo, caller.task_id)
        if caller.task_id
        else _visible_task_of(call.repo, branch)
    )
    if task is None:
        client_name = None if caller.agent_id else caller.client
        desk_name = canonical([caller.access.token_id, caller.agent_id, client_name])
        return Seat(branch, branch.id, desk_name, None, caller.agent_id)
    home_branch = call.repo.ledger.record(Branch, task.branch_id)
    if home_branch is None:
        raise UnknownBranch(
            "The branch of the task was deleted: name another task.", task_id=task.id
        )
    return Seat(
        branch, home_branch.id, f"task:{task.id}", task.id, caller.agent_id or branch.agent_id
    )


def _visible_task_of(repo: Repository, branch: Branch) -> Task | None:
    return None if branch.task_id is None else repo.ledger.record(Task, branch.task_id)


def mind_of(repo: Repository, seat: Seat) -> Mind:
    """Read a mind from its desk; without a desk, return an empty mind."""
    return _mind_on(repo, repo.ledger.record(Desk, desk_id(*seat.whose)))


def _mind_on(repo: Repository, desk: Desk | None) -> Mind:
    """Return the mind on a desk: as this process wrote it, if the desk still has that text."""
    if desk is None:
        return Mind()
    written_desk, written_mind = repo.minds.get(desk.id, (None, Mind()))
    is_as_written = written_desk is not None and written_desk.value == desk.value
    return written_mind if is_as_written else read_mind(desk.value)


def admit(repo: Repository, seat: Seat, ids: Sequence[str], now: int) -> Mind:
    """Put rows at the end of the buffer of a mind; return the new mind.

    The desk is read only if another process has written to it: that takes a fifth of this call.

    Raises:
        StoreBusy, UnknownBranch, InvalidRequest: as `change_mind`.
    """
    desk, mind = repo.minds.get(desk_id(*seat.whose), (None, Mind()))
    if desk is not None:
        written_mind = _write(repo, seat, desk, mind.admitted(tuple(ids), now), now)
        if written_mind is not None:
            return written_mind
    return change_mind(repo, seat, lambda mind: mind.admitted(tuple(ids), now), now)


def change_mind(
    repo: Repository,
    seat: Seat,
    change: Callable[[Mind], Mind],
    now: int,
    *,
    takes_long: bool = False,
) -> Mind:
    """Change a mind, whatever others change at the same time; return the new one.

    Args:
        repo: whose ledger has the desks.
        seat: the seat whose mind is changed.
        change: makes the new mind of the present one, perhaps several times; it returns the very
            same object if there is nothing to write.
        now: the present time: microseconds UTC.
        takes_long: whether `change` takes so long that others should not wait for it. It is called
            again if another call has written meanwhile.

    Raises:
        StoreBusy: others wrote to it during each attempt of 20 seconds.
        UnknownBranch: its branch was deleted meanwhile.
        InvalidRequest: the mind would be too long, even with its active goal alone.
    """
    exclusive_or_not = nullcontext if takes_long else repo.ledger.transaction
    for _ in attempts():
        with exclusive_or_not():
            desk = repo.ledger.record(Desk, desk_id(*seat.whose))
            present_mind = _mind_on(repo, desk)
            changed_mind = change(present_mind)
            if changed_mind is present_mind:
                return present_mind
            written_mind = _write(repo, seat, desk, changed_mind, now)
        if written_mind is not None:
            return written_mind
    raise StoreBusy("Other calls change this workspace at the same time: try again.")


def _write(repo: Repository, seat: Seat, desk: Desk | None, mind: Mind, now: int) -> Mind | None:
    """Write a mind if its desk is still `desk`; return what was written, None if it is not.

    What was written is kept, so that it need not be read from JSON again.
    """
    fitting_mind, mind_json = _fitted(mind)
    new_desk = next_desk(desk, seat.whose, mind_json, now)
    if not write_desk(repo, desk, new_desk):
        return None
    keep_newest(repo.minds, new_desk.id, (new_desk, fitting_mind), _MAX_MINDS)
    return fitting_mind


def drop_mind(repo: Repository, seat: Seat) -> None:
    """Forget a mind: its goals, buffer, workspace and trace. Memory stays."""
    repo.ledger.remove(Desk, desk_id(*seat.whose))


def _fitted(mind: Mind) -> tuple[Mind, str]:
    """Return a mind that is short enough, and its JSON."""
    mind_json = mind.value
    if len(mind_json.encode()) <= MOST_BYTES:
        return mind, mind_json
    mind = mind.fitting()
    if mind.size > MOST_BYTES:
        raise InvalidRequest(
            f"The workspace would take {mind.size:,} bytes, and may take {MOST_BYTES:,}: shorten "
            "the goal, the question or the keywords."
        )
    return mind, mind.value
