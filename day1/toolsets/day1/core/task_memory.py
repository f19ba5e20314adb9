"""Tools for the memory of a team: consolidate, search, timeline of an agent, replay."""

from typing import Annotated, Final, Literal

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import Label, Read, Request, Response, Space, Text, WriteRequest, Written
from day1.call.operation import Effect, Operation
from day1.errors import InvalidRequest, Step
from day1.model.branches.branch import MAIN
from day1.model.rows.kind import FACT, OBSERVATION, Cell, text_of
from day1.model.values.space import SHARED
from day1.services.access.calls import in_space, spaces_of, writable, writer
from day1.services.search.request import SearchRequest
from day1.services.tasks.consolidating import Consolidated as Done
from day1.services.tasks.consolidating import ConsolidateRequest, consolidate
from day1.services.tasks.observations import MOST, branch_for_facts, observed, waiting_first
from day1.services.tasks.sessions import written_branches
from day1.services.tasks.task_rows import agent_timeline
from day1.services.tasks.task_search import search_task
from day1.toolsets.day1.core.replays import REPLAY
from day1.toolsets.day1.core.search import (
    MemoryHit,
    TimelineItem,
    in_brief,
    shown_hit,
    shown_moment,
)
from day1.toolsets.shared.answers import (
    Full,
    note_shown,
    read_found,
    read_of,
    state_of,
    texts_of,
)
from day1.toolsets.shared.fields import Limit

FULL: Final = Step("memory_search_task", {"full": True})
Level = Literal["session", "agent", "task"]
_NEEDED: dict[Level, tuple[str, ...]] = {
    "session": ("session_id",),
    "agent": ("task_id", "agent_id"),
    "task": ("task_id",),
}


class Consolidate(WriteRequest):
    """The arguments of `memory_consolidate` (S1-056).

    Attributes:
        agent_id: With level=agent: the agent whose observations to use. Otherwise: who writes
            the facts.
        session_id: With level=session: the session whose observations to use. Otherwise: the
            session of the facts.
        task_id: With level=agent and level=task: the task whose observations to use. Otherwise:
            the task of the facts.
        level: Whose observations become facts: those of a session, of one agent in a task, or of
            all agents in a task.
        branch: Where the facts are written. Default: the agent's branch of the task, the task's
            branch, or where the session wrote last.
        space: As in memory_search. A fact is of the space of its observations.
    """

    level: Annotated[
        Level,
        Field(description="session needs session_id; agent task_id, agent_id; task task_id"),
    ]
    branch: Annotated[Label | None, Field(description="default: where they were written")] = None
    space: Space | None = None


class NewFact(Response):
    """A fact that a consolidation added, and the observations that it was made from."""

    id: str
    fact_text: str
    confidence: float
    sources: list[str]


class Consolidated(Response):
    """The facts that observations became (S1-057)."""

    new_facts: int
    duplicates_merged: int
    level: str
    facts: list[NewFact]
    written: Written


def memory_consolidate(ctx: Context, request: Consolidate) -> Consolidated:
    """Turn observations into candidate facts: of a session, of an agent's task, or of a task."""
    column_conditions = _scope(request) | in_space(ctx, request.space)
    observations = observed(ctx.repo, column_conditions)
    if not observations.newest.rows:
        conditions_text = " and ".join(
            f"{column} {value or SHARED!r}" for column, value in column_conditions.items()
        )
        return _answer(
            ctx, request, request.branch or MAIN, [f"No observation has {conditions_text}."]
        )
    branch = writable(ctx, request.branch or branch_for_facts(ctx.repo, observations))
    observation_rows, waiting_count = waiting_first(ctx.repo, branch, observations)
    writer_agent_id = request.agent_id
    # `agent_id` selects the observations, and does not name the writer.
    if "agent_id" in column_conditions:
        writer_agent_id = ctx.caller.agent_id or writer_agent_id
    origin = writer(ctx, request.model_copy(update={"agent_id": writer_agent_id}), branch)
    consolidate_request = ConsolidateRequest(branch, origin, ctx.chat, ctx.progress, ctx.stopped)
    consolidate_result = consolidate(ctx.repo, ctx.search, observation_rows, consolidate_request)
    notes = list(consolidate_result.notes)
    if waiting_count:
        notes.append(
            f"{MOST} observations were looked at; consolidate again for {waiting_count} more."
        )
    elif not (consolidate_result.facts or ctx.stopped()):
        notes.append("Facts of this branch, or retracted ones, say all of them already.")
    return _answer(ctx, request, branch.name, notes, consolidate_result)


def _scope(request: Consolidate) -> dict[str, Cell]:
    """Return the column values by which the observations to consolidate are selected."""
    value_by_column = {column: getattr(request, column) for column in _NEEDED[request.level]}
    missing_columns = [column for column, value in value_by_column.items() if value is None]
    if missing_columns:
        raise InvalidRequest(
            f"Level {request.level!r} needs {' and '.join(missing_columns)}.",
            problems=[{"argument": column, "problem": "missing"} for column in missing_columns],
        )
    return value_by_column


