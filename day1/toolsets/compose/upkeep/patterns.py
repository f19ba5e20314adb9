"""Patterns of tools: listing, validating and promoting them to skills."""

from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator

from day1.call.context import Context
from day1.call.fields import Read, Response, Written, written
from day1.call.operation import Effect, Operation
from day1.errors import NotFound
from day1.model.layers.row_detail import owner_in
from day1.model.rows.kind import text_of
from day1.model.skills.structure import PATTERN
from day1.model.values.wallet_space import Owner
from day1.services.access.calls import branch_of
from day1.services.skills.mining import Counted, CountedRows, read_counted
from day1.services.skills.promoting import find_counted, promote
from day1.toolsets.compose.fields import (
    ComposeRequest,
    Metadata,
    Name,
    Number,
    RowScope,
    milliseconds,
    missing,
)
from day1.toolsets.compose.scope import wallet_of, write_of
from day1.toolsets.shared.answers import read_of
from day1.toolsets.shared.fields import Maybe, absent

_PatternType = Literal["routine", "decision", "response", "tool_sequence"]
_DIGITS: Final = 6
"""Decimal places of rates in answers."""
_LISTED: Final = 50
"""Number of patterns or skills in a list if the caller sets no limit."""
_MOST_LISTED: Final = 200


def _listed(limit: int) -> int:
    if not 1 <= limit <= _MOST_LISTED:
        raise ValueError(f"must be from 1 to {_MOST_LISTED}")
    return limit


def _share(number: float) -> float:
    if not 0 <= number <= 1:
        raise ValueError("must be from 0 to 1")
    return number


ListLimit = Maybe[Annotated[int, AfterValidator(_listed)]]
"""Maximum length of a list, from 1 to 200; the schema states no bound, as the contract does."""


def first(limit: int | None) -> int:
    """Return the maximum length of a list: the given limit, else the default."""
    return limit or _LISTED


class PatternsList(ComposeRequest):
    """The arguments of `patterns_list`.

    Attributes:
        agentWallet: The agent whose patterns are listed, beside the shared ones. Default: the
            agent that the token is bound to, else only shared ones are listed.
        patternType: Only patterns of this type. day1 finds patterns of the type `tool_sequence`.
        minSuccessRate: Only patterns with at least this share of successes: from 0 to 1.
        limit: How many to list, at most: from 1 to 200. Default: 50.
    """

    agentWallet: Maybe[Name] = None
    patternType: Maybe[_PatternType] = None
    minSuccessRate: Maybe[Annotated[Number, AfterValidator(_share)]] = None
    limit: ListLimit = None


class PatternTrigger(Response):
    """What leads to a pattern: for a run of tools its first tool, as `context`."""

    type: Literal["intent", "keyword", "context", "state"]
    value: str
    conditions: Metadata = absent()


class PatternStep(Response):
    """One tool call of a pattern, which is a sequence of tools that agents repeat."""

    action: str
    params: Metadata = absent()
    expectedOutcome: Maybe[str] = absent()
    order: int


class ProceduralPattern(Response):
    """A pattern; its rate and its count are counted in the threads of its wallet."""

    patternId: str
    agentWallet: str
    scope: Maybe[RowScope] = absent()
    haiId: Maybe[str] = absent()
    patternType: _PatternType
    trigger: PatternTrigger
    steps: list[PatternStep]
    summary: str
    successRate: float
    executionCount: int
    lastExecuted: int
    metadata: Metadata = absent()
    createdAt: int
    updatedAt: Maybe[int] = absent()


class ProceduralPatternListResponse(Response):
    """Patterns, those of the surest success first."""

    patterns: list[ProceduralPattern]
    read: Read


class PatternsGet(ComposeRequest):
    """The arguments of `patterns_get`.

    Attributes:
        patternId: The pattern's id, as `patterns_list` gives it.
        agentWallet: The agent whose pattern it is. Default: the agent that the token is bound to,
            else only shared ones are found.
    """

    patternId: Name
    agentWallet: Maybe[Name] = None


class ProceduralPatternResponse(Response):
    """One pattern."""

    pattern: ProceduralPattern
    read: Read


class PatternsValidate(ComposeRequest):
    """The arguments of `patterns_validate`.

    Attributes:
        patternId: The pattern's id, as `patterns_list` gives it.
        agentWallet: The agent whose pattern it must be. Default: the agent that the token is bound
            to, else any agent's pattern is found by its id.
    """

    patternId: Name
    agentWallet: Maybe[Name] = None


class MemoryPatternValidation(ComposeRequest):
    """Whether a pattern ran and succeeded often enough to become a skill.

    Attributes:
        valid: Whether it did: at least 2 runs, a success rate of 0.55 and a confidence of 0.2.
        confidence: The lower bound of its success rate, with a confidence of 95 %.
        occurrences: How often it ran.
        successRate: The share of successes among the runs whose outcome is known.
        toolSequence: Its tools in order.
    """

    valid: bool
    confidence: Number
    occurrences: int
    successRate: Number
    toolSequence: list[str]


class PatternValidated(Response):
    """The validation of a pattern."""

    validation: MemoryPatternValidation
    read: Read


class MemoryPatternPromoteRequest(ComposeRequest):
    """The arguments of `patterns_promote`.

    Attributes:
        patternId: The pattern's id, as `patterns_list` gives it.
        skillName: The name of the skill.
        validationData: What `patterns_validate` answered. It is not relied on: the pattern is
            validated again.
        agentWallet: The agent whose pattern it must be. Default: the agent that the token is bound
            to, else any agent's pattern is found by its id.
    """

    patternId: Name
    skillName: Name
    validationData: MemoryPatternValidation
    agentWallet: Maybe[Name] = None


