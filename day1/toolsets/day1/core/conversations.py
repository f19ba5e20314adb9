"""Tools for conversations: log, list, search."""

from collections.abc import Iterable
from typing import Annotated, Final, Literal

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import (
    JsonList,
    Label,
    MemoryText,
    OnBranch,
    Read,
    Request,
    Response,
    Space,
    Text,
    When,
    WriteRequest,
    Written,
)
from day1.call.operation import Effect, Operation
from day1.errors import InvalidRequest, Step
from day1.model.rows.change import Ref
from day1.model.rows.kind import MESSAGE, canonical, text_of
from day1.model.rows.validation import secret_notes
from day1.model.search.passages import QuotedText
from day1.model.values.instant import parse, show, show_optional
from day1.ports.reading import Reading
from day1.services.access.calls import branch_of, in_space, writing
from day1.services.conversations import messages
from day1.services.conversations.listing import messages_within, recent_conversations
from day1.services.conversations.messages import MessageRequest, NewMessage
from day1.services.conversations.order import order_of
from day1.services.rows.spaces import empty_space
from day1.services.search.request import Hit, SearchRequest
from day1.services.search.searching import search
from day1.toolsets.day1.core.memory import written_after
from day1.toolsets.day1.core.search import in_brief
from day1.toolsets.shared.answers import (
    Full,
    PartOfText,
    Quoted,
    part_shown,
    quoted_field,
    quoted_of,
    read_found,
    read_of,
    texts_of,
)
from day1.toolsets.shared.fields import Limit

Role = Literal["user", "assistant", "system", "tool"]
Place = Annotated[int, Field(ge=1)]


FULL: Final = Step("memory_search_messages", {"full": True})


class LogMessage(WriteRequest):
    """The arguments of `memory_log_message` (S1-062).

    Attributes:
        conversation_id: The conversation to add to; default: a new one.
        role: Who speaks.
        content: What was said: this is what search finds.
        thinking: What was thought and not said: it is kept, and never searched nor shown, and left
            out of bundles.
        tool_calls: The tool calls of the message, as a JSON list of at most 32,768 characters.
        model: The model that wrote it.
        title: The title of a new conversation; refused with `conversation_id`.
        happened_at: When it was said (ISO 8601); default: unknown.
        space: The space of a new conversation, as for memory_write_fact; refused with
            `conversation_id`.
    """

    conversation_id: Annotated[Label | None, Field(description="default: a new one")] = None
    role: Role
    content: MemoryText
    thinking: Annotated[Text | None, Field(description="never searched nor shown")] = None
    tool_calls: JsonList | None = None
    model: Label | None = None
    branch: OnBranch = None
    title: Annotated[Label | None, Field(description="of a new conversation")] = None
    happened_at: When | None = None
    space: Space | None = None


class MessageLogged(Response):
    """Where a message was added: its conversation, and its place there (S1-063)."""

    message_id: str
    conversation_id: str
    sequence: int
    written: Written


def log_message(ctx: Context, request: LogMessage) -> MessageLogged:
    """Add a message to a conversation, or begin one."""
    conversation_id = request.conversation_id
    if conversation_id is not None and request.title is not None:
        raise InvalidRequest(
            "`title` is only for a new conversation: leave out `title` or `conversation_id`."
        )
    if conversation_id is not None and request.space is not None:
        raise InvalidRequest(
            "`space` is only for a new conversation: leave out `space` or `conversation_id`."
        )
    calls_json = None if request.tool_calls is None else canonical(request.tool_calls)
    notes = secret_notes(ctx.limits.secrets, request.content, request.thinking, calls_json)
    happened_at = None if request.happened_at is None else parse(request.happened_at)
    new_message = NewMessage(
        request.role, request.content, request.thinking, calls_json, request.model, happened_at
    )
    write_context = writing(ctx, request, request.branch, request.space)
    message_request = MessageRequest(
        new_message, conversation_id, request.title, request.request_id, write_context.space
    )
    logged_message, branch_after = messages.log_message(
        write_context.repo, write_context.branch, message_request, write_context.origin
    )
    return MessageLogged(
        message_id=logged_message.message_id,
        conversation_id=logged_message.conversation_id,
        sequence=logged_message.sequence,
        written=written_after(
            ctx, write_context.branch, branch_after, *notes, *logged_message.notes
        ),
    )


