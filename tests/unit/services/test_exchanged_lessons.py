"""Lessons in engram's form come back whole, whoever wrote them and whatever their ids are.

`DAY1_ROUND_TRIPS` sets how many examples each property is tried on.
"""

import json
from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from day1.model.branches.branch import MAIN
from day1.model.lessons.experience import Experience
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT, Row, canonical, complete
from day1.model.values.ids import derived_id
from day1.ports.uses import NoUses
from day1.services.lessons import portable
from day1.toolsets.engram.exchange import MemoryImport, _memory
from tests.unit.services.conftest import ADA, Bench
from tests.whole_rows import DRAWN, facts, ids


def filled(rows: list[Row]) -> Bench:
    """A store with these facts."""
    bench = Bench()
    with bench.store.adding(MAIN) as work:
        work.add(FACT, rows)
    return bench


_KEYS = st.none() | st.sampled_from(("k1", "k2")) | ids(FACT, 3)


@st.composite
def noted_facts(draw: st.DrawFn) -> list[Row]:
    """Facts of engram, of Kompanion and of day1, with ids and notes that their writers chose."""
    found: dict[str, Row] = {}
    for _ in range(draw(st.integers(0, 5))):
        made = draw(facts())
        key = draw(_KEYS)
        detail: dict[str, Any] = {"metadata": {"a": 1}} if draw(st.booleans()) else {}
        detail |= {} if key is None else {draw(st.sampled_from(("id", "key"))): key}
        if draw(st.booleans()):
            detail |= {"created_at": "last week", "updated_at": 7, "used_count": "many"}
        if draw(st.booleans()):
            parts = Experience(*draw(st.tuples(*3 * [st.sampled_from(("", "one", "\u2028 é"))])))
            made |= _lesson(parts)
        row_id = draw(ids(FACT, 9))
        found[row_id] = {**made, "id": row_id, "detail": canonical(detail) if detail else None}
    return list(found.values())


def _lesson(parts: Experience) -> Row:
    """The columns of a lesson."""
    if not any(parts.parts):
        return {}
    return complete(FACT, {"fact_text": parts.text}) | {"structure": parts.structure}


def exchanged(bench: Bench) -> dict[str, Any]:
    """What `memory_export` answers, but for the time of the export."""
    found = portable.export(bench.repo, NoUses(), MAIN, 0)
    return {name: value for name, value in found.items() if name != "exported_at"}


def take_in(bench: Bench, form: Mapping[str, Any]) -> tuple[int, int]:
    """Import as the tool does, with the checks of its arguments."""
    given_form = {name: form[name] for name in ("version", "memories")}
    request = MemoryImport.model_validate(json.loads(json.dumps(given_form)))
    some = [_memory(number, one) for number, one in enumerate(request.memories)]
    return portable.bring_in(bench.repo, bench.branch(), some, ADA, lambda *_: None)


@DRAWN
@given(rows=noted_facts())
def test_lessons_come_back_whoever_wrote_them(rows: list[Row]) -> None:
    bench, other, third = filled(rows), Bench(), Bench()
    form = exchanged(bench)
    assert form["count"] == len(rows)
    assert take_in(other, form) == (len(rows), 0)
    again = exchanged(other)
    assert again == form
    assert take_in(other, form) == (0, len(rows))
    assert take_in(third, again) == (len(rows), 0)
    assert exchanged(third) == again
    spaces = {one["space"] for one in rows}
    with other.store.reading(Ref(branch=MAIN)) as reading:
        assert {one["space"] for one in reading.find(FACT, Query())} == spaces


_OLD = st.fixed_dictionaries(
    {
        "id": st.sampled_from(("k1", "k2", derived_id("fact", None, "x"))),
        "result": st.sampled_from(("one", "two", "three")),
        "created_at": st.just("2026-01-01T00:00:00Z"),
        "project": st.none() | st.sampled_from(("metal", "a:b", "project:a:b")),
        "score": st.sampled_from((0.0, 0.25, 1.0)),
    }
)


@DRAWN
@given(memories=st.lists(_OLD, max_size=6))
def test_no_memory_is_lost_where_an_id_is_used_twice(memories: list[dict[str, Any]]) -> None:
    """Files that an earlier day1 wrote have one id for memories of several projects."""
    bench, other = Bench(), Bench()
    form = {"version": 1, "memories": memories}
    different = {(one["id"], one["project"], one["result"]) for one in memories}
    assert take_in(bench, form) == (len(different), len(memories) - len(different))
    assert take_in(bench, form) == (0, len(memories))
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        kept = {(one["space"], one["fact_text"]) for one in reading.find(FACT, Query())}
    assert kept == {(portable.space_of(project), text) for _, project, text in different}
    form = exchanged(bench)
    assert take_in(other, form) == (len(different), 0)
    assert exchanged(other) == form
