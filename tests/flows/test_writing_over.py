"""A write over a row that no search finds any more: the writer's own search finds it afterwards.

Or the write is refused, or its answer says which row stays hidden and what to do.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from day1.errors import Refused
from day1.interfaces.open_store import OpenStore
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT, OBSERVATION, Kind, Row
from day1.model.rows.origin import Origin
from day1.services.access.caller import Caller
from day1.services.branches.lookup import find
from day1.services.rows import editing
from day1.toolsets.engram import ENGRAM
from day1.toolsets.kompanion import KOMPANION
from tests.fakes.hashing_embedder import HashingEmbedder
from tests.flows.opened_store import call
from tests.flows.opened_store import store as store  # noqa: PLC0414 - a fixture

WORDS = "The lathe needs oil"
HERE = {"namespace": "project:metal"}


@dataclass(frozen=True)
class System:
    """How a product writes words under one name or in place of the same, and finds them."""

    kind: Kind
    write: Callable[[OpenStore, str], dict[str, Any]]
    finds: Callable[[OpenStore, str], bool]


def ask(store: OpenStore, toolset: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    ctx = store.context(Caller())
    ctx = replace(ctx, search=replace(ctx.search, embedder=HashingEmbedder()))
    answer: dict[str, Any] = toolset.tools[tool].call(ctx, arguments)
    return answer


def upsert(store: OpenStore, text: str) -> dict[str, Any]:
    return ask(store, KOMPANION, "upsert_memory", **HERE, items=[{"id": "n1", "text": text}])


def matches(store: OpenStore, text: str) -> bool:
    answer = ask(store, KOMPANION, "search_memory", **HERE, query={"text": text})
    return text in [match["text"] for match in answer["matches"]]


def save(store: OpenStore, text: str) -> dict[str, Any]:
    return ask(store, KOMPANION, "save_context", **HERE, key="oil", content=text)


def recalls(store: OpenStore, text: str) -> bool:
    items = ask(store, KOMPANION, "recall_context", **HERE, key="oil")["items"]
    return [item["content"] for item in items] == [text] and matches(store, text)


def lesson(store: OpenStore, text: str) -> dict[str, Any]:
    parts = {"context": "The lathe is loud", "action": text, "result": "It is quiet"}
    return ask(store, ENGRAM, "memory_store", **parts)


def learned(store: OpenStore, text: str) -> bool:
    results = ask(store, ENGRAM, "memory_search", query=text)["result"]
    return text in [hit.get("action") for hit in results]


SYSTEMS = {
    "memory": System(FACT, upsert, matches),
    "context": System(OBSERVATION, save, recalls),
    "lesson": System(FACT, lesson, learned),
}


def with_columns(**columns: Any) -> Callable[[OpenStore, str], None]:
    def change(store: OpenStore, row_id: str) -> None:
        correction = editing.Correction(row_id, columns)
        editing.update(store.repo, find(store.repo, "main"), correction, Origin())

    return change


def retract(store: OpenStore, row_id: str) -> None:
    call(store, "memory_retract_fact", fact_id=row_id)


def supersede(store: OpenStore, row_id: str) -> None:
    call(store, "memory_supersede_fact", fact_id=row_id, fact_text="Something else.")


def redact(store: OpenStore, row_id: str) -> None:
    call(store, "memory_redact", id=row_id, confirm=row_id)


HIDING = {
    "retracted": retract,
    "redacted": redact,
    "expired": with_columns(expires_at=1),
    "secret": with_columns(sensitivity="secret"),
    "moved": with_columns(space="project:wood"),
    "archived": with_columns(status="archived"),
    "ended": with_columns(valid_until=1),
    "invalidated": with_columns(verification="invalidated"),
    "superseded": supersede,
}
OF_ANY_KIND = {"retracted", "redacted", "expired", "secret", "moved"}
CASES = [
    (system, way)
    for system in SYSTEMS
    for way in HIDING
    if SYSTEMS[system].kind is FACT or way in OF_ANY_KIND
]
TOLD = {"archived", "superseded", "invalidated"}
"""What was decided about the words of a memory stands until it says something else."""
SHOWN = {("context", "secret"), ("lesson", "moved")}
"""A namespace tells its secret contexts, and lessons of all projects are searched together."""


def rows(store: OpenStore, kind: Kind) -> list[Row]:
    with store.repo.store.reading(Ref(branch="main")) as reading:
        return reading.find(kind, Query())


@pytest.mark.parametrize("text", [f"{WORDS}.", f"{WORDS} each Friday."], ids=["same", "other"])
@pytest.mark.parametrize(("system", "way"), CASES)
def test_what_is_written_over_a_hidden_row_is_found(
    store: OpenStore, system: str, way: str, text: str
) -> None:
    tools = SYSTEMS[system]
    tools.write(store, f"{WORDS}.")
    assert tools.finds(store, f"{WORDS}.")
    (row,) = rows(store, tools.kind)
    HIDING[way](store, str(row["id"]))
    hidden = not tools.finds(store, f"{WORDS}.")
    assert hidden or (system, way) in SHOWN
    if way == "redacted" and system != "lesson":
        with pytest.raises(Refused):
            tools.write(store, text)
        return
    notes = " ".join(tools.write(store, text)["written"]["notes"])
    if tools.finds(store, text):
        assert way not in notes
    elif way != "redacted":  # words that are redacted are so wherever they are written again
        assert (system, way in TOLD, text) == ("memory", True, f"{WORDS}.")
        assert "n1" in notes
        assert way in notes
