"""Authorship: who wrote what a merge would bring, and whose approvals therefore count."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from day1.model.branches.branch import MAIN, DeletedBranch
from day1.model.merge.row_merge import Take
from day1.model.merge.tiers import Judged
from day1.model.records.review import Approval, Decision, Review
from day1.model.rows.kind import EDIT
from day1.model.rows.origin import Origin
from day1.model.values.tiers import TIERS
from day1.services.branches import deleting, retiring
from day1.services.merges.authorship import Authors, authors, brought, looks, writers
from day1.services.rows.editing import Correction, update
from day1.services.sharing import handoffs
from tests.unit.services.conftest import Bench
from tests.unit.services.writers import SIDE, commit, merge, plan, token_of, write

NO_LOOK, ONE_LOOK, _ = (Judged(tier, "") for tier in TIERS)


def fork(bench: Bench, name: str, parent: str = MAIN) -> None:
    bench.now += 1
    bench.fork(name, parent)


def hand_over(bench: Bench, source: str, target: str) -> None:
    bench.now += 1
    sides = bench.branch(source), bench.branch(target)
    handoffs.hand_over(bench.repo, handoffs.HandoffRequest(*sides, "task_transfer"), bench.now)


def by_fork(bench: Bench) -> None:
    """The side branch is forked from a branch that somebody else wrote on."""
    fork(bench, "middle")
    write(bench, "fact_m", "middle", "mia")
    fork(bench, SIDE, "middle")


def by_fork_of_a_fork(bench: Bench) -> None:
    fork(bench, "first")
    write(bench, "fact_m", "first", "mia")
    fork(bench, "middle", "first")
    fork(bench, SIDE, "middle")


def by_fork_of_a_deleted_fork(bench: Bench) -> None:
    by_fork_of_a_fork(bench)
    deleting.delete_taken(bench.repo, bench.branch("middle"), MAIN, bench.now)


def by_merge(strategy: str) -> Callable[[Bench], None]:
    def made(bench: Bench) -> None:
        fork(bench, SIDE)
        fork(bench, "helper")
        write(bench, "fact_m", "helper", "mia")
        merge(bench, "helper", SIDE, strategy=strategy)

    return made


def by_a_fork_that_was_deleted_and_came_back(bench: Bench) -> None:
    fork(bench, SIDE)
    write(bench, "fact_m", SIDE, "mia")
    deleting.delete(bench.repo, bench.branch(SIDE), MAIN, bench.now)
    retiring.undelete(bench.repo, SIDE, bench.now)


def by_merge_of_a_deleted_branch(bench: Bench) -> None:
    by_merge("squash")(bench)
    deleting.delete(bench.repo, bench.branch("helper"), MAIN, bench.now)


def by_pick(bench: Bench) -> None:
    fork(bench, SIDE)
    fork(bench, "helper")
    write(bench, "fact_m", "helper", "mia")
    merge(bench, "helper", SIDE, strategy="cherry_pick", items=("fact_m",))


def by_handoff(bench: Bench) -> None:
    fork(bench, SIDE)
    fork(bench, "helper")
    write(bench, "fact_m", "helper", "mia")
    hand_over(bench, "helper", SIDE)


def by_merge_into_where_it_came_from(bench: Bench) -> None:
    fork(bench, "middle")
    fork(bench, "helper")
    write(bench, "fact_m", "helper", "mia")
    merge(bench, "helper", "middle")
    fork(bench, SIDE, "middle")


def on_the_target(bench: Bench) -> None:
    write(bench, "fact_m", MAIN, "mia")
    fork(bench, SIDE)


def merged_into_the_target(bench: Bench) -> None:
    fork(bench, SIDE)
    fork(bench, "helper")
    write(bench, "fact_m", "helper", "mia")
    merge(bench, "helper", MAIN)
    merge(bench, MAIN, SIDE)


def out_of_the_source(bench: Bench) -> None:
    fork(bench, SIDE)
    fork(bench, "helper")
    write(bench, "fact_m", "helper", "mia")
    merge(bench, SIDE, "helper")


WAYS_IN = [
    by_fork,
    by_fork_of_a_fork,
    by_fork_of_a_deleted_fork,
    by_a_fork_that_was_deleted_and_came_back,
    by_merge("auto"),
    by_merge("squash"),
    by_merge_of_a_deleted_branch,
    by_pick,
    by_handoff,
    by_merge_into_where_it_came_from,
]


def test_a_deleted_branch_hides_no_fork_time_of_the_target(bench: Bench) -> None:
    write(bench, "fact_m", MAIN, "mia")
    fork(bench, "middle")
    fork(bench, "target", "middle")
    fork(bench, SIDE, "middle")
    write(bench, "fact_a", SIDE, "ann")
    deleting.delete_taken(bench.repo, bench.branch("middle"), MAIN, bench.now)
    notes = writers(bench.repo, bench.branch(SIDE), bench.branch("target"))
    assert [note.agent_id for note in notes] == ["ann"]


@pytest.mark.parametrize("way", WAYS_IN)
def test_whoever_wrote_what_came_to_the_source_is_an_author(
    bench: Bench, way: Callable[[Bench], None]
) -> None:
    way(bench)
    write(bench, "fact_a", SIDE, "ann")
    notes = writers(bench.repo, bench.branch(SIDE), bench.branch())
    assert {note.agent_id for note in notes} == {"ann", "mia"}


@pytest.mark.parametrize("way", [on_the_target, merged_into_the_target, out_of_the_source])
def test_whoever_wrote_elsewhere_is_no_author(bench: Bench, way: Callable[[Bench], None]) -> None:
    way(bench)
    write(bench, "fact_a", SIDE, "ann")
    notes = writers(bench.repo, bench.branch(SIDE), bench.branch())
    assert [note.agent_id for note in notes] == ["ann"]


@pytest.mark.parametrize(("later", "expected"), [(True, {"ann", "mia", "new"}), (False, {"ann"})])
def test_a_shared_parent_counts_from_when_the_line_of_the_target_left_it(
    bench: Bench, later: bool, expected: set[str]
) -> None:
    fork(bench, "middle")
    fork(bench, "old")
    write(bench, "fact_o", "old", "old")
    merge(bench, "old", "middle")
    if not later:
        write(bench, "fact_m", "middle", "mia")
        fork(bench, SIDE, "middle")
    fork(bench, "target", "middle")
    if later:
        fork(bench, "new")
        write(bench, "fact_n", "new", "new")
        merge(bench, "new", "middle")
        write(bench, "fact_m", "middle", "mia")
        fork(bench, SIDE, "middle")
    write(bench, "fact_a", SIDE, "ann")
    notes = writers(bench.repo, bench.branch(SIDE), bench.branch("target"))
    assert {note.agent_id for note in notes} == expected


def test_a_branch_forked_in_the_instant_of_the_target_brings_nothing_of_their_parent(
    bench: Bench,
) -> None:
    fork(bench, "middle")
    write(bench, "fact_m", "middle", "mia")
    fork(bench, "target", "middle")
    bench.fork(SIDE, "middle")
    assert writers(bench.repo, bench.branch(SIDE), bench.branch("target")) == []


# Rows that imports brought


@pytest.mark.parametrize(
    ("op", "rows"), [("import", {"fact_i"}), ("add", set()), ("pick", set()), ("squash", set())]
)
def test_rows_of_an_import_are_brought(bench: Bench, op: str, rows: set[str]) -> None:
    fork(bench, SIDE)
    commit(bench, op, "fact_i")
    write(bench, "fact_a")
    assert brought(bench.repo, bench.branch(SIDE), bench.branch()) == rows


def test_an_import_that_the_target_has_too_is_not_brought(bench: Bench) -> None:
    commit(bench, "import", "fact_before", MAIN)
    fork(bench, SIDE)
    commit(bench, "import", "fact_merged")
    merge(bench)
    commit(bench, "import", "fact_i")
    assert brought(bench.repo, bench.branch(SIDE), bench.branch()) == {"fact_i"}


def test_an_import_before_a_clock_was_put_right_is_brought(bench: Bench) -> None:
    write(bench, "fact_m", MAIN)
    fork(bench, SIDE)
    commit(bench, "import", "fact_i", at=5)
    write(bench, "fact_a")
    assert brought(bench.repo, bench.branch(SIDE), bench.branch()) == {"fact_i"}


@pytest.mark.parametrize("strategy", ["auto", "squash", "cherry_pick"])
def test_an_import_is_brought_through_a_merge(bench: Bench, strategy: str) -> None:
    fork(bench, SIDE)
    fork(bench, "helper")
    commit(bench, "import", "fact_i", "helper")
    write(bench, "fact_h", "helper")
    items = ("fact_i",) if strategy == "cherry_pick" else None
    merge(bench, "helper", SIDE, strategy=strategy, items=items)
    assert brought(bench.repo, bench.branch(SIDE), bench.branch()) == {"fact_i"}


@pytest.mark.parametrize(
    ("gone", "rows"),
    [("retired", {"fact_i"}), ("deleted", {"fact_i"}), ("lost", {"fact_i", "fact_h"})],
)
def test_rows_copied_from_a_branch_of_which_nothing_is_known_count_as_brought(
    bench: Bench, gone: str, rows: set[str]
) -> None:
    """Who wrote them is told by nobody; a retired or deleted branch keeps its commits."""
    fork(bench, SIDE)
    fork(bench, "helper")
    commit(bench, "import", "fact_i", "helper")
    write(bench, "fact_h", "helper")
    merge(bench, "helper", SIDE, strategy="squash")
    if gone == "retired":
        retiring.retire(bench.repo, bench.branch("helper"), bench.now)
    else:
        deleting.delete(bench.repo, bench.branch("helper"), MAIN, bench.now)
    if gone == "lost":
        bench.store.tags.clear()
        deleted = bench.repo.ledger.records(DeletedBranch)
        bench.repo.ledger.remove(DeletedBranch, *(branch.id for branch in deleted))
    write(bench, "fact_a")
    assert brought(bench.repo, bench.branch(SIDE), bench.branch()) == rows


# The authors of a review


def review(bench: Bench, *decisions: tuple[str, str | None, Take]) -> Review:
    """A review of the side branch in which agents, each with a token, decided."""
    sides = bench.branch(SIDE).id, bench.branch().id
    made = Review("review_1", *sides, None, None, "open", "opal", token_of("opal"), 1)
    given = [
        Decision(f"fact_{number}", "*", take, None, agent, 1, "", token)
        for number, (agent, token, take) in enumerate(decisions)
    ]
    return made.with_decisions(given)


def authors_of(bench: Bench, made: Review, most: Judged = ONE_LOOK) -> Authors:
    both = bench.branch(SIDE), bench.branch()
    return authors(bench.repo, made, both, plan(bench).plan, most)


@pytest.mark.parametrize(
    ("take", "is_author"),
    [("value", True), ("delete", True), ("ours", False), ("theirs", False), ("skip", False)],
)
def test_whoever_decides_for_what_neither_side_has_is_an_author(
    bench: Bench, take: Take, is_author: bool
) -> None:
    fork(bench, SIDE)
    write(bench, "fact_a")
    found = authors_of(bench, review(bench, ("dan", "token_dan", take)))
    assert found.tokens == {"token_ann"} | ({"token_dan"} if is_author else set())
    assert found.agents == {"ann"} | ({"dan"} if is_author else set())


def test_whoever_a_new_row_names_is_an_author_without_a_note(bench: Bench) -> None:
    bench.add("fact_old", "old", MAIN, Origin("first"))
    fork(bench, SIDE)
    bench.add("fact_copy", "copied", SIDE, Origin("far"))
    by = Correction("fact_old", {"category": "x"})
    update(bench.repo, bench.branch(SIDE), by, Origin("editor"))
    assert authors_of(bench, review(bench)).agents == {"far", "editor"}
    assert authors_of(bench, review(bench)).tokens == set()


@pytest.mark.parametrize(
    ("source", "most", "expected"),
    [("user", ONE_LOOK, True), ("user", NO_LOOK, False), ("agent", ONE_LOOK, False)],
)
@pytest.mark.parametrize("how", ["row", "edit"])
def test_people_are_authors_of_what_they_wrote_where_a_look_is_needed(
    bench: Bench, source: str, most: Judged, expected: bool, how: str
) -> None:
    bench.add("fact_old", "old", MAIN, Origin("first", source="user"))
    fork(bench, SIDE)
    by = Origin("ann", source=source)  # type: ignore[arg-type]  # one of its values
    if how == "row":
        bench.add("fact_a", "a", SIDE, by)
    else:
        update(bench.repo, bench.branch(SIDE), Correction("fact_old", {"category": "x"}), by)
        assert plan(bench).plan.records[EDIT.table]
    assert authors_of(bench, review(bench), most).person == expected


AUTHORS = Authors(frozenset({"token_ann"}), frozenset({"ann"}), person=False)


def approval(agent: str | None, token: str | None, digest: str = "plan") -> Approval:
    return Approval(digest, agent, 1, token)


@pytest.mark.parametrize(
    ("agent", "token", "people_wrote", "wrote"),
    [
        ("dan", "token_dan", False, False),
        ("dan", "token_dan", True, False),
        ("dan", "token_ann", False, True),
        ("ann", "token_dan", False, True),
        (None, "token_dan", True, False),
        (None, None, False, False),
        (None, None, True, True),
        ("ann", None, False, True),
        ("dan", None, True, True),
        ("dan", None, False, False),
    ],
)
def test_an_author_is_known_by_token_by_agent_or_as_one_of_the_people(
    agent: str | None, token: str | None, people_wrote: bool, wrote: bool
) -> None:
    by = replace(AUTHORS, person=people_wrote)
    assert by.wrote(approval(agent, token)) == wrote


@pytest.mark.parametrize(
    ("given", "count"),
    [
        ([], 0),
        ([approval("dan", "token_dan")], 1),
        ([approval("dan", "token_dan", "another plan")], 0),
        ([approval("ann", "token_ann")], 0),
        ([approval("dan", "token_dan"), approval("eve", "token_eve")], 2),
        ([approval("dan", "token_dan"), approval("dan", "token_other")], 1),
        ([approval("dan", "token_dan"), approval("eve", "token_dan")], 1),
        ([approval(None, "token_dan"), approval(None, "token_eve")], 2),
        ([approval(None, None), approval("eve", None)], 1),
        ([approval(None, None), approval("dan", "token_dan")], 2),
        ([approval("ann", "token_ann"), approval("dan", "token_dan")], 1),
    ],
)
def test_approvals_count_once_for_each_person_who_is_no_author(
    given: list[Approval], count: int
) -> None:
    assert len(looks(given, "plan", AUTHORS)) == count
