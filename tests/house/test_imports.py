"""What a start leaves unloaded: what only some calls need stays out of every start."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.wires.mcp_session import ROOT
from tests.wires.raw_pipe import HELLO

SELDOM = {
    "chromadb", "git", "numpy", "onnxruntime", "pymysql", "rich", "sqlalchemy.orm", "tokenizers",
    "day1.adapters.chat", "day1.adapters.versioned.dolt.store", "day1.interfaces.http",
    "day1.interfaces.web",
}  # fmt: skip
"""Libraries and parts of day1 that cost time or memory, and that no start needs."""
LISTED = '{"jsonrpc":"2.0","method":"notifications/initialized"}\n' + json.dumps(
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
)
SCRIPT = """
import atexit, gc, sys
import day1.services.upkeep.worker as worker
from day1.app.cli import main

worker._START_S = 600  # it leaves the first moments to the client; here it never begins
found = lambda: [*sorted(sys.modules), f"frozen: {gc.get_freeze_count() > gc.get_count()[0]}"]
atexit.register(lambda: print(*found(), sep="\\n", file=sys.stderr))
main()
"""


def test_status_loads_what_it_shows_and_no_more(tmp_path: Path) -> None:
    _loaded(tmp_path, "init")
    loaded = _loaded(tmp_path, "status")
    assert "sqlalchemy" in loaded
    assert not (SELDOM | {"mcp", "mcp_types", "anyio", "day1.toolsets"}) & loaded


def test_a_server_has_listed_its_tools_before_it_loads_a_model(tmp_path: Path) -> None:
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
    loaded = _loaded(tmp_path, "mcp", asks=f"{json.dumps(hello)}\n{LISTED}\n")
    assert "mcp" in loaded
    assert not SELDOM & loaded


def _loaded(folder: Path, *arguments: str, asks: str = "") -> set[str]:
    """The modules that a process has loaded when it ends."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("DAY1_")}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments],
        cwd=folder,
        env={**kept, "DAY1_HOME": str(folder / "store"), "PYTHONPATH": str(ROOT)},
        input=asks,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    loaded = set(done.stderr.splitlines())
    assert "frozen: True" in loaded, "the interpreter looks for garbage in all that was loaded"
    assert done.stdout.count('"id":2') == asks.count('"id": 2'), "the tools were not listed"
    return loaded
