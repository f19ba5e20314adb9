"""Looking for evidence and attending to questions, on the ports in memory."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from day1.errors import InvalidRequest
from day1.model.rows.change import Ref
from day1.model.rows.kind import RELATION
from day1.model.workspace.item import LINKED
from day1.model.workspace.mind import MOST_BYTES, Mind
from day1.model.workspace.trace import read_trace
from day1.services.access.caller import Caller
from day1.services.access.calls import BranchRule, active_branch
from day1.services.repository.repository import Repository
from day1.services.rows.recording import NewRelation, relation_row
from day1.services.workspace.attending import Attended, Attention, answer_of, attend
from day1.services.workspace.candidates import Asked
from day1.services.workspace.desks import Seat, mind_of
from day1.services.workspace.items import visible_items
from day1.services.workspace.resolving import (
    PLANNERS,
    Evidence,
    Question,
    _Looker,
    exact_in,
    look_further,
    resolve,
)
from tests.unit.services.conftest import ADA, Bench
from tests.unit.services.searched import Searching

QUESTION = "What is the port of Ada?"


@dataclass
class Asking:
    """A call without a space."""

    repo: Repository
    clock: Callable[[], int]
    caller: Caller = field(default_factory=Caller)
    branch_rule: BranchRule = active_branch


@pytest.fixture
def searching(bench: Bench) -> Searching:
    searching = Searching(bench)
    searching.fact("ada", "name: Ada\nport: 8443")
    searching.fact("bo", "name: Bo\nport: 9000")
    searching.fact("desk", "Her desk is green.")
    searching.fact("lamp", "A lamp stands on it.")
    searching.fact("far", "The lamp was bought in Selm.")
    searching.fact("farther", "Selm lies on a river.")
    for one, other in (("ada", "desk"), ("desk", "lamp"), ("lamp", "far"), ("far", "farther")):
        link(bench, f"fact_{one}", f"fact_{other}")
    return searching


def link(bench: Bench, one: str, other: str) -> None:
    bench.now += 1
    with bench.store.adding("main") as work:
        new = NewRelation(one, LINKED, other)
        work.add(RELATION, [relation_row(f"rel_{one}{other}", new, ADA, work.now)])


def call(searching: Searching) -> Asking:
    return Asking(searching.bench.repo, lambda: searching.bench.now)


def look(searching: Searching, planner: str, text: str = QUESTION, k: int = 2) -> Evidence:
    return resolve(call(searching), searching.engine, Question(text, k), planner)


def attended(searching: Searching, text: str = QUESTION, **more: Any) -> Attended:
    bench = searching.bench
    bench.now += 1
    asked = Asked(bench.now)
    return attend(call(searching), searching.engine, seat(bench), asked, Attention(text, **more))


def seat(bench: Bench) -> Seat:
    return Seat(bench.branch(), bench.branch().id, "me")


def mind(searching: Searching) -> Mind:
    return mind_of(searching.bench.repo, seat(searching.bench))


@pytest.mark.parametrize(
    ("planner", "strategy", "answer", "calls"),
    [
        ("auto", "graph", "8443", ["search", "links", "links", "links"]),
        ("generic", "generic", None, ["search"]),
        ("semantic", "semantic", "8443", ["search"]),
        ("structured", "structured", "8443", ["collection"]),
        ("graph", "graph", "8443", ["search", "links", "links", "links"]),
        ("hybrid", "hybrid", "8443", ["collection", "search", *["links"] * 3]),
    ],
)
def test_each_planner_calls_what_it_needs(
    searching: Searching, planner: str, strategy: str, answer: str | None, calls: list[str]
) -> None:
    found = look(searching, planner, k=1 if planner in {"auto", "graph", "hybrid"} else 3)
    assert found.strategy == strategy
    assert (None if found.exact is None else found.exact.answer) == answer
    assert found.calls == calls[: len(found.calls)]
    assert set(found.calls) == set(calls)
    assert found.queries == ([] if planner == "structured" else [QUESTION])
    assert found.items
    assert bool(found.records) == (planner in {"structured", "hybrid"})


def test_there_are_six_planners() -> None:
    assert list(PLANNERS) == ["auto", "generic", "semantic", "structured", "graph", "hybrid"]


def test_links_are_followed_three_steps_and_to_k_memories(searching: Searching) -> None:
    linked = ["fact_ada", "fact_desk", "fact_lamp", "fact_far"]
    for most, ids in ((1, linked[:2]), (2, linked[:3]), (9, linked)):
        found = Evidence("graph")
        looker = _Looker(call(searching), searching.engine, Question(QUESTION, most))
        looker.search(found, "Ada", 1)
        assert list(found.items) == ["fact_ada"]
        looker.follow_links(found)
        assert list(found.items) == ids
        assert found.calls.count("links") == min(3, most + 1)


@pytest.mark.parametrize("planner", ["auto", "structured", "hybrid"])
def test_the_memories_of_a_computed_answer_are_admitted(searching: Searching, planner: str) -> None:
    done = attended(searching, "What is the average port?", planner=planner)
    assert {"fact_ada", "fact_bo"} <= {*done.admitted}
    now = mind(searching)
    assert {*done.admitted} <= {place.id for place in (*now.buffer, *now.workspace)}
    fewer = look(searching, "structured", "What is the average port?", k=1)
    assert list(fewer.items) == ["fact_ada"]
    assert len(fewer.records) == 2


def test_auto_computes_only_what_is_asked_to_be_computed(searching: Searching) -> None:
    average = look(searching, "auto", "What is the average port?")
    assert average.exact is not None
    assert (average.strategy, average.exact.answer) == ("structured", "8721.5")
    assert (average.calls, average.queries) == (["collection"], [])
    none = look(searching, "auto", "What is the average weight?")
    assert none.exact is None
    assert none.calls[:2] == ["collection", "search"]


def test_keywords_are_searched_for_and_are_no_part_of_the_question(searching: Searching) -> None:
    question = Question(QUESTION, 2, ("green", "desk"))
    found = resolve(call(searching), searching.engine, question, "semantic")
    assert found.queries == [f"{QUESTION}\ngreen desk"]
    assert found.exact is not None
    assert found.exact.answer == "8443"


def test_quotes_begin_with_the_records_and_say_each_row_once(searching: Searching) -> None:
    found = look(searching, "hybrid", k=4)
    quotes = found.quotes(10)
    assert quotes[0] == ("fact_ada", "name: Ada\nport: 8443")
    ids = [row_id for row_id, _ in quotes]
    assert len(ids) == len(set(ids)) == len(found.items)
    assert found.quotes(1) == quotes[:1]


def test_a_further_search_takes_the_best_memory_that_was_not_searched_for(
    searching: Searching,
) -> None:
    found = look(searching, "semantic", "Her desk", k=1)
    assert list(found.items) == ["fact_desk"]
    question = Question("Her desk", 3)
    fresh = look_further(call(searching), searching.engine, question, found)
    assert found.queries == ["Her desk", "Her desk is green."]
    assert fresh == [i for i in found.items if i != "fact_desk"]
    while found.queries[-1] != "":
        before = len(found.queries)
        look_further(call(searching), searching.engine, question, found)
        if len(found.queries) == before:
            break
    assert sorted(found.queries[1:]) == sorted(item.text for item in found.items.values())
    assert look_further(call(searching), searching.engine, question, found) == []


def test_an_answer_is_looked_up_in_the_structure_of_a_row_too(searching: Searching) -> None:
    searching.fact("cyd", "Cyd's settings", structure='{"name": "Cyd", "port": 7}')
    bench = searching.bench
    with bench.store.reading(Ref(branch="main")) as reading:
        items = visible_items(reading, ["fact_cyd"], (), bench.now)
    exact = exact_in("What is the port of Cyd?", items.values())
    assert exact is not None
    assert (exact.answer, exact.operation, exact.row_ids) == ("7", "lookup", ("fact_cyd",))


def test_what_is_found_is_admitted_counted_and_broadcast(searching: Searching) -> None:
    done = attended(searching, k=2, planner="semantic", keywords=("port",))
    assert done.broadcast is not None
    now = mind(searching)
    assert replace(now, trace=None) == replace(done.broadcast.mind, trace=None, bus=now.bus)
    assert now.goal is not None
    assert (now.goal.description, now.goal.keywords) == (QUESTION, ("port",))
    assert set(done.admitted) == set(done.evidence.items) == set(now.uses)
    assert {p.id for p in (*now.workspace, *now.buffer)} >= set(done.admitted)
    assert now.trace is not None
    trace = read_trace(now.trace)
    assert trace == done.trace
    assert [each.name for each in trace.phases] == ["search", "admit", "broadcast", "bus"]
    assert trace.calls == ("search", "broadcast", "bus")
    assert (trace.operation, trace.answer_ids) == ("lookup", ("fact_ada",))
    again = attended(searching, k=2, planner="semantic", keywords=("port",))
    assert len(mind(searching).goals) == 1
    assert mind(searching).uses[again.admitted[0]][0] == 2


def test_old_goals_leave_for_long_questions(searching: Searching) -> None:
    for number in range(15):
        attended(searching, f"{number} " + "界" * 1_990, planner="semantic")
    now = mind(searching)
    assert now.size <= MOST_BYTES
    assert now.goal is not None
    assert now.goal.description.startswith("14 ")
    assert 1 < len(now.goals) < 10


def test_a_goal_that_is_too_long_alone_is_refused(searching: Searching) -> None:
    attended(searching, "Her desk", planner="semantic")
    before = mind(searching)
    keywords = tuple(f"{number}".ljust(255, "界") for number in range(100))
    with pytest.raises(InvalidRequest, match="shorten the goal, the question or the keywords"):
        attended(searching, keywords=keywords, planner="semantic")
    assert mind(searching) == before


def test_without_admitting_only_the_trace_is_kept(searching: Searching) -> None:
    done = attended(searching, admit=False, planner="semantic")
    assert (done.broadcast, done.admitted) == (None, ())
    now = mind(searching)
    assert (now.goals, now.buffer, now.uses, now.cycles) == ((), (), {}, 0)
    assert now.trace is not None
    assert read_trace(now.trace) == done.trace


def test_passes_end_with_an_exact_answer_or_when_nothing_is_new(searching: Searching) -> None:
    assert attended(searching, passes=5, planner="semantic").trace.passes == 1
    searched = attended(searching, "A green lamp", passes=3, k=1, planner="generic", admit=False)
    assert searched.trace.passes == len(searched.evidence.queries) == 2
    unknown = attended(searching, "zzz", passes=3, planner="structured", admit=False)
    assert unknown.trace.passes == 1


def test_an_answer_is_read_again_as_it_may_be_shown(searching: Searching) -> None:
    bench = searching.bench
    done = attended(searching, planner="semantic")
    asked = Asked(bench.now)
    args = (call(searching), searching.engine, seat(bench), asked)
    assert answer_of(*args, done.trace) == "8443"
    computed = attended(searching, "What is the average port?")
    assert answer_of(*args, computed.trace) == "8721.5"
    nothing = attended(searching, "Who?", planner="generic")
    assert answer_of(*args, nothing.trace) == ""
