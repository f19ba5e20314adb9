"""Nothing leaves the machine but by what its user set up: docs/privacy.md."""

import os
import re
import shutil
import subprocess
import sys
from ipaddress import ip_address
from pathlib import Path

import pytest

from tests.adapters.embedding_models import folder_named_by

ROOT = Path(__file__).resolve().parents[2]
_ADDRESS = re.compile(r'sin6?_port=htons\((\d+)\).*?(?:inet_addr\(|AF_INET6, )"([^"]+)"')


@pytest.fixture
def trace(tmp_path: Path) -> list[str]:
    """A watch over every process that is started with it: strace, which sees native code too."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("no `strace` on the PATH to watch native code with")
    watch = [strace, "-f", "--seccomp-bpf", "-qq", "-s", "0", "-e", "trace=network"]
    if subprocess.run([*watch, "-o", os.devnull, "true"], capture_output=True).returncode:
        pytest.skip("strace may not trace processes here")
    return [*watch, "-o", str(tmp_path / "trace")]


def test_a_day_of_normal_use_tells_nobody_else(tmp_path: Path, trace: list[str]) -> None:
    """E1: no dependency reports to its vendor, and none leaves a file in the home."""
    model = folder_named_by("DAY1_EMBEDDER__MODEL_DIR")
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    # Nothing else of this environment: `CI` alone would silence what a user's machine says.
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "DAY1_EMBEDDER__MODEL_DIR": str(model),
        "DAY1_AGENT_ID": "someone",
        "DAY1_TEST_FORKSERVER": "0",  # as a user's machine starts it
    }
    day = [*trace, sys.executable, "-m", "tests.house.ordinary_day", str(project)]
    done = subprocess.run(day, env=environment, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [file for file in home.rglob("*") if file.is_file()] == []
    spoken = _ADDRESS.findall((tmp_path / "trace").read_text("utf-8"))
    assert spoken, "the trace shows not even the client of `day1 serve`"
    elsewhere = {(host, port) for port, host in spoken if not _here(host, int(port))}
    assert not elsewhere


def _here(host: str, port: int) -> bool:
    """Whether it is this machine; a name server on it asks others."""
    return ip_address(host).is_loopback and port != 53
