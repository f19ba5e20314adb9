"""Clients of engram that store the same lesson at once: one row, and nobody fails."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.forkserver import python
from tests.wires.engram_session import served
from tests.wires.http_server import STDIO_DAILY, HttpSession
from tests.wires.mcp_session import ROOT, environment

TIMES = 200
STORING = """
import json, sys
from pathlib import Path
from types import SimpleNamespace
from tests.wires.engram_session import LESSON
from tests.wires.http_server import HttpSession
from tests.wires.mcp_session import Session

folder, times, address = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
server = SimpleNamespace(folder=folder, address=address.removesuffix("/mcp/engram"))
own = HttpSession(server, path="/mcp/engram") if address else Session(folder, toolsets="engram")
own.command = json.loads(sys.argv[4])
with own as session:
    print(len({session.ok("memory_store", **LESSON)["id"] for _ in range(times)}))
"""


@pytest.mark.line("S4-002")
@pytest.mark.parametrize("wire", STDIO_DAILY)
def test_clients_that_store_the_same_at_once_make_one_row(wire: str, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    with served(wire, folder) as engram:
        address = engram.url if isinstance(engram, HttpSession) else ""
        begun = [
            subprocess.Popen(
                [*python(), "-c", STORING, str(folder), str(TIMES), address, json.dumps(python())],
                cwd=ROOT,
                env=environment(folder),
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(2)
        ]
        told = [process.communicate(timeout=300)[0] for process in begun]
        assert told == ["1\n"] * 2
        assert engram.ok("memory_status")["memory_count"] == 1
