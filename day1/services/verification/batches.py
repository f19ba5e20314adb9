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
    batch, unwritten_verdicts = VerifiedBatch(), list[JudgedFact]()
    shown_ref = verification.repo.shown(Ref(branch=branch.name))
    with verification.repo.store.reading(shown_ref) as reading:
        chosen_facts = _chosen(reading, selection)
    try:
        for judged_count, row in enumerate(chosen_facts, start=1):
            if watch.stopped():
                batch.stopped = True
                break
            unwritten_verdicts.append(judge_fact(verification, branch, row))
            if len(unwritten_verdicts) == UNIT:
                _write_batch(verification, branch, unwritten_verdicts, origin, batch)
            watch.progress(judged_count, len(chosen_facts))
    finally:  # keep the verdicts so far, whatever happened
        _write_batch(verification, branch, unwritten_verdicts, origin, batch)
    unjudged_values = {**selection.equal, "scores": None}
    with verification.repo.store.reading(
        verification.repo.shown(Ref(branch=branch.name))
    ) as final_reading:
        batch.remaining = final_reading.count(FACT, unjudged_values) - final_reading.count(
            FACT, {**unjudged_values, "sensitivity": SECRET}
        )
    return batch


def _chosen(reading: Reading, selection: FactSelection) -> list[Row]:
    required_values, limit = selection.equal, selection.limit
    unjudged_query = Query(
        equal={**required_values, "scores": None}, public=True, descending=True, limit=limit
    )
    unjudged_rows = reading.find(FACT, unjudged_query)
    if len(unjudged_rows) == limit:
        return unjudged_rows
    newest_rows = reading.find(
        FACT, Query(equal=required_values, public=True, descending=True, limit=limit)
    )
    return [*unjudged_rows, *(row for row in newest_rows if row["scores"] is not None)][:limit]


def _write_batch(
    verification: Verification,
    branch: Branch,
    unwritten: list[JudgedFact],
    origin: Origin,
    batch: VerifiedBatch,
) -> None:
    """Write the unwritten verdicts and add them to the counts of the batch."""
    judged_facts = list(unwritten)
    unwritten.clear()
    written_verdicts = write_verdicts(verification.repo, branch, judged_facts, origin)
    for judged_fact in judged_facts:
        if judged_fact.row["id"] in written_verdicts.left:
            batch.errors += 1
            continue
        batch.verdicts[judged_fact.judgement.verdict] += 1
        batch.judges[judged_fact.judgement.judge] = None
        batch.prompt_tokens += judged_fact.judgement.prompt_tokens
        batch.completion_tokens += judged_fact.judgement.completion_tokens
