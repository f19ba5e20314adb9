"""Resolving a call: its branch, space and author, and new ids derived from its request id.

The ledger records who writes on a branch: to find the rows of an agent, session or task, and so
that a review knows its authors.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from day1.errors import Forbidden, InvalidRequest, UnknownBranch
from day1.model.branches.branch import MAIN, Branch
from day1.model.rows.kind import EDIT, Row
from day1.model.rows.origin import Origin
from day1.model.values.ids import ids_of_request
from day1.model.values.space import EVERY, SHARED
from day1.services.access.caller import Caller
from day1.services.branches.lookup import find, refuse_protected
from day1.services.repository.repository import Repository
from day1.services.tasks.sessions import register_writer

BranchRule = Callable[[Caller], str]
"""A function that chooses the branch of a call that names none."""


def now() -> int:
    """Return the present time by the system's clock: microseconds UTC."""
    return time.time_ns() // 1000


class Call(Protocol):
    """A call: the store as its caller may see it, the caller, and the clock."""

    @property
    def repo(self) -> Repository:
        """The store, limited to the branches that the caller may see."""

    @property
    def caller(self) -> Caller:
        """The agent or person who calls, with their rights."""

    @property
    def clock(self) -> Callable[[], int]:
        """The function that returns the present time: microseconds UTC."""

    @property
    def branch_rule(self) -> BranchRule:
        """The function that chooses the branch of a call that names none."""


class Repeatable(Protocol):
    """Arguments of a call that a client may safely repeat with the same request id."""

    @property
    def request_id(self) -> str | None:
        """The client's id for the request, used for no other; None: no id."""


class Signed(Repeatable, Protocol):
    """Arguments that say who writes; one that is None is taken from the caller's connection."""

    @property
    def agent_id(self) -> str | None:
        """The agent that writes."""

    @property
    def session_id(self) -> str | None:
        """The session that writes."""

    @property
    def task_id(self) -> str | None:
        """The task that the write is for."""


@dataclass(frozen=True, slots=True)
class Writing:
    """The branch, author, store and space of a write."""

    branch: Branch
    origin: Origin
    repo: Repository
    """The store; with a `request_id`, the ids of new rows are derived from it."""
    space: str | None
    """The space of a new row; None: no space, it is shared."""


def active_branch(caller: Caller) -> str:
    """Choose the branch that the request names, else HEAD, else the token's home, else main.

    Raises:
        UnknownBranch: the branch that HEAD points at is known to be deleted.
    """
    head_name = None if caller.branch or caller.head is None else caller.head.name()
    return caller.branch or head_name or caller.access.home or MAIN


def branch_of(call: Call, name: str | None = None) -> Branch:
    """Find the branch of a call: the named one, else the one that the rule chooses.

    Raises:
        UnknownBranch: there is no such branch.
    """
    name = name or call.branch_rule(call.caller)
    branch = call.repo.ledger.branch(name)
    if branch is None or branch.name != name or branch.retired_tip is not None:
        return find(call.repo, name)  # raises the error that says why it is missing
    return branch


def active_or_none(call: Call) -> str | None:
    """Return the branch of a call that names none; None if it is deleted or not visible."""
    try:
        return branch_of(call).name
    except (Forbidden, UnknownBranch):
        return None


def in_space(call: Call, space: str | None) -> Row:
    """Build the condition on rows for the space of a call: the given one, else the caller's.

    The condition is a column and its value, for queries; empty for the rows of all spaces.

    Raises:
        InvalidRequest: the call is about several spaces.
    """
    spaces = spaces_of(call, space)
    if len(spaces) > 1:
        raise InvalidRequest(
            "This call is about one space, and its caller sees several: name one.",
            spaces=list(spaces),
        )
    return {"space": spaces[0]} if spaces else {}


def spaces_of(call: Call, space: str | None) -> tuple[str | None, ...]:
    """Return the spaces whose rows a call sees: the given one, else all of its caller's.

    None stands for the rows without a space; an empty result for the rows of all spaces.
    """
    space_names = (space,) if space else (call.caller.space, *call.caller.sees)
    distinct_names = dict.fromkeys(name for name in space_names if name)
    if EVERY in distinct_names:
        return ()
    return tuple(None if name == SHARED else name for name in distinct_names)


def writing(
    call: Call, request: Signed, name: str | None = None, space: str | None = None
) -> Writing:
    """Resolve what a write needs: the branch and space that the call names, else the caller's.

    Raises:
        UnknownBranch: there is no such branch.
        BranchClosed, BranchProtected: rows cannot be written to the branch.
        Forbidden: the token is bound to another agent than the request says.
        InvalidRequest: the space is the word for all spaces.
    """
    branch = writable(call, name)
    space = new_space(call, space)
    origin = writer(call, request, branch)
    return Writing(branch, origin, repeatable(call, request, branch), space)


