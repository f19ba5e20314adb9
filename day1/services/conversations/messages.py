"""Writing conversations: start one, and log a message at its end.

`log_message` is one unit of work; the other functions work in an open one.
"""

from dataclasses import asdict, dataclass

from day1.model.branches.branch import Branch
from day1.model.rows.change import Query
from day1.model.rows.kind import CONVERSATION, MESSAGE, Row, complete
from day1.model.rows.origin import Origin
from day1.ports.additions import Additions
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
    """Canonical JSON."""
    model: str | None = None
    happened_at: int | None = None


@dataclass(frozen=True, slots=True)
class LoggedMessage:
    """A message in its conversation; `added` are the rows that this call added."""

    message_id: str
    conversation_id: str
    sequence: int
    added: int
    notes: tuple[str, ...] = ()


# Writing


def start_conversation(repo: Repository, work: Additions, origin: Origin, said: Row) -> str:
    """Start a conversation of these columns in an open unit of work; returns its id."""
    conversation_id = repo.new_id(CONVERSATION.prefix, work.now)
    work.add(CONVERSATION, [new_row(CONVERSATION, conversation_id, said, origin, work.now)])
    return conversation_id


@dataclass(frozen=True, slots=True)
class MessageRequest:
    """A message to log, and where."""

    message: NewMessage
    conversation_id: str | None = None
    """Default: a new conversation."""
    title: str | None = None
    """Of a new conversation."""
    request_id: str | None = None
    space: str | None = None
    """Of a new conversation; None: it is shared."""


def log_message(
    repo: Repository, branch: Branch, request: MessageRequest, origin: Origin
) -> tuple[LoggedMessage, BranchAfter]:
    """Add a message at the end of a conversation of a branch, or of a new one.

    Raises:
        NotFound: the conversation is not on the branch; the message says which branches have it.
        RequestReused: the request wrote something else.
    """
    with repo.store.adding(branch.name) as work:
        logged = add_message(repo, work, request, origin)
    if logged is None:
        raise unknown_conversation(repo, str(request.conversation_id), branch.name)
    return logged, BranchAfter.of(work, logged.added)


def add_message(
    repo: Repository, work: Additions, request: MessageRequest, origin: Origin
) -> LoggedMessage | None:
    """Add a message at the end of a conversation or of a new one, in an open unit of work.

    A message that the same request added before is not added again. Without a request id every call
    adds a message, since "ok" or a tool's result may be said twice.

    Returns None if the conversation is not on the branch.

    Raises:
        RequestReused: the request wrote something else.
    """
    message_id, conversation_id = repo.new_id(MESSAGE.prefix, work.now), request.conversation_id
    message = request.message
    columns = complete(MESSAGE, asdict(message))
    if request.request_id is not None:
        place: Row = {} if conversation_id is None else {"conversation_id": conversation_id}
        first = written_by(work, MESSAGE, message_id, {**columns, **place})
        if first is not None:
            return _logged_before(repo, work, first)
    count, last, begun = 0, None, conversation_id is None
    if conversation_id is None:
        said: Row = {"title": request.title, "happened_at": message.happened_at}
        said["space"] = request.space
        conversation_id = start_conversation(repo, work, origin, said)
    elif not work.get(CONVERSATION, [conversation_id]):
        return None
    else:
        count = work.count(MESSAGE, {"conversation_id": conversation_id})
        last = last_message(repo, work, conversation_id) if count else None
    columns |= {"conversation_id": conversation_id, "previous_id": last}
    work.add(MESSAGE, [new_row(MESSAGE, message_id, columns, origin, work.now)])
    return LoggedMessage(message_id, conversation_id, count + 1, 1 + begun)


def _logged_before(repo: Repository, work: Additions, message: Row) -> LoggedMessage:
    message_id, conversation_id = str(message["id"]), str(message["conversation_id"])
    place = order_of(repo, work, conversation_id).index(message_id) + 1
    return LoggedMessage(message_id, conversation_id, place, 0, (BY_REQUEST,))


def last_message(repo: Repository, work: Additions, conversation_id: str) -> str:
    """The last message of a conversation that has some.

    Each is logged at the end, so the newest one is the last, unless messages came to the branch or
    left it since. Only then the cost grows with the conversation's own length.
    """
    equal = {"conversation_id": conversation_id}
    query = Query(equal=equal, order="created_at", descending=True, limit=1)
    ((newest, at),) = work.scan(MESSAGE, ("id", "created_at"), query)
    written, oldest = int(at or 0), work.pending.oldest
    pending = oldest is not None and written >= oldest  # it is later than every commit
    for commit in () if pending else repo.history.log(work.tip):
        if commit.ts < written:
            break
        if may_bring_messages(commit):
            return order_of(repo, work, conversation_id)[-1]
    return str(newest)
