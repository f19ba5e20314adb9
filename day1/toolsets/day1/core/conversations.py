"""Tools for conversations: log, list, search, fork, cherry-pick."""

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import (
    JsonList,
    Label,
    OnBranch,
    Read,
    Request,
    Response,
    Text,
    When,
    WriteRequest,
    Written,
    written,
)
from day1.call.operation import Effect, Operation
from day1.errors import InvalidRequest
from day1.model.rows.change import Ref
from day1.model.rows.kind import CONVERSATION, MESSAGE, canonical, text_of
from day1.model.values.instant import parse, show, show_optional
from day1.services.branches.lookup import branches_with
from day1.services.conversations.excerpts import (
    copy_conversation,
    part_of,
    unknown_conversation,
    up_to,
)
from day1.services.conversations.listing import recent_conversations
from day1.services.conversations.messages import MessageRequest, NewMessage, add_message
from day1.services.conversations.order import order_of
from day1.services.repository.idempotency import BY_REQUEST
from day1.services.rows.transplanting import commit_copy, put
from day1.services.search.request import Hit, SearchRequest
from day1.services.search.searching import search
from day1.services.upkeep.clocks import TOO_FAR, ahead_note
from day1.toolsets.day1.core.memory import secret_notes
from day1.toolsets.day1.core.neighbours import Neighbour, neighbours
from day1.toolsets.day1.core.search import in_brief, read_found
from day1.toolsets.shared.fields import Limit
from day1.toolsets.shared.state import read_of

