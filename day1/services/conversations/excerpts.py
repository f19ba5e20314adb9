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
    """The messages of a conversation up to one of them."""

    branch: str
    """The branch that the conversation was read on."""
    conversation: Row
    messages: Sequence[Row]
    """The messages in sequence."""


@dataclass(frozen=True, slots=True)
class Copied:
    """A copy of an excerpt, and the branch that it was added to."""

    conversation_id: str
    added: int
    """The number of rows that this call added; 0 if the same request was answered before."""
    after: BranchAfter


def copy_conversation(repo: Repository, branch: Branch, excerpt: Excerpt, origin: Origin) -> Copied:
    """Copy an excerpt into a new conversation of a branch.

    All rows are new, so a change of one conversation does not touch the other. The forking agent
    is the author of the conversation; messages keep their authors.

    Raises:
        RequestReused: the request id was used before, for other messages.
    """
    with repo.store.adding(branch.name) as work:
        conversation_id, added_count = _copy(repo, work, excerpt, origin)
    return Copied(conversation_id, added_count, BranchAfter.of(work, added_count))


def _copy(repo: Repository, work: Additions, excerpt: Excerpt, origin: Origin) -> tuple[str, int]:
    def copied(row: Row, row_id: str) -> Row:
        new_columns: Row = {"id": row_id, "happened_at": when(row), "created_at": work.now}
        return {**row, **new_columns, "origin_id": row["id"], "origin_branch": excerpt.branch}

    conversation_id = repo.new_id(CONVERSATION.prefix, work.now)
    conversation, messages = excerpt.conversation, excerpt.messages
    origin_columns = {"origin_id": conversation["id"]}
    if written_by(work, CONVERSATION, conversation_id, origin_columns) is not None:
        if not _has_copies(work, conversation_id, messages):
            raise reused(conversation_id)
        return conversation_id, 0
    work.add(CONVERSATION, [{**copied(conversation, conversation_id), **asdict(origin)}])
    # Sorted, since rows of the same time are read in the order of their ids.
    message_ids = sorted(repo.new_id(MESSAGE.prefix, work.now) for _ in messages)
    messages_with_ids = zip(messages, message_ids, [None, *message_ids], strict=False)
    copied_rows = [
        {**copied(row, new_id), "conversation_id": conversation_id, "previous_id": previous_id}
        for row, new_id, previous_id in messages_with_ids
    ]
    work.add(MESSAGE, copied_rows)
    return conversation_id, len(copied_rows) + 1


def _has_copies(work: Additions, conversation_id: str, messages: Sequence[Row]) -> bool:
    query = Query(equal={"conversation_id": conversation_id})
    copied_origin_ids = {
        origin_id for (origin_id,) in work.scan(MESSAGE, ("origin_id",), query)
    } - {None}
    return copied_origin_ids == {row["id"] for row in messages}


def part_of(
    repo: Repository,
    reading: Reading,
    conversation_id: str,
    first: int | None = None,
    last: int | None = None,
) -> dict[Kind, list[Row]]:
    """Read a conversation and its messages from place `first` to `last`, both included.

    Raises:
        NotFound: it is not on the branch that is read; the message names branches that have it.
        InvalidRequest: the conversation has fewer than `first` messages.
    """
    conversation_by_id = reading.get(CONVERSATION, [conversation_id])
    if not conversation_by_id:
        raise unknown_conversation(repo, conversation_id, str(reading.branch))
    placed_messages = messages_of(repo, reading, conversation_id)
    if first is not None and first > len(placed_messages):
        raise InvalidRequest(
            f"The conversation has {len(placed_messages)} messages on {reading.branch!r}, so "
            f"none from {first} on: begin at an earlier message.",
            messages=len(placed_messages),
            branch=reading.branch,
        )
    chosen_messages = [row for _, row in placed_messages[(first or 1) - 1 : last]]
    return {CONVERSATION: list(conversation_by_id.values()), MESSAGE: chosen_messages}


def up_to(
    repo: Repository, conversation_id: str, message_id: str, branches: Sequence[str]
) -> Excerpt:
    """Find a conversation on `branches` or any other branch; read it up to a message.

    Raises:
        NotFound: no branch has the conversation, or it does not have the message.
    """
    source_branch = next(branches_with(repo, MESSAGE, message_id, branches), None)
    source_branch = source_branch or next(
        branches_with(repo, CONVERSATION, conversation_id, branches), branches[-1]
    )
    with repo.store.reading(Ref(branch=source_branch)) as reading:
        rows_by_kind = part_of(repo, reading, conversation_id)
    message_ids = [row["id"] for row in rows_by_kind[MESSAGE]]
    if message_id not in message_ids:
        raise NotFound(
            f"{conversation_id} has no message {message_id!r}.",
            Advice("{memory_search_messages} finds them."),
            conversation_id=conversation_id,
            message_id=message_id,
        )
    messages = rows_by_kind[MESSAGE][: message_ids.index(message_id) + 1]
    return Excerpt(source_branch, rows_by_kind[CONVERSATION][0], messages)


# Picking


@dataclass(frozen=True, slots=True)
class Pick:
    """Messages to copy to another branch: those of a conversation between two places."""

    conversation_id: str
    first: int | None = None
    """The place of the first message to copy, counted from 1; None: 1."""
    last: int | None = None
    """The place of the last message to copy; None: the end."""


@dataclass(frozen=True, slots=True)
class Picked:
    """The result of a pick: the copied rows and the commit that holds them."""

    rows: CopiedRows
    commit: CommitId


def pick_conversation(repo: Repository, target: Branch, pick: Pick, branch: str) -> Picked:
    """Copy messages unchanged to a branch, from `branch` or another that has them.

    Raises:
        NotFound: no branch has the conversation.
        InvalidRequest: the conversation ends before the first message to copy.
    """
    source_branches = branches_with(repo, CONVERSATION, pick.conversation_id, (branch,))
    source_branch = next(
        (branch_name for branch_name in source_branches if branch_name != target.name), target.name
    )
    with repo.store.reading(Ref(branch=source_branch)) as reading:
        rows_by_kind = part_of(repo, reading, pick.conversation_id, pick.first, pick.last)
    with repo.store.changing(target.name) as work:
        copied_rows = put(work, target.name, rows_by_kind, back=True)
        commit_line = (
            f"pick {pick.conversation_id} from {source_branch} into {target.name}: "
            f"{copied_rows.total} rows"
        )
        commit = commit_copy(work, copied_rows, "pick", commit_line)
    return Picked(copied_rows, commit or work.tip)


# Finding


def unknown_conversation(repo: Repository, conversation_id: str, branch: str) -> NotFound:
    """Build the error for a conversation that the branch lacks; it names branches that have it."""
    branch_names = list(branches_with(repo, CONVERSATION, conversation_id))
    if branch_names:
        advice = Advice(
            "It is on {branches}: {memory_cherry_pick_conversation} copies it to your branch.",
            branches=", ".join(branch_names[:10]),
        )
    else:
        advice = Advice("No branch has it; {memory_list_conversations} lists the conversations.")
    return NotFound(
        f"There is no conversation {conversation_id!r} on {branch!r}.",
        advice,
        conversation_id=conversation_id,
        branch=branch,
        branches=branch_names,
    )
