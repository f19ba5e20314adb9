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
    working_session = find_working(ctx.repo, branch, owner, request.sessionId, ctx.clock())
    if working_session is None:
        raise NotFound(
            "There is no such working session; a session ends 24 hours after its last write.",
            session_id=request.sessionId,
        )
    session_memory, read_state = _shown(ctx, branch.name, request, working_session)
    return SessionMemoryResponse(session=session_memory, read=read_state)


def sessions_working_update(
    ctx: Context, request: WorkingSessionUpdateRequest
) -> WorkingSessionUpdateResponse:
    """Merge into the working memory of a session, or replace parts of it."""
    owner, branch = owner_of(ctx, request), branch_of(ctx)
    notes = secret_notes(ctx.limits.secrets, *(request.context or ()))

    def change(memory: WorkingMemory) -> WorkingMemory:
        return _changed(memory, request)

    working_key = owner, request.sessionId
    working_session = write_working(ctx.repo, branch, working_key, change, ctx.clock())
    session_memory, read_state = _shown(ctx, branch.name, request, working_session)
    read_state.notes.extend(notes)
    return WorkingSessionUpdateResponse(success=True, session=session_memory, read=read_state)


def _changed(memory: WorkingMemory, request: WorkingSessionUpdateRequest) -> WorkingMemory:
    field_names = ("context", "entities", "state", "metadata")
    new_values = {
        field: new_value
        for field in field_names
        if (new_value := getattr(request, field)) is not None
    }
    if "context" in new_values:
        new_values["context"] = tuple(new_values["context"])
    if not request.replace:
        return memory.merged(WorkingMemory(thread=request.threadId, **new_values))
    message_ids = () if "context" in new_values else memory.messages
    thread_id = request.threadId or memory.thread
    return replace(memory, thread=thread_id, messages=message_ids, **new_values)


def _shown(
    ctx: Context,
    branch: str,
    request: WorkingSessionGet | WorkingSessionUpdateRequest,
    found: WorkingSession,
) -> tuple[SessionMemory, Read]:
    working_memory = found.memory
    with ctx.repo.store.reading(ctx.repo.shown(Ref(branch=branch))) as reading:
        context_lines = lines_of(reading, working_memory)
        read_state = read_of(reading, branch)
    session_memory = SessionMemory(
        sessionId=request.sessionId,
        agentWallet=str(request.agentWallet),
        userAddress=working_memory.user,
        threadId=working_memory.thread,
        scope="global" if working_memory.device is None else "local",
        haiId=working_memory.device,
        workingMemory=WorkingMemoryParts(
            context=context_lines,
            entities=_object(working_memory.entities),
            state=_object(working_memory.state),
        ),
        metadata=_object(working_memory.metadata) or None,
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
