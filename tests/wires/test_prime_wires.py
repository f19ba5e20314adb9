"""What counts as used, and what a session begins with, are the same on every wire."""

from pathlib import Path

import pytest

from day1.adapters.index.uses import FileUses
from day1.formats import prime_file
from day1.ports.uses import Use
from tests.engine import url_of, variables
from tests.wires.command_line import CommandLine
from tests.wires.hooked import Client, context
from tests.wires.http_server import HttpServer, HttpSession
from tests.wires.mcp_session import Session
from tests.wires.test_mcp_resources import ask


def test_each_wire_of_agents_counts_and_a_page_does_not(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    asked = {"query": "crane"}

    def times() -> int:
        return FileUses(folder, read_only=True).known().get(row_id, Use(0, 0)).times

    with HttpServer(folder) as server:
        row_id = server.ok("memory_write_fact", fact_text="The crane lifts forty tons.")["id"]
        assert times() == 0
        server.ok("memory_search", **asked)
        assert times() == 1
        with HttpSession(server) as agent:
            agent.ok("memory_search", **asked)
            assert times() == 2
            ask(agent, "read_resource", f"day1://branches/main/facts/{row_id}")
            assert times() == 3
            for _ in range(3):
                ask(agent, "read_resource", "day1://prime")
                ask(agent, "get_prompt", "prime")
                server.ok("memory_prime")
        assert times() == 3
        for page in ("/review/search?q=crane", f"/review/rows/{row_id}"):
            answer = server.ask("GET", page)
            assert answer.status == 200
            assert "forty tons" in answer.body
        assert times() == 3
    with Session(folder) as stdio:
        stdio.ok("memory_search", **asked)
    assert times() == 4
    cli = CommandLine(tmp_path)
    cli.env |= variables(folder)
    cli("search", "crane")
    assert times() == 5
    with HttpServer(folder) as server, HttpSession(server, path="/mcp/kompanion") as companion:
        items = [{"id": "winch", "text": "The winch is red."}]
        companion.ok("upsert_memory", namespace="dock", items=items)
        companion.ok("search_memory", namespace="dock", query={"text": "winch"})
    used = FileUses(folder, read_only=True).most(9)
    assert [use.times for use in used.values()] == [5, 1]


def test_a_prime_is_the_same_on_each_wire_and_in_its_file(tmp_path: Path) -> None:
    client = Client(tmp_path / "hooked")
    folder = client.store
    if url_of(folder) is not None:
        pytest.skip("a store on a server has its files elsewhere")
    cli = CommandLine(tmp_path)
    cli.env |= variables(folder)
    cli("init")
    for number in range(30):
        cli.add(f"Note {number} of the yard.")
    for _ in range(5):
        cli("search", "Note 3 of the yard")
    cli.add("The last note.")
    kept = prime_file.read(folder, "main")
    assert kept
    facts = [line for line in kept.text.splitlines() if line.startswith("- ")]
    assert "- Note 3 of the yard." in {fact.partition(" (")[0] for fact in facts[:3]}
    assert cli.json("prime")["text"] == kept.text
    assert cli("prime").out == f"{kept.text}\n"
    told = context(client.tell("session-start"))
    assert [line for line in told.splitlines() if line.startswith("- ")] == facts
    with HttpServer(folder) as server, HttpSession(server) as agent:
        assert server.ok("memory_prime")["text"] == kept.text
        (resource,) = ask(agent, "read_resource", "day1://prime").contents
        assert resource.text == kept.text
        prompt = ask(agent, "get_prompt", "prime")
        assert prompt.messages[0].content.text == kept.text
