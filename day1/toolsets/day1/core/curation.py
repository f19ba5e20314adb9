"""Tools for curated branches and for the context of a session."""

from typing import Annotated

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import Label, Read, Repeatable, Request, Response, Space, Text, Written
from day1.call.operation import Effect, Operation
from day1.model.branches.branch import MAIN
from day1.model.rows.kind import CONVERSATION, FACT, text_of
from day1.model.values.instant import show
from day1.services.access.calls import branch_of, in_space, repeatable
from day1.services.rows.curating import CurateRequest, curate
from day1.services.tasks.session_context import (
    ConversationEnd,
    QuotedRow,
    SessionRecall,
    recall,
)
from day1.toolsets.shared.answers import state_of

Ids = Annotated[list[Label], Field(max_length=1_000)]


class CurateBranch(Repeatable):
    """The arguments of `memory_branch_create_curated` (S1-068).

    Attributes:
        branch_name: The new branch's name, as in memory_branch_create.
        parent_branch: The branch to choose from.
        conversation_ids: The conversations to take, with their messages; default: none.
        fact_ids: The facts to take; one that is superseded brings what replaced it. Default: none.
        description: What the branch is for; lists of branches show it.
    """

    branch_name: Label
    parent_branch: Label | None = MAIN
    conversation_ids: Ids | None = None
    fact_ids: Ids | None = None
    description: Text | None = None


class Curated(Response):
    """A branch of chosen rows, and how many it has (S1-068)."""

    branch_name: str
    conversations: int
    facts: int
    written: Written


def create_curated(ctx: Context, request: CurateBranch) -> Curated:
    """Make a branch that holds only the chosen rows of its parent, not the parent's others."""
    curate_request = CurateRequest(
        request.branch_name,
        branch_of(ctx, request.parent_branch or MAIN),
        request.fact_ids or (),
        request.conversation_ids or (),
        request.description,
    )
    curate_result = curate(repeatable(ctx, request), curate_request, ctx.clock())
    return Curated(
        branch_name=curate_result.branch.name,
        conversations=curate_result.counts.get(CONVERSATION.table, 0),
        facts=curate_result.counts.get(FACT.table, 0),
        written=Written(
            branch=curate_result.branch.name, commit=state_of(ctx, curate_result.branch.name).commit
        ),
    )


class SessionContext(Request):
    """The arguments of `memory_session_context` (S1-070).

    Attributes:
        session_id: The session, by the id that its writes were made with.
        message_limit: How many messages to answer at most, the newest. All texts together have at
            most 32,000 characters.
        fact_limit: How many facts to answer at most, the newest.
        space: As in memory_search; messages are in the space of their conversation.
    """

    session_id: Label
    message_limit: Annotated[int, Field(ge=1, le=500)] | None = 50
    fact_limit: Annotated[int, Field(ge=1, le=500)] | None = 20
    space: Space | None = None


class SessionShown(Response):
    """A session: its agents, tasks and branches."""

    session_id: str
    agents: list[str]
    tasks: list[str]
    branches: list[str]
    started_at: str


class FactGiven(Response):
    """A fact as agents read it."""

    id: str
    fact_text: str
    category: str | None
    confidence: float | None
    verification: str | None
    agent_id: str | None
    created_at: str


class FactRecalled(FactGiven):
    """A fact that a session wrote (S1-070)."""

    branch: str


class ObservationRecalled(Response):
    """An observation of a session (S1-070)."""

    id: str
    observation_type: str
    summary: str
    tool_name: str | None
    branch: str
    agent_id: str | None
    created_at: str


class MessageRecalled(Response):
    """A message without its thinking."""

    message_id: str
    sequence: int
    role: str
    content: str
    created_at: str


class ConversationRecalled(Response):
    """A conversation's last messages."""

    conversation_id: str
    title: str | None
    branch: str
    messages: list[MessageRecalled]


class Size(Response):
    """The size of an answer's texts."""

    characters: int
    most: int
    left_out: int
    """Rows that did not fit."""


class SessionRecalled(Response):
    """What a session wrote, newest first, as far as it fits (S1-070)."""

    session: SessionShown
    facts: list[FactRecalled]
    conversations: list[ConversationRecalled]
    observations: list[ObservationRecalled]
    size: Size
    read: Read


def session_context(ctx: Context, request: SessionContext) -> SessionRecalled:
    """What a session wrote, to continue it: facts, messages, observations, newest first."""
    row_limits, space = (request.message_limit or 50, request.fact_limit or 20), request.space
    session_recall = recall(ctx.repo, request.session_id, *row_limits, in_space(ctx, space))
    return SessionRecalled(
        session=_session(request.session_id, session_recall),
        facts=[
            FactRecalled(**dict(fact_given(quoted_row)), branch=quoted_row.branch)
            for quoted_row in session_recall.facts
        ],
        conversations=[
            conversation_recalled(conversation_end) for conversation_end in session_recall.talks
        ],
        observations=[_observation(quoted_row) for quoted_row in session_recall.observations],
        size=Size.from_record(session_recall.room),
        read=state_of(ctx, _newest_branch(session_recall)),
    )


def _newest_branch(context: SessionRecall) -> str:
    """Return, of the session's branches that still exist, the one it began on last; else main."""
    branch_names = [
        session_branch.branch.name
        for session_branch in context.branches
        if session_branch.branch.retired_tip is None
    ]
    return branch_names[0] if branch_names else MAIN


def _session(session_id: str, context: SessionRecall) -> SessionShown:
    session_notes = context.notes
    return SessionShown(
        session_id=session_id,
        agents=list(
            dict.fromkeys(
                session_note.agent_id for session_note in session_notes if session_note.agent_id
            )
        ),
        tasks=list(
            dict.fromkeys(
                session_note.task_id for session_note in session_notes if session_note.task_id
            )
        ),
        branches=[session_branch.branch.name for session_branch in context.branches],
        started_at=show(min(note.created_at for note in session_notes)),
    )


def fact_given(quoted_row: QuotedRow) -> FactGiven:
    """Convert a fact to the form that agents read."""
    row = quoted_row.row
    return FactGiven(
        id=str(row["id"]),
        fact_text=quoted_row.text,
        category=text_of(row["category"]),
        confidence=row["confidence"],
        verification=text_of(row["verification"]),
        agent_id=text_of(row["agent_id"]),
        created_at=show(int(row["created_at"] or 0)),
    )


def _observation(quoted_row: QuotedRow) -> ObservationRecalled:
    row = quoted_row.row
    return ObservationRecalled(
        id=str(row["id"]),
        observation_type=str(row["observation_type"]),
        summary=quoted_row.text,
        tool_name=text_of(row["tool_name"]),
        branch=quoted_row.branch,
        agent_id=text_of(row["agent_id"]),
        created_at=show(int(row["created_at"] or 0)),
    )


def conversation_recalled(talk: ConversationEnd) -> ConversationRecalled:
    """Convert the end of a conversation to the form that agents read."""
    return ConversationRecalled(
        conversation_id=str(talk.conversation["id"]),
        title=text_of(talk.conversation["title"]),
        branch=talk.branch,
        messages=[
            MessageRecalled(
                message_id=str(quoted_row.row["id"]),
                sequence=sequence,
                role=str(quoted_row.row["role"]),
                content=quoted_row.text,
                created_at=show(int(quoted_row.row["created_at"] or 0)),
            )
            for sequence, quoted_row in talk.messages
        ],
    )


OPERATIONS = (
    Operation("memory_branch_create_curated", create_curated, Effect.WRITE),
    Operation("memory_session_context", session_context, Effect.READ),
)
