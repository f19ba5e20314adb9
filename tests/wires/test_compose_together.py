"""What Compose writes the other systems find, and the reverse, in one space or in none (X6-001)."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.wires.compose_client import ComposeClient, composing

WALLET, SPACE = "metal", "agent:metal"
WRITERS = ("day1", "kompanion", "engram", "compose", "gwt")


class Systems:
    """Five systems on one store over HTTP."""

    def __init__(self, client: ComposeClient) -> None:
        self.client, self.http = client, client.http

    def gwt(self, tool: str, space: str | None, **arguments: Any) -> Any:
        """Call a tool of gwt, whose space is a header."""
        headers = {} if space is None else {"Day1-Space": space}
        answer = self.http.post(f"/api/gwt/{tool}", json=arguments, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def write(self, writer: str, text: str, space: str | None) -> None:
        """Write a memory in a space or in none; engram's spaces are projects, so it has none."""
        if writer == "day1":
            self.client.day1("memory_write_fact", fact_text=text, space=space)
        elif writer == "kompanion":
            body = {"namespace": space or "shared", "items": [{"text": text}]}
            assert self.http.post("/api/kompanion/upsert_memory", json=body).status_code == 200
        elif writer == "engram":
            body = {"context": text, "action": "noted", "result": "kept"}
            assert self.http.post("/api/engram/memory_store", json=body).status_code == 200
        elif writer == "gwt":
            assert self.gwt("gwt_store", space, content=text)["status"] == "stored"
        else:
            wallet = {} if space is None else {"agentWallet": WALLET}
            message = {"role": "user", "content": text}
            self.client.ok("graph_add", messages=[message], **wallet)

    def read(self, reader: str, space: str | None) -> str:
        if reader == "day1":
            found = self.client.day1("memory_search", query="lathe", space=space, limit=50)
        elif reader == "kompanion":
            body = {"namespace": space or "shared", "query": {"text": "lathe", "k": 50}}
            found = self.http.post("/api/kompanion/search_memory", json=body).json()
        elif reader == "engram":
            asked = {"query": "lathe", "limit": 50}
            found = self.http.post("/api/engram/memory_search", json=asked).json()
        elif reader == "gwt":
            found = self.gwt("gwt_query", space, query="lathe", k=50)
        else:
            wallet = {} if space is None else {"agentWallet": WALLET}
            found = self.client.ok("graph_search", query="lathe", limit=200, **wallet)
        return str(found)


@pytest.fixture(scope="module")
def systems(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Systems]:
    with composing(tmp_path_factory.mktemp("together") / "store") as client:
        made = Systems(client)
        for writer in WRITERS:
            made.write(writer, f"The lathe of {writer} is for all", None)
            if writer != "engram":
                made.write(writer, f"The lathe of {writer} stands apart", SPACE)
        yield made


@pytest.mark.line("X6-001")
@pytest.mark.parametrize("reader", WRITERS)
def test_each_finds_what_each_has_written_in_no_space(systems: Systems, reader: str) -> None:
    found = systems.read(reader, None)
    assert all(f"lathe of {writer} is for all" in found for writer in WRITERS)


@pytest.mark.line("X6-001")
@pytest.mark.parametrize("reader", ["day1", "kompanion", "compose", "gwt"])
def test_each_finds_what_each_has_written_in_the_same_space(systems: Systems, reader: str) -> None:
    found = systems.read(reader, SPACE)
    writers = [writer for writer in WRITERS if writer != "engram"]
    assert all(f"lathe of {writer} stands apart" in found for writer in writers)


@pytest.mark.line("X6-001")
def test_compose_sees_no_other_wallet_and_shared_rows_only_without_one(systems: Systems) -> None:
    assert "stands apart" not in systems.read("compose", None)
    other = str(systems.client.ok("graph_search", query="lathe", agentWallet="wood", limit=200))
    assert "stands apart" not in other
    assert "is for all" in other
