"""`day1` in a process of its own, forked from one that has imported it already.

A start of `day1` takes a second of CPU, nearly all of it imports, and the tests start it hundreds of
times. So each process of the tests has a server (`server.py`) that imports once; what a test starts
is a small program (`launcher.py`) that hands the server its arguments, variables, folder and standard
streams, passes signals on, and ends as the forked process ends. When it is killed, so is the forked
process, a moment later: a test that kills, or looks at a process from outside, runs Python itself.
"""

import atexit
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
_LAUNCHER = Path(__file__).with_name("launcher.py")


def python(*modules: str) -> list[str]:
    """What stands for `python` in a command line that goes on with `-m` or `-c`.

    The server imports the given modules, or else those of `day1` itself.

    It is Python itself where a system cannot wait for a process by a file, and where
    `DAY1_TEST_FORKSERVER=0`, as scripts/weekly has it.
    """
    if not hasattr(os, "pidfd_open") or os.environ.get("DAY1_TEST_FORKSERVER") == "0":
        return [sys.executable]
    return [sys.executable, "-I", "-S", str(_LAUNCHER), _address(modules)]


@cache
def _address(modules: tuple[str, ...]) -> str:
    """Where the server of this process with these modules listens; it ends when this process does."""
    folder = tempfile.TemporaryDirectory(prefix="day1-forkserver-")
    address = str(Path(folder.name) / "socket")
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.forkserver.server", address, *modules],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert server.stdout is not None
    assert server.stdout.read() == b"", "it closes stdout once it listens"
    atexit.register(folder.cleanup)
    return address