class ListConversations(Request):
    """The arguments of `memory_list_conversations` (S1-064).

    Attributes:
        session_id: Only conversations begun in this session.
        agent_id: Only conversations begun by this agent.
        task_id: Only conversations begun for this task.
        space: Only conversations of this space; default: what the connection says, else of all.
        limit: How many to answer at most, by their latest messages.
    """

    branch: OnBranch = None
    session_id: Label | None = None
    agent_id: Label | None = None
    task_id: Label | None = None
    space: Space | None = None
    limit: Limit | None = 20


class ConversationItem(Response):
    """A conversation and who began it; without a title, the first words of its first message.

    Checklist: S1-064.
    """

    conversation_id: str
    title: str | None
    branch: str
    session_id: str | None
    agent_id: str | None
    task_id: str | None
    message_count: int
    created_at: str
    updated_at: str


class Conversations(Response):
    """Conversations, the latest message first (S1-064)."""

    result: list[ConversationItem]
    read: Read


def list_conversations(ctx: Context, request: ListConversations) -> Conversations:
    """Conversations begun by a session, agent or for a task, latest message first."""
    branch_name = branch_of(ctx, request.branch).name
    value_by_column = {
        name: getattr(request, name) for name in ("session_id", "agent_id", "task_id")
    }
    column_conditions = {
        column: value for column, value in value_by_column.items() if value is not None
    }
    column_conditions |= in_space(ctx, request.space)
    with ctx.repo.store.reading(ctx.repo.shown(Ref(branch=branch_name))) as reading:
        conversations = recent_conversations(reading, column_conditions, request.limit or 20)
        return Conversations(
            result=[
                ConversationItem(
                    conversation_id=str(conversation.row["id"]),
                    title=conversation.title,
                    branch=branch_name,
                    session_id=text_of(conversation.row["session_id"]),
                    agent_id=text_of(conversation.row["agent_id"]),
                    task_id=text_of(conversation.row["task_id"]),
                    message_count=conversation.message_count,
                    created_at=show(int(conversation.row["created_at"] or 0)),
                    updated_at=show(conversation.updated_at),
                )
                for conversation in conversations
            ],
            read=read_of(
                reading, branch_name, *empty_space(reading, column_conditions, conversations)
            ),
        )


_CUT = 200
"""Maximum number of characters shown of the message before or after a hit."""


class Neighbour(Response):
    """The message before or after a hit, shortened."""

    message_id: str
    sequence: int
    role: str
    content: str


class SearchMessages(Request):
    """The arguments of `memory_search_messages` (S1-065).

    Attributes:
        query: What to look for, as a question or as words.
        conversation_id: Only messages of this conversation.
        role: Only messages of this role.
        limit: How many messages to answer at most.
        search_type: By meaning (`vector`), by words (`keyword`) or by both (`hybrid`), as in
            memory_search.
        space: Only messages of the conversations of this space, as in memory_list_conversations.
        neighbours: Whether the messages before and after each hit are answered too, cut at 200
            characters.
        full: As in memory_search.
    """

    query: Text
    branch: OnBranch = None
    conversation_id: Label | None = None
    role: Role | None = None
    limit: Limit | None = 10
    space: Space | None = None
    search_type: Literal["hybrid", "vector", "keyword"] | None = "hybrid"
    neighbours: Annotated[bool | None, Field(description="also the messages before and after")] = (
        False
    )
    full: Full = False


class MessageHit(Response):
    """A message that was found (S1-065); `quoted` is set if its text is a passage."""

    message_id: str
    conversation_id: str
    sequence: int
    role: str
    content: str
    quoted: Quoted | None = quoted_field()
    score: float
    created_at: str
    happened_at: str | None
    agent_id: str | None
    neighbours: list[Neighbour] | None = None
    part: PartOfText = None


class MessageHits(Response):
    """The messages that were found, best first (S1-065)."""

    result: list[MessageHit]
    read: Read


