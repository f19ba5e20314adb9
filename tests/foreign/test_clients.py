"""The clients themselves read what `day1 setup` wrote, where their programs are on the PATH.

No account is needed: they list their servers, and three of them start day1 to see that it answers.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LISTS = {
    "claude": ["claude", "mcp", "list"],
    "codex": ["codex", "mcp", "list"],
    "gemini": ["gemini", "mcp", "list"],
    "opencode": ["opencode", "mcp", "list"],
}
SAYS = {"claude": "connected", "codex": "enabled", "gemini": "connected", "opencode": "connected"}


@pytest.mark.parametrize("client", LISTS)
def test_a_client_lists_the_server(tmp_path: Path, client: str) -> None:
    if shutil.which(client) is None:
        pytest.skip(f"no `{client}` on the PATH")
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    own = Path(sys.executable).parent
    env = {
        "PATH": f"{own}:{os.environ['PATH']}",
        "HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "DAY1_EMBEDDER__KIND": "none",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }

    def run(*command: str) -> str:
        done = subprocess.run(
            command, cwd=project, env=env, capture_output=True, text=True, check=True, timeout=180
        )
        return done.stdout + done.stderr

    setup = [sys.executable, "-m", "day1", "setup", client]
    run(*setup)
    told = run(*LISTS[client]).lower()
    assert "day1" in told
    assert SAYS[client] in told
    run(*setup, "--check")
    run(*setup, "--remove")
    assert "day1 mcp" not in run(*LISTS[client])
