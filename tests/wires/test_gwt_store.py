"""Storing, linking and finding by gwt's tools, over stdio and HTTP."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.wires.gwt_session import GwtSession, served
from tests.wires.http_server import STDIO_DAILY

TYPES = ["semantic", "episodic", "procedural", "working"]


@pytest.fixture(params=STDIO_DAILY)
def gwt(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GwtSession]:
    with served(request.param, tmp_path / "store") as session:
        yield session


@pytest.mark.line("S0-002", "S0-007", "S0-008")
def test_a_stored_item_is_linked_and_found(gwt: GwtSession) -> None:
    first = gwt.ok("gwt_store", content="The mill in Selm has 90 spindles.", tags=["mill", "mill"])
    assert (first["memory_type"], first["activation_state"]) == ("semantic", "preconscious")
    assert (first["linked_to"], first["tags"], first["status"]) == ([], ["mill"], "stored")
    second = gwt.ok("gwt_store", content="Its owner is Ada.", link_to=first["id"])
    third = gwt.ok("gwt_store", content="Ada lives there.", link_to=[first["id"], second["id"]])
    assert second["linked_to"] == [first["id"]]
    assert third["linked_to"] == [first["id"], second["id"]]
    (found,) = gwt.found("gwt_query", query="spindles of the mill", k=1)
    assert found["id"] == first["id"]
    assert found["linked_ids"] == [second["id"], third["id"]]
    assert found["content"] == "The mill in Selm has 90 spindles."
    assert (found["activation_state"], found["admitted"]) == ("preconscious", False)
    assert 0 < found["activation_level"] <= 1


@pytest.mark.line("S0-006")
@pytest.mark.parametrize("memory_type", TYPES)
def test_a_query_of_a_type_finds_only_items_of_it(gwt: GwtSession, memory_type: str) -> None:
    ids = {
        name: [gwt.store(f"A {name} word on herons, {n}.", memory_type=name) for n in range(3)]
        for name in TYPES
    }
    found = gwt.found("gwt_query", query="herons", k=2, memory_type=memory_type)
    assert len(found) == 2
    assert {item["memory_type"] for item in found} == {memory_type}
    assert {item["id"] for item in found} <= {*ids[memory_type]}


@pytest.mark.line("S0-039")
def test_a_link_goes_both_ways_and_is_one_row(gwt: GwtSession) -> None:
    one, other = gwt.store("Herons fish."), gwt.store("Storks nest.")
    linked = gwt.ok("gwt_link", source_id=one, target_id=other)
    assert (linked["status"], linked["source_id"], linked["target_id"]) == ("linked", one, other)
    gwt.ok("gwt_link", source_id=other, target_id=one)
    found = {item["id"]: item["linked_ids"] for item in gwt.found("gwt_query", query="herons nest")}
    assert found == {one: [other], other: [one]}
    assert len(gwt.everything([])["main"]["relations"]) == 1


def test_what_is_no_link_is_refused(gwt: GwtSession) -> None:
    one = gwt.store("Herons fish.")
    gwt.refused("gwt_link", "invalid_request", source_id=one, target_id=one)
    gwt.refused("gwt_link", "not_found", source_id=one, target_id="fact_0")
    gwt.refused("gwt_link", "not_found", source_id="x", target_id=one)
    gwt.refused("gwt_store", "not_found", content="Storks nest.", link_to="obs_1")
    gwt.refused("gwt_store", "invalid_request", content="Storks nest.", link_to=[""])


@pytest.mark.parametrize("tool", ["gwt_store", "gwt_query"])
def test_an_unknown_type_is_refused_with_those_there_are(gwt: GwtSession, tool: str) -> None:
    text = {"gwt_store": "content", "gwt_query": "query"}[tool]
    for memory_type in ("Semantic", "long", "", " semantic"):
        arguments: dict[str, Any] = {text: "Herons fish.", "memory_type": memory_type}
        error = gwt.refused(tool, "invalid_request", **arguments)
        assert error["supported_memory_types"] == TYPES


def test_admitting_counts_and_queues_what_was_found(gwt: GwtSession) -> None:
    row_id = gwt.store("Herons fish.")
    levels = []
    for _ in range(3):
        (found,) = gwt.found("gwt_query", query="herons", admit=True)
        assert (found["id"], found["admitted"]) == (row_id, True)
        levels.append(found["activation_level"])
    assert levels == sorted(levels)
    assert levels[0] < levels[2]
    before = gwt.everything([])
    gwt.ok("gwt_query", query="herons")
    assert gwt.everything([]) == before


@pytest.mark.parametrize("k", [0, -1, 201, "many"])
def test_a_number_out_of_bounds_is_refused(gwt: GwtSession, k: object) -> None:
    gwt.refused("gwt_query", "invalid_request", query="herons", k=k)


def test_storing_again_is_one_item(gwt: GwtSession) -> None:
    first = gwt.ok("gwt_store", content="Herons fish.", request_id="r1")
    again = gwt.ok("gwt_store", content="Herons fish.", request_id="r1")
    assert again["id"] == first["id"]
    gwt.refused("gwt_store", "request_reused", content="Storks nest.", request_id="r1")
    assert len(gwt.everything([])["main"]["facts"]) == 1


def test_a_repeated_call_links_nothing_again(tmp_path: Path) -> None:
    """A call whose answer was lost is made again, after others removed what it had linked."""
    with GwtSession(tmp_path / "store", toolsets="gwt,review") as gwt:
        lake = gwt.store("The lake is deep.")
        asked = {"content": "Herons fish.", "link_to": [lake, lake], "request_id": "r1"}
        first = gwt.ok("gwt_store", **asked)
        assert first["linked_to"] == [lake]
        (link,) = gwt.everything(["main"])["main"]["relations"]
        for removed in (link["id"], lake):
            gwt.ok("memory_remove", ids=[removed])
            again = gwt.ok("gwt_store", **asked)
            assert (again["id"], again["linked_to"]) == (first["id"], [lake])
            assert gwt.everything(["main"])["main"]["relations"] == []
        gwt.refused("gwt_store", "not_found", content="Storks nest.", link_to=lake)
        assert len(gwt.everything(["main"])["main"]["facts"]) == 1
