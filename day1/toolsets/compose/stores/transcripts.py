"""Transcripts of sessions: storing them, indexing them, and reading them back."""

from collections.abc import Sequence
from typing import Final, Literal

from day1.call.context import Context
from day1.call.fields import Read, Response, Written, written
from day1.call.operation import Effect, Operation
from day1.errors import NotFound
from day1.model.layers.thread import Thread
from day1.model.redaction.mask import REDACTED
from day1.model.rows.change import Ref
from day1.model.rows.json_columns import read_detail
from day1.model.rows.kind import Row
from day1.model.rows.validation import secret_notes
from day1.services.access.calls import branch_of
from day1.services.contexts.vectors import embeds
from day1.services.turns.recording import SessionRecord
from day1.services.turns.transcripts import (
    NewTranscript,
    StoredTranscript,
    find_transcript,
    store_transcript,
)
from day1.services.turns.working import remember_messages
from day1.toolsets.compose.fields import (
    AgentMemoryTurnMessage,
    Content,
    Count,
    Messages,
    Metadata,
    Name,
    Number,
    RowScope,
    WalletRequired,
    Whose,
    milliseconds,
)
from day1.toolsets.compose.said import as_said, to_store
from day1.toolsets.compose.scope import owner_of, write_of
from day1.toolsets.shared.answers import read_of
from day1.toolsets.shared.fields import Maybe, absent


class TranscriptStoreRequest(WalletRequired):
    """The arguments of `transcript_store`.

    Attributes:
        sessionId: The session whose transcript it is.
        threadId: The thread that the session belongs to.
        messages: What was said, in its order, at most 1,000 messages. Those that the session has
            already are not stored again, so a transcript can be stored each time it has grown.
        tokenCount: The session's tokens so far.
        summary: What the session is about; it replaces an earlier summary.
        summaryEmbedding: Taken and not used: day1 makes its own vectors.
        metadata: What you note of the session: its keys are set, the others stay.
    """

    sessionId: Name
    threadId: Name
    messages: Messages
    tokenCount: Count
    summary: Maybe[Content] = None
    summaryEmbedding: Maybe[list[Number]] = None
    metadata: Metadata = None


class SuccessResponse(Response):
    """The call succeeded."""

    success: bool
    written: Written


class TranscriptIndexRequest(WalletRequired):
    """The arguments of `transcripts_index`.

    Attributes:
        sessionId: The session whose transcript it is.
        threadId: The thread that the session belongs to.
        messages: What was said, as for `transcript_store`.
        modelUsed: The model that answered.
        model: The same as `modelUsed`.
        totalTokens: The session's tokens so far.
        tokenCount: The same as `totalTokens`.
        rememberWorkingMemory: Whether the newest messages also stand in the working session.
    """

    sessionId: Name
    threadId: Name
    messages: Messages
    modelUsed: Maybe[Name] = None
    model: Maybe[Name] = None
    totalTokens: Maybe[Count] = None
    tokenCount: Maybe[Count] = None
    rememberWorkingMemory: Maybe[bool] = None


class TranscriptIndexResponse(Response):
    """How many of the messages are stored, and how many have a vector or wait for one."""

    indexed: bool
    messageCount: int
    vectorCount: int
    written: Written


class TranscriptGet(Whose):
    """The arguments of `transcript_get`.

    Attributes:
        id: A session or a thread.
        type: Which of the two it is. Default: a session, and if there is none, a thread.
    """

    id: Name
    type: Maybe[Literal["sessionId", "threadId"]] = None


class SessionTranscript(Response):
    """The messages of a session or thread in their order."""

    sessionId: str
    threadId: str
    agentWallet: str
    userAddress: Maybe[str] = absent()
    scope: Maybe[RowScope] = absent()
    haiId: Maybe[str] = absent()
    messages: list[AgentMemoryTurnMessage]
    summary: Maybe[str] = absent()
    tokenCount: Maybe[int] = absent()
    metadata: Metadata
    createdAt: int
    expiresAt: Maybe[int] = absent()
    read: Read


