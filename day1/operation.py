"""One typed operation for every wire: name, request, response, function, effect.

`Operation.call` is the only door: it validates, runs and dumps. Nothing enters elsewhere.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Generic, Protocol, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    JsonValue,
    ValidationError,
)

from day1.errors import Day1Error, Forbidden, InvalidRequest, Json, Refused, UnknownBranch
from day1.model.access import EVERYTHING, Access, Scope
from day1.model.branch import MAIN, Branch
from day1.model.ids import ids_of_request
from day1.model.instant import parse
from day1.model.meanings import put_meanings
from day1.model.origin import MAX_LABEL, Origin, Source
from day1.model.problems import invalid
from day1.model.sound import MAX_TEXT, clean, sound
from day1.services.branching import find, refuse_protected
from day1.services.sessions import note

if TYPE_CHECKING:
    from day1.ports.chat import Chat
    from day1.ports.judge import Judge
    from day1.services.deeds import Repository
    from day1.services.searching import SearchPorts

log = logging.getLogger(__name__)


class Effect(Enum):
    """What an operation does to memory; each wire turns it into its own hints."""

    READ = "read"
    WRITE = "write"
    DESTROY = "destroy"


def _timed(text: str) -> str:
    try:
        parse(text)
    except InvalidRequest as exc:
        raise ValueError(str(exc)) from exc
    return text


def _filled(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    return text


Text = Annotated[
    str, Field(min_length=1, max_length=MAX_TEXT), AfterValidator(clean), AfterValidator(_filled)
]
"""What memory is made of: not empty, no NUL, at most 32,768 characters."""
LongText = Annotated[str, AfterValidator(clean)]
"""Debugging output: cut by the operation instead of refused."""
Label = Annotated[
    str, Field(min_length=1, max_length=MAX_LABEL), AfterValidator(clean), AfterValidator(_filled)
]
"""A short name."""
Labels = Annotated[list[Label], Field(max_length=100)]
"""Tags and the like: every list of what they are on repeats them."""
When = Annotated[Label, AfterValidator(_timed)]
"""A date or time as ISO 8601 has it; what does not fit is refused by the argument's name."""
OnBranch = Annotated[Label | None, Field(description="default: your active branch, at first main")]
"""The branch of a call."""


JsonObject = Annotated[dict[str, JsonValue], AfterValidator(sound)]
"""Open JSON: its texts as clean as `Text`, its numbers finite, no longer than a text."""
JsonList = Annotated[list[JsonValue], AfterValidator(sound)]
"""The same as a list."""


class Request(BaseModel):
    """What a caller says; unknown arguments are refused, by name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: Any, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Give each argument the meaning that the docstring tells of it."""
        schema = handler(core_schema)
        put_meanings(cls, handler.resolve_ref_schema(schema))
        return schema


class Repeatable(Request):
    """A call that writes: with the same `request_id` it is one call, however often it is made.

    Attributes:
        request_id: A name for this call, used for no other: calling again with it writes nothing
            more, and is answered with what was written.
    """

    request_id: Label | None = None


class WriteRequest(Repeatable):
    """A write may say who writes (checklist S1-088).

    Attributes:
        agent_id: Who writes: any name that tells agents apart. Default: what the connection or
            token says, else the agent whose branch of a task it is.
        session_id: The session that it is written in, by which memory_session_context finds it
            again. Default: what the connection says.
        task_id: The task that it is written for. Default: what the connection says, else the task
            whose branch it is.
    """

    agent_id: Label | None = None
    session_id: Label | None = None
    task_id: Label | None = None


class Read(BaseModel):
    """The state that an answer was read from."""

    branch: str | None
    commit: str
    pending: int = 0
    """Rows that no commit holds yet."""
    mode: str | None = None
    notes: list[str] = Field(default_factory=list)


class Written(BaseModel):
    """Where a write went."""

    branch: str
    commit: str
    pending: int = 0
    notes: list[str] = Field(default_factory=list)


class Response(BaseModel):
    """An answer; a field called `result` makes it a list on wires that have one."""

    model_config = ConfigDict(frozen=True)


class Head(Protocol):
    """A client's own active branch."""

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
    source: Source = "agent"
    branch: str | None = None
    """A branch that the wire names for this call (`_meta`, a header)."""
    head: Head | None = None
    access: Access = EVERYTHING


@dataclass(frozen=True, slots=True)
class Limits:
    """Settings that operations obey."""

    raw_characters: int = 4_000
    """`raw_input` and `raw_output` are cut here."""
    secrets: str = "warn"
    """warn, refuse or ignore what looks like a secret."""


