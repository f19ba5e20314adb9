"""Tools that verify: judge one fact, judge many, ask the merge gate."""

import math
import re
from collections.abc import Sized
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, Field

from day1.call.context import Context
from day1.call.fields import (
    Label,
    Note,
    OnBranch,
    Read,
    Request,
    Response,
    ShortText,
    Text,
    WriteRequest,
    Written,
    written,
)
from day1.call.operation import Effect, Operation
from day1.errors import Advice, Conflict, InvalidRequest
from day1.model.branches.branch import MAIN, Branch
from day1.model.records.judgement import DIMENSIONS, VERIFIED, Judgement, Score, Verdict, verdict_of
from day1.model.rows.change import Ref
from day1.model.rows.kind import Row
from day1.services.access.calls import branch_of, origin_of, writable
from day1.services.merges.gate import gate
from day1.services.verification.batches import BatchWatch, FactSelection, verify_many
from day1.services.verification.judging import JudgedFact, Verification, fact_on, judge_fact
from day1.services.verification.verdicts import write_verdicts

_DIMENSION = re.compile(r"[a-z][a-z0-9_]{0,39}")
_DIMENSIONS = 8
"""Maximum number of dimensions that a fact is judged in."""
_MAX_SHOWN = 50
"""Maximum number of facts in the answer of a merge gate."""
Named = TypeVar("Named", bound=Sized)


def _dimension(name: str) -> str:
    if not _DIMENSION.fullmatch(name):
        raise ValueError("must be a word of small letters, digits and _, at most 40")
    return name


def _few(values: Named) -> Named:
    if not 1 <= len(values) <= _DIMENSIONS:
        raise ValueError(
            f"must name 1 to {_DIMENSIONS} dimensions: aspects to score, such as accuracy"
        )
    return values


Dimension = Annotated[str, AfterValidator(_dimension)]
Unit = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class VerifyFact(WriteRequest):
    """The arguments of `verify_fact` (S1-077).

    Attributes:
        fact_id: The fact to judge.
        dimensions: What to score, as 1 to 8 words of small letters, digits and _. Default:
            accuracy, relevance, specificity.
        context: What the fact is needed for; its relevance is judged by that.
        verdict: Your own verdict, in place of a judge's. `verified` needs a mean score of 0.6 or
            more, if there are scores.
        scores: Your own scores, each from 0 to 1. Without a verdict their mean decides: 0.6 and
            more is verified, less than 0.3 invalidated.
        reason: Why you judge so; only with your own verdict or scores.
    """

    fact_id: Label
    dimensions: Annotated[
        Annotated[list[Dimension], AfterValidator(_few)] | None,
        Field(description="default: accuracy, relevance, specificity"),
    ] = None
    context: Annotated[Text | None, Field(description="what it is needed for")] = None
    branch: OnBranch = None
    verdict: Annotated[Verdict | None, Field(description="your own; nobody else judges then")] = (
        None
    )
    scores: Annotated[
        Annotated[dict[Dimension, Unit], AfterValidator(_few)] | None,
        Field(description="your own, by dimension"),
    ] = None
    reason: ShortText | None = None


class ScoreShown(Response):
    """The score of one dimension (S1-077)."""

    dimension: str
    score: float
    reason: str | None


class Tokens(Response):
    """The tokens used by a chat model."""

    prompt: int
    completion: int


class FactVerified(Response):
    """The verdict on a fact, with its scores and evidence (S1-077, S1-078)."""

    fact_id: str
    verdict: Verdict
    reason: str
    scores: list[ScoreShown]
    judge: str
    tokens: Tokens
    evidence: list[str]
    """Ids of memories that support or contradict it."""
    written: Written


def verify_fact(ctx: Context, request: VerifyFact) -> FactVerified:
    """Judge a fact by evidence in memory, or record your own verdict on it."""
    has_own_verdict = request.verdict is not None or request.scores is not None
    if request.reason is not None and not has_own_verdict:
        raise InvalidRequest(
            "`reason` is only for your own verdict: add `verdict` or `scores`, or leave it out."
        )
    branch = writable(ctx, request.branch)
    fact_row = fact_on(ctx.repo, branch, request.fact_id)
    origin = origin_of(ctx, request, branch)
    verification = _verification(ctx)
    dimensions = tuple(dict.fromkeys(request.dimensions or DIMENSIONS))
    if has_own_verdict:
        judged_fact = JudgedFact(fact_row, _own(request, origin.agent_id))
    else:
        judged_fact = judge_fact(verification, branch, fact_row, dimensions, request.context)
    written_verdicts = write_verdicts(ctx.repo, branch, [judged_fact], origin)
    if written_verdicts.left:
        raise Conflict(
            "The fact was changed or removed while it was judged: read it again, then verify.",
            id=request.fact_id,
        )
    judgement = judged_fact.judgement
    return FactVerified.from_record(
        judgement,
        fact_id=request.fact_id,
        scores=[ScoreShown.from_record(score) for score in judgement.scores],
        tokens=Tokens(prompt=judgement.prompt_tokens, completion=judgement.completion_tokens),
        evidence=list(judgement.weighed),
        written=written(
            branch.name, written_verdicts.commit, written_verdicts.pending.count, verification.notes
        ),
    )


def _verification(ctx: Context) -> Verification:
    return Verification(ctx.repo, ctx.search, ctx.judge, ctx.clock)