def search_messages(ctx: Context, request: SearchMessages) -> MessageHits:
    """Find messages by meaning and by words, best first."""
    branch = branch_of(ctx, request.branch)
    ref = Ref(branch=branch.name)
    value_by_column = {"conversation_id": request.conversation_id, "role": request.role}
    search_request = SearchRequest(
        query=request.query,
        mode=request.search_type or "hybrid",
        kinds=(MESSAGE.table,),
        limit=request.limit or 10,
        equal={column: value for column, value in value_by_column.items() if value is not None},
        among=messages_within(ctx.repo.store, ref, in_space(ctx, request.space)),
    )
    search_answer = search(ctx.search, ref, branch.id, search_request)
    with ctx.repo.store.reading(ref) as reading:
        conversation_ids = {str(hit.row["conversation_id"]) for hit in search_answer.hits}
        message_ids_by_conversation = {
            conversation_id: order_of(ctx.repo, reading, conversation_id)
            for conversation_id in conversation_ids
        }
        neighbours_by_id = (
            neighbours(reading, search_answer.hits, message_ids_by_conversation)
            if request.neighbours
            else {}
        )
    sequence_by_message_id = {
        message_id: sequence
        for message_ids in message_ids_by_conversation.values()
        for sequence, message_id in enumerate(message_ids, start=1)
    }
    # A message that was removed since the search has no place.
    hits = [hit for hit in search_answer.hits if hit.row["id"] in sequence_by_message_id]
    quoted_texts = texts_of(
        ctx, request.query, [hit.text for hit in hits], full=request.full, again=FULL
    )
    return MessageHits(
        result=[
            _hit(*hit_and_text, sequence_by_message_id, neighbours_by_id)
            for hit_and_text in zip(hits, quoted_texts.texts, strict=True)
        ],
        read=read_found(branch.name, search_answer, quoted_texts.notes),
    )


def neighbours(
    reading: Reading, hits: Iterable[Hit], orders: dict[str, list[str]]
) -> dict[str, list[Neighbour]]:
    """Find the messages before and after each hit."""
    neighbour_places_by_message: dict[str, list[tuple[int, str]]] = {}
    for hit in hits:
        message_id, ordered_ids = str(hit.row["id"]), orders[str(hit.row["conversation_id"])]
        if message_id in ordered_ids:
            hit_index = ordered_ids.index(message_id)
            neighbour_places_by_message[message_id] = [
                (index + 1, ordered_ids[index])
                for index in (hit_index - 1, hit_index + 1)
                if 0 <= index < len(ordered_ids)
            ]
    row_by_id = reading.get(
        MESSAGE,
        [
            neighbour_id
            for neighbour_places in neighbour_places_by_message.values()
            for _, neighbour_id in neighbour_places
        ],
    )
    return {
        message_id: [
            Neighbour(
                message_id=neighbour_id,
                sequence=sequence,
                role=str(row_by_id[neighbour_id]["role"]),
                content=_short(str(row_by_id[neighbour_id]["content"])),
            )
            for sequence, neighbour_id in neighbour_places
        ]
        for message_id, neighbour_places in neighbour_places_by_message.items()
    }


def _short(text: str) -> str:
    return text if len(text) <= _CUT else f"{text[:_CUT]} \u2026"


def _hit(
    hit: Hit, text: QuotedText, places: dict[str, int], neighbours_by_id: dict[str, list[Neighbour]]
) -> MessageHit:
    row = hit.row
    return MessageHit(
        message_id=str(row["id"]),
        conversation_id=str(row["conversation_id"]),
        sequence=places[str(row["id"])],
        role=str(row["role"]),
        content=text.text,
        quoted=quoted_of(text),
        score=round(hit.score, 6),
        created_at=show(int(row["created_at"] or 0)),
        happened_at=show_optional(row["happened_at"]),  # type: ignore[arg-type]  # an integer column
        agent_id=text_of(row["agent_id"]),
        neighbours=neighbours_by_id.get(str(row["id"])),
        part=hit.part and part_shown(hit.part),
    )


OPERATIONS = (
    Operation("memory_log_message", log_message, Effect.WRITE),
    Operation("memory_list_conversations", list_conversations, Effect.READ),
    Operation("memory_search_messages", search_messages, Effect.READ, brief=in_brief),
)
