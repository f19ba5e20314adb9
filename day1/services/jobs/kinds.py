"""The kinds of jobs that run, each with the function that does its work."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from day1.errors import Json
from day1.model.branches.branch import Branch
from day1.model.jobs.job import WorkKind
from day1.model.rows.change import CommitId, Query
from day1.model.rows.kind import FACT
from day1.model.values.decay import HALF_LIFE_DAYS, decay_score
from day1.model.values.wallet_space import Owner
from day1.services.archives.archiving import Archiving, create_archive
from day1.services.jobs.applying import apply
from day1.services.jobs.cleaning_up import clean_up
from day1.services.jobs.consolidating import consolidate
from day1.services.jobs.workshop import JobRun
from day1.services.skills.mining import Extracted, Extraction, extract_patterns

_FADED_SCORE: Final = 0.1
"""The decay score below which a fact is counted as faded, by default."""


def count_decayed(run: JobRun) -> dict[str, Json]:
    """Count the facts whose decay score is low; the score is computed whenever it is read."""
    half_life = run.number("halfLifeDays", HALF_LIFE_DAYS)
    threshold = run.number("confidenceThreshold", _FADED_SCORE)
    now, fact_count, faded_count = run.repo.clock(), 0, 0
    with run.repo.store.reading(run.reading_ref()) as reading:
        for space in run.spaces(reading):
            run.go_on()
            query = Query(equal={"status": "active", "space": space}, public=True, alive_at=now)
            facts = [row for row in reading.find(FACT, query) if run.covers(row)]
            use_by_id = run.shop.engine.uses.of([str(row["id"]) for row in facts])
            for row in facts:
                last_used_at = int(row["created_at"] or 0)
                if row["id"] in use_by_id:
                    last_used_at = max(last_used_at, use_by_id[str(row["id"])].last)
                fact_count += 1
                faded_count += decay_score(last_used_at, now, half_life) < threshold
    return {
        "computed": True,
        "items": fact_count,
        "below": faded_count,
        "threshold": threshold,
        "halfLifeDays": half_life,
        "notes": ["Decay scores are computed when they are read: no row was changed."],
    }


def extract(run: JobRun) -> dict[str, Json]:
    """Write the runs of tools that recur in each wallet's threads as patterns."""
    extractions: list[Extracted] = []
    min_confidence = run.number("confidenceThreshold", 0.0)

    def write(branch: Branch) -> CommitId | None:
        for wallet in run.job.wallets:
            run.go_on()
            new_extraction = Extraction(
                branch, Owner(wallet), replace(run.origin, agent_id=wallet), min_confidence
            )
            extractions.append(extract_patterns(run.repo, new_extraction))
        commit_ids = [
            extraction.commit for extraction in extractions if extraction.commit is not None
        ]
        return commit_ids[-1] if commit_ids else None

    apply_result = apply(run, write)
    return {
        "added": sum(len(extraction.added) for extraction in extractions),
        "present": sum(extraction.present for extraction in extractions),
        **apply_result,
    }


def archive(run: JobRun) -> dict[str, Json]:
    """Archive the rows of each wallet in a bundle of its own, with a fact that describes it."""
    start_value, end_value = (run.job.params.get(param_name) for param_name in ("start", "end"))
    after_time, before_time = (
        time_value if isinstance(time_value, int) else None
        for time_value in (start_value, end_value)
    )
    created_archives: list[dict[str, Json]] = []

    def write(branch: Branch) -> CommitId | None:
        commit = None
        for wallet in run.job.wallets:
            run.go_on()
            origin = replace(run.origin, agent_id=wallet)
            new_archive = create_archive(
                run.repo, Archiving(branch, Owner(wallet), origin, after_time, before_time)
            )
            if new_archive is not None:
                created_archives.append(
                    {"archiveId": new_archive.archive_id, "cid": new_archive.cid}
                )
                commit = new_archive.commit
        return commit

    apply_result = apply(run, write)
    return {"archives": list(created_archives), **apply_result}


def extract_from_turn(run: JobRun) -> dict[str, Json]:
    """Add the facts that a chat model finds in what a user said in a turn."""
    from day1.services.jobs.extracting import extract_facts  # noqa: PLC0415 - seldom needed

    return extract_facts(run)


RUNS: Final[Mapping[WorkKind, Callable[[JobRun], dict[str, Json]]]] = {
    "consolidate": consolidate,
    "patterns_extract": extract,
    "archive_create": archive,
    "decay_update": count_decayed,
    "cleanup": clean_up,
    "facts_extract": extract_from_turn,
}
"""The function that does the work of each kind of job."""
