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