Role = Literal["user", "assistant", "system", "tool"]
Place = Annotated[int, Field(ge=1)]


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
    """

    conversation_id: Annotated[Label | None, Field(description="default: a new one")] = None
    role: Role
    content: Text
    thinking: Annotated[Text | None, Field(description="never searched nor shown")] = None
    tool_calls: JsonList | None = None
    model: Label | None = None
    branch: OnBranch = None
    title: Annotated[Label | None, Field(description="of a new conversation")] = None
    happened_at: When | None = None


class MessageLogged(Response):
    """Where a message was added: its conversation, and its place there (S1-063)."""

    message_id: str
    conversation_id: str
    sequence: int
    written: Written


def log_message(ctx: Context, request: LogMessage) -> MessageLogged:
    """Add a message to a conversation, or begin one."""
    given = request.conversation_id
    if given is not None and request.title is not None:
        raise InvalidRequest("`title` goes with a new conversation, so without conversation_id.")
    calls = None if request.tool_calls is None else canonical(request.tool_calls)
    notes = secret_notes(ctx, request.content, request.thinking, calls)
    happened_at = None if request.happened_at is None else parse(request.happened_at)
    message = NewMessage(
        request.role, request.content, request.thinking, calls, request.model, happened_at
    )
    to_log = MessageRequest(message, given, request.title, request.request_id)
    write = ctx.writing(request, request.branch)
    branch, origin, repo = write.branch, write.origin, write.repo
    with ctx.repo.store.adding(branch.name) as work:
        logged = add_message(repo, work, to_log, origin)
    if logged is None:
        raise unknown_conversation(ctx.repo, str(given), branch.name)
    pending = work.pending.count + logged.added
    notes += logged.notes
    span = work.now - ctx.clock()
    if span > TOO_FAR:
        notes.append(ahead_note(span))
    return MessageLogged(
        message_id=logged.message_id,
        conversation_id=logged.conversation_id,
        sequence=logged.sequence,
        written=written(branch.name, work.tip, pending, notes),
    )


class ListConversations(Request):
    """The arguments of `memory_list_conversations` (S1-064).

    Attributes:
        session_id: Only conversations begun in this session.
        agent_id: Only conversations begun by this agent.
        task_id: Only conversations begun for this task.
        limit: How many to answer at most, by their latest messages.
    """

    branch: OnBranch = None
    session_id: Label | None = None
    agent_id: Label | None = None
    task_id: Label | None = None
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
    branch = ctx.branch(request.branch)
    asked = {c: getattr(request, c) for c in ("session_id", "agent_id", "task_id")}
    equal = {column: value for column, value in asked.items() if value is not None}
    with ctx.repo.store.reading(Ref(branch=branch)) as reading:
        return Conversations(
            result=[
                ConversationItem(
                    conversation_id=str(found.row["id"]),
                    title=found.title,
                    branch=branch,
                    session_id=text_of(found.row["session_id"]),
                    agent_id=text_of(found.row["agent_id"]),
                    task_id=text_of(found.row["task_id"]),
                    message_count=found.message_count,
                    created_at=show(int(found.row["created_at"] or 0)),
                    updated_at=show(found.updated_at),
                )
                for found in recent_conversations(reading, equal, request.limit or 20)
            ],
            read=read_of(reading, branch),
        )


class SearchMessages(Request):
    """The arguments of `memory_search_messages` (S1-065).

    Attributes:
        query: What to look for, as a question or as words.
        conversation_id: Only messages of this conversation.
        role: Only messages of this role.
        limit: How many messages to answer at most.
        search_type: By meaning (`vector`), by words (`keyword`) or by both (`hybrid`), as in
            memory_search.
        neighbours: Whether the messages before and after each hit are answered too, cut at 200
            characters.
    """

    query: Text
    branch: OnBranch = None
    conversation_id: Label | None = None
    role: Role | None = None
    limit: Limit | None = 10
    search_type: Literal["hybrid", "vector", "keyword"] | None = "hybrid"
    neighbours: Annotated[bool | None, Field(description="also the messages before and after")] = (
        False
    )


class MessageHit(Response):
    """A message that was found (S1-065)."""

    message_id: str
    conversation_id: str
    sequence: int
    role: str
    content: str
    score: float
    created_at: str
    happened_at: str | None
    agent_id: str | None
    neighbours: list[Neighbour] | None = None


class MessageHits(Response):
    """The messages that were found, best first (S1-065)."""

    result: list[MessageHit]
    read: Read


def search_messages(ctx: Context, request: SearchMessages) -> MessageHits:
    """Find messages by meaning and by words, best first."""
    branch = ctx.find(request.branch)
    ref = Ref(branch=branch.name)
    asked = {"conversation_id": request.conversation_id, "role": request.role}
    wanted = SearchRequest(
        query=request.query,
        mode=request.search_type or "hybrid",
        kinds=(MESSAGE.table,),
        limit=request.limit or 10,
        equal={column: value for column, value in asked.items() if value is not None},
    )
    answer = search(ctx.search, ref, branch.id, wanted)
    with ctx.repo.store.reading(ref) as reading:
        ids = {str(hit.row["conversation_id"]) for hit in answer.hits}
        orders = {i: order_of(ctx.repo, reading, i) for i in ids}
        near = neighbours(reading, answer.hits, orders) if request.neighbours else {}
    places = {i: place for order in orders.values() for place, i in enumerate(order, start=1)}
    return MessageHits(
        # One that was removed since it was found has no place.
        result=[_hit(hit, places, near) for hit in answer.hits if hit.row["id"] in places],
        read=read_found(branch.name, answer),
    )


def _hit(hit: Hit, places: dict[str, int], near: dict[str, list[Neighbour]]) -> MessageHit:
    row = hit.row
    return MessageHit(
        message_id=str(row["id"]),
        conversation_id=str(row["conversation_id"]),
        sequence=places[str(row["id"])],
        role=str(row["role"]),
        content=str(row["content"]),
        score=round(hit.score, 6),
        created_at=show(int(row["created_at"] or 0)),
        happened_at=show_optional(row["happened_at"]),  # type: ignore[arg-type]  # an integer column
        agent_id=text_of(row["agent_id"]),
        neighbours=near.get(str(row["id"])),
    )


class ForkConversation(WriteRequest):
    """The arguments of `memory_fork_conversation` (S1-066).

    Attributes:
        conversation_id: The conversation, by its id.
        fork_at_message_id: The last message to copy, by its id.
        branch: Where the copy is written; default: your active branch.
        title: The title of the copy; default: that of the original.
    """

    conversation_id: Label
    fork_at_message_id: Annotated[Label, Field(description="the last one copied")]
    branch: Annotated[Label | None, Field(description="target; default: active branch")] = None
    title: Label | None = None


class ConversationForked(Response):
    """The new conversation, and how many messages it has (S1-066)."""

    forked_conversation_id: str
    messages_copied: int
    written: Written


def fork_conversation(ctx: Context, request: ForkConversation) -> ConversationForked:
    """Copy a conversation up to a message into a new one that shares nothing with it."""
    target = ctx.writable(request.branch)
    looked = (ctx.branch(None), target.name)
    excerpt = up_to(ctx.repo, request.conversation_id, request.fork_at_message_id, looked)
    if request.title:
        titled = {**excerpt.conversation, "title": request.title}
        excerpt = replace(excerpt, conversation=titled)
    origin = ctx.writer(request, target)
    repo = ctx.repeatable(request, target)
    with ctx.repo.store.adding(target.name) as work:
        forked, added = copy_conversation(repo, work, excerpt, origin)
    notes = [] if added else [BY_REQUEST]
    return ConversationForked(
        forked_conversation_id=forked,
        messages_copied=len(excerpt.messages),
        written=written(target.name, work.tip, work.pending.count + added, notes),
    )


class PickConversation(WriteRequest):
    """The arguments of `memory_cherry_pick_conversation` (S1-067).

    Attributes:
        conversation_id: The conversation, by its id.
        target_branch: The branch to copy it to.
        from_sequence: The first message to take, by its place from 1; default: the first one.
        to_sequence: The last message to take, by its place; default: the last one.
    """

    conversation_id: Label
    target_branch: Label
    from_sequence: Annotated[Place | None, Field(description="inclusive, as to_sequence")] = None
    to_sequence: Place | None = None


class ConversationPicked(Response):
    """What was copied; `new_conversation_id` is the id on the target, which is the same.

    Checklist: S1-067.
    """

    new_conversation_id: str
    messages_copied: int
    written: Written


def pick_conversation(ctx: Context, request: PickConversation) -> ConversationPicked:
    """Take messages to another branch as they are: ids stay, so later merges are silent."""
    chosen, first, last = request.conversation_id, request.from_sequence, request.to_sequence
    if first is not None and last is not None and first > last:
        raise InvalidRequest("`from_sequence` is later than `to_sequence`: swap them.")
    target = ctx.writable(request.target_branch).name
    sources = branches_with(ctx.repo, CONVERSATION, chosen, (ctx.branch(None),))
    source = next((name for name in sources if name != target), target)
    with ctx.repo.store.reading(Ref(branch=source)) as reading:
        rows = part_of(ctx.repo, reading, chosen, first, last)
    with ctx.repo.store.changing(target) as work:
        copied = put(work, target, rows, back=True)
        line = f"pick {chosen} from {source} into {target}: {copied.total} rows"
        commit = commit_copy(work, copied, "pick", line)
    notes = [] if copied.total else ["Nothing new to pick."]
    if copied.left:
        notes.append(f"Left as they are, with other content: {len(copied.left)} rows.")
    return ConversationPicked(
        new_conversation_id=chosen,
        messages_copied=copied.added.get(MESSAGE.table, 0),
        written=written(target, commit or work.tip, 0, notes),
    )


OPERATIONS = (
    Operation("memory_log_message", LogMessage, MessageLogged, log_message, Effect.WRITE),
    Operation(
        "memory_list_conversations",
        ListConversations,
        Conversations,
        list_conversations,
        Effect.READ,
    ),
    Operation(
        "memory_search_messages",
        SearchMessages,
        MessageHits,
        search_messages,
        Effect.READ,
        brief=in_brief,
    ),
    Operation(
        "memory_fork_conversation",
        ForkConversation,
        ConversationForked,
        fork_conversation,
        Effect.WRITE,
    ),
    Operation(
        "memory_cherry_pick_conversation",
        PickConversation,
        ConversationPicked,
        pick_conversation,
        Effect.WRITE,
        idempotent=True,
    ),
)
