"""The trace of a question: what it keeps, and that it reads back as it was."""

import json

from day1.model.workspace.trace import Trace, phase, read_trace


def test_a_phase_keeps_the_first_ids_and_the_number_of_all() -> None:
    ids = [f"fact_{n}" for n in range(30)]
    noted = phase("search", 2, ids)
    assert (noted.name, noted.number, noted.count) == ("search", 2, 30)
    assert noted.ids == tuple(ids[:20])


def test_a_trace_reads_back_from_json() -> None:
    trace = Trace(
        "What?",
        "auto",
        "graph",
        "lookup",
        ("fact_a",),
        2,
        ("search", "links"),
        (phase("search", 1, ["fact_a"]), phase("bus", 1, [])),
        7,
    )
    assert read_trace(json.loads(json.dumps(trace.value))) == trace


def test_ids_of_rows_that_may_not_be_shown_are_left_out_of_a_trace() -> None:
    phases = (phase("search", 1, ["a", "b"]), phase("bus", 1, ["c"]))
    trace = Trace("?", "auto", "lookup", "lookup", ("b", "d"), 1, ("search",), phases, 5)
    assert trace.ids == {"a", "b", "c", "d"}
    shown = trace.among_visible({"b"})
    assert shown.answer_ids == ("b",)
    assert [(each.name, each.count, each.ids) for each in shown.phases] == [
        ("search", 2, ("b",)),
        ("bus", 1, ()),
    ]
    assert trace.among_visible(trace.ids) == trace
