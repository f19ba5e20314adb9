"""Possible duplicates: new texts of both sides that are alike, and which texts are compared."""

from typing import Any

import pytest

from day1.model.branches.branch import MAIN
from day1.model.redaction.veil import SECRET
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT, Cell
from day1.services.merges.duplicates import ALIKE, may_find, possible_duplicates
from day1.services.merges.planning import look
from day1.services.rows.editing import Removal, remove
from day1.services.search.search_engine import SearchEngine
from tests.fakes.hashing_embedder import HashingEmbedder
from tests.fakes.memory_index import MemoryIndex
from tests.unit.services.conftest import ADA, Bench
from tests.unit.services.writers import SIDE, correct, request, write

TEXT, ALIKE_TEXT, OTHER = (
    "the gateway restarts every tuesday at noon sharp and nobody knows why",
    "the gateway restarts every tuesday at noon sharp and nobody says why",
    "green tea wants eighty degrees",
)


def engine(bench: Bench, *, model: bool = True) -> SearchEngine:
    """A search engine that knows all texts of both branches, and their vectors."""
    index: Any = MemoryIndex()
    for branch in (MAIN, SIDE):
        with bench.store.reading(Ref(branch=branch)) as reading:
            rows = reading.find(FACT, Query())
        index.words.learn(FACT, {str(r["content_hash"]): str(r["fact_text"]) for r in rows})
    embedder = HashingEmbedder() if model else None
    return SearchEngine(bench.store, bench.store.history, index, embedder, bench.repo.clock)


def twins(bench: Bench, searching: SearchEngine | None = None) -> list[tuple[str, str]]:
    searching = searching or engine(bench)
    seen = look(bench.repo, request(bench), both=may_find(searching))
    return [(twin.id, twin.other_id) for twin in possible_duplicates(searching, seen)]


@pytest.fixture
def both(bench: Bench) -> Bench:
    """Both branches have learned nearly the same, and the target something else."""
    bench.fork(SIDE)
    write(bench, "fact_mine", SIDE, text=TEXT)
    write(bench, "fact_theirs", MAIN, text=ALIKE_TEXT)
    write(bench, "fact_other", MAIN, text=OTHER)
    return bench


def test_new_texts_that_are_alike_are_reported_with_both_texts(both: Bench) -> None:
    seen = look(both.repo, request(both), both=True)
    (twin,) = possible_duplicates(engine(both), seen)
    assert (twin.id, twin.text) == ("fact_mine", TEXT)
    assert (twin.other_id, twin.other_text) == ("fact_theirs", ALIKE_TEXT)
    assert ALIKE < twin.cosine < 1


def test_without_a_model_nothing_is_compared(both: Bench) -> None:
    searching = engine(both, model=False)
    assert not may_find(searching)
    assert may_find(engine(both))
    seen = look(both.repo, request(both), both=True)
    assert possible_duplicates(searching, seen) == []


def test_a_text_that_the_index_does_not_know_yet_is_not_waited_for(both: Bench) -> None:
    searching = engine(both)
    write(both, "fact_late", SIDE, text=ALIKE_TEXT + " again")
    write(both, "fact_later", MAIN, text=TEXT + " again")
    assert twins(both, searching) == [("fact_mine", "fact_theirs")]


@pytest.mark.parametrize("side", [SIDE, MAIN])
@pytest.mark.parametrize("columns", [{"sensitivity": SECRET}, {"expires_at": 10**15}])
def test_texts_that_not_all_are_told_are_not_compared(
    both: Bench, side: str, columns: dict[str, Cell]
) -> None:
    correct(both, "fact_mine" if side == SIDE else "fact_theirs", side, **columns)
    assert twins(both) == []


@pytest.mark.parametrize("side", [SIDE, MAIN])
@pytest.mark.parametrize(
    ("text", "column", "found"), [(OTHER, "fact_text", True), (ALIKE_TEXT, "category", False)]
)
def test_a_fact_that_both_had_is_compared_if_one_side_reworded_it(
    bench: Bench, side: str, text: str, column: str, found: bool
) -> None:
    write(bench, "fact_old", MAIN, text=text)
    bench.fork(SIDE)
    correct(bench, "fact_old", side, **{column: ALIKE_TEXT})
    write(bench, "fact_new", MAIN if side == SIDE else SIDE, text=TEXT)
    pair = ("fact_old", "fact_new") if side == SIDE else ("fact_new", "fact_old")
    assert twins(bench) == ([pair] if found else [])


def test_a_row_that_is_new_on_both_sides_is_no_duplicate_of_itself(bench: Bench) -> None:
    bench.fork(SIDE)
    write(bench, "fact_same", SIDE, text=TEXT)
    write(bench, "fact_same", MAIN, text=ALIKE_TEXT)
    assert twins(bench) == []


@pytest.mark.parametrize("side", [SIDE, MAIN])
def test_a_removed_text_is_not_compared(bench: Bench, side: str) -> None:
    write(bench, "fact_old", MAIN, text=ALIKE_TEXT)
    bench.fork(SIDE)
    write(bench, "fact_new", MAIN if side == SIDE else SIDE, text=TEXT)
    remove(bench.repo, bench.branch(side), Removal(["fact_old"]), ADA)
    assert twins(bench) == []


def test_the_most_alike_come_first_then_by_id(bench: Bench) -> None:
    bench.fork(SIDE)
    write(bench, "fact_c", SIDE, text=ALIKE_TEXT)
    write(bench, "fact_b", SIDE, text=TEXT)
    write(bench, "fact_z", MAIN, text=TEXT + ".")
    write(bench, "fact_y", MAIN, text=TEXT + "!")
    assert twins(bench) == [
        ("fact_b", "fact_y"),
        ("fact_b", "fact_z"),
        ("fact_c", "fact_y"),
        ("fact_c", "fact_z"),
    ]
