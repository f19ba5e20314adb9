"""Writing conversations: starting a conversation, and adding messages at its end.

`log_message` is one unit of work; the other functions work in an open unit of work.
"""

from dataclasses import dataclass, fields

from day1.model.branches.branch import Branch
from day1.model.rows.change import Query
from day1.model.rows.kind import CONVERSATION, MESSAGE, Row, complete
from day1.model.rows.origin import Origin
from day1.ports.additions import Additions
from day1.ports.reading import Reading
from day1.services.conversations.excerpts import unknown_conversation
from day1.services.conversations.order import may_bring_messages, order_of
from day1.services.repository.idempotency import BY_REQUEST, written_by
from day1.services.repository.repository import Repository
from day1.services.rows.recording import BranchAfter, new_row


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message to log."""

    role: str
    content: str
    thinking: str | None = None
    tool_calls: str | None = None
    """The calls of tools, as canonical JSON."""
    model: str | None = None
    happened_at: int | None = None
    structure: str | None = None
    """What the content was made from, as canonical JSON; redacting the message hides it too."""

    @property
    def columns(self) -> Row:
        """The message's own columns."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True, slots=True)
class LoggedMessage:
    """A logged message, its place in the conversation, and the number of rows added."""

    message_id: str
    conversation_id: str
    sequence: int
    added: int
    notes: tuple[str, ...] = ()


# Writing


def start_conversation(repo: Repository, work: Additions, origin: Origin, columns: Row) -> str:
    """Add a conversation with these columns in an open unit of work; return its id."""
    conversation_id = repo.new_id(CONVERSATION.prefix, work.now)
    work.add(CONVERSATION, [new_row(CONVERSATION, conversation_id, columns, origin, work.now)])
    return conversation_id


@dataclass(frozen=True, slots=True)
class MessageRequest:
    """Arguments of `log_message`: the message and its conversation."""

    message: NewMessage
    conversation_id: str | None = None
    """The conversation to add to; None: a new one."""
    title: str | None = None
    """The title of a new conversation."""
    request_id: str | None = None
    space: str | None = None
    """The space of a new conversation; None: no space, it is shared."""


def log_message(
    repo: Repository, branch: Branch, request: MessageRequest, origin: Origin
) -> tuple[LoggedMessage, BranchAfter]:
    """Add a message at the end of a conversation, or of a new one, as one unit of work.

    Raises:
        NotFound: the conversation is not on the branch; the message says which branches have it.
        RequestReused: the request id was used before, for another message.
    """
    with repo.store.adding(branch.name) as work:
        logged_message = add_message(repo, work, request, origin)
    if logged_message is None:
        raise unknown_conversation(repo, str(request.conversation_id), branch.name)
    return logged_message, BranchAfter.of(work, logged_message.added)


def add_message(
    repo: Repository, work: Additions, request: MessageRequest, origin: Origin
) -> LoggedMessage | None:
    """Add a message at the end of a conversation or of a new one, in an open unit of work.

    A request that is repeated adds nothing. Without a request id every call adds a message,
    since "ok" or a tool's result may occur twice.

    Returns None if the conversation is not on the branch.

    Raises:
        RequestReused: the request id was used before, for another message.
    """
    message_id, conversation_id = repo.new_id(MESSAGE.prefix, work.now), request.conversation_id
    message = request.message
    message_columns = complete(MESSAGE, message.columns)
    if request.request_id is not None:
        conversation_column: Row = (
            {} if conversation_id is None else {"conversation_id": conversation_id}
        )
        earlier_message = written_by(
            work, MESSAGE, message_id, {**message_columns, **conversation_column}
        )
        if earlier_message is not None:
            return _logged_before(repo, work, earlier_message)
    message_count, previous_id, is_new_conversation = 0, None, conversation_id is None
    if conversation_id is None:
        conversation_columns: Row = {"title": request.title, "happened_at": message.happened_at}
        conversation_columns["space"] = request.space
        conversation_id = start_conversation(repo, work, origin, conversation_columns)
    elif not work.get(CONVERSATION, [conversation_id]):
        return None
    else:
        message_count = work.count(MESSAGE, {"conversation_id": conversation_id})
        previous_id = last_message(repo, work, conversation_id)
    message_columns |= {"conversation_id": conversation_id, "previous_id": previous_id}
    work.add(MESSAGE, [new_row(MESSAGE, message_id, message_columns, origin, work.now)])
    return LoggedMessage(message_id, conversation_id, message_count + 1, 1 + is_new_conversation)


def _logged_before(repo: Repository, work: Additions, message: Row) -> LoggedMessage:
    message_id, conversation_id = str(message["id"]), str(message["conversation_id"])
    position = order_of(repo, work, conversation_id).index(message_id) + 1
    return LoggedMessage(message_id, conversation_id, position, 0, (BY_REQUEST,))


def last_message(repo: Repository, work: Additions, conversation_id: str) -> str | None:
    """Find the id of the last message of a conversation; None if it has no messages.

    Messages are added at the end, so the newest is the last, unless a commit brought messages to
    the branch or removed some since. Only then all messages of the conversation are ordered.
    """
    equal_columns = {"conversation_id": conversation_id}
    query = Query(equal=equal_columns, order="created_at", descending=True, limit=1)
    newest_messages = work.scan(MESSAGE, ("id", "created_at"), query)
    if not newest_messages:
        return None
    ((newest_id, newest_time),) = newest_messages
    if may_have_brought(work, int(newest_time or 0)):
        return order_of(repo, work, conversation_id)[-1]
    return str(newest_id)


def may_have_brought(reading: Reading, since: int) -> bool:
    """Whether a commit may have brought messages to a state since an instant, or removed some."""
    oldest_pending_time = reading.pending.oldest
    if oldest_pending_time is not None and since >= oldest_pending_time:
        return False  # pending rows are later than every commit
    for commit in reading.log():
        if commit.ts < since:
            return False
        if may_bring_messages(commit):
            return True
    return False
