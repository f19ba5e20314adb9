"""Working sessions: what an agent has at hand in a session, for a day after the last write."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Final

from pydantic import AfterValidator

from day1.call.context import Context
from day1.call.fields import JsonObject, Read, Response
from day1.call.operation import Effect, Operation
from day1.errors import NotFound
from day1.model.layers.working import WorkingMemory
from day1.model.rows.change import Ref
from day1.model.rows.validation import secret_notes
from day1.services.access.calls import branch_of
from day1.services.turns.working import WorkingSession, find_working, lines_of, write_working
from day1.toolsets.compose.fields import (
    Content,
    Metadata,
    Name,
    RowScope,
    WalletRequired,
    few,
    milliseconds,
)
from day1.toolsets.compose.scope import owner_of
from day1.toolsets.shared.answers import read_of
from day1.toolsets.shared.fields import Maybe, absent

_Lines = Annotated[list[Content], AfterValidator(few)]


class WorkingSessionGet(WalletRequired):
    """The arguments of `sessions_working_get`.

    Attributes:
        sessionId: The session. Who knows its id and the wallet can read it, so take ids that
            nobody can guess.
        userAddress: The user; the sessions of another one are not found.
    """

    sessionId: Name


class WorkingSessionUpdateRequest(WalletRequired):
    """The arguments of `sessions_working_update`.

    Attributes:
        sessionId: The session; it belongs to the user who writes to it first.
        threadId: The thread that the session goes on in.
        context: Lines to add; those that it has are not added again.
        entities: What is known of names: its keys are set, the others stay.
        state: Where the work stands: its keys are set, the others stay.
        metadata: What you note of the session: its keys are set, the others stay.
        replace: Whether each part that is given replaces what was there. With `context` the
            messages of recorded turns go, too.
    """

    sessionId: Name
    threadId: Maybe[Name] = None
    context: Maybe[_Lines] = None
    entities: Maybe[JsonObject] = None
    state: Maybe[JsonObject] = None
    metadata: Metadata = None
    replace: Maybe[bool] = None


class WorkingMemoryParts(Response):
    """What a session has at hand: lines and messages of turns, entities and state."""

    context: list[str]
    entities: dict[str, Any]
    state: dict[str, Any]


class SessionMemory(Response):
    """A working session; its times are in milliseconds since 1970."""

    sessionId: str
    agentWallet: str
    userAddress: Maybe[str] = absent()
    threadId: Maybe[str] = absent()
    scope: Maybe[RowScope] = absent()
    haiId: Maybe[str] = absent()
    workingMemory: WorkingMemoryParts
    metadata: Metadata = absent()
    compressed: bool
    createdAt: int
    expiresAt: int
    lastAccessedAt: int


class SessionMemoryResponse(Response):
    """A working session, and the state of memory that its messages were read from."""

    session: SessionMemory
    read: Read


class WorkingSessionUpdateResponse(Response):
    """A working session after a change."""

    success: bool
    session: SessionMemory
    read: Read


def sessions_working_get(ctx: Context, request: WorkingSessionGet) -> SessionMemoryResponse:
    """Read the working memory of a session; reading does not prolong it."""
    owner, branch = owner_of(ctx, request), branch_of(ctx)
    working = find_working(ctx.repo, branch, owner, request.sessionId, ctx.clock())
    if working is None:
        raise NotFound(
            "There is no such working session: it ends 24 hours after the last write.",
            session_id=request.sessionId,
        )
    session, read = _shown(ctx, branch.name, request, working)
    return SessionMemoryResponse(session=session, read=read)


def sessions_working_update(
    ctx: Context, request: WorkingSessionUpdateRequest
) -> WorkingSessionUpdateResponse:
    """Merge into the working memory of a session, or replace parts of it."""
    owner, branch = owner_of(ctx, request), branch_of(ctx)
    notes = secret_notes(ctx.limits.secrets, *(request.context or ()))

    def change(memory: WorkingMemory) -> WorkingMemory:
        return _changed(memory, request)

    working_key = owner, request.sessionId
    working = write_working(ctx.repo, branch, working_key, change, ctx.clock())
    session, read = _shown(ctx, branch.name, request, working)
    read.notes.extend(notes)
    return WorkingSessionUpdateResponse(success=True, session=session, read=read)


def _changed(memory: WorkingMemory, request: WorkingSessionUpdateRequest) -> WorkingMemory:
    names = ("context", "entities", "state", "metadata")
    new_values = {name: v for name in names if (v := getattr(request, name)) is not None}
    if "context" in new_values:
        new_values["context"] = tuple(new_values["context"])
    if not request.replace:
        return memory.merged(WorkingMemory(thread=request.threadId, **new_values))
    messages = () if "context" in new_values else memory.messages
    thread = request.threadId or memory.thread
    return replace(memory, thread=thread, messages=messages, **new_values)


def _shown(
    ctx: Context,
    branch: str,
    request: WorkingSessionGet | WorkingSessionUpdateRequest,
    found: WorkingSession,
) -> tuple[SessionMemory, Read]:
    memory = found.memory
    with ctx.repo.store.reading(ctx.repo.shown(Ref(branch=branch))) as reading:
        lines = lines_of(reading, memory)
        read_state = read_of(reading, branch)
    session_memory = SessionMemory(
        sessionId=request.sessionId,
        agentWallet=str(request.agentWallet),
        userAddress=memory.user,
        threadId=memory.thread,
        scope="global" if memory.device is None else "local",
        haiId=memory.device,
        workingMemory=WorkingMemoryParts(
            context=lines, entities=_object(memory.entities), state=_object(memory.state)
        ),
        metadata=_object(memory.metadata) or None,
        compressed=False,
        createdAt=milliseconds(found.created_at),
        expiresAt=milliseconds(found.expires_at),
        lastAccessedAt=milliseconds(found.changed_at),
    )
    return session_memory, read_state


def _object(value: Mapping[str, Any]) -> dict[str, Any]:
    return dict(value)


OPERATIONS: Final = (
    Operation("sessions_working_get", sessions_working_get, Effect.READ),
    Operation("sessions_working_update", sessions_working_update, Effect.WRITE),
)
