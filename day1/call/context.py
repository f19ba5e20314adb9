"""What one call works with: the caller, the branch, the store and its ports."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from day1.call.fields import Read, Repeatable, WriteRequest
from day1.errors import Advice, Forbidden, InvalidRequest, Json, Refused, Say, UnknownBranch
from day1.model.access.permissions import EVERYTHING, Access
from day1.model.branches.branch import MAIN, Branch
from day1.model.rows.kind import Row
from day1.model.rows.origin import Origin, SourceName
from day1.model.values.ids import ids_of_request
from day1.model.values.space import EVERY, SHARED
from day1.services.branches.lookup import find, refuse_protected
from day1.services.prime.request import PrimePorts
from day1.services.tasks.sessions import note

if TYPE_CHECKING:
    from day1.ports.chat import Chat
    from day1.ports.judge import Judge
    from day1.services.repository.repository import Repository
    from day1.services.search.request import SearchAnswer, SearchPorts


class Head(Protocol):
    """A client's active branch."""

    def name(self) -> str | None:
        """The branch it points at, which may be gone; None if it was never moved.

        Raises:
            UnknownBranch: it is known to be gone.
        """

    def move(self, name: str) -> None:
        """Point it at another branch."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls, as far as the wire knows."""

    agent_id: str | None = None
    session_id: str | None = None
    task_id: str | None = None
    source: SourceName = "agent"
    branch: str | None = None
    """A branch that the wire names for this call (`_meta`, a header)."""
    space: str | None = None
    """The space of calls that name none; None: all spaces, and for new rows none."""
    head: Head | None = None
    access: Access = EVERYTHING
    client: str | None = None
    """What tells this client from others of its token: the name it gives, or its session."""


BranchRule = Callable[[Caller], str]
"""The branch of a call that names none."""


def active_branch(caller: Caller) -> str:
    """The branch that the wire names, the client's HEAD, the token's home or main, in this order.

    Raises:
        UnknownBranch: the branch that HEAD points at is known to be gone.
    """
    head = None if caller.branch or caller.head is None else caller.head.name()
    return caller.branch or head or caller.access.home or MAIN


@dataclass(frozen=True, slots=True)
class Limits:
    """Settings that operations obey."""

    raw_characters: int = 4_000
    """`raw_input` and `raw_output` are cut here."""
    secrets: str = "warn"
    """warn, refuse or ignore what looks like a secret."""
    prime_chars: int = 1_200
    """Characters of a prime."""


def now() -> int:
    """The present instant, by the system's clock: microseconds UTC."""
    return time.time_ns() // 1000


def unseen(done: int, total: int | None) -> None:
    """Report progress to nobody."""


def never() -> bool:
    """Nobody can stop this call."""
    return False


@dataclass(frozen=True, slots=True)
class Writing:
    """What a write is done with."""

    branch: Branch
    origin: Origin
    repo: Repository
    space: str | None
    """The space of a new row; None: it is shared."""


