"""The status of a branch's lessons: how many are indexed, and which are not rated yet."""

from collections.abc import Collection
from dataclasses import dataclass

from day1.model.branches.branch import Branch
from day1.model.rows.change import Query, ReadState, Ref
from day1.model.rows.kind import FACT
from day1.ports.reading import Reading
from day1.services.lessons.judging import last_votes
from day1.services.repository.repository import Repository
from day1.services.search.filters import Filter
from day1.services.search.indexing import catch_up
from day1.services.search.search_engine import SearchEngine


@dataclass(frozen=True, slots=True)
class LessonStatus:
    """Counts of the active facts of a branch, and which are not rated."""

    memories: int
    indexed: int
    """The number of facts that a search can find: by vectors if there is a model, else by words."""
    unrated: list[str]
    """Ids of facts that this machine showed and that nobody rated since."""
    read: ReadState


def status_of(repo: Repository, engine: SearchEngine, branch: Branch, now: int) -> LessonStatus:
    """Index a branch's new texts by words, then count its active facts."""
    query = Query(equal={"status": "active"}, alive_at=now, present_at=now, public=True)
    ref = Ref(branch=branch.name)
    with repo.store.reading(ref) as reading:
        fact_ids = {str(row_id) for (row_id,) in reading.scan(FACT, ("id",), query)}
        indexed_count = _indexed(engine, reading, branch, now)
        read_state = reading.state
    last_vote_by_row = last_votes(repo)
    ids_and_uses = engine.uses.known().items()
    unrated_ids = sorted(
        fact_id
        for fact_id, use in ids_and_uses
        if fact_id in fact_ids and last_vote_by_row.get(fact_id, -1) < use.last
    )
    return LessonStatus(len(fact_ids), indexed_count, unrated_ids, read_state)


def _indexed(engine: SearchEngine, reading: Reading, branch: Branch, now: int) -> int:
    row_filter = Filter(FACT, alive_at=now, present_at=now)
    if not engine.index.read_only:
        catch_up(reading, engine.history, engine.index, branch.id, engine.words_wait_s)
    ref = Ref(branch=branch.name)
    with engine.views.at(reading, ref, row_filter, engine.history, engine.index) as view:
        text_ids = view.texts(row_filter)
        ids_without_vector = _without_vector(engine, text_ids)
        return sum(
            view_entry.text not in ids_without_vector
            for view_entry in view.entries(text_ids, row_filter)
        )


def _without_vector(engine: SearchEngine, texts: Collection[int]) -> set[int]:
    if engine.embedder is None:
        return set()
    return set(engine.index.vectors.waiting(engine.embedder, list(texts)))
