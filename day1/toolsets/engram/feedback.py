"""Tools of engram that rate memories and tell how things stand."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import Label, Note, Read, Repeatable, Request, Response, Text
from day1.call.operation import Effect, Operation
from day1.errors import Advice, InvalidRequest, NotFound, Refused, Unsupported
from day1.model.lessons.rating import rating_of
from day1.model.redaction.veil import is_secret
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT
from day1.services.access.calls import agent_of, branch_of, writable
from day1.services.lessons.judging import last_votes, opinion, rate
from day1.services.lessons.portable import row_id_of
from day1.services.search.filters import Filter
from day1.services.search.indexing import catch_up
from day1.toolsets.shared.fields import Maybe, absent
from day1.toolsets.shared.state import read_of

_READ_ONLY: Final = 6008
_SOME: Final = 20


class MemoryJudge(Repeatable):
    """The arguments of `memory_judge` (S4-005).

    Attributes:
        memory_id: The memory, by its id.
        query: What it was found for; judgements of similar queries count double for a query.
        score: How useful it was, from 0 to 1; without it the memory is rated for `query`.
    """

    memory_id: Label
    query: Maybe[Text] = None
    score: Maybe[Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]] = None


class MemoryJudged(Response):
    """The judgement, and how many the memory has (S4-005)."""

    memory_id: str
    score: float
    reason: str | None = absent()
    degraded: bool
    """Nobody gave a score, and no chat model was asked."""
    judgments: int
    read: Read


def memory_judge(ctx: Context, request: MemoryJudge) -> MemoryJudged:
    """Rate how useful a memory was; ratings move later searches a little.

    0.8-1.0 directly solved the problem; 0.5-0.7 useful context, partially relevant;
    0.1-0.4 tangentially related, not very helpful.
    """
    branch = writable(ctx, None)
    row_id = row_id_of(request.memory_id)
    with ctx.repo.store.reading(ctx.repo.shown(Ref(branch=branch.name))) as reading:
        row = reading.get(FACT, [row_id]).get(row_id)
        read = read_of(reading, branch.name)
    if row is None:
        raise NotFound(
            f"{request.memory_id} is no memory of branch {branch.name!r}.",
            Advice("{memory_search} finds those there are."),
            id=request.memory_id,
        )
    score, reason, degraded = request.score, None, False
    if score is None:
        if request.query is None:
            raise InvalidRequest("Give a score from 0 to 1, or the query to rate the memory for.")
        if is_secret(row):
            raise Refused(
                "A secret memory is shown to no judge: give a score.", id=request.memory_id
            )
        found = opinion(ctx.search, ctx.chat, ctx.judge, request.query, str(row["fact_text"]))
        score, reason, degraded = found.score, found.reason, found.degraded
    vote = rating_of(row_id, agent_of(ctx.caller), request.query, score, ctx.clock())
    count = rate(ctx.repo, vote.on(branch.id))
    return MemoryJudged(
        memory_id=request.memory_id,
        score=score,
        reason=reason,
        degraded=degraded,
        judgments=count,
        read=read,
    )


class MemoryStatus(Request):
    """`memory_status` takes no arguments (S4-008)."""


class Status(Response):
    """How things stand (S4-008); `index_size` is in bytes, for all branches; else 0."""

    memory_count: int
    indexed_count: int
    index_size: int
    pending_judgments: int
    """Memories that this machine showed, and that nobody judged since."""
    hints: list[Note]
    read: Read


def memory_status(ctx: Context, request: MemoryStatus) -> Status:  # noqa: ARG001 - there are none
    """Counts: memories, index, judgments that are waited for."""
    branch, now = branch_of(ctx), ctx.clock()
    query = Query(equal={"status": "active"}, alive_at=now, present_at=now, public=True)
    ref = Ref(branch=branch.name)
    with ctx.repo.store.reading(ref) as reading:
        ids = {str(row_id) for (row_id,) in reading.scan(FACT, ("id",), query)}
        indexed = _indexed(ctx, reading, ref, branch.id)
        read = read_of(reading, branch.name)
    votes = last_votes(ctx.repo)
    shown = ctx.search.uses.known().items()
    pending = sorted(i for i, use in shown if i in ids and votes.get(i, -1) < use.last)
    hints: list[Note] = []
    if pending:
        some = ", ".join(pending[:_SOME])
        hints.append(f"Shown and not judged yet: {some}.")
    if indexed < len(ids):
        hints.append("`day1 search --wait` indexes what is left.")
    return Status(
        memory_count=len(ids),
        indexed_count=indexed,
        index_size=0 if ctx.caller.access.branches else ctx.search.index.size(),
        pending_judgments=len(pending),
        hints=hints,
        read=read,
    )


def _indexed(ctx: Context, reading: Any, ref: Ref, branch_id: str) -> int:
    """How many active memories can be found by all that this store has: vectors, else words."""
    now = ctx.clock()
    engine, wanted = ctx.search, Filter(FACT, alive_at=now, present_at=now)
    if not engine.index.read_only:
        catch_up(reading, engine.history, engine.index, branch_id, engine.words_wait_s)
    with engine.views.at(reading, ref, wanted, engine.history, engine.index) as view:
        texts = view.texts(wanted)
        without = set() if engine.embedder is None else _waiting(ctx, texts)
        return sum(entry.text not in without for entry in view.entries(texts, wanted))


def _waiting(ctx: Context, texts: Any) -> set[int]:
    embedder = ctx.search.embedder
    return (
        set() if embedder is None else set(ctx.search.index.vectors.waiting(embedder, list(texts)))
    )


class MemoryConfig(Request):
    """The arguments of `memory_config` (S4-009).

    Attributes:
        action: get reads it; set is not supported here.
    """

    action: Maybe[Literal["get", "set"]] = "get"


class Config(Response):
    """The settings in force; keys, addresses and folders are left out (S4-009)."""

    config: dict[str, Any]
    read: Read


def memory_config(ctx: Context, request: MemoryConfig) -> Config:
    """Read the configuration."""
    if request.action == "set":
        raise Unsupported(
            f"[{_READ_ONLY}] The configuration cannot be set here: set it in the environment of "
            "the process that serves day1 (docs/settings.md).",
            number=_READ_ONLY,
        )
    return Config(config=dict(ctx.configuration), read=Read(branch=None, commit=""))


OPERATIONS: Final = (
    Operation(
        "memory_judge", MemoryJudge, MemoryJudged, memory_judge, Effect.WRITE, idempotent=True
    ),
    Operation("memory_status", MemoryStatus, Status, memory_status, Effect.READ),
    Operation("memory_config", MemoryConfig, Config, memory_config, Effect.READ),
)
