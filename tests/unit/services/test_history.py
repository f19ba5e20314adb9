"""History: where a row comes from, going back, undoing, and which commit is of which branch."""

from dataclasses import replace

import pytest

from day1.errors import NotFound
from day1.model.branches.branch import MAIN
from day1.model.rows.change import Ref
from day1.model.rows.kind import FACT
from day1.model.rows.origin import Origin
from day1.services.branches.lookup import find
from day1.services.branches.resolving import ref_at, row_id
from day1.services.branches.snapshots import snapshot
from day1.services.history import ancestry, pages, restoring, reverting, tracing
from day1.services.merges import merging, planning
from day1.services.rows.editing import Correction, Removal, remove, update
from tests.unit.services.conftest import ADA, Bench


@pytest.fixture(autouse=True)
def fact_a(bench: Bench) -> None:
    bench.add("fact_a", "tea")
    bench.store.commit_pending(MAIN)


def correct(bench: Bench, category: str, by: str = "bo", branch: str = MAIN) -> str:
    bench.now += 10
    correction = Correction("fact_a", {"category": category})
    return update(bench.repo, find(bench.repo, branch), correction, Origin(by)).commit


def test_the_versions_of_a_row_come_newest_first_with_what_changed(bench: Bench) -> None:
    correct(bench, "hot")
    remove(bench.repo, bench.branch(), Removal(["fact_a"]), ADA)
    _, versions = tracing.history(bench.repo, bench.branch(), "fact_a")
    assert [version.how for version in versions] == ["removed", "changed", "added"]
    assert versions[1].cells == ("category",)
    with pytest.raises(NotFound, match="never was"):
        tracing.history(bench.repo, bench.branch(), "fact_none")


def test_each_cell_is_blamed_on_who_gave_it_its_present_value(bench: Bench) -> None:
    correct(bench, "hot", "bo")
    correct(bench, "cold", "eve")
    _, cells = tracing.blame(bench.repo, bench.branch(), "fact_a")
    by = {blame.cell: blame for blame in cells}
    assert by["category"].writer["agent_id"] == "eve"
    assert by["fact_text"].writer["agent_id"] == "ada"


def test_a_row_and_a_branch_go_back_to_a_state_of_their_past(bench: Bench) -> None:
    then = bench.store.tips[MAIN]
    correct(bench, "hot")
    bench.add("fact_b", "b")
    request = restoring.RestoreRequest(bench.branch(), Ref(commit=then), "then", "fact_a")
    restoring.restore_to(bench.repo, request)
    assert bench.present("fact_a")["category"] is None
    assert bench.facts() == {"fact_a", "fact_b"}
    restoring.restore_to(bench.repo, replace(request, row_id=None))
    assert bench.facts() == {"fact_a"}


def test_a_restored_state_that_is_there_already_makes_no_commit(bench: Bench) -> None:
    tip = bench.store.tips[MAIN]
    request = restoring.RestoreRequest(bench.branch(), Ref(commit=tip), "now")
    done = restoring.restore_to(bench.repo, request)
    assert (done.commit, bench.store.tips[MAIN]) == (None, tip)


def test_a_revert_undoes_one_commit_and_keeps_what_came_later(bench: Bench) -> None:
    undo = correct(bench, "hot")
    bench.add("fact_b", "b")
    bench.store.commit_pending(MAIN)
    reverting.revert(bench.repo, reverting.RevertRequest(bench.branch(), undo), ADA)
    assert bench.present("fact_a")["category"] is None
    assert bench.facts() == {"fact_a", "fact_b"}


def test_the_past_of_a_branch_names_the_branch_of_each_commit(bench: Bench) -> None:
    bench.fork("side")
    own = correct(bench, "hot", branch="side")
    past = ancestry.Ancestry(bench.repo).past(bench.branch("side"), own)
    named = {one.commit.id: one.branch.name for one in past if one.branch is not None}
    assert named[own] == "side"
    assert set(named.values()) == {"side", MAIN}


def test_a_merge_makes_commits_of_the_source_reachable(bench: Bench) -> None:
    bench.fork("side")
    own = correct(bench, "hot", branch="side")
    request = planning.MergeRequest(bench.branch("side"), bench.branch(), "auto")
    merging.merge(bench.repo, request, ADA, bench.now)
    past = ancestry.Ancestry(bench.repo)
    found = past.reachable(bench.branch(), bench.store.tips[MAIN])
    assert own in found
    assert past.having(bench.store.commits[own], [bench.store.tips[MAIN]])


def test_pages_count_all_and_leave_out_what_search_would_not_find(bench: Bench) -> None:
    bench.add("fact_b", "b")
    update(bench.repo, bench.branch(), Correction("fact_b", {"status": "archived"}), ADA)
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        shown = pages.newest_page(reading, FACT, (0, 10), active_at=bench.now)
        every = pages.newest_page(reading, FACT, (1, 1))
    assert ([row["id"] for row in shown.rows], shown.total) == (["fact_a"], 1)
    assert ([row["id"] for row in every.rows], every.total) == (["fact_a"], 2)


def test_pages_leave_out_what_was_true_once_only(bench: Bench) -> None:
    now = bench.now
    for fact_id, end in (("fact_b", now), ("fact_c", now + 1)):
        bench.add(fact_id, fact_id)
        update(bench.repo, bench.branch(), Correction(fact_id, {"valid_until": end}), ADA)
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        shown = pages.newest_page(reading, FACT, (0, 10), active_at=now)
    assert {row["id"] for row in shown.rows} == {"fact_a", "fact_c"}
    assert shown.total == 2


def test_a_past_state_is_named_by_a_time_a_snapshot_or_a_commit(bench: Bench) -> None:
    tip = bench.store.tips[MAIN]
    snapshot(bench.repo, bench.branch(), "before", bench.now)
    assert ref_at(bench.repo, bench.branch(), None) == Ref(branch=MAIN)
    assert ref_at(bench.repo, bench.branch(), "before").commit == tip
    assert ref_at(bench.repo, bench.branch(), "2026-01-01").until
    with pytest.raises(NotFound):
        ref_at(bench.repo, bench.branch(), "never")


def test_an_id_is_found_by_its_end_where_only_one_has_it(bench: Bench) -> None:
    end = "0" * 20 + "ABCDEF"
    bench.add(f"fact_{end}", "c")
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        assert row_id(reading, "ABCDEF") == f"fact_{end}"
        with pytest.raises(NotFound):
            row_id(reading, "ABCDE0")