def unseen(done: int, total: int | None) -> None:
    """Report progress to nobody."""


def never() -> bool:
    """Nobody can stop this call."""
    return False


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

    def branch(self, given: str | None) -> str:
        """The branch of this call: given, named by the wire, the client's HEAD, else main.

        Raises:
            UnknownBranch: there is no such branch.
        """
        return self._branch(given).name

    def writable(self, given: str | None) -> Branch:
        """The branch of this call, if it takes writes; which token writes there is noted.

        Raises:
            UnknownBranch: there is no such branch.
            BranchClosed, BranchProtected: it takes none.
        """
        branch = refuse_protected(self._branch(given))
        self.note_token(branch)
        return branch

    def note_token(self, branch: Branch) -> None:
        """Note that the caller's token writes on a branch: others may have to merge it."""
        token = self.caller.access.token_id
        if token is not None:
            note(self.repo, branch, Origin(), self.clock(), token)

    def _branch(self, given: str | None) -> Branch:
        name = given or self.caller.branch
        if name is None and self.caller.head is not None:
            name = self.caller.head.name()
        return find(self.repo, name or self.caller.access.home or MAIN)

    def repeatable(self, request: Repeatable, branch: Branch | None = None) -> Repository:
        """The repository, whose new ids are those of the request if it has a `request_id`.

        The same `request_id` of another agent, or on another branch, is another request; so is
        one of a token with other limits, which does not see what it would write anew.
        """
        if request.request_id is None:
            return self.repo
        agent = self.agent(getattr(request, "agent_id", None))
        where = ("", *self.caller.access.branches) if branch is None else (branch.id,)
        whose = (agent or "", *where)
        return replace(self.repo, new_id=ids_of_request(request.request_id, *whose))

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
        return self.caller.access.writes_as(given) or self.caller.agent_id

    def writer(self, request: WriteRequest, branch: Branch) -> Origin:
        """Who is about to add rows to a branch, noted so that those rows are found again."""
        origin = self.origin(request, branch)
        note(self.repo, branch, origin, self.clock())
        return origin

    def switch(self, name: str) -> None:
        """Move the client's HEAD.

        Raises:
            Refused: nothing identifies the client.
        """
        if self.caller.head is None:
            raise Refused("Nothing identifies this client, so it has no HEAD: pass `branch`.")
        self.caller.head.move(find(self.repo, name).name)


def written(branch: str, commit: str, pending: int = 0, notes: Iterable[str] = ()) -> Written:
    """Say where a write went, and how many rows no commit holds yet."""
    return Written(branch=branch, commit=commit, pending=pending, notes=list(notes))


Q = TypeVar("Q", bound=Request)
R = TypeVar("R", bound=Response)


@dataclass(frozen=True, slots=True)
class Operation(Generic[Q, R]):
    """A tool, a route, a command: declared once."""

    name: str
    request: type[Q]
    response: type[R]
    run: Callable[[Context, Q], R]
    effect: Effect
    idempotent: bool = False
    scope: Scope | None = None
    """What a token needs for it; default: read for what reads, else write."""

    def call(self, ctx: Context, arguments: Mapping[str, Any]) -> dict[str, Json]:
        """Validate, run and dump; the answer is the structured form.

        Raises:
            InvalidRequest: the arguments do not fit; every problem is named.
            Day1Error: as the operation says.
        """
        started, outcome = time.perf_counter(), "ok"
        try:
            ctx.caller.access.require(self.needs, self.name)
            request = self.request.model_validate(dict(arguments))
            with ctx.repo.ledger.steady():
                return self.run(ctx, request).model_dump(mode="json")
        except ValidationError as exc:
            outcome = InvalidRequest.code
            raise invalid(self.name, self.request, exc) from exc
        except Day1Error as exc:
            outcome = exc.code
            raise
        except Exception:
            outcome = "internal"
            raise
        finally:
            spent = round((time.perf_counter() - started) * 1e3, 1)
            log.info("%s %s %s ms", self.name, outcome, spent)

    @property
    def needs(self) -> Scope:
        """What a token needs for it."""
        return self.scope or ("read" if self.effect is Effect.READ else "write")

    @property
    def is_list(self) -> bool:
        """The seed promises a bare list."""
        return "result" in self.response.model_fields

    @property
    def description(self) -> str:
        """What an agent reads: the function's docstring."""
        lines = (self.run.__doc__ or "").strip().splitlines()
        return "\n".join(line.strip() for line in lines).strip()


Toolset = tuple[Operation[Any, Any], ...]
