"""The served document of Compose Memory adds to its contract, and changes nothing of it."""

from collections.abc import Iterator
from typing import Any

import pytest

from day1.toolsets.compose import COMPOSE
from tests.wires.compose_client import ComposeClient, composing, served_document
from tests.wires.compose_contract import CONTRACT, differences, facts_of


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComposeClient]:
    with composing(tmp_path_factory.mktemp("compose") / "store") as client:
        yield client


@pytest.fixture(scope="module")
def document(client: ComposeClient) -> dict[str, Any]:
    document: dict[str, Any] = client.http.get("/openapi/compose.json").json()
    return document


def test_the_contract_is_whole() -> None:
    paths = {operation["path"] for operation in CONTRACT["operations"].values()}
    counts = (len(CONTRACT["operations"]), len(paths), len(CONTRACT["schemas"]))
    assert counts == (41, 36, 71)


def test_every_operation_and_schema_is_served_by_its_name(document: dict[str, Any]) -> None:
    assert COMPOSE.tools.keys() == CONTRACT["operations"].keys()
    assert {operation["path"] for operation in CONTRACT["operations"].values()} == document["paths"].keys()  # fmt: skip
    assert {*CONTRACT["schemas"]} <= document["components"]["schemas"].keys()
    assert document == served_document(), "which all answers are held against"


@pytest.mark.parametrize("operation", COMPOSE.tools)
def test_an_operation_adds_to_the_contract_only(document: dict[str, Any], operation: str) -> None:
    ours, theirs = facts_of(document)["operations"][operation], CONTRACT["operations"][operation]
    assert (ours["method"], ours["path"]) == (theirs["method"], theirs["path"])
    found: list[str] = []
    for name, parameter in theirs["parameters"].items():
        assert ours["parameters"][name]["in"] == parameter["in"]
        assert ours["parameters"][name]["required"] == parameter["required"]
        found += differences(ours["parameters"][name]["schema"], parameter["schema"], name, is_answer=False)  # fmt: skip
    assert (ours["request"] is None) == (theirs["request"] is None)
    if theirs["request"] is not None:
        found += differences(ours["request"], theirs["request"], "request", is_answer=False)
    found += differences(ours["answer"], theirs["answer"], "answer", is_answer=True)
    assert not found


def test_the_document_begins_as_the_contract_does(document: dict[str, Any]) -> None:
    assert document["openapi"] == "3.1.0"
    assert (document["info"]["title"], document["info"]["version"]) == ("Compose Memory", "0.8.6")
    assert document["tags"] == [{"name": "memory"}]
    assert {tag for path in document["paths"].values() for call in path.values() for tag in call["tags"]} == {"memory"}  # fmt: skip
    assert {"ErrorResponse"} == document["components"]["responses"].keys()


def test_each_loop_names_operations_that_are_served(client: ComposeClient) -> None:
    loops = client.ok("loops_list")["loops"]
    assert [client.ok("loops_get", loopId=loop["id"])["loop"] for loop in loops] == loops
    for loop in loops:
        assert loop["steps"]
        for step in loop["steps"]:
            operation = CONTRACT["operations"][step["operationId"]]
            assert (step["method"], step["path"]) == (operation["method"], operation["path"])


def test_an_unknown_loop_is_not_found(client: ComposeClient) -> None:
    assert "agent_memory_loop" in client.refused(404, "loops_get", loopId="none")["message"]
