"""Changing, superseding, removing and restoring rows, and what is said about who did it."""

import pytest

from day1.errors import InvalidRequest, NotFound, Refused, RevisionChanged
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import EDIT, FACT, revision
from day1.model.rows.origin import Origin
from day1.model.values.ids import content_hash
from day1.services.branches.lookup import find
from day1.services.history import restoring
from day1.services.rows import editing, recording
from day1.services.rows.editing import Correction, Removal, Replacement
from tests.suites.engine_memory import EngineMemory
from tests.suites.memory import Choice

ADA = Origin("ada", "session_1", "task_1")


@pytest.fixture
def memory(tmp_path):
    memory = EngineMemory(tmp_path)
    memory.add_fact("main", "fact_a", fact_text="a", category="old", confidence=0.5)
    memory.clock.tick()
    yield memory
    memory.close()


def row(memory, fact_id="fact_a", branch="main"):
    with memory.store.reading(Ref(branch=branch)) as reading:
        return reading.get(FACT, [fact_id])[fact_id]


def edits(memory, branch="main"):
    with memory.store.reading(Ref(branch=branch)) as reading:
        return reading.find(EDIT, Query())


def authors(memory, branch="main"):
    found = recording.authors(memory.repo, Ref(branch=branch), FACT, row(memory, branch=branch))
    return {cell: edit["agent_id"] for cell, edit in found.items()}


def update(memory, origin=ADA, branch="main", **columns):
    correction = Correction("fact_a", columns, "why")
    return editing.update(memory.repo, find(memory.repo, branch), correction, origin)


def restore(memory, row_id, state):
    request = restoring.RestoreRequest(find(memory.repo, "main"), state, "then", row_id)
    return restoring.restore_to(memory.repo, request)


def test_a_new_text_is_unverified_and_has_its_own_hash(memory):
    memory.judge("main", "fact_a", "verified", "[1]")
    update(memory, category="new")
    assert row(memory)["verification"] == "verified"
    update(memory, fact_text="b")
    after = row(memory)
    assert (after["verification"], after["scores"]) == ("unverified", None)
    assert after["content_hash"] == content_hash("b")


def test_each_changed_cell_is_noted_once_and_nothing_else_is(memory):
    done = update(memory, fact_text="b", category="old", confidence=0.7)
    noted = edits(memory)
    assert {edit["cell"] for edit in noted} == {"fact_text", "confidence"}
    for edit in noted:
        assert (edit["agent_id"], edit["session_id"], edit["task_id"]) == (
            "ada",
            "session_1",
            "task_1",
        )
        assert (edit["row_id"], edit["row_kind"], edit["reason"]) == ("fact_a", "facts", "why")
        assert edit["created_at"] == done.at
    assert row(memory)["agent_id"] == "one"


def test_a_change_to_the_present_value_makes_no_commit(memory):
    tip = memory.store.commit_pending("main")
    assert update(memory, category="old").commit == tip
    assert (edits(memory), memory.store.commit_pending("main")) == ([], tip)


def test_the_author_of_a_cell_is_who_gave_it_its_present_value(memory):
    at = memory.clock()
    memory.clock.tick()
    update(memory, category="new", confidence=0.7)
    update(memory, Origin("bob"), category="newer")
    assert authors(memory) == {"category": "bob", "confidence": "ada"}
    state = memory.store.history.at("main", at)
    noted = edits(memory)
    restore(memory, "fact_a", state)
    assert authors(memory) == {}
    assert edits(memory) == noted


def test_restoring_a_branch_keeps_what_was_said_about_its_changes(memory):
    at = memory.clock()
    memory.clock.tick()
    update(memory, category="new")
    noted = edits(memory)
    memory.restore_branch("main", at)
    assert row(memory)["category"] == "old"
    assert edits(memory) == noted