class MemoryPatternPromoteResponse(Response):
    """The skill of a promoted pattern."""

    skillId: str
    promoted: bool
    written: Written


def patterns_list(ctx: Context, request: PatternsList) -> ProceduralPatternListResponse:
    """List the patterns of tools, each with how often it ran and succeeded."""
    owner, branch = wallet_of(ctx, request.agentWallet), branch_of(ctx)
    counted_rows = read_counted(ctx.repo, branch, PATTERN, owner.spaces)
    matching_patterns = [
        counted_pattern
        for counted_pattern in counted_rows.rows
        if request.patternType in {None, counted_pattern.structure.type}
        and counted_pattern.counts.rate >= (request.minSuccessRate or 0)
    ]
    return ProceduralPatternListResponse(
        patterns=[
            _pattern(counted_pattern, owner)
            for counted_pattern in matching_patterns[: first(request.limit)]
        ],
        read=read_of(counted_rows.state, branch.name),
    )


def patterns_get(ctx: Context, request: PatternsGet) -> ProceduralPatternResponse:
    """Show one pattern, with how often it ran and succeeded."""
    owner, branch = wallet_of(ctx, request.agentWallet), branch_of(ctx)
    found_pattern = find_counted(ctx.repo, branch, PATTERN, request.patternId, owner.spaces)
    if found_pattern.counted is None:
        raise NotFound(
            "This agentWallet has no pattern of this id: `patterns_list` lists its patterns.",
            patternId=request.patternId,
        )
    read_state = read_of(found_pattern.read.state, branch.name)
    return ProceduralPatternResponse(
        pattern=_pattern(found_pattern.counted, owner), read=read_state
    )


def patterns_validate(ctx: Context, request: PatternsValidate) -> PatternValidated:
    """Tell whether a pattern may become a skill; an unknown one may not."""
    branch = branch_of(ctx)
    counted_pattern, counted_rows = _by_id(ctx, request.patternId, request.agentWallet)
    return PatternValidated(
        validation=_validation(counted_pattern), read=read_of(counted_rows.state, branch.name)
    )


def patterns_promote(
    ctx: Context, request: MemoryPatternPromoteRequest
) -> MemoryPatternPromoteResponse:
    """Make a skill of a valid pattern; it is unverified until somebody judges it."""
    counted_pattern, _ = _by_id(ctx, request.patternId, request.agentWallet)
    if counted_pattern is None:
        raise missing("patternId", "names no pattern: `patterns_list` lists the patterns")
    if not counted_pattern.counts.valid:
        raise missing(
            "patternId", "names a pattern that is not valid: `patterns_validate` says why"
        )
    owner = owner_in(counted_pattern.row["detail"])
    write_context = write_of(ctx, Owner(owner.wallet))
    promotion = promote(
        write_context.repo,
        write_context.branch,
        counted_pattern,
        request.skillName,
        write_context.origin,
    )
    branch_after = promotion.after
    return MemoryPatternPromoteResponse(
        skillId=promotion.skill_id,
        promoted=promotion.active,
        written=written(
            write_context.branch.name, branch_after.tip, branch_after.pending, promotion.notes
        ),
    )


def _by_id(ctx: Context, pattern_id: str, wallet: str | None) -> tuple[Counted | None, CountedRows]:
    """Find a pattern by its id: of the named or the token's wallet, else of any wallet."""
    owner = wallet_of(ctx, wallet)
    spaces = None if owner.wallet is None else owner.spaces
    found_pattern = find_counted(ctx.repo, branch_of(ctx), PATTERN, pattern_id, spaces)
    return found_pattern.counted, found_pattern.read


def _validation(counted: Counted | None) -> MemoryPatternValidation:
    if counted is None:
        return MemoryPatternValidation(
            valid=False, confidence=0, occurrences=0, successRate=0, toolSequence=[]
        )
    run_counts = counted.counts
    return MemoryPatternValidation(
        valid=run_counts.valid,
        confidence=round(run_counts.confidence, _DIGITS),
        occurrences=run_counts.runs,
        successRate=round(run_counts.rate, _DIGITS),
        toolSequence=list(counted.structure.steps),
    )


def _pattern(counted: Counted, caller: Owner) -> ProceduralPattern:
    row, pattern_structure, run_counts = counted.row, counted.structure, counted.counts
    numbered_steps = enumerate(pattern_structure.steps, 1)
    metadata: dict[str, Any] = {
        "known": run_counts.known,
        "confidence": round(run_counts.confidence, _DIGITS),
        "valid": run_counts.valid,
        "verification": row["verification"],
    }
    return ProceduralPattern(
        patternId=str(row["id"]),
        agentWallet=owner_in(row["detail"]).wallet
        or caller.wallet
        or text_of(row["agent_id"])
        or "",
        scope="global",
        patternType=pattern_structure.type,
        trigger=PatternTrigger.model_validate(pattern_structure.trigger),
        steps=[PatternStep(action=action, order=order) for order, action in numbered_steps],
        summary=pattern_structure.summary,
        successRate=round(run_counts.rate, _DIGITS),
        executionCount=run_counts.runs,
        lastExecuted=0 if run_counts.last is None else milliseconds(run_counts.last),
        metadata=metadata,
        createdAt=milliseconds(int(row["created_at"] or 0)),
    )


OPERATIONS: Final = (
    Operation("patterns_list", patterns_list, Effect.READ),
    Operation("patterns_get", patterns_get, Effect.READ),
    Operation("patterns_validate", patterns_validate, Effect.READ),
    Operation("patterns_promote", patterns_promote, Effect.WRITE, idempotent=True),
)
