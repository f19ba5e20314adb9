"""The subscribers of a workspace: what they propose, and what happens to slow and broken ones."""

from collections.abc import Iterable, Mapping
from threading import Event
from time import monotonic
from typing import Any

import pytest

from day1.model.records.task import Task
from day1.model.rows.change import Ref
from day1.model.rows.kind import RELATION
from day1.model.workspace.bus import Proposal, applied, read_result
from day1.model.workspace.item import LINKED
from day1.model.workspace.mind import Goal, Mind, Place
from day1.services.rows.recording import NewRelation, relation_row
from day1.services.tasks import tasks
from day1.services.tasks.tasks import NewObjective
from day1.services.workspace.bus import SUBSCRIBERS, Scene, Stopped, Subscriber, run_bus
from day1.services.workspace.desks import Seat, change_mind, mind_of
from day1.services.workspace.items import links_of, visible_items
from tests.unit.services.conftest import ADA, Bench
from tests.unit.services.searched import Searching

TASK = "task_1"


@pytest.fixture
def searching(bench: Bench) -> Searching:
    return Searching(bench)


def scene(bench: Bench, *ids: str, task: str | None = None, **more: Any) -> Scene:
    """The scene after a broadcast of some rows; the mind on the desk has them and a goal."""
    seat = Seat(bench.branch(), bench.branch().id, "me", task)
    places = tuple(Place(row_id, 1, 0.5) for row_id in ids)
    mind = mind_of(bench.repo, seat)
    goal = Goal("goal_1", "What is the zorp of Bob?")
    mind = Mind(goals=(goal,), workspace=places, bus=mind.bus, cycles=mind.cycles + 1)
    change_mind(bench.repo, seat, lambda _: mind, bench.now)
    with bench.store.reading(Ref(branch="main")) as reading:
        chosen = visible_items(reading, ids, (), bench.now)
        linked = links_of(reading, ids, (), bench.now).ids
    texts = [item.text for item in chosen.values()]
    given = {"candidates": texts, "contradicts": {}, "linked": linked}
    return Scene(bench.repo, seat, mind, chosen, **{**given, "now": bench.now, **more})


def link(bench: Bench, one: str, other: str) -> None:
    bench.now += 1
    with bench.store.adding("main") as work:
        new = NewRelation(one, LINKED, other)
        work.add(RELATION, [relation_row(f"rel_{one}{other}", new, ADA, work.now)])


def heard(scene: Scene, *more: Any, **named: Any) -> Mind:
    """The mind, on its desk, after the bus heard a broadcast."""
    result = run_bus(scene, *more, **named)

    def change(mind: Mind) -> Mind:
        return applied(mind, result, scene.now)

    return change_mind(scene.repo, scene.seat, change, scene.now)


def decisions(mind: Mind) -> list[tuple[str, str]]:
    assert mind.bus is not None
    return [(d.proposal.key, d.reason) for d in read_result(mind.bus).decisions]


def statuses(mind: Mind) -> dict[str, str]:
    assert mind.bus is not None
    return {r.subscriber: r.status for r in read_result(mind.bus).reports}


def test_what_a_broadcast_memory_is_linked_with_is_admitted(searching: Searching) -> None:
    bench = searching.bench
    for name in ("a", "b", "c", "d"):
        searching.fact(name, f"The {name} herons fish.")
    searching.fact("hidden", "Secret.", sensitivity="secret")
    for other in ("b", "c", "hidden"):
        link(bench, "fact_a", f"fact_{other}")
    mind = heard(scene(bench, "fact_a", "fact_b"))
    assert decisions(mind) == [("admit:fact_c", "accepted")]
    assert [place.id for place in mind.buffer] == ["fact_c"]
    assert mind_of(bench.repo, scene(bench).seat).cycles == mind.cycles + 1


def test_what_was_evicted_is_not_recalled(searching: Searching) -> None:
    bench = searching.bench
    searching.fact("a", "Herons fish.")
    searching.fact("b", "Storks nest.")
    link(bench, "fact_a", "fact_b")
    of = scene(bench, "fact_a")
    object.__setattr__(of.mind, "evicted", {"fact_b": "goal_1"})
    assert decisions(heard(of)) == []


