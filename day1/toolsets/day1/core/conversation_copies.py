"""Tools that copy conversations: fork, cherry-pick."""

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import (
    Label,
    Response,
    WriteRequest,
    Written,
    written,
)
from day1.call.operation import Effect, Operation
from day1.errors import InvalidRequest
from day1.model.rows.kind import MESSAGE
from day1.services.access.calls import branch_of, repeatable, writable, writer
from day1.services.conversations import excerpts
from day1.services.conversations.excerpts import Pick, copy_conversation, up_to
from day1.services.repository.idempotency import BY_REQUEST

Role = Literal["user", "assistant", "system", "tool"]
Place = Annotated[int, Field(ge=1)]


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
    """Copy a conversation up to a message into a new, independent one."""
    target_branch = writable(ctx, request.branch)
    branch_names = (branch_of(ctx).name, target_branch.name)
    excerpt = up_to(ctx.repo, request.conversation_id, request.fork_at_message_id, branch_names)
    if request.title:
        renamed_conversation = {**excerpt.conversation, "title": request.title}
        excerpt = replace(excerpt, conversation=renamed_conversation)
    origin = writer(ctx, request, target_branch)
    repo = repeatable(ctx, request, target_branch)
    copy_result = copy_conversation(repo, target_branch, excerpt, origin)
    notes = [] if copy_result.added else [BY_REQUEST]
    return ConversationForked(
        forked_conversation_id=copy_result.conversation_id,
        messages_copied=len(excerpt.messages),
        written=written(
            target_branch.name, copy_result.after.tip, copy_result.after.pending, notes
        ),
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
    """The messages copied; `new_conversation_id` is the id on the target: the same.

    Checklist: S1-067.
    """

    new_conversation_id: str
    messages_copied: int
    written: Written


def pick_conversation(ctx: Context, request: PickConversation) -> ConversationPicked:
    """Take messages to another branch as they are: ids stay, so later merges are silent."""
    conversation_id, first_sequence, last_sequence = (
        request.conversation_id,
        request.from_sequence,
        request.to_sequence,
    )
    if first_sequence is not None and last_sequence is not None and first_sequence > last_sequence:
        raise InvalidRequest("`from_sequence` is later than `to_sequence`: swap them.")
    target_branch = writable(ctx, request.target_branch)
    pick_result = excerpts.pick_conversation(
        ctx.repo,
        target_branch,
        Pick(conversation_id, first_sequence, last_sequence),
        branch_of(ctx).name,
    )
    copied_rows = pick_result.rows
    notes = [] if copied_rows.total else ["Nothing new to pick."]
    if copied_rows.left:
        notes.append(f"Left as they are, with other content: {len(copied_rows.left)} rows.")
    return ConversationPicked(
        new_conversation_id=conversation_id,
        messages_copied=copied_rows.added.get(MESSAGE.table, 0),
        written=written(target_branch.name, pick_result.commit, 0, notes),
    )


OPERATIONS = (
    Operation("memory_fork_conversation", fork_conversation, Effect.WRITE),
    Operation("memory_cherry_pick_conversation", pick_conversation, Effect.WRITE, idempotent=True),
)
