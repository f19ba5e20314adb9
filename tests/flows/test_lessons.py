"""Lessons in an open store: what is nearly the same, and what a consolidation leaves out."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from day1.call.context import Caller
from day1.interfaces.open_store import OpenStore
from day1.services.lessons import tidying
from day1.toolsets.day1.review import REVIEW
from day1.toolsets.engram import ENGRAM
from tests.fakes.hashing_embedder import HashingEmbedder
from tests.flows.opened_store import opened

LESSON = {
    "context": "Uploads of large files failed at night",
    "action": "Raised the client timeout to 30 seconds",
    "result": "All uploads pass",
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[OpenStore]:
    with opened(tmp_path / "store", create=True) as store:
        yield store


def call(store: OpenStore, tool: str, /, **arguments: Any) -> dict[str, Any]:
    ctx = store.context(Caller())
    ctx = replace(ctx, search=replace(ctx.search, embedder=HashingEmbedder()))
    return ENGRAM.tools[tool].call(ctx, arguments)


def test_a_lesson_names_the_one_that_says_nearly_the_same(store: OpenStore) -> None:
    first = call(store, "memory_store", **LESSON)
    assert "near_duplicate_of" not in first
    near = call(store, "memory_store", **{**LESSON, "result": "Most uploads pass"})
    assert (near["updated"], near["near_duplicate_of"]) == (False, first["id"])
    groups = call(store, "memory_consolidate_preview")["duplicate_groups"]
    assert [sorted(group["ids"]) for group in groups] == [sorted((first["id"], near["id"]))]
    for other in (
        {"action": "Raised the client timeout to 60 seconds"},
        {"result": "No uploads pass"},
        {"project": "metal"},
        {"memory_type": "pattern"},
        {"context": "Builds were slow", "action": "Cached wheels", "result": "Quick"},
    ):
        made = call(store, "memory_store", **{**LESSON, **other})
        assert (made["deduplicated"], "near_duplicate_of" in made) == (False, False), other


def test_a_consolidation_says_how_many_it_compared(
    store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tidying, "MOST", 2)
    for number in range(3):
        call(store, "memory_store", **{**LESSON, "context": f"Case {number} of {number * 7}"})
    said = "Only the newest 2 of 3 lessons were compared."
    preview = call(store, "memory_consolidate_preview")
    plan = call(store, "memory_consolidate")
    done = call(store, "memory_consolidate_apply", expect=plan["digest"])
    notes = [preview["read"]["notes"], plan["read"]["notes"], done["written"]["notes"]]
    assert all(said in told for told in notes)
    monkeypatch.undo()
    assert call(store, "memory_consolidate_preview")["read"]["notes"] == []


def test_a_lesson_is_found_by_any_third_of_its_words(store: OpenStore) -> None:
    """Whichever of its longest words is another one; and whatever else is in the store."""
    longest = "carburettor transmission thermostat alternator regulator solenoid".split()  # noqa: SIM905 - one line
    parts = {"context": " ".join(longest), "action": "Cleaned with care", "result": "It runs"}
    for number in range(30):
        case = {"context": f"Case {number} of it", "action": f"Tried {number * 7}", "result": "No"}
        call(store, "memory_store", **case)
    for word in longest:
        first = call(store, "memory_store", **parts, project=word)
        other = {**parts, "context": parts["context"].replace(word, word[::-1]), "project": word}
        assert call(store, "memory_store", **other)["near_duplicate_of"] == first["id"], word


def test_no_insight_quotes_a_lesson_that_expires(store: OpenStore) -> None:
    ids = [
        call(store, "memory_store", **{**LESSON, "context": where, "action": what})["id"]
        for where, what in (
            ("Night runs", "Doubled it"),
            ("A slow disk", "Cached"),
            ("Ferns", "Cut"),
        )
    ]
    assert len(call(store, "memory_insights", action="generate")["insights"]) == 1
    update = REVIEW.tools["memory_update_fact"]
    update.call(store.context(Caller()), {"fact_id": ids[0], "expires_at": "2999-01-01"})
    assert call(store, "memory_insights", action="generate")["insights"] == []
