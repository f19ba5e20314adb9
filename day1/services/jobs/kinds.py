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
    now, items, faded_count = run.repo.clock(), 0, 0
    with run.repo.store.reading(run.reading_ref()) as reading:
        for space in run.spaces(reading):
            run.go_on()
            query = Query(equal={"status": "active", "space": space}, public=True, alive_at=now)
            rows = [row for row in reading.find(FACT, query) if run.covers(row)]
            uses = run.shop.engine.uses.of([str(row["id"]) for row in rows])
            for row in rows:
                last_used = int(row["created_at"] or 0)
                if row["id"] in uses:
                    last_used = max(last_used, uses[str(row["id"])].last)
                items += 1
                faded_count += decay_score(last_used, now, half_life) < threshold
    return {
        "computed": True,
        "items": items,
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
            new = Extraction(
                branch, Owner(wallet), replace(run.origin, agent_id=wallet), min_confidence
            )
            extractions.append(extract_patterns(run.repo, new))
        commits = [extraction.commit for extraction in extractions if extraction.commit is not None]
        return commits[-1] if commits else None

    applied = apply(run, write)
    return {
        "added": sum(len(extraction.added) for extraction in extractions),
        "present": sum(extraction.present for extraction in extractions),
        **applied,
    }


def archive(run: JobRun) -> dict[str, Json]:
    """Archive the rows of each wallet in a bundle of its own, with a fact that describes it."""
    start, end = (run.job.params.get(name) for name in ("start", "end"))
    after, before = (at if isinstance(at, int) else None for at in (start, end))
    archives: list[dict[str, Json]] = []

    def write(branch: Branch) -> CommitId | None:
        commit = None
        for wallet in run.job.wallets:
            run.go_on()
            origin = replace(run.origin, agent_id=wallet)
            new_archive = create_archive(
                run.repo, Archiving(branch, Owner(wallet), origin, after, before)
            )
            if new_archive is not None:
                archives.append({"archiveId": new_archive.archive_id, "cid": new_archive.cid})
                commit = new_archive.commit
        return commit

    applied = apply(run, write)
    return {"archives": list(archives), **applied}


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
