"""Comparisons: which changes of a branch are shown, and in which words."""

from typing import Any

import pytest

from day1.model.branches.branch import MAIN
from day1.model.redaction.veil import EXPIRED_MARK, SECRET, SECRET_MARK
from day1.model.rows.kind import EDIT, FACT, OBSERVATION, Cell, Row
from day1.services.merges.comparing import Comparison, compare
from day1.services.rows.deriving import basis_columns, basis_edit
from day1.services.rows.editing import Removal, remove
from day1.services.rows.recording import NewObservation, observation_row
from tests.unit.services.conftest import ADA, Bench
from tests.unit.services.writers import SIDE, correct, merge, write

PAST = 1


def compared(bench: Bench, category: str | None = None) -> Comparison:
    return compare(bench.repo, bench.branch(SIDE), bench.branch(), category)


def words(bench: Bench) -> dict[str, tuple[Cell, Cell]]:
    """The words before and after of each fact that is shown."""
    changes = compared(bench).changes.get(FACT.table, [])
    return {c.id: (_text(c.before), _text(c.after)) for c in changes}


def _text(fact: Row | None) -> Cell:
    return None if fact is None else fact["fact_text"]


def observe(bench: Bench) -> None:
    with bench.store.adding(SIDE) as work:
        row = observation_row("obs_a", NewObservation("note", "seen"), ADA, work.now)
        work.add(OBSERVATION, [row])


def test_new_changed_and_removed_rows_of_the_source_are_shown(bench: Bench) -> None:
    for fact in ("fact_changed", "fact_removed", "fact_kept"):
        write(bench, fact, MAIN, text=fact)
    bench.fork(SIDE)
    write(bench, "fact_target", MAIN)
    write(bench, "fact_new", text="new")
    correct(bench, "fact_changed", SIDE, fact_text="later")
    remove(bench.repo, bench.branch(SIDE), Removal(["fact_removed"]), ADA)
    assert words(bench) == {
        "fact_new": (None, "new"),
        "fact_changed": ("fact_changed", "later"),
        "fact_removed": ("fact_removed", None),
    }


def test_a_row_that_both_removed_is_no_difference(bench: Bench) -> None:
    write(bench, "fact_a", MAIN)
    bench.fork(SIDE)
    for branch in (SIDE, MAIN):
        remove(bench.repo, bench.branch(branch), Removal(["fact_a"]), ADA)
    assert compared(bench).changes == {}


def test_edits_are_no_memories_and_are_not_listed(bench: Bench) -> None:
    write(bench, "fact_a", MAIN)
    bench.fork(SIDE)
    correct(bench, "fact_a", SIDE, category="x")
    assert compared(bench).changes.keys() == {FACT.table}


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("tea", "mate", True),
        ("mate", "tea", True),
        ("tea", "tea", True),
        ("mate", "mate", False),
        (None, "mate", False),
        (None, "tea", True),
    ],
)
def test_a_category_shows_facts_that_have_or_had_it(
    bench: Bench, before: str | None, after: str, shown: bool
) -> None:
    if before is None:
        bench.fork(SIDE)
        write(bench, "fact_a", category=after)
    else:
        write(bench, "fact_a", MAIN, category=before)
        bench.fork(SIDE)
        correct(bench, "fact_a", SIDE, category=after, confidence=0.5)
    observe(bench)
    tables = compared(bench, "tea").changes
    assert {c.id for rows in tables.values() for c in rows} == ({"fact_a"} if shown else set())
    assert compared(bench).changes.keys() == {FACT.table, OBSERVATION.table}


HIDDEN: dict[str, dict[str, Any]] = {
    SECRET_MARK: {"sensitivity": SECRET},
    EXPIRED_MARK: {"expires_at": PAST},
}


@pytest.mark.parametrize("mark", HIDDEN)
def test_words_of_a_new_hidden_row_are_marked(bench: Bench, mark: str) -> None:
    bench.fork(SIDE)
    write(bench, "fact_a", text="the code", **HIDDEN[mark])
    assert words(bench) == {"fact_a": (None, mark)}


def test_words_that_become_secret_are_marked_in_both_versions(bench: Bench) -> None:
    write(bench, "fact_a", MAIN, text="the code")
    bench.fork(SIDE)
    correct(bench, "fact_a", SIDE, sensitivity=SECRET)
    assert words(bench) == {"fact_a": (SECRET_MARK, SECRET_MARK)}


def test_words_that_were_secret_stay_marked(bench: Bench) -> None:
    write(bench, "fact_a", MAIN, text="the code", sensitivity=SECRET)
    bench.fork(SIDE)
    correct(bench, "fact_a", SIDE, sensitivity=None)
    assert words(bench) == {"fact_a": (SECRET_MARK, SECRET_MARK)}


def test_words_that_are_secret_on_the_target_only_are_marked(bench: Bench) -> None:
    write(bench, "fact_a", MAIN, text="the code")
    bench.fork(SIDE)
    correct(bench, "fact_a", SIDE, category="x")
    correct(bench, "fact_a", MAIN, sensitivity=SECRET)
    assert words(bench) == {"fact_a": (SECRET_MARK, SECRET_MARK)}


@pytest.mark.parametrize(("target_too", "marked"), [(True, True), (False, False)])
def test_expired_words_are_marked_unless_the_target_shows_them(
    bench: Bench, target_too: bool, marked: bool
) -> None:
    write(bench, "fact_a", MAIN, text="tea")
    bench.fork(SIDE)
    correct(bench, "fact_a", SIDE, expires_at=PAST)
    if target_too:
        correct(bench, "fact_a", MAIN, expires_at=PAST)
    expected = EXPIRED_MARK if marked else "tea"
    assert words(bench) == {"fact_a": (expected, expected)}


def test_words_that_expire_later_are_shown(bench: Bench) -> None:
    bench.fork(SIDE)
    write(bench, "fact_a", text="tea", expires_at=10**15)
    assert words(bench) == {"fact_a": (None, "tea")}


@pytest.mark.parametrize("hidden_on", [SIDE, MAIN])
def test_words_made_of_a_row_that_is_hidden_on_one_branch_are_marked(
    bench: Bench, hidden_on: str
) -> None:
    write(bench, "fact_source", MAIN)
    write(bench, "fact_made", MAIN, category="insight", origin_id="fact_made")
    with bench.store.adding(MAIN) as work:
        columns = basis_columns(FACT, "fact_made", [{"id": "fact_source"}])
        work.add(EDIT, [basis_edit(columns, ADA, work.now)])
    bench.fork(SIDE)
    correct(bench, "fact_made", SIDE, confidence=0.5)
    assert words(bench)["fact_made"] == ("text of fact_made",) * 2
    correct(bench, "fact_source", hidden_on, sensitivity=SECRET)
    assert words(bench)["fact_made"] == (SECRET_MARK, SECRET_MARK)


def test_a_comparison_tells_its_commits_and_what_is_pending_and_held(bench: Bench) -> None:
    write(bench, "fact_a", MAIN)
    bench.fork(SIDE)
    for branch in (SIDE, MAIN):
        correct(bench, "fact_a", branch, category=branch)
    merge(bench)
    write(bench, "fact_b")
    seen = compared(bench)
    tips = bench.store.tips
    assert (seen.source_commit, seen.target_commit) == (tips[SIDE], tips[MAIN])
    assert seen.pending.count == 1
    assert [item.row_id for item in seen.held] == ["fact_a"]
    assert {row.id for row in seen.plan.rows} == {"fact_a", "fact_b"}
