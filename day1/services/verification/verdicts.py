"""Writing verdicts to facts.

A verdict is written only if the fact still has the text that the judge saw.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from day1.model.branches.branch import Branch
from day1.model.records.judgement import Judgement
from day1.model.redaction.basis import VERDICT_BASIS, Sources
from day1.model.rows.change import CommitId, Message, Pending, Ref
from day1.model.rows.kind import FACT, Row, canonical
from day1.model.rows.origin import Origin
from day1.services.branches.lookup import find_open_again
from day1.services.repository.repository import Repository
from day1.services.rows.deriving import add_new, basis_columns, basis_edit
from day1.services.rows.editing import Editor
from day1.services.verification.judging import JudgedFact


@dataclass(frozen=True, slots=True)
class WrittenVerdicts:
    """The commit of the verdicts; if no verdict is new, the branch's last commit."""

    commit: CommitId
    pending: Pending
    left: tuple[str, ...] = ()
    """Ids of facts whose text changed, or that were removed, while they were judged."""


def write_verdicts(
    repo: Repository, branch: Branch, verdicts: Sequence[JudgedFact], origin: Origin
) -> WrittenVerdicts:
    """Write verdicts to their facts in one commit; skip facts whose text changed meanwhile."""
    fact_ids = [str(verdict.row["id"]) for verdict in verdicts]
    with repo.store.reading(Ref(branch=branch.name)) as reading:
        fact_by_id = reading.get(FACT, fact_ids)
        if all(
            _has_verdict(fact_by_id.get(fact_id), verdict)
            for fact_id, verdict in zip(fact_ids, verdicts, strict=True)
        ):
            return WrittenVerdicts(reading.tip, reading.pending)
    skipped_ids: list[str] = []
    verdict_lines: list[str] = []
    find_open_again(repo, branch)  # it may have been closed while the facts were judged
    with repo.store.changing(branch.name) as unit_of_work:
        fact_by_id = unit_of_work.get(FACT, fact_ids)
        sources = Sources(unit_of_work)
        sources.of_ids({row_id for verdict in verdicts for row_id in verdict.read})
        for fact_id, verdict in zip(fact_ids, verdicts, strict=True):
            row, judgement = fact_by_id.get(fact_id), verdict.judgement
            if row is None or verdict.row["content_hash"] != row["content_hash"]:
                skipped_ids.append(fact_id)
            elif not _has_verdict(row, verdict):
                verdict_columns = {"verification": judgement.verdict, "scores": _as_json(judgement)}
                Editor(repo, unit_of_work, origin, judgement.reason).change(
                    FACT, row, verdict_columns
                )
                # What a row was made of is listed too: a revert may take that row away.
                read_ids = {*verdict.read, *sources.all_of(verdict.read)}
                read_rows = [{"id": row_id} for row_id in read_ids]
                basis_values = basis_columns(FACT, fact_id, read_rows, VERDICT_BASIS)
                add_new(
                    unit_of_work,
                    [basis_edit(basis_values, origin, unit_of_work.now)] * bool(read_rows),
                )
                verdict_lines.append(f"{fact_id}: {judgement.verdict}")
        if not verdict_lines:
            return WrittenVerdicts(unit_of_work.tip, unit_of_work.pending, tuple(skipped_ids))
        commit_title = (
            f"verify fact {verdict_lines[0]}"
            if len(verdict_lines) == 1
            else f"verify {len(verdict_lines)} facts"
        )
        return WrittenVerdicts(
            unit_of_work.commit(Message("change", commit_title)), Pending(), tuple(skipped_ids)
        )


def _as_json(judgement: Judgement) -> str:
    score_values = [asdict(score) for score in judgement.scores]
    return canonical({"judge": judgement.judge, "reason": judgement.reason, "scores": score_values})


def _has_verdict(row: Row | None, verdict: JudgedFact) -> bool:
    """Whether a fact already has this verdict with these scores by this judge."""
    judgement = verdict.judgement
    if row is None or row["content_hash"] != verdict.row["content_hash"]:
        return False
    if row["verification"] != judgement.verdict or row["scores"] is None:
        return False
    stored_verdict = json.loads(str(row["scores"]))
    if not isinstance(stored_verdict, dict) or stored_verdict.get("judge") != judgement.judge:
        return False
    stored_scores = [
        [score.get("dimension"), score.get("score")] for score in stored_verdict.get("scores", ())
    ]
    return stored_scores == [[score.dimension, score.score] for score in judgement.scores]