def test_a_row_restored_from_a_faster_clock_is_not_there_before_it_was_restored(memory):
    memory.fork("side", "main")
    memory.clock.skew = 10_000_000
    added = memory.add_fact("side", "fact_b", fact_text="b").at
    memory.clock.skew = 0
    state = Ref(commit=memory.store.commit_pending("side"))
    done = restore(memory, "fact_b", state)
    assert done.at > added
    assert "fact_b" not in memory.state("main", done.at - 1)["facts"]
    assert "fact_b" in memory.state("main", done.at)["facts"]


def test_a_pick_carries_its_rows_authors_along(memory):
    memory.fork("side", "main")
    update(memory, branch="side", category="new")
    memory.supersede("side", "fact_a", "fact_b", "b")
    memory.add_fact("side", "fact_c", fact_text="c")
    memory.update_fact("side", "fact_c", category="mine")
    memory.merge("side", "main", "cherry_pick", items=["fact_a"])
    assert authors(memory) == {"category": "ada", "status": "one"}
    assert {edit["row_id"] for edit in edits(memory)} == {"fact_a"}


def test_a_text_given_in_a_merge_has_its_hash_and_its_author(memory):
    memory.fork("side", "main")
    update(memory, branch="side", fact_text="theirs")
    memory.update_fact("main", "fact_a", fact_text="ours")
    choice = Choice("fact_a", "value", "fact_text", {"fact_text": "third"})
    memory.origin = Origin("merger")
    memory.merge("side", "main", choices=[choice])
    assert row(memory)["content_hash"] == content_hash("third")
    assert authors(memory)["fact_text"] == "merger"


def test_a_change_of_another_revision_is_refused(memory):
    def mine(revision):
        correction = Correction("fact_a", {"category": "mine"}, expect_revision=revision)
        editing.update(memory.repo, find(memory.repo, "main"), correction, ADA)

    seen = revision(FACT, row(memory))
    update(memory, category="new")
    tip = memory.store.commit_pending("main")
    with pytest.raises(RevisionChanged) as refused:
        mine(seen)
    now = revision(FACT, row(memory))
    assert refused.value.details["revision"] == now
    assert memory.store.commit_pending("main") == tip
    mine(now)
    assert row(memory)["category"] == "mine"


def test_a_fact_is_superseded_once(memory):
    main = find(memory.repo, "main")
    first = Replacement("fact_a", "b", "fact_b", confidence=0.25)
    done = editing.supersede(memory.repo, main, first, ADA)
    new = row(memory, "fact_b")
    assert (new["category"], new["confidence"], new["agent_id"]) == ("old", 0.25, "ada")
    old = row(memory)
    assert (old["status"], old["superseded_by"]) == ("superseded", "fact_b")
    assert done.superseded == old
    with pytest.raises(Refused, match="by fact_b"):
        editing.supersede(memory.repo, main, Replacement("fact_a", "c", "fact_c"), ADA)
    assert set(memory.state("main")["facts"]) == {"fact_a", "fact_b"}


def test_a_removal_is_whole_or_not_at_all(memory):
    memory.add_observation("main", "obs_a", summary="seen")
    main = find(memory.repo, "main")
    with pytest.raises(NotFound):
        editing.remove(memory.repo, main, Removal(["fact_a", "fact_none"]), ADA)
    assert "fact_a" in memory.state("main")["facts"]
    editing.remove(memory.repo, main, Removal(["fact_a", "obs_a", "fact_a"], "wrong"), ADA)
    state = memory.state("main")
    assert (state["facts"], state["observations"]) == ({}, {})
    assert [(edit["cell"], edit["value"], edit["reason"]) for edit in edits(memory)] == [
        ("*", "removed", "wrong")
    ] * 2


def test_a_row_of_another_kind_has_no_such_column(memory):
    memory.add_observation("main", "obs_a", summary="seen", observation_type="insight")
    correction, main = Correction("obs_a", {"fact_text": "x"}), find(memory.repo, "main")
    with pytest.raises(InvalidRequest, match="observation"):
        editing.update(memory.repo, main, correction, ADA)
