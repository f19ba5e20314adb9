"""`kill -9` of the server under its clients loses nothing that it acknowledged.

`scripts/kills --http 20` does the same twenty times under thirty-two clients.
"""

import random
from pathlib import Path

from tests.flows.killed_server import LEAST_ACTIONS, Writer, kill
from tests.wires.http_server import HttpServer


def test_a_killed_server_keeps_what_it_acknowledged(tmp_path: Path) -> None:
    chance = random.Random(8)
    writers = [Writer(number, chance) for number in range(3)]
    for _ in range(3):
        kill(tmp_path / "store", writers, readers=5, chance=chance)
    assert sum(writer.done for writer in writers) >= 3 * LEAST_ACTIONS
    with HttpServer(tmp_path / "store") as server:
        for writer in writers:
            text = max(writer.texts[writer.own])
            found = server.ok("memory_search", query=text, branch=writer.own, limit=1)["result"]
            assert [hit["fact_text"] for hit in found] == [text]