def transcript_store(ctx: Context, request: TranscriptStoreRequest) -> SuccessResponse:
    """Store the transcript of a session; messages that it has already are not stored again."""
    session_record = SessionRecord(request.summary, request.tokenCount, request.metadata or {})
    _, written_state = _store(ctx, request, session_record)
    return SuccessResponse(success=True, written=written_state)


def transcripts_index(ctx: Context, request: TranscriptIndexRequest) -> TranscriptIndexResponse:
    """Store the transcript of a session for search, and for the working session if asked."""
    session_record = SessionRecord(None, request.totalTokens)
    stored_transcript, written_state = _store(ctx, request, session_record, request.modelUsed)
    message_count = len(stored_transcript.message_ids)
    if request.rememberWorkingMemory:
        thread = Thread(owner_of(ctx, request), request.threadId, request.sessionId)
        branch = branch_of(ctx)
        if not remember_messages(
            ctx.repo, branch, thread, stored_transcript.message_ids, ctx.clock()
        ):
            written_state.notes.append("The working session was not updated.")
    return TranscriptIndexResponse(
        indexed=True,
        messageCount=message_count,
        vectorCount=message_count if embeds(ctx.search.embedder) else 0,
        written=written_state,
    )


def _store(
    ctx: Context,
    request: TranscriptStoreRequest | TranscriptIndexRequest,
    record: SessionRecord,
    model: str | None = None,
) -> tuple[StoredTranscript, Written]:
    new_messages = to_store(request.messages, model)
    message_texts = (
        text for message in new_messages for text in (message.content, message.tool_calls)
    )
    notes = secret_notes(ctx.limits.secrets, *message_texts, record.summary)
    owner = owner_of(ctx, request)
    write_context = write_of(ctx, owner, request.sessionId)
    thread = Thread(owner, request.threadId, request.sessionId)
    new_transcript = NewTranscript(thread, new_messages, record)
    stored_transcript = store_transcript(
        write_context.repo, write_context.branch, new_transcript, write_context.origin
    )
    branch_after = stored_transcript.after
    written_state = written(
        write_context.branch.name,
        branch_after.tip,
        branch_after.pending,
        (*notes, *stored_transcript.notes),
    )
    return stored_transcript, written_state


def transcript_get(ctx: Context, request: TranscriptGet) -> SessionTranscript:
    """Fetch the messages of a session or thread in their order."""
    owner = owner_of(ctx, request)
    branch_name = branch_of(ctx).name
    with ctx.repo.store.reading(ctx.repo.shown(Ref(branch=branch_name))) as reading:
        transcript = find_transcript(ctx.repo, reading, owner, request.id, request.type)
        if transcript is None:
            raise NotFound(
                f"There is no session or thread {request.id!r} of this owner: check the id, or "
                "store its messages with `transcript_store`.",
                id=request.id,
            )
        read_state = read_of(reading, branch_name)
    thread = transcript.thread
    return SessionTranscript(
        sessionId=thread.session,
        threadId=thread.name,
        agentWallet=thread.owner.wallet or "",
        userAddress=thread.owner.user,
        scope="global" if thread.owner.device is None else "local",
        haiId=thread.owner.device,
        messages=[as_said(row) for row in transcript.messages],
        **_described(transcript.record),
        createdAt=milliseconds(_created(transcript.messages)),
        read=read_state,
    )


def _described(record: Row | None) -> dict[str, object]:
    """Return the fields that describe a session: its summary, token count and metadata."""
    detail = {} if record is None else read_detail(record["detail"])
    has_summary = record is not None and detail.get("summarized") and record["summary"] != REDACTED
    token_count, metadata = detail.get("tokenCount"), detail.get("metadata")
    return {
        "summary": str(record["summary"]) if has_summary and record is not None else None,
        "tokenCount": token_count if isinstance(token_count, int) else None,
        "metadata": metadata if isinstance(metadata, dict) else {},
    }


def _created(messages: Sequence[Row]) -> int:
    return min(int(row["created_at"] or 0) for row in messages)


OPERATIONS: Final = (
    Operation("transcript_store", transcript_store, Effect.WRITE, idempotent=True),
    Operation("transcript_get", transcript_get, Effect.READ),
    Operation("transcripts_index", transcripts_index, Effect.WRITE, idempotent=True),
)
