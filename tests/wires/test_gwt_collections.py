"""Exact answers over records in memory, over stdio and HTTP."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.wires.gwt_session import GwtSession, served
from tests.wires.http_server import STDIO_DAILY

NINE = ["count", "filter", "top_k", "average", "sum", "distinct", "min", "max", "compare"]


@pytest.fixture(params=STDIO_DAILY)
def gwt(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GwtSession]:
    with served(request.param, tmp_path / "store") as session:
        yield session


@pytest.mark.line("S0-011", "S0-012")
def test_records_of_every_form_are_one_collection(gwt: GwtSession) -> None:
    one = gwt.store(json.dumps({"id": "w1", "zorp": 0.1, "hue": "red"}))
    two = gwt.store("zorp: 0.2\nhue: red", memory_type="working")
    three = gwt.store("| zorp | hue |\n|---|---|\n| 1,000.5 | blue |\n| - | green |")
    gwt.store("Herons fish: one sentence is no record.")
    mean = gwt.ok(
        "gwt_collection_query", operation="average", metric="zorp", field="hue", value="RED"
    )
    assert (mean["operation"], mean["answer"], mean["matched_count"]) == ("average", "0.15", 2)
    assert mean["metadata"]["record_count"] == 4
    assert mean["metadata"]["fields"] == ["hue", "zorp", "id"]
    most = gwt.ok("gwt_collection_query", operation="max", metric="zorp")
    assert most["answer"] == three
    assert most["matched_records"] == [
        {"id": three, "item_id": three, "fields": {"zorp": "1,000.5", "hue": "blue"}}
    ]
    assert most["supporting_evidence"] == ["| 1,000.5 | blue |"]
    listed = gwt.ok("gwt_collection_query", operation="filter", field="hue", value="red")
    assert listed["answer"] == f"w1, {two}"
    assert [record["item_id"] for record in listed["matched_records"]] == [one, two]
    fewer = gwt.ok("gwt_collection_query", operation="filter", field="hue", k=1)
    assert (len(fewer["matched_records"]), fewer["matched_count"]) == (1, 4)
    asked = {"group_field": "hue", "group_a": "red", "group_b": "blue"}
    more = gwt.ok("gwt_collection_query", operation="compare", metric="zorp", **asked)
    assert more["answer"] == "blue"


@pytest.mark.line("S0-012")
def test_what_cannot_be_answered_is_a_clear_error(gwt: GwtSession) -> None:
    gwt.store("zorp: many\nhue: red")
    refused = gwt.refused("gwt_collection_query", "invalid_request", operation="median")
    assert refused["supported_operations"] == NINE
    nothing = gwt.refused("gwt_collection_query", "invalid_request", operation="sum", metric="zorp")
    assert "nothing to compare" in nothing["error"]
    unknown = gwt.refused(
        "gwt_collection_query", "invalid_request", operation="count", field="zrop"
    )
    assert unknown["details"]["fields"] == ["hue", "zorp"]
    for k in (0, 201, -1):
        gwt.refused("gwt_collection_query", "invalid_request", operation="count", k=k)


def test_a_record_is_gone_with_its_row(gwt: GwtSession) -> None:
    gwt.store("zorp: 1\nhue: red")
    assert gwt.ok("gwt_collection_query", operation="count")["answer"] == "1"
    gwt.store("zorp: 2\nhue: red")
    assert gwt.ok("gwt_collection_query", operation="sum", metric="zorp")["answer"] == "3"