def _own(request: VerifyFact, agent_id: str | None) -> Judgement:
    """Build the caller's own judgement; its scores must not contradict its verdict."""
    score_by_dimension = request.scores or {}
    unscored_dimensions = [
        dimension
        for dimension in request.dimensions or ()
        if request.scores and dimension not in score_by_dimension
    ]
    if unscored_dimensions:
        raise InvalidRequest(
            f"`scores` lacks {', '.join(unscored_dimensions)}.", lacking=unscored_dimensions
        )
    scores = tuple(
        Score(dimension, round(score, 2)) for dimension, score in score_by_dimension.items()
    )
    verdict = request.verdict or verdict_of(scores)
    if verdict == "verified" and scores and verdict_of(scores) != "verified":
        mean_score = math.fsum(dimension_score.score for dimension_score in scores) / len(scores)
        raise InvalidRequest(
            f"`verified` needs scores with a mean of {VERIFIED} or more; yours is {mean_score:.2f}."
        )
    judge_name = "agent" if agent_id is None else f"agent:{agent_id}"
    return Judgement(verdict, request.reason or "judged by the calling agent", scores, judge_name)


class VerifyBatch(WriteRequest):
    """The arguments of `verify_batch` (S1-079).

    Attributes:
        limit: How many facts to judge at most, the newest first.
        only_unverified: Whether only facts without a verdict are judged; otherwise all active
            facts are judged again.
    """

    branch_name: OnBranch = None
    limit: Annotated[int, Field(ge=1, le=500)] | None = 50
    only_unverified: bool | None = True


class BatchVerified(Response):
    """How many facts were judged, and how (S1-079)."""

    total_processed: int
    verified: int
    invalidated: int
    unverified: int
    errors: int
    """Facts that were changed or removed while they were judged."""
    remaining: int
    """Facts not judged yet."""
    stopped: bool
    judge: str
    tokens: Tokens
    written: Written


def verify_batch(ctx: Context, request: VerifyBatch) -> BatchVerified:
    """Judge a branch's facts, newest first; reports progress and can be stopped."""
    branch = writable(ctx, request.branch_name)
    verification = _verification(ctx)
    fact_conditions: Row = {"status": "active"}
    if request.only_unverified in {None, True}:
        fact_conditions["verification"] = "unverified"
    batch_watch = BatchWatch(ctx.progress, ctx.stopped)
    origin = origin_of(ctx, request, branch)
    fact_selection = FactSelection(fact_conditions, request.limit or 50)
    batch_result = verify_many(verification, branch, fact_selection, origin, batch_watch)
    count_by_verdict = batch_result.verdicts
    return BatchVerified.from_record(
        batch_result,
        total_processed=count_by_verdict.total() + batch_result.errors,
        verified=count_by_verdict["verified"],
        invalidated=count_by_verdict["invalidated"],
        unverified=count_by_verdict["unverified"],
        judge=", ".join(batch_result.judges) or ctx.judge.name,
        tokens=Tokens(prompt=batch_result.prompt_tokens, completion=batch_result.completion_tokens),
        written=_written_to(ctx, branch, *verification.notes),
    )


def _written_to(ctx: Context, branch: Branch, *notes: str) -> Written:
    with ctx.repo.store.reading(Ref(branch=branch.name)) as reading:
        return written(branch.name, reading.tip, reading.pending.count, notes)


class VerifyMergeGate(Request):
    """The arguments of `verify_merge_gate` (S1-080).

    Attributes:
        source_branch: The branch to merge.
        require_verified: Whether unverified facts block too; invalidated ones always do.
        target_branch: The branch that it would be merged into.
    """

    source_branch: Label
    require_verified: bool | None = True
    target_branch: Label | None = MAIN


class GateSeen(Response):
    """Whether the facts that a branch adds or changes are verified (S1-080)."""

    can_merge: bool
    verified: int
    unverified: int
    invalidated: int
    reasons: list[Note]
    facts: list[str]
    """Ids of blocking facts, at most 50."""
    read: Read


def verify_merge_gate(ctx: Context, request: VerifyMergeGate) -> GateSeen:
    """Check whether a branch's new facts are verified; invalidated facts always block."""
    source_branch = branch_of(ctx, request.source_branch)
    gate_result = gate(ctx.repo, source_branch, branch_of(ctx, request.target_branch or MAIN))
    count_by_verdict = gate_result.counts
    advice_by_verdict: dict[Verdict, Advice] = {"invalidated": Advice("retract or correct them")}
    if request.require_verified in {None, True}:
        advice_by_verdict["unverified"] = Advice("{verify_batch} judges them")
    notes = []
    if not gate_result.facts:
        notes.append("The branch adds or changes no active fact.")
    if gate_result.held:
        notes.append(f"Rows that clash and would be held: {gate_result.held}.")
    blocking_ids = [
        fact_id
        for verdict in advice_by_verdict
        for fact_id, fact_verdict in gate_result.facts.items()
        if fact_verdict == verdict
    ]
    return GateSeen(
        can_merge=not blocking_ids,
        verified=count_by_verdict["verified"],
        unverified=count_by_verdict["unverified"],
        invalidated=count_by_verdict["invalidated"],
        reasons=[
            Advice.joined(
                (f"{count_by_verdict[blocking_verdict]} {blocking_verdict}:", verdict_advice)
            )
            for blocking_verdict, verdict_advice in advice_by_verdict.items()
            if count_by_verdict[blocking_verdict]
        ],
        facts=blocking_ids[:_MAX_SHOWN],
        read=Read(
            branch=source_branch.name,
            commit=gate_result.seen.source_commit,
            pending=gate_result.seen.pending.count,
            notes=notes,
        ),
    )


OPERATIONS: tuple[Operation[Any, Any], ...] = (
    Operation("verify_fact", verify_fact, Effect.WRITE),
    Operation("verify_batch", verify_batch, Effect.WRITE),
    Operation("verify_merge_gate", verify_merge_gate, Effect.READ),
)
