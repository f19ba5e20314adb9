"""Tools of engram that rate memories, count them, and read the configuration."""

from functools import partial
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import Label, Note, Read, Repeatable, Request, Response, Text
from day1.call.operation import Effect, Operation
from day1.errors import Unsupported
from day1.services.access.calls import agent_of, branch_of, writable
from day1.services.lessons.judging import JudgeRequest, judge_memory, opinion
from day1.services.lessons.portable import row_id_of
from day1.services.lessons.status import status_of
from day1.toolsets.shared.answers import read_of
from day1.toolsets.shared.fields import Maybe, absent

_READ_ONLY: Final = 6008
_SOME: Final = 20


class MemoryJudge(Repeatable):
    """The arguments of `memory_judge` (S4-005).

    Attributes:
        memory_id: The memory, by its id.
        query: The query that found it; judgements of similar queries count double in a search.
        score: How useful it was, from 0 to 1; without it the memory is rated for `query`.
    """

    memory_id: Label
    query: Maybe[Text] = None
    score: Maybe[Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]] = None


class MemoryJudged(Response):
    """The judgement, and the memory's number of judgements (S4-005)."""

    memory_id: str
    score: float
    reason: str | None = absent()
    degraded: bool
    """Neither the caller nor a chat model gave the score."""
    judgments: int
    read: Read


def memory_judge(ctx: Context, request: MemoryJudge) -> MemoryJudged:
    """Rate how useful a memory was; ratings move later searches a little.

    0.8-1.0 directly solved the problem; 0.5-0.7 useful context, partially relevant;
    0.1-0.4 tangentially related, not very helpful.
    """
    branch = writable(ctx, None)
    judge_request = JudgeRequest(
        row_id_of(request.memory_id),
        request.memory_id,
        request.query,
        request.score,
        agent_of(ctx.caller),
    )
    judge_result = judge_memory(
        ctx.repo, branch, judge_request, partial(opinion, ctx.search, ctx.chat, ctx.judge)
    )
    return MemoryJudged(
        memory_id=request.memory_id,
        score=judge_result.opinion.score,
        reason=judge_result.opinion.reason,
        degraded=judge_result.opinion.degraded,
        judgments=judge_result.votes,
        read=read_of(judge_result.read, branch.name),
    )


class MemoryStatus(Request):
    """`memory_status` takes no arguments (S4-008)."""


class Status(Response):
    """Counts (S4-008); `index_size`: bytes for all branches, 0 for a limited token."""

    memory_count: int
    indexed_count: int
    index_size: int
    pending_judgments: int
    """Memories that this machine showed and nobody judged since."""
    hints: list[Note]
    read: Read


def memory_status(ctx: Context, request: MemoryStatus) -> Status:  # noqa: ARG001 - there are none
    """Count memories, indexed texts and judgments still due."""
    branch = branch_of(ctx)
    memory_counts = status_of(ctx.repo, ctx.search, branch, ctx.clock())
    hints: list[Note] = []
    if memory_counts.unrated:
        hints.append(f"Shown and not judged yet: {', '.join(memory_counts.unrated[:_SOME])}.")
    if memory_counts.indexed < memory_counts.memories:
        hints.append("`day1 search --wait` indexes what is left.")
    return Status(
        memory_count=memory_counts.memories,
        indexed_count=memory_counts.indexed,
        index_size=0 if ctx.caller.access.branches else ctx.search.index.size(),
        pending_judgments=len(memory_counts.unrated),
        hints=hints,
        read=read_of(memory_counts.read, branch.name),
    )


class MemoryConfig(Request):
    """The arguments of `memory_config` (S4-009).

    Attributes:
        action: get reads the settings; set is refused.
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
    Operation("memory_judge", memory_judge, Effect.WRITE, idempotent=True),
    Operation("memory_status", memory_status, Effect.READ),
    Operation("memory_config", memory_config, Effect.READ),
)