@dataclass(frozen=True, slots=True)
class Context:
    """What one call works with."""

    repo: Repository
    search: SearchPorts
    clock: Callable[[], int]
    judge: Judge
    caller: Caller = field(default_factory=Caller)
    limits: Limits = field(default_factory=Limits)
    chat: Chat | None = None
    """A chat model, where one is configured."""
    progress: Callable[[int, int | None], None] = unseen
    """Tell the caller how many of how many are done; it costs a message, so not for each row."""
    stopped: Callable[[], bool] = never
    """Whether the caller wants no more: an operation asks between parts of its work."""

    branch_rule: BranchRule = active_branch
    """The branch of a call that names none."""
    say: Say = str
    """How the wire names a step that an answer advises."""
    configuration: Mapping[str, Json] = field(default_factory=dict)
    """The settings in force, without secrets and places."""
    prime: PrimePorts = field(default_factory=PrimePorts)
    """What primes are made with."""

    def branch(self, given: str | None) -> str:
        """The name of this call's branch: the one given, else as the rule says.

        Raises:
            UnknownBranch: there is no such branch.
        """
        return self.find(given).name

    def find(self, given: str | None) -> Branch:
        """The branch of this call, as the ledger has it.

        Raises:
            UnknownBranch: there is no such branch.
        """
        name = given or self.branch_rule(self.caller)
        branch = self.repo.ledger.branch(name)
        if branch is None or branch.name != name or branch.retired_tip is not None:
            return find(self.repo, name)  # which tells why there is none
        return branch

    def writable(self, given: str | None) -> Branch:
        """The branch of this call, if it takes writes; which token writes there is noted.

        Raises:
            UnknownBranch: there is no such branch.
            BranchClosed, BranchProtected: it takes none.
        """
        branch = self.find(given)
        if branch.closed or branch.protection:
            refuse_protected(branch)
        self.note_token(branch)
        return branch

    def note_token(self, branch: Branch) -> None:
        """Note that the caller's token writes on a branch: others may have to merge it."""
        token = self.caller.access.token_id
        if token is not None:
            note(self.repo, branch, Origin(), self.clock(), token)

    def repeatable(self, request: Repeatable, branch: Branch | None = None) -> Repository:
        """The repository; with a `request_id` its new ids follow from the request.

        The same `request_id` by another agent or on another branch is another request. So is one
        by a token with other limits, because that token cannot see what the first one wrote.
        """
        if request.request_id is None:
            return self.repo
        agent = self.agent(getattr(request, "agent_id", None))
        where = ("", *self.caller.access.branches) if branch is None else (branch.id,)
        whose = (agent or "", *where)
        ids = ids_of_request(request.request_id, *whose)
        return replace(self.repo, new_id=ids, of_request=True)

    def here(self) -> str | None:
        """The branch of a call that names none; None where it is gone or beyond the limits."""
        try:
            return self.branch(None)
        except (Forbidden, UnknownBranch):
            return None

    def origin(self, request: WriteRequest, branch: Branch | None = None) -> Origin:
        """Who writes: what the request says, else what the wire knows, else whose branch it is.

        Raises:
            Forbidden: the token is bound to another agent than the request says.
        """
        caller = self.caller
        agent, task = (branch.agent_id, branch.task_id) if branch else (None, None)
        return Origin(
            self.agent(request.agent_id) or agent,
            request.session_id or caller.session_id,
            request.task_id or caller.task_id or task,
            caller.source,
        )

    def agent(self, given: str | None) -> str | None:
        """The agent of this call: the one given, else the one that the wire knows.

        Raises:
            Forbidden: the token is bound to another agent than the one given.
        """
        access = self.caller.access
        if access.agent_id is None:
            return given or self.caller.agent_id
        return access.writes_as(given) or self.caller.agent_id

    def writer(self, request: WriteRequest, branch: Branch) -> Origin:
        """Who writes to a branch; the ledger notes it, so that the rows are found again."""
        origin = self.origin(request, branch)
        if origin.agent_id or origin.session_id or origin.task_id:
            note(self.repo, branch, origin, self.clock())
        return origin

    def writing(self, request: WriteRequest, given: str | None) -> Writing:
        """Where a write goes, who writes, and the repository with the ids of the request.

        Raises:
            UnknownBranch: there is no such branch.
            BranchClosed, BranchProtected: it takes no writes.
            Forbidden: the token is bound to another agent than the request says.
            InvalidRequest: its space is that of all rows.
        """
        branch, space = self.writable(given), getattr(request, "space", None) or self.caller.space
        if space == EVERY:
            raise InvalidRequest("A memory has one space or none: name it, or `shared`.")
        origin, repo = self.writer(request, branch), self.repeatable(request, branch)
        return Writing(branch, origin, repo, None if space == SHARED else space)

    def in_space(self, given: str | None) -> Row:
        """The condition that the space of a call puts on rows: the one given, else the caller's.

        It is a column and its value, for queries and searches; nothing for the rows of all spaces.
        """
        name = given or self.caller.space or EVERY
        return {} if name == EVERY else {"space": None if name == SHARED else name}

    def switch(self, name: str) -> None:
        """Move the client's HEAD.

        Raises:
            Refused: nothing identifies the client.
        """
        if self.caller.head is None:
            raise Refused("Nothing identifies this client, so it has no HEAD: pass `branch`.")
        self.caller.head.move(find(self.repo, name).name)


def read_found(branch: str, answer: SearchAnswer, more: Iterable[str | Advice] = ()) -> Read:
    """The state that a search was of, and how it was searched; `more` are further notes."""
    notes: list[str | Advice] = list(answer.notes)
    if answer.pending_vectors:
        notes.append(f"pending_vectors: {answer.pending_vectors}")
    return Read(
        branch=branch,
        commit=answer.commit,
        pending=answer.pending.count,
        mode=answer.mode_used,
        notes=[*notes, *more],
    )
