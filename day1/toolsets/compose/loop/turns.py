"""Recording turns: what was said, and which tools were called."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import AfterValidator

from day1.call.context import Context
from day1.call.fields import JsonObject, Response, Written
from day1.call.operation import Effect, Operation
from day1.errors import Json
from day1.model.branches.branch import Branch
from day1.model.jobs.schedule import schedule_id
from day1.model.layers.context_id import row_ids_in
from day1.model.layers.thread import Thread
from day1.model.prime.framing import without_frames
from day1.model.rows.kind import canonical
from day1.model.rows.validation import clean, fits_one_memory, secret_notes
from day1.model.values.ids import derived_id, short_hash
from day1.model.values.wallet_space import Owner
from day1.services.contexts.vectors import embeds
from day1.services.conversations.messages import NewMessage
from day1.services.jobs.jobs import NewJob, create_unless_done
from day1.services.turns.recording import SessionRecord, Turn, record_turn
from day1.services.turns.working import remember_messages
from day1.toolsets.compose.fields import (
    AgentMemoryLoopEnvelope,
    AgentMemoryScope,
    AgentMemoryTurnMessage,
    ComposeRequest,
    Content,
    Count,
    Messages,
    Name,
    RepeatableRequest,
    Role,
    Timestamp,
    envelope,
    few,
    missing,
)
from day1.toolsets.compose.said import new_message, to_store
from day1.toolsets.compose.scope import owner_of, write_of
from day1.toolsets.shared.fields import Maybe, absent


def _one_text(text: str) -> str:
    return clean(fits_one_memory(text))


_Output = Annotated[str, AfterValidator(_one_text)]
"""What a tool answered; it may be empty."""


class AgentMemoryToolEvent(ComposeRequest):
    """A call of a tool, and what it answered.

    Attributes:
        name: The tool's name.
        toolName: The tool's name, where `name` is that of an event.
        tool: The same as `toolName`.
        args: The arguments of the call.
        input: The same as `args`.
        result: What the tool answered; at most 32,768 characters.
        output: The same as `result`.
        status: How the call ended, such as ok or error.
        timestamp: When it ended, in milliseconds since 1970. Default: when it is stored.
    """

    name: Name
    toolName: Maybe[Name] = None
    tool: Maybe[Name] = None
    args: Maybe[JsonObject] = None
    input: Maybe[JsonObject] = None
    result: Maybe[_Output] = None
    output: Maybe[_Output] = None
    status: Maybe[Name] = None
    timestamp: Maybe[Timestamp] = None


_ToolEvents = Annotated[list[AgentMemoryToolEvent], AfterValidator(few)]


class AgentMemoryRecordTurnRequest(AgentMemoryScope, RepeatableRequest):
    """The arguments of `turn_record`.

    Attributes:
        contextId: The prompt that the agent had. It is not stored: what stands between the marks
            of a prompt of memory is cut out of all messages, and what that prompt showed is not
            extracted again.
        turnId: The turn's name in its thread: the same turn with the same messages is stored once.
            Default: one made from `request_id`, else a new one.
        sessionId: The session. Default: the thread, else one made from `turnId`.
        threadId: The thread: a conversation over any number of sessions. Default: the session.
        messages: What was said, in its order; 1 to 1,000 messages.
        toolEvents: The tools that were called; they are stored as messages after the others.
        userMessage: What the user said, instead of `messages`.
        assistantMessage: What the assistant answered, instead of `messages`.
        modelUsed: The model that answered.
        model: The same as `modelUsed`.
        totalTokens: Tokens of the turn; they are not stored.
        tokenCount: The same as `totalTokens`.
        contextWindow: Tokens that the model can read; not stored.
        summary: What the session is about so far; it replaces the session's summary.
        metadata: What you note of the session: its keys are set, the others stay.
        filters: Not used.
    """

    contextId: Maybe[str] = None
    turnId: Maybe[Name] = None
    sessionId: Maybe[Name] = None
    messages: Maybe[Messages] = None
    toolEvents: Maybe[_ToolEvents] = None
    userMessage: Maybe[Content] = None
    assistantMessage: Maybe[Content] = None
    modelUsed: Maybe[Name] = None
    model: Maybe[Name] = None
    totalTokens: Maybe[Count] = None
    tokenCount: Maybe[Count] = None
    contextWindow: Maybe[Count] = None
    summary: Maybe[Content] = None


class AgentMemoryTurnStored(Response):
    """What was stored of a turn."""

    transcript: bool
    working: bool
    vector: bool
    graph: bool


class AgentMemoryRecordTurnResponse(Response):
    """Where a turn was stored."""

    loop: AgentMemoryLoopEnvelope
    success: Literal[True]
    sessionId: str
    threadId: str
    turnId: str
    vectorId: Maybe[str] = absent()
    stored: AgentMemoryTurnStored
    written: Written


def turn_record(
    ctx: Context, request: AgentMemoryRecordTurnRequest
) -> AgentMemoryRecordTurnResponse:
    """Store a turn after the final answer: its messages, its tools and the working session."""
    request_messages = _messages(request)
    owner = owner_of(ctx, request)
    turn_ids = _completed_ids(request, owner)
    thread = Thread(owner, turn_ids.thread, turn_ids.session)
    new_messages = [
        *to_store(request_messages, request.modelUsed),
        *map(_event, request.toolEvents or ()),
    ]
    message_texts = (
        text for message in new_messages for text in (message.content, message.tool_calls)
    )
    notes = secret_notes(ctx.limits.secrets, *message_texts, request.summary)
    write_context = write_of(ctx, owner, turn_ids.session)
    session_record = SessionRecord(request.summary, None, request.metadata or {})
    turn = Turn(thread, turn_ids.turn, new_messages, session_record)
    recorded_turn = record_turn(
        write_context.repo, write_context.branch, turn, write_context.origin
    )
    message_ids = turn.message_ids
    has_working_session = remember_messages(
        write_context.repo, write_context.branch, thread, message_ids, ctx.clock()
    )
    has_vectors = bool(message_ids) and embeds(ctx.search.embedder)
    if message_ids and ctx.jobs.chat is not None and ctx.jobs.is_served():
        _extract_later(ctx, request, write_context.branch, message_ids)
    return AgentMemoryRecordTurnResponse(
        loop=envelope("post_turn", "remember", "pre_turn"),
        success=True,
        sessionId=turn_ids.session,
        threadId=turn_ids.thread,
        turnId=turn_ids.turn,
        vectorId=message_ids[-1] if has_vectors else None,
        stored=AgentMemoryTurnStored(
            transcript=bool(message_ids),
            working=has_working_session,
            vector=has_vectors,
            graph=False,
        ),
        written=Written(
            branch=write_context.branch.name,
            commit=recorded_turn.after.tip,
            pending=recorded_turn.after.pending,
            notes=[*notes, *recorded_turn.notes],
        ),
    )


def _extract_later(
    ctx: Context,
    request: AgentMemoryRecordTurnRequest,
    branch: Branch,
    message_ids: Sequence[str],
) -> None:
    """Create a job that extracts facts from a turn; for a repeated turn only if its job failed."""
    wallet = ctx.caller.access.writes_as(request.agentWallet) or request.agentWallet
    shown_ids = [] if request.contextId is None else row_ids_in(request.contextId)
    params: dict[str, Json] = {"messages": list(message_ids), "shown": list(shown_ids)}
    token_id = ctx.caller.access.token_id
    job_group = schedule_id("facts_extract", wallet, branch)  # of which the newest jobs are kept
    new_job = NewJob("facts_extract", "temporal", branch, (wallet,), params, token_id, job_group)
    create_unless_done(
        ctx.repo, new_job, derived_id("job", None, new_job.kind, branch.id, *message_ids)
    )


def _messages(request: AgentMemoryRecordTurnRequest) -> list[AgentMemoryTurnMessage]:
    """Return the messages of a turn, from `messages` or from the fields for single messages.

    Raises:
        InvalidRequest: there are none, or both forms are given and disagree.
    """
    role_and_text_by_field: dict[str, tuple[Role, str | None]] = {
        "userMessage": ("user", request.userMessage),
        "assistantMessage": ("assistant", request.assistantMessage),
    }
    single_messages = [
        (field, role, text)
        for field, (role, text) in role_and_text_by_field.items()
        if text is not None
    ]
    if not request.messages:
        if not single_messages:
            raise missing("messages", "is needed, or `userMessage` or `assistantMessage`")
        return [
            AgentMemoryTurnMessage.model_construct(role=role, content=text)  # both are checked
            for _, role, text in single_messages
        ]
    message_roles_and_texts = {(message.role, message.content) for message in request.messages}
    for field, role, text in single_messages:
        if (role, text) not in message_roles_and_texts:
            raise missing(field, "is not among `messages`: leave one of the two fields out")
    return request.messages


@dataclass(frozen=True, slots=True)
class _TurnIds:
    thread: str
    session: str
    turn: str


def _completed_ids(request: AgentMemoryRecordTurnRequest, owner: Owner) -> _TurnIds:
    """Fill in missing ids of a turn: thread from session or reversed, else both from the turn."""
    turn_id = request.turnId or f"turn_{_name_of_turn(request.request_id)}"
    default_thread_id = f"thread_{short_hash('compose', owner.space or '', turn_id)}"
    thread_id = request.threadId or request.sessionId or default_thread_id
    return _TurnIds(thread_id, request.sessionId or thread_id, turn_id)


def _name_of_turn(request_id: str | None) -> str:
    """Return the name of a turn: the same one for each repetition of a request, else a new one."""
    return secrets.token_hex(16) if request_id is None else short_hash("turn", request_id)


def _event(event: AgentMemoryToolEvent) -> NewMessage:
    """Build the message that stores a tool call."""
    tool_name = event.toolName or event.tool or event.name
    tool_call = {"name": tool_name, "args": event.args or event.input or {}}
    if event.status is not None:
        tool_call["status"] = event.status
    output_text = without_frames(event.result or event.output or "")
    content = output_text if output_text.strip() else f"The tool {tool_name} was called."
    return new_message("tool", content, canonical([tool_call]), None, event.timestamp)


OPERATIONS: Final = (Operation("turn_record", turn_record, Effect.WRITE),)
