"""Rows that no commit holds yet count wherever a branch is looked at, and looking commits nothing."""

import pytest

from day1.model.rows.change import Ref
from day1.services.branches import lookup
from day1.services.branches.deleting import is_taken
from day1.services.merges import planning
from day1.services.merges.comparing import compare
from day1.services.upkeep.status import branch_status
from tests.suites.engine_memory import EngineMemory


@pytest.fixture
def memory(tmp_path):
    """`side` has a pending fact, and so has `main`."""
    memory = EngineMemory(tmp_path)
    memory.fork("side", "main")
    memory.add_fact("side", "fact_side", fact_text="side")
    memory.add_fact("main", "fact_main", fact_text="main")
    before = {branch: pending(memory, branch) for branch in ("main", "side")}
    assert before == {"main": 1, "side": 1}
    tips = memory.store.history.branches()
    yield memory
    assert memory.store.history.branches() == tips
    memory.close()


def pending(memory, branch):
    with memory.store.reading(Ref(branch=branch)) as reading:
        return reading.pending.count


def ends(memory):
    return lookup.find(memory.repo, "side"), lookup.find(memory.repo, "main")


def preview(memory, **more):
    source, target = ends(memory)
    return planning.preview(memory.repo, planning.MergeRequest(source, target, "auto"), **more)


def test_a_comparison_shows_pending_rows(memory):
    seen = compare(memory.repo, *ends(memory))
    assert [change.id for change in seen.changes["facts"]] == ["fact_side"]


def test_a_preview_of_a_merge_has_pending_rows(memory):
    plan = preview(memory).plan
    assert [(row.id, row.effect) for row in plan.rows] == [("fact_side", "new")]
    assert (plan.merged_count, plan.rejected_count) == (1, 0)


def test_a_branch_that_has_them_has_something_of_its_own(memory):
    side = branch_status(memory.repo, lookup.find(memory.repo, "side"))
    assert (side.pending.count, side.ahead) == (1, {"added": 1})
    assert not is_taken(memory.repo, lookup.find(memory.repo, "side"))
    assert lookup.find(memory.repo, "side").merged_tip is None


def test_rows_of_one_id_that_are_pending_on_both_sides_conflict(memory):
    memory.add_fact("side", "fact_both", fact_text="same", category="theirs")
    memory.add_fact("main", "fact_both", fact_text="same", category="ours")
    plan = preview(memory).plan
    assert [(row.id, set(row.held)) for row in plan.rows] == [
        ("fact_both", {"category"}),
        ("fact_side", set()),
    ]


def test_a_comparison_reads_each_side_as_one_state(memory, tmp_path, monkeypatch):
    """A3: what was written meanwhile stood in the plan, under a commit and a count without it."""
    other, base = EngineMemory(tmp_path), memory.store.history.base

    def write_meanwhile(*asked):
        for branch in ("side", "main"):
            other.add_fact(branch, f"fact_{branch}_later", fact_text="later")
        return base(*asked)

    with monkeypatch.context() as patched:
        patched.setattr(memory.store.history, "base", write_meanwhile)
        seen = preview(memory, both=True)
    other.close()
    assert [row.id for row in seen.plan.rows] == ["fact_side"]
    assert seen.pending.count == 1
    assert [change.id for change in seen.target_changes["facts"]] == ["fact_main"]
    assert [row.id for row in preview(memory).plan.rows] == [
        "fact_side",
        "fact_side_later",
    ]
