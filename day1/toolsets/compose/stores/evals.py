"""Evaluations: whether known questions find their memories."""

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, model_validator

from day1.call.context import Context
from day1.call.fields import Read, Response
from day1.call.operation import Effect, Operation
from day1.services.access.calls import branch_of
from day1.services.items.finding import Narrowing
from day1.services.layers.evaluating import Case, evaluate
from day1.services.layers.layers import LayersQuery
from day1.toolsets.compose.fields import (
    AgentMemoryLayer,
    AgentMemoryScope,
    ComposeRequest,
    Content,
    Name,
)
from day1.toolsets.compose.loop.context import chosen
from day1.toolsets.compose.scope import owner_of
from day1.toolsets.shared.fields import Maybe, absent

_MAX_CASES: Final = 200
"""Maximum number of cases of one evaluation: each case is a search."""


class MemoryEvalTestCase(ComposeRequest):
    """A question, and what the prompt for it is expected to show.

    Attributes:
        query: The question.
        expected: Words that one item of the prompt must all have.
        expectedMemoryId: The id of an item that the prompt must have; this or `expected` is needed.
    """

    query: Content
    expected: Maybe[Content] = None
    expectedMemoryId: Maybe[Name] = None

    @model_validator(mode="after")
    def _expects(self) -> "MemoryEvalTestCase":
        if self.expected is None and self.expectedMemoryId is None:
            raise ValueError("a test case needs `expected` or `expectedMemoryId`")
        return self


def _few_cases(cases: list[MemoryEvalTestCase]) -> list[MemoryEvalTestCase]:
    if not 1 <= len(cases) <= _MAX_CASES:
        raise ValueError(f"must have from 1 to {_MAX_CASES} items")
    return cases


class MemoryEvalRunRequest(AgentMemoryScope):
    """The arguments of `evals_run`.

    Attributes:
        layers: Only these layers. Default: all six.
        testCases: From 1 to 200 questions.
    """

    layers: Maybe[list[AgentMemoryLayer]] = None
    testCases: Annotated[list[MemoryEvalTestCase], AfterValidator(_few_cases)]


class MemoryEvalScores(Response):
    """The scores of an evaluation.

    `recallAtK` is the part of the cases that are hits; `precisionAtK` the number of hits by the
    number of all items returned. K is what a prompt has by default: at most 12 items.
    """

    recallAtK: float
    precisionAtK: float
    avgContextCharacters: float
    cases: int


class MemoryEvalResult(Response):
    """The outcome of a case: whether its prompt has what was expected."""

    query: str
    hit: bool
    returned: int
    contextCharacters: int


class MemoryEvalRunResponse(Response):
    """An evaluation that was recorded, with the time that a search took on average."""

    evalRunId: str
    status: Literal["completed"]
    scores: MemoryEvalScores
    results: list[MemoryEvalResult]
    avgSearchLatencyMs: Maybe[float] = absent()
    read: Read


def evals_run(ctx: Context, request: MemoryEvalRunRequest) -> MemoryEvalRunResponse:
    """Measure whether known questions find their memories, and record the scores."""
    owner, branch = owner_of(ctx, request), branch_of(ctx)
    thread_id, memory_filter = request.threadId, Narrowing(request.filters or {})
    layers = chosen(request.layers)
    layers_query = LayersQuery(owner, "", thread_id, thread_id, layers, narrowing=memory_filter)
    cases = [
        Case(test_case.query, test_case.expected, test_case.expectedMemoryId)
        for test_case in request.testCases
    ]
    evaluation = evaluate(ctx.repo, ctx.search, branch, layers_query, cases)
    scores, eval_run = evaluation.scores, evaluation.run
    return MemoryEvalRunResponse(
        evalRunId=eval_run.id,
        status="completed",
        scores=MemoryEvalScores(
            recallAtK=scores.recall,
            precisionAtK=scores.precision,
            avgContextCharacters=scores.characters,
            cases=scores.cases,
        ),
        results=[
            MemoryEvalResult(
                query=case.query,
                hit=case_result.hit,
                returned=case_result.returned,
                contextCharacters=case_result.characters,
            )
            for case, case_result in zip(cases, evaluation.results, strict=True)
        ],
        avgSearchLatencyMs=evaluation.milliseconds,
        read=Read(
            branch=branch.name,
            commit=eval_run.commit,
            pending=evaluation.pending.count,
            notes=list(evaluation.notes),
        ),
    )


OPERATIONS: Final = (Operation("evals_run", evals_run, Effect.WRITE),)
