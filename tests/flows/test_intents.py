"""Actions that die half way: whoever comes next finishes or withdraws them."""

from dataclasses import replace

import pytest

from day1.errors import Conflict, PlanChanged, UnknownBranch
from day1.model.records.merge_record import MergeRecord
from day1.model.rows.change import Ref
from day1.services.branches import deleting, forking, lookup, tree
from day1.services.merges import merging, planning
from tests.suites.engine_memory import EngineMemory


class Died(BaseException):
    """As good as a kill: nothing in day1 catches it."""


@pytest.fixture(params=["folder", "dolt"])
def where(request, tmp_path):
    """Where the store is; its ledger is of the same place."""
    return tmp_path if request.param == "folder" else request.getfixturevalue("dolt_database")


@pytest.fixture
def memory(where):
    memory = EngineMemory(where)
    memory.add_fact("main", "fact_a", fact_text="a")
    memory.fork("side", "main")
    memory.update_fact("side", "fact_a", category="theirs")
    yield memory
    memory.close()


@pytest.fixture
def peer(memory, where):
    """Another process on the same store."""
    peer = EngineMemory(where, memory.clock, "two")
    yield peer
    peer.close()


def dying(memory, place):
    def point(name):
        if name == place:
            raise Died

    return replace(memory.repo, point=point)


def die(memory, place, action):
    with pytest.raises(Died):
        action(dying(memory, place))


def merge(repo, memory, source="side", target="main"):
    ends = lookup.find(repo, source), lookup.find(repo, target)
    request = planning.MergeRequest(*ends, "auto")
    return merging.merge(repo, request, memory.origin, memory.clock())


def status(memory, name="side"):
    return {state.branch.name: state.status for state in tree.states(memory.repo)}.get(name)


@pytest.mark.parametrize("place", ["merge.after_engine", "merge.after_ledger"])
def test_a_merge_that_was_done_is_recorded_by_the_next(memory, peer, place):
    die(memory, place, lambda repo: merge(repo, memory))
    assert peer.ledger.recover_orphans() == (place == "merge.after_engine")  # else it has ended
    (record,) = peer.ledger.records(MergeRecord)
    assert (record.merged_count, record.rejected_count) == (1, 0)
    assert (record.strategy, record.decided_by) == ("auto", "one")
    assert record.commit == peer.repo.history.branches()["main"]
    assert record.base == lookup.find(peer.repo, "side").fork_commit
    assert status(peer) == "merged"
    assert peer.ledger.recover_orphans() == 0


def test_a_merge_that_was_not_done_leaves_nothing(memory, peer):
    tip = memory.store.commit_pending("main")
    die(memory, "merge.after_intent", lambda repo: merge(repo, memory))
    peer.add_fact("main", "fact_b", fact_text="b")
    peer.commit_pending("main")
    assert peer.ledger.recover_orphans() == 1
    assert peer.ledger.records(MergeRecord) == []
    assert status(peer) == "active"
    assert next(iter(peer.repo.history.log("main"))).parents == (tip,)
    assert peer.merge("side", "main").merged == 1


@pytest.mark.parametrize("name", ["side", "into"])
def test_a_merge_never_takes_a_new_branch_for_a_deleted_one_of_its_name(memory, name):
    memory.fork("into", "main")
    ends = lookup.find(memory.repo, "side"), lookup.find(memory.repo, "into")
    request = planning.MergeRequest(*ends, "auto")
    deleting.delete(memory.repo, lookup.find(memory.repo, name), "main", memory.clock())
    memory.fork(name, "main")
    if name == "side":
        memory.add_fact("side", "fact_new", fact_text="new")
    before = memory.state("into")
    with pytest.raises(UnknownBranch, match="another branch has its name"):
        merging.merge(memory.repo, request, memory.origin, memory.clock())
    assert memory.state("into") == before
    assert memory.ledger.records(MergeRecord) == memory.ledger.open_intents() == []


def test_a_merge_that_left_rows_held_does_not_close_the_source(memory):
    memory.update_fact("main", "fact_a", category="ours")
    assert memory.merge("side", "main").rejected == 1
    assert status(memory) == "active"


def test_a_fork_that_was_made_is_known_by_the_next(memory, peer):
    die(
        memory,
        "fork.after_engine",
        lambda repo: forking.create(repo, "late", lookup.find(repo, "side"), memory.clock(), "why"),
    )
    assert peer.ledger.recover_orphans() == 1
    late = lookup.find(peer.repo, "late")
    side = lookup.find(peer.repo, "side")
    assert (late.parent_id, late.description) == (side.id, "why")
    assert peer.state("late") == peer.state("side")


def test_a_fork_that_was_not_made_leaves_its_name_free(memory, peer):
    create = ("late", lookup.find(memory.repo, "side"), memory.clock())
    die(memory, "fork.after_intent", lambda repo: forking.create(repo, *create))
    peer.fork("late", "side")  # recovers before it begins
    assert peer.ledger.recover_orphans() == 0
    assert len([b for b in peer.ledger.branches() if b.name == "late"]) == 1


def test_a_deletion_is_finished_or_withdrawn(memory, peer):
    now = memory.clock()
    die(
        memory,
        "delete.after_keep",
        lambda repo: deleting.delete(repo, lookup.find(repo, "side"), "main", now),
    )
    assert peer.ledger.recover_orphans() == 1
    assert lookup.find(peer.repo, "side").retired_tip is None
    die(
        memory,
        "delete.after_engine",
        lambda repo: deleting.delete(repo, lookup.find(repo, "side"), "main", now),
    )
    assert peer.ledger.recover_orphans() == 1
    with pytest.raises(UnknownBranch):
        lookup.find(peer.repo, "side")


def test_what_a_deleted_branch_had_can_still_be_read_after_compaction(memory):
    tip = memory.store.commit_pending("side")
    deleting.delete(memory.repo, lookup.find(memory.repo, "side"), "main", memory.clock())
    if memory.store.capabilities.compaction:
        memory.store.compact()
    with memory.store.reading(Ref(commit=tip)) as reading:
        assert reading.tip == tip


def test_an_operation_that_fails_is_recovered_at_once(memory):
    ends = lookup.find(memory.repo, "side"), lookup.find(memory.repo, "main")
    request = planning.MergeRequest(*ends, "auto", expect="another plan")
    with pytest.raises(PlanChanged):
        merging.merge(memory.repo, request, memory.origin, memory.clock())
    assert memory.ledger.recover_orphans() == 0
    assert memory.ledger.records(MergeRecord) == []


def test_an_operation_that_goes_on_is_not_recovered_by_others(memory, peer):
    recovered = []

    def point(name):
        if name == "merge.after_engine":
            recovered.append(peer.ledger.recover_orphans())

    merge(replace(memory.repo, point=point), memory)
    assert recovered == [0]
    assert len(memory.ledger.records(MergeRecord)) == 1


def test_a_name_is_taken_whatever_its_case(memory):
    with pytest.raises(Conflict, match="'side' exists"):
        forking.create(memory.repo, "Side", lookup.find(memory.repo, "main"), memory.clock())
    with pytest.raises(UnknownBranch, match="Did you mean 'side'"):
        lookup.find(memory.repo, "SIDE")