def _answer(
    ctx: Context, request: Consolidate, branch: str, notes: list[str], result: Done | None = None
) -> Consolidated:
    read_state = state_of(ctx, branch)
    consolidation = result or Done()
    return Consolidated(
        new_facts=len(consolidation.facts),
        duplicates_merged=consolidation.duplicates,
        level=request.level,
        facts=[
            NewFact(
                id=fact_id,
                fact_text=fact.text,
                confidence=fact.confidence,
                sources=[str(row["id"]) for row in fact.sources],
            )
            for fact_id, fact in consolidation.facts
        ],
        written=Written(
            branch=branch, commit=read_state.commit, pending=read_state.pending, notes=notes
        ),
    )


class SearchTask(Request):
    """The arguments of `memory_search_task` (S1-059).

    Attributes:
        task_id: The task, by the id that memory_task_create answered.
        query: What to look for, as a question or as words.
        agent_id: Only what this agent wrote; default: what any agent wrote.
        limit: How many memories to answer at most.
        space: As in memory_search.
        full: As in memory_search.
    """

    task_id: Label
    query: Text
    agent_id: Annotated[Label | None, Field(description="its author")] = None
    limit: Limit | None = 10
    space: Space | None = None
    full: Full = False


class TaskHit(MemoryHit):
    """A found memory and the branch of the task that it is on."""

    branch: str


class TaskHits(Response):
    """Memories found on the branches of a task, best first (S1-059)."""

    result: list[TaskHit]
    read: Read


def memory_search_task(ctx: Context, request: SearchTask) -> TaskHits:
    """Find what a task's agents wrote for it, on all of their branches, best first."""
    agent_condition: dict[str, Cell] = (
        {} if request.agent_id is None else {"agent_id": request.agent_id}
    )
    task_hits = search_task(
        ctx.repo,
        ctx.search,
        request.task_id,
        SearchRequest(
            query=request.query,
            kinds=(FACT.table, OBSERVATION.table),
            limit=request.limit or 10,
            equal=agent_condition,
            spaces=spaces_of(ctx, request.space),
        ),
    )
    for searched_branch, _ in task_hits.asked:
        hit_ids = [
            team_hit.hit.row["id"]
            for team_hit in task_hits.hits
            if team_hit.place is searched_branch
        ]
        if searched_branch.ref.branch is not None:
            note_shown(ctx, hit_ids, searched_branch.branch.id)
    quoted_texts = texts_of(
        ctx,
        request.query,
        [team_hit.hit.text for team_hit in task_hits.hits],
        full=request.full,
        again=FULL,
    )
    read_states = [
        read_found(searched_branch.branch.name, search_answer)
        for searched_branch, search_answer in task_hits.asked
    ]
    read_state = read_states[0] if read_states else state_of(ctx, MAIN)
    notes = dict.fromkeys(note for branch_state in read_states for note in branch_state.notes)
    return TaskHits(
        result=[
            TaskHit(**dict(shown_hit(team_hit.hit, quoted_text)), branch=team_hit.place.branch.name)
            for team_hit, quoted_text in zip(task_hits.hits, quoted_texts.texts, strict=True)
        ],
        read=read_state.model_copy(update={"notes": [*notes, *quoted_texts.notes]}),
    )


class AgentTimeline(Request):
    """The arguments of `memory_agent_timeline` (S1-060).

    Attributes:
        agent_id: The agent, by the name that it wrote under.
        limit: How many memories to answer at most; the newest are chosen.
        space: As in memory_search.
    """

    agent_id: Label
    limit: Annotated[int, Field(ge=1, le=500)] | None = 50
    space: Space | None = None


class AgentMoment(TimelineItem):
    """What an agent wrote, for which task and where."""

    task_id: str | None
    branch: str


class AgentMoments(Response):
    """What an agent wrote, oldest first (S1-060)."""

    result: list[AgentMoment]
    read: Read


def memory_agent_timeline(ctx: Context, request: AgentTimeline) -> AgentMoments:
    """An agent's newest facts and observations over all branches, oldest first."""
    branch_places = written_branches(ctx.repo, agent_id=request.agent_id)
    agent_condition = {"agent_id": request.agent_id} | in_space(ctx, request.space)
    timeline = agent_timeline(ctx.repo, branch_places, agent_condition, request.limit or 50)
    open_branch_names = (
        branch_place.branch.name
        for branch_place in branch_places
        if branch_place.ref.branch is not None
    )
    shown_branch_name = next(open_branch_names, MAIN)
    can_read_branch = shown_branch_name in timeline.read and ctx.caller.access.sees(
        shown_branch_name
    )
    read_state = (
        read_of(timeline.read[shown_branch_name], shown_branch_name)
        if can_read_branch
        else state_of(ctx, shown_branch_name)
    )
    if not timeline.entries:
        read_state.notes.append(f"Nobody called {request.agent_id!r} has written a memory here.")
    return AgentMoments(
        result=[
            AgentMoment(
                **shown_moment(entry.moment).model_dump(),
                task_id=text_of(entry.moment.row["task_id"]),
                branch=entry.branch,
            )
            for entry in timeline.entries
        ],
        read=read_state,
    )


OPERATIONS = (
    Operation("memory_consolidate", memory_consolidate, Effect.WRITE, idempotent=True),
    Operation("memory_search_task", memory_search_task, Effect.READ, brief=in_brief),
    Operation("memory_agent_timeline", memory_agent_timeline, Effect.READ),
    REPLAY,
)
