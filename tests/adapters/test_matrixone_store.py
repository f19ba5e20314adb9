"""The store on a MatrixOne server below its services: what the contract does not see."""

import threading
from typing import Any

import pytest

from day1.errors import BranchExists, IntegrityBroken, StoreBusy, UnknownBranch
from day1.model.rows.change import Message, Query, Ref
from day1.model.rows.kind import FACT
from day1.services.branches import deleting, retiring
from day1.services.branches.lookup import find
from tests import servers
from tests.suites.engine_memory import EngineMemory
from tests.suites.starting_states import A, B, C, fact


class KilledError(Exception):
    """As if the process had ended there."""


@pytest.fixture(scope="module")
def place(matrixone_url):
    """One store for all tests: making one takes seconds."""
    with servers.database(matrixone_url) as url:
        yield url


@pytest.fixture
def memory(place, request):
    memory: Any = EngineMemory(place)
    memory.root = f"root/{request.node.name}"
    memory.fork(memory.root, "main")
    memory.clock.tick()
    yield memory
    memory.close()


def killed_before_the_stamp(memory, action):
    def die(name):
        if name == "commit.before_stamp":
            raise KilledError

    memory.store._dialect.point = die
    with pytest.raises(KilledError):
        action()


def facts(memory, ref):
    with memory.store.reading(ref) as reading:
        return {str(row["id"]): row["category"] for row in reading.find(FACT, Query())}


def tip(memory, branch):
    return memory.store.history.branches()[branch]


def test_a_commit_whose_process_was_killed_has_its_state_and_no_later_one(place, memory):
    memory.add_fact(memory.root, A, fact_text="a", category="first")
    memory.commit_pending(memory.root)
    memory.clock.tick()
    killed_before_the_stamp(memory, lambda: memory.update_fact(memory.root, A, category="second"))
    other = EngineMemory(place, memory.clock)
    commit = tip(other, memory.root)
    other.add_fact(memory.root, B, fact_text="b")
    other.update_fact(memory.root, A, category="third")
    assert facts(other, Ref(commit=commit)) == {A: "second"}
    assert facts(other, Ref(branch=memory.root)) == {A: "third", B: None}
    other.close()


def test_a_reader_that_comes_first_finds_the_state_of_a_killed_process(place, memory):
    memory.add_fact(memory.root, A, fact_text="a", category="first")
    memory.commit_pending(memory.root)
    memory.clock.tick()
    killed_before_the_stamp(memory, lambda: memory.update_fact(memory.root, A, category="second"))
    other = EngineMemory(place, memory.clock)
    commit = tip(other, memory.root)
    assert facts(other, Ref(commit=commit)) == {A: "second"}
    assert not other.store.history.changes(commit, Ref(branch=memory.root))
    other.close()


def test_a_reading_stays_at_one_state_while_others_write(memory):
    memory.add_fact(memory.root, A, fact_text="a", category="first")
    with memory.store.reading(Ref(branch=memory.root)) as reading:
        memory.clock.tick()
        memory.add_fact(memory.root, B, fact_text="b")
        memory.update_fact(memory.root, A, category="second")
        seen = {str(row["id"]): row["category"] for row in reading.find(FACT, Query())}
        counted = reading.count(FACT)
    assert (seen, counted) == ({A: "first"}, 1)
    assert facts(memory, Ref(branch=memory.root)) == {A: "second", B: None}


def test_a_name_that_is_used_again_is_another_branch(memory):
    name = f"{memory.root}/again"
    memory.fork(name, memory.root)
    memory.add_fact(name, A, fact_text="a")
    deleting.delete(memory.repo, find(memory.repo, name), "main", memory.clock())
    with pytest.raises(UnknownBranch):
        facts(memory, Ref(branch=name))
    memory.clock.tick()
    memory.fork(name, memory.root)
    assert facts(memory, Ref(branch=name)) == {}
    assert memory.store.check() == []


def test_a_branch_that_was_retired_comes_back_with_its_rows_and_merges(memory):
    side = f"{memory.root}/side"
    memory.add_fact(memory.root, A, fact_text="a")
    memory.fork(side, memory.root)
    memory.clock.tick()
    memory.add_fact(side, B, fact_text="b")
    memory.update_fact(side, A, category="side's")
    memory.clock.tick()
    memory.add_fact(memory.root, C, fact_text="c")
    was = memory.state(side)
    retired = retiring.retire(memory.repo, find(memory.repo, side), memory.clock())
    retiring.revive(memory.repo, retired, memory.clock())
    assert memory.state(side) == was
    memory.clock.tick()
    memory.update_fact(side, B, category="later")
    assert memory.merge(side, memory.root).merged == 2
    assert fact(memory, memory.root)["category"] == "side's"
    assert fact(memory, memory.root, B)["category"] == "later"
    assert [row and row["category"] for _, row in memory.versions(memory.root, A)] == [
        None,
        "side's",
    ]


def test_every_version_of_a_row_is_found_for_redacting(memory):
    row = "fact_redacted"
    memory.add_fact(memory.root, row, fact_text="one")
    for text in ("two", "three"):
        memory.clock.tick()
        memory.update_fact(memory.root, row, fact_text=text)
    memory.fork(f"{memory.root}/side", memory.root)
    memory.clock.tick()
    memory.update_fact(f"{memory.root}/side", row, fact_text="four")
    memory.remove(memory.root, row)
    found = {str(row["fact_text"]) for row in memory.store.history.unmasked(FACT, row)}
    assert found == {"one", "two", "three", "four"}


def test_a_branch_that_another_writes_is_busy_and_the_others_are_not(place, memory):
    other = EngineMemory(place, memory.clock)
    connections: Any = other.store._connections
    connections._queues._wait_s = 0.2
    with memory.store.changing(memory.root):
        with pytest.raises(StoreBusy), other.store.changing(memory.root.upper()):
            pass
        with other.store.changing("main") as work:
            assert work.branch == "main"
    other.close()


def test_what_is_left_without_a_commit_leaves_no_trace(memory):
    memory.add_fact(memory.root, A, fact_text="a", category="first")
    stamp = memory.store.stamp()
    with memory.store.changing(memory.root) as work:
        work.change(FACT, A, {"category": "second"})
    assert facts(memory, Ref(branch=memory.root)) == {A: "first"}
    assert memory.store.history.dirty_branches() & {memory.root} == set()
    assert stamp != memory.store.stamp()  # of the commit before the change


def test_rows_that_another_program_wrote_are_not_committed(memory):
    memory.add_fact(memory.root, A, fact_text="a", category="first")
    memory.commit_pending(memory.root)
    with memory.store._connections.exclusive(memory.root) as connection:
        connection.exec_driver_sql("UPDATE facts SET category = 'theirs'")
    with memory.store.changing(memory.root) as work:
        work.add(FACT, [{**work.get(FACT, [A])[A], "id": B}])
        with pytest.raises(IntegrityBroken, match="would slip into this commit"):
            work.commit(Message("change", "mine"))


def test_of_two_forks_of_one_name_one_is_made(place, memory):
    name, errors = f"{memory.root}/race", []
    start = tip(memory, memory.root)

    def fork(one):
        try:
            one.store.history.fork(name, start)
        except BranchExists as exc:
            errors.append(exc)

    two = [memory, EngineMemory(place, memory.clock)]
    threads = [threading.Thread(target=fork, args=(one,)) for one in two]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(errors) == 1
    assert memory.store.check() == []
    two[1].close()
