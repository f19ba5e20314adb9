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
MOST_OF_A_HOOK = 60
"""Modules that a hook loads beyond those of a bare start; 3.11 loads 53."""
MOST_OF_A_SERVER = {"day1": 461, "others": 800}
"""Modules that `day1 mcp` has loaded when its tools are listed."""
LISTED = '{"jsonrpc":"2.0","method":"notifications/initialized"}\n' + json.dumps(
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
)
SCRIPT = """
import atexit, gc, sys
import day1.app.background as background
import day1.services.upkeep.worker as worker
from day1.app.cli import main

# They leave the first moments to the client; here they never begin.
worker.START_S = background._JOBS_S = 600
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
    own = [name for name in loaded if name.partition(".")[0] == "day1"]
    count = {"day1": len(own), "others": len(loaded) - len(own)}
    assert all(count[part] <= most for part, most in MOST_OF_A_SERVER.items()), count


def test_a_hook_loads_the_standard_library_and_which_store_is_meant(tmp_path: Path) -> None:
    """It runs at every turn of every session: what it loads is counted, and may only shrink."""
    look = "import day1.app.cli, day1.interfaces.hook.entry, day1.interfaces.hook.hearing, sys; print(*sys.modules)"
    loaded, bare = (
        set(subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.split())
        for code in (look, "import sys; print(*sys.modules)")
    )  # fmt: skip
    own = {name for name in loaded - bare if name.partition(".")[0] == "day1"}
    assert own == {
        "day1", "day1.app", "day1.app.cli", "day1.formats", "day1.formats.events",
        "day1.formats.prime_file", "day1.formats.spool", "day1.git_folders", "day1.home",
        "day1.interfaces", "day1.interfaces.hook", "day1.interfaces.hook.answers",
        "day1.interfaces.hook.entry", "day1.interfaces.hook.hearing", "day1.version",
    }  # fmt: skip
    libraries = {name.partition(".")[0] for name in loaded - bare - own}
    assert libraries <= sys.stdlib_module_names
    assert not libraries & {"asyncio", "dataclasses", "hashlib", "inspect", "logging", "subprocess"}
    assert len(loaded - bare) <= MOST_OF_A_HOOK, "a hook loads more than it did"


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
