"""Parts of conversations: copies into a new conversation, and picks to another branch."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from day1.errors import Advice, InvalidRequest, NotFound
from day1.model.branches.branch import Branch
from day1.model.rows.change import CommitId, Query, Ref
from day1.model.rows.kind import CONVERSATION, MESSAGE, Kind, Row, when
from day1.model.rows.origin import Origin
from day1.ports.additions import Additions
from day1.ports.reading import Reading
from day1.services.branches.lookup import branches_with
from day1.services.conversations.order import messages_of
from day1.services.repository.idempotency import reused, written_by
from day1.services.repository.repository import Repository
from day1.services.rows.recording import BranchAfter
from day1.services.rows.transplanting import CopiedRows, commit_copy, put


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A conversation up to a message."""

    branch: str
    """Where it was read."""
    conversation: Row
    messages: Sequence[Row]
    """In sequence."""


@dataclass(frozen=True, slots=True)
class Copied:
    """A copy of an excerpt, and the branch that it was added to."""

    conversation_id: str
    added: int
    """Rows that this call added: none if its request was answered before."""
    after: BranchAfter


def copy_conversation(repo: Repository, branch: Branch, excerpt: Excerpt, origin: Origin) -> Copied:
    """Copy an excerpt into a new conversation of a branch.

    All rows are new, so a change of one conversation does not touch the other. The forking agent
    is the author of the conversation; messages keep their authors.

    Raises:
        RequestReused: the request copied something else.
    """
    with repo.store.adding(branch.name) as work:
        conversation_id, added = _copy(repo, work, excerpt, origin)
    return Copied(conversation_id, added, BranchAfter.of(work, added))


def _copy(repo: Repository, work: Additions, excerpt: Excerpt, origin: Origin) -> tuple[str, int]:
    def copied(row: Row, row_id: str) -> Row:
        new: Row = {"id": row_id, "happened_at": when(row), "created_at": work.now}
        return {**row, **new, "origin_id": row["id"], "origin_branch": excerpt.branch}

    conversation_id = repo.new_id(CONVERSATION.prefix, work.now)
    conversation, messages = excerpt.conversation, excerpt.messages
    same = {"origin_id": conversation["id"]}
    if written_by(work, CONVERSATION, conversation_id, same) is not None:
        if not _has_copies(work, conversation_id, messages):
            raise reused(conversation_id)
        return conversation_id, 0
    work.add(CONVERSATION, [{**copied(conversation, conversation_id), **asdict(origin)}])
    # In order, since all are of one time and equal times are in the order of ids.
    ids = sorted(repo.new_id(MESSAGE.prefix, work.now) for _ in messages)
    chain = zip(messages, ids, [None, *ids], strict=False)
    rows = [
        {**copied(row, new), "conversation_id": conversation_id, "previous_id": previous}
        for row, new, previous in chain
    ]
    work.add(MESSAGE, rows)
    return conversation_id, len(rows) + 1


def _has_copies(work: Additions, conversation_id: str, messages: Sequence[Row]) -> bool:
    query = Query(equal={"conversation_id": conversation_id})
    copied = {origin for (origin,) in work.scan(MESSAGE, ("origin_id",), query)} - {None}
    return copied == {row["id"] for row in messages}


def part_of(
    repo: Repository,
    reading: Reading,
    conversation_id: str,
    first: int | None = None,
    last: int | None = None,
) -> dict[Kind, list[Row]]:
    """A conversation with its messages from `first` to `last`, both included, in sequence.

    Raises:
        NotFound: it is not on the branch that is read; the message names those that have it.
        InvalidRequest: it ends before `first`.
    """
    found = reading.get(CONVERSATION, [conversation_id])
    if not found:
        raise unknown_conversation(repo, conversation_id, str(reading.branch))
    messages = messages_of(repo, reading, conversation_id)
    if first is not None and first > len(messages):
        raise InvalidRequest(
            f"The conversation has {len(messages)} messages on {reading.branch!r}, so none from "
            f"{first} on.",
            messages=len(messages),
            branch=reading.branch,
        )
    some = [row for _, row in messages[(first or 1) - 1 : last]]
    return {CONVERSATION: list(found.values()), MESSAGE: some}


def up_to(
    repo: Repository, conversation_id: str, message_id: str, looked: Sequence[str]
) -> Excerpt:
    """A conversation up to a message, with the branch it was found on: one of `looked`, or any.

    Raises:
        NotFound: no branch has the conversation, or none has the message in it.
    """
    source = next(branches_with(repo, MESSAGE, message_id, looked), None)
    source = source or next(branches_with(repo, CONVERSATION, conversation_id, looked), looked[-1])
    with repo.store.reading(Ref(branch=source)) as reading:
        part = part_of(repo, reading, conversation_id)
    ids = [row["id"] for row in part[MESSAGE]]
    if message_id not in ids:
        raise NotFound(
            f"{conversation_id} has no message {message_id!r}.",
            Advice("{memory_search_messages} finds them."),
            conversation_id=conversation_id,
            message_id=message_id,
        )
    messages = part[MESSAGE][: ids.index(message_id) + 1]
    return Excerpt(source, part[CONVERSATION][0], messages)


# Picking


@dataclass(frozen=True, slots=True)
class Pick:
    """Messages to take to another branch: those of a conversation between two places."""

    conversation_id: str
    first: int | None = None
    """The place of the first one, from 1; default: the first."""
    last: int | None = None
    """The place of the last one; default: the last."""


@dataclass(frozen=True, slots=True)
class Picked:
    """What a pick did, and the commit that has it."""

    rows: CopiedRows
    commit: CommitId


def pick_conversation(repo: Repository, target: Branch, pick: Pick, here: str) -> Picked:
    """Take messages to a branch as they are, from the branch `here` or another that has them.

    Raises:
        NotFound: no branch has the conversation.
        InvalidRequest: the conversation has fewer messages than come before the first one picked.
    """
    sources = branches_with(repo, CONVERSATION, pick.conversation_id, (here,))
    source = next((name for name in sources if name != target.name), target.name)
    with repo.store.reading(Ref(branch=source)) as reading:
        rows = part_of(repo, reading, pick.conversation_id, pick.first, pick.last)
    with repo.store.changing(target.name) as work:
        copied = put(work, target.name, rows, back=True)
        line = f"pick {pick.conversation_id} from {source} into {target.name}: {copied.total} rows"
        commit = commit_copy(work, copied, "pick", line)
    return Picked(copied, commit or work.tip)


# Finding


def unknown_conversation(repo: Repository, conversation_id: str, branch: str) -> NotFound:
    """An error that says which branches have the conversation."""
    names = list(branches_with(repo, CONVERSATION, conversation_id))
    if names:
        where = Advice(
            "It is on {branches}: {memory_cherry_pick_conversation} brings it.",
            branches=", ".join(names[:10]),
        )
    else:
        where = Advice("No branch has it; {memory_list_conversations} shows those there are.")
    return NotFound(
        f"There is no conversation {conversation_id!r} on {branch!r}.",
        where,
        conversation_id=conversation_id,
        branch=branch,
        branches=names,
    )