def test_an_exact_answer_in_what_was_broadcast_resolves_the_goal(searching: Searching) -> None:
    bench = searching.bench
    searching.fact("a", "name: Bob\nzorp: 7")
    searching.fact("b", "Bob likes tea.")
    link(bench, "fact_a", "fact_b")
    mind = heard(scene(bench, "fact_a"))
    assert decisions(mind) == [
        ("answer:fact_a", "accepted"),
        ("admit:fact_b", "resolved_answer_present"),
    ]
    assert mind.bus is not None
    assert mind.bus["answer_ids"] == ["fact_a"]
    assert mind.buffer == ()
    other = heard(scene(bench, "fact_a", question="What is the zorp of Ada?"))
    assert [key for key, _ in decisions(other)] == ["admit:fact_b"]
    known = heard(scene(bench, question="?", answer_ids=("fact_x",)))
    assert decisions(known) == [("answer:fact_x", "accepted")]


def test_a_contradicting_pair_is_flagged_once(searching: Searching) -> None:
    bench = searching.bench
    searching.fact("a", "The client waits 30 s.")
    searching.fact("b", "The client waits 60 s.")
    pairs = {"fact_b": ("fact_a",), "fact_a": ("fact_b",)}
    mind = heard(scene(bench, "fact_a", "fact_b", contradicts=pairs))
    assert decisions(mind) == [("contradiction:fact_a:fact_b", "accepted")]
    assert mind.bus is not None
    assert mind.bus["contradictions"] == [["fact_a", "fact_b"]]
    (decision,) = read_result(mind.bus).decisions
    assert decision.proposal.action == "flag_contradiction"
    again = heard(scene(bench, "fact_a", "fact_b", contradicts=pairs))
    assert again.bus is not None
    assert read_result(again.bus).decisions[0].proposal.confidence == 0.8


def test_an_objective_that_no_memory_is_about_is_a_gap(searching: Searching) -> None:
    bench = searching.bench
    aims = [NewObjective("Measure the herons of Selm"), NewObjective("Find the owner of the mill")]
    tasks.create_task(
        bench.repo, Task(TASK, "mend", None, None, (), "", None, 1), bench.branch(), aims
    )
    searching.fact("a", "There are nine herons in Selm to measure.")
    mind = heard(scene(bench, "fact_a", task=TASK))
    assert decisions(mind) == [("gap:1", "accepted")]
    assert mind.bus is not None
    assert mind.bus["gaps"] == [1]
    assert decisions(heard(scene(bench, "fact_a"))) == []


def quick(_scene: Scene, _stopped: Stopped) -> Iterable[Proposal]:
    return [Proposal("quick", "note_gap", f"gap:{n}", 0.9, (), n) for n in range(6)]


def broken(_scene: Scene, _stopped: Stopped) -> Iterable[Proposal]:
    raise KeyError("a memory that no log may hold")


def test_slow_and_broken_subscribers_are_left_out_for_ten_cycles(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    released, ended = Event(), Event()

    def asleep(_scene: Scene, stopped: Stopped) -> Iterable[Proposal]:
        released.wait(30)
        if stopped():
            ended.set()
        return []

    asked: Mapping[str, Subscriber] = {"quick": quick, "asleep": asleep, "broken": broken}
    seen = []
    for _ in range(3):
        began = monotonic()
        seen.append(statuses(heard(scene(bench), asked, budget_s=0.1)))
        assert monotonic() - began < 5
    assert seen == [{"quick": "ok", "asleep": "timeout", "broken": "error"}] * 3
    released.set()
    assert ended.wait(30), "a subscriber that is late was not told to stop"
    open_ = [statuses(heard(scene(bench), asked, budget_s=30)) for _ in range(10)]
    assert open_ == [{"quick": "ok", "asleep": "circuit_open", "broken": "circuit_open"}] * 10
    back = heard(scene(bench), asked, budget_s=30)
    assert statuses(back) == {"quick": "ok", "asleep": "ok", "broken": "error"}
    assert statuses(heard(scene(bench), asked, budget_s=30))["broken"] == "circuit_open"
    assert "no log may hold" not in caplog.text
    assert "KeyError" in caplog.text


def test_a_subscriber_proposes_four_things_at_most(bench: Bench) -> None:
    mind = heard(scene(bench), {"quick": quick})
    assert decisions(mind) == [(f"gap:{n}", "accepted") for n in range(4)]


def test_the_subscribers_are_known() -> None:
    assert list(SUBSCRIBERS) == ["recall", "exact", "contradiction", "gap"]