def new_space(call: Call, space: str | None) -> str | None:
    """Return the space of a new row: the given one, else the caller's; None for no space.

    Raises:
        InvalidRequest: it is the word for all spaces.
    """
    space = space or call.caller.space
    if space == EVERY:
        raise InvalidRequest("A memory has one space or none: name a space, or `shared`.")
    return None if space == SHARED else space


@dataclass(frozen=True, slots=True)
class _Unsigned:
    """Arguments that do not say who writes."""

    request_id: str | None
    agent_id: None = None
    session_id: None = None
    task_id: None = None


def write_here(call: Call, request: Repeatable) -> Writing:
    """Resolve what a write needs from its caller alone: the caller's branch, agent and space."""
    return writing(call, _Unsigned(request.request_id))


def writable(call: Call, name: str | None) -> Branch:
    """Find the branch of a write, and record the caller's token as a writer on it.

    Raises:
        UnknownBranch: there is no such branch.
        BranchClosed, BranchProtected: rows cannot be written to the branch.
    """
    branch = branch_of(call, name)
    if branch.closed or branch.protection:
        refuse_protected(branch)
    note_token(call, branch)
    return branch


def note_token(call: Call, branch: Branch) -> None:
    """Record that the caller's token writes on a branch: others may have to merge the branch."""
    token_id = call.caller.access.token_id
    if token_id is not None:
        register_writer(call.repo, branch, Origin(), call.clock(), token_id)


def writer(call: Call, request: Signed, branch: Branch) -> Origin:
    """Resolve who writes to a branch, and record it in the ledger.

    Raises:
        Forbidden: the token is bound to another agent than the request says.
    """
    origin = origin_of(call, request, branch)
    if origin.agent_id or origin.session_id or origin.task_id:
        register_writer(call.repo, branch, origin, call.clock())
    return origin


def origin_of(call: Call, request: Signed, branch: Branch | None = None) -> Origin:
    """Resolve who writes: as the arguments say, else the connection, else the branch.

    Raises:
        Forbidden: the token is bound to another agent than the request says.
    """
    caller = call.caller
    branch_agent_id, branch_task_id = (branch.agent_id, branch.task_id) if branch else (None, None)
    return Origin(
        agent_of(caller, request.agent_id) or branch_agent_id,
        request.session_id or caller.session_id,
        request.task_id or caller.task_id or branch_task_id,
        caller.source,
    )


def agent_of(caller: Caller, agent_id: str | None = None) -> str | None:
    """Resolve the agent of a call: as its arguments say, else its token, else its connection.

    Raises:
        Forbidden: the token is bound to another agent than `agent_id`.
    """
    access = caller.access
    if access.agent_id is None:
        return agent_id or caller.agent_id
    return access.writes_as(agent_id) or caller.agent_id


def repeatable(
    call: Call, request: Repeatable, branch: Branch | None = None, part: int | None = None
) -> Repository:
    """Return the store; with a `request_id`, the ids of new rows are derived from it.

    For one part of a request, `part` is the number of the part; each part gets other ids.

    The same `request_id` by another agent or on another branch is another request. So is one
    by a token with other limits, or by a caller who sees several other spaces: such a caller
    cannot see what the first one wrote.
    """
    if request.request_id is None:
        return call.repo
    caller = call.caller
    agent_id = agent_of(caller, getattr(request, "agent_id", None))
    branch_limits = ("", *caller.access.branches) if branch is None else (branch.id,)
    spaces = sorted(spaces_of(call, None), key=str) if caller.sees else ()
    space_parts = (f"sees {space}" for space in spaces)
    part_labels = () if part is None else (f"part {part}",)
    new_id = ids_of_request(
        request.request_id, agent_id or "", *branch_limits, *space_parts, *part_labels
    )
    return replace(call.repo, new_id=new_id, of_request=True)


def made_already(call: Call, request: Repeatable, record_class: type, prefix: str) -> bool:
    """Whether an earlier call with the same `request_id` made its first record of a class."""
    if request.request_id is None:
        return False
    record_id = repeatable(call, request).new_id(prefix, 0)
    return call.repo.ledger.record(record_class, record_id) is not None


def first_edit(
    call: Call, request: Repeatable, branch: Branch, part: int | None = None
) -> str | None:
    """Return the id of the first edit of a request, or of its part; None without a `request_id`."""
    if request.request_id is None:
        return None
    return repeatable(call, request, branch, part).new_id(EDIT.prefix, 0)
