"""Verifying many facts: judge them one by one, and write their verdicts in units."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from day1.model.branches.branch import Branch
from day1.model.records.judgement import Verdict
from day1.model.redaction.veil import SECRET
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT, Row
from day1.model.rows.origin import Origin
from day1.ports.reading import Reading
from day1.services.verification.judging import JudgedFact, Verification, judge_fact
from day1.services.verification.verdicts import write_verdicts

UNIT = 16
"""Number of verdicts in one commit of a batch."""


@dataclass(slots=True)
class VerifiedBatch:
    """The result of verifying many facts."""

    verdicts: Counter[Verdict] = field(default_factory=Counter)
    judges: dict[str, None] = field(default_factory=dict)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    errors: int = 0
    """Number of facts whose text changed, or that were removed, while they were judged."""
    remaining: int = 0
    """Number of facts of the selection that no judge has judged yet."""
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class BatchWatch:
    """Callbacks that report the progress of a batch and ask whether to stop it."""

    progress: Callable[[int, int | None], None]
    stopped: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class FactSelection:
    """Which facts to judge."""

    equal: Row
    """Column -> value that the facts must have."""
    limit: int


def verify_many(
    verification: Verification,
    branch: Branch,
    selection: FactSelection,
    origin: Origin,
    watch: BatchWatch,
) -> VerifiedBatch:
    """Judge selected facts one by one: facts without a verdict first, the newest first.

    A commit is made after every `UNIT` verdicts and at the end, also if the caller stops the batch.
    """
    batch, unwritten = VerifiedBatch(), list[JudgedFact]()
    shown_ref = verification.repo.shown(Ref(branch=branch.name))
    with verification.repo.store.reading(shown_ref) as reading:
        rows = _chosen(reading, selection)
    try:
        for number, row in enumerate(rows, start=1):
            if watch.stopped():
                batch.stopped = True
                break
            unwritten.append(judge_fact(verification, branch, row))
            if len(unwritten) == UNIT:
                _write_batch(verification, branch, unwritten, origin, batch)
            watch.progress(number, len(rows))
    finally:  # keep the verdicts so far, whatever happened
        _write_batch(verification, branch, unwritten, origin, batch)
    unjudged = {**selection.equal, "scores": None}
    with verification.repo.store.reading(
        verification.repo.shown(Ref(branch=branch.name))
    ) as end_state:
        batch.remaining = end_state.count(FACT, unjudged) - end_state.count(
            FACT, {**unjudged, "sensitivity": SECRET}
        )
    return batch


def _chosen(reading: Reading, selection: FactSelection) -> list[Row]:
    equal, limit = selection.equal, selection.limit
    unjudged = Query(equal={**equal, "scores": None}, public=True, descending=True, limit=limit)
    unjudged_rows = reading.find(FACT, unjudged)
    if len(unjudged_rows) == limit:
        return unjudged_rows
    newest_rows = reading.find(FACT, Query(equal=equal, public=True, descending=True, limit=limit))
    return [*unjudged_rows, *(row for row in newest_rows if row["scores"] is not None)][:limit]


def _write_batch(
    verification: Verification,
    branch: Branch,
    unwritten: list[JudgedFact],
    origin: Origin,
    batch: VerifiedBatch,
) -> None:
    """Write the unwritten verdicts and add them to the counts of the batch."""
    facts = list(unwritten)
    unwritten.clear()
    result = write_verdicts(verification.repo, branch, facts, origin)
    for fact in facts:
        if fact.row["id"] in result.left:
            batch.errors += 1
            continue
        batch.verdicts[fact.judgement.verdict] += 1
        batch.judges[fact.judgement.judge] = None
        batch.prompt_tokens += fact.judgement.prompt_tokens
        batch.completion_tokens += fact.judgement.completion_tokens
