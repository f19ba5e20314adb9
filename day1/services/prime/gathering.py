"""Building a prime: the state of a branch, its open items, and its most useful facts.

The cost does not grow with the branch: the newest facts are read by an index on time, others by id.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Final

from day1.errors import NotFound, StoreUnavailable
from day1.model.branches.branch import Branch
from day1.model.prime.choosing import EVERGREEN, PINNED, KnownFact, ordered
from day1.model.prime.prime import Prime
from day1.model.prime.wording import Situation, ends_of, prime_text
from day1.model.records.sharing import Handoff
from day1.model.records.task import Objective, Task
from day1.model.redaction.mask import REDACTED_HASH
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT, HELD, Cell
from day1.model.search.usefulness import NO_VOTES
from day1.ports.reading import Reading
from day1.ports.source import PASSAGE
from day1.ports.uses import Use
from day1.services.branches.lookup import name_of
from day1.services.merges.held import offers_on
from day1.services.merges.reviews import reviews
from day1.services.prime.prime_services import PrimeServices
from day1.services.repository.repository import Repository
from day1.services.search.filters import active_rows

# Facts that are considered for a prime, beside the best rated ones.
_MAX_NEWEST = 100
"""Maximum number of newest facts that are considered."""
_MAX_USED = 50
"""Maximum number of most often shown facts that are considered."""
_MAX_PINNED = 20
"""Maximum number of pinned facts that are considered."""
_MAX_EVERGREEN = 20
"""Maximum number of evergreen facts (which say how to work) that are considered."""
_MAX_NEWEST_WITH_IMPORT = 2_000
"""Maximum number of newest facts considered if some are passages of imported documents."""
_COLUMNS: Final = (
    "id",
    "fact_text",
    "content_hash",
    "category",
    "verification",
    "confidence",
    "session_id",
    "happened_at",
    "created_at",
    "expires_at",
    "valid_until",
    "space",
    "source",
)


def prime_of(
    repo: Repository,
    services: PrimeServices,
    branch: Branch,
    space: str | None,
    max_characters: int,
) -> Prime:
    """Build the prime of a branch from its facts without a space and those of one space.

    Args:
        repo: the store.
        services: counts of shown facts, kept primes and ratings.
        branch: the branch.
        space: the space; None: only facts without a space.
        max_characters: maximum number of characters of the prime's text.

    Raises:
        UnknownBranch: the branch was deleted meanwhile.
    """
    now, ref = repo.clock(), Ref(branch=branch.name)
    with repo.store.reading(repo.shown(ref)) as reading:
        pinned_ids, evergreen_ids = _lasting(repo, services, branch, space, reading)
        chosen_lasting_ids = [*sorted(pinned_ids, reverse=True)[:_MAX_PINNED], *evergreen_ids]
        facts = ordered(_facts(repo, services, reading, chosen_lasting_ids, space), now)
        situation = Situation(
            branch.name,
            reading.tip,
            reading.pending.count,
            about=branch.purpose or branch.description,
            task=_task(repo, branch),
            handoff=_handoff(repo, branch),
            reviews=len(reviews(repo, branch=branch)),
            facts=facts,
        )
        has_held_items = reading.count(HELD) > 0
    if has_held_items:
        with repo.store.reading(ref) as reading:
            situation = replace(situation, held=len(offers_on(repo, reading)))
    shown_text = prime_text(situation, max_characters)
    return Prime(
        branch.name,
        space,
        situation.commit,
        situation.pending,
        now,
        shown_text,
        tuple(sorted(pinned_ids)),
        tuple(evergreen_ids),
        ends_of(shown_text, facts),
    )


def _facts(
    repo: Repository,
    services: PrimeServices,
    reading: Reading,
    lasting: Collection[str],
    space: str | None,
) -> list[KnownFact]:
    """Read facts for a prime: active, public, true now, not expiring, of this space or none."""
    now, votes_by_fact = repo.clock(), repo.ledger.votes()
    best_rated_ids, use_by_fact = services.judged.of(votes_by_fact), services.uses.most(_MAX_USED)
    considered_ids = sorted({*best_rated_ids, *use_by_fact, *lasting})
    active_query = replace(active_rows(FACT, inactive=False), alive_at=now, present_at=now)
    # Rows of other spaces are filtered out below, so the cost does not grow with the facts.
    newest_query = replace(active_query, order="created_at", descending=True, limit=_MAX_NEWEST)
    row_by_id = _rows(reading, newest_query)
    if len(row_by_id) == _MAX_NEWEST and any(map(_is_passage, row_by_id.values())):
        row_by_id |= _rows(reading, replace(newest_query, limit=_MAX_NEWEST_WITH_IMPORT))
    if considered_ids:
        row_by_id |= _rows(reading, replace(active_query, among={"id": considered_ids}))
    return [
        _known(
            row,
            use_by_fact.get(str(row["id"])),
            votes_by_fact.get(str(row["id"]), NO_VOTES).usefulness(_NO_WORDS),
        )
        for row in row_by_id.values()
        if row["space"] in {None, space}
        and row["expires_at"] is None
        and row["content_hash"] != REDACTED_HASH
    ]


def _rows(reading: Reading, query: Query) -> dict[str, dict[str, Cell]]:
    rows = reading.scan(FACT, _COLUMNS, query)
    return {str(row[0]): dict(zip(_COLUMNS, row, strict=True)) for row in rows}


_NO_WORDS: Final = frozenset[str]()
"""The words of the query: none, since a prime is made before any question."""


def _known(row: dict[str, Cell], use: Use | None, votes: float) -> KnownFact:
    happened_at, valid_until, session_id = row["happened_at"], row["valid_until"], row["session_id"]
    return KnownFact(
        id=str(row["id"]),
        text=str(row["fact_text"]),
        at=int((row["created_at"] if happened_at is None else happened_at) or 0),
        pinned=row["category"] == PINNED,
        evergreen=row["category"] in EVERGREEN,
        verified=row["verification"] == "verified",
        passage=_is_passage(row),
        confidence=float(row["confidence"] or 0.0),
        session_id=None if session_id is None else str(session_id),
        times=0 if use is None else use.times,
        last_shown=0 if use is None else use.last,
        usefulness=votes,
        until=None if valid_until is None else int(valid_until),
    )


def _is_passage(row: dict[str, Cell]) -> bool:
    """Whether a fact is a passage of an imported document whose category nobody has changed."""
    return row["source"] == "import" and row["category"] == PASSAGE


def _lasting(
    repo: Repository, services: PrimeServices, branch: Branch, space: str | None, reading: Reading
) -> tuple[set[str], list[str]]:
    """Return the ids of the branch's pinned facts and of its newest evergreen facts.

    They are taken from the kept prime, with the changes since that prime.
    """
    kept_prime = services.primes.kept(branch.name, space)
    if kept_prime is not None and kept_prime.evergreen is not None:
        pinned_ids, evergreen_ids = set(kept_prime.pinned), set(kept_prime.evergreen)
        # Pending rows are among the newest, which are considered anyway.
        if kept_prime.at == reading.tip and reading.pending.count <= _MAX_NEWEST:
            return pinned_ids, list(kept_prime.evergreen)
        try:
            changes = repo.history.changes(kept_prime.at, Ref(branch=branch.name))
        except (NotFound, StoreUnavailable):  # its commit is of another store, or was compacted
            pass
        else:
            changed_facts = changes.get(FACT.table, ())
            changed_ids = {change.id for change in changed_facts}
            ids_with_categories = [
                (change.id, change.after["category"]) for change in changed_facts if change.after
            ]
            return _sorted_out(
                ids_with_categories, pinned_ids - changed_ids, evergreen_ids - changed_ids
            )
    lasting_query = Query(among={"category": [PINNED, *sorted(EVERGREEN)]})
    return _sorted_out(reading.scan(FACT, ("id", "category"), lasting_query), set(), set())


def _sorted_out(
    categories: Iterable[Sequence[Cell]], pinned: set[str], evergreen: set[str]
) -> tuple[set[str], list[str]]:
    """Add facts to `pinned` or `evergreen` by category; return `pinned`, and newest evergreens."""
    for row_id, category in categories:
        if category == PINNED:
            pinned.add(str(row_id))
        elif category in EVERGREEN:
            evergreen.add(str(row_id))
    return pinned, sorted(evergreen, reverse=True)[:_MAX_EVERGREEN]


def _task(repo: Repository, branch: Branch) -> str | None:
    """Describe the branch's task, its progress and current objectives; None without a task."""
    task = None if branch.task_id is None else repo.ledger.record(Task, branch.task_id)
    if task is None:
        return None
    objectives = repo.ledger.records(Objective, task_id=task.id)
    completed_count = sum(objective.status == "completed" for objective in objectives)
    descriptions_in_progress = [
        open_objective.description
        for open_objective in objectives
        if open_objective.status == "in_progress"
    ]
    task_lines = [
        task.name,
        *([f"{completed_count} of {len(objectives)} objectives done"] if objectives else []),
    ]
    return "; ".join(
        [*task_lines, *(f"in progress: {description}" for description in descriptions_in_progress)]
    )


def _handoff(repo: Repository, branch: Branch) -> tuple[str, int, str] | None:
    """Find the last handoff to a branch: its source, time and summary."""
    handoffs = repo.ledger.records(Handoff, target_id=branch.id)
    if not handoffs:
        return None
    newest_handoff = max(handoffs, key=lambda handoff: (handoff.created_at, handoff.id))
    source_name = name_of(repo, newest_handoff.source_id) or "a branch that is gone"
    return source_name, newest_handoff.created_at, newest_handoff.context_summary
