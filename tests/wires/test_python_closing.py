"""`memory.close()` where a call cannot be waited for: in a signal handler."""

import subprocess
import sys
from pathlib import Path

import pytest

import day1
from day1 import errors
from day1.interfaces.python.lifetime import Lifetime
from tests.wires.http_server import HttpServer
from tests.wires.mcp_session import ROOT
from tests.wires.python_places import QUIET

PROGRAM = """
import os, signal, sys, threading, day1
from day1 import errors
memory = day1.connect(sys.argv[1], settings={settings})
def close(*_):
    memory.close()
    print("closed", flush=True)
    {end}
signal.signal(signal.SIGTERM, close)
inside = 0
def write():
    global inside
    while True:
        memory.add(f"Fact {{inside}}.")
        inside += 1
def interrupt():
    while inside < 3:
        pass
    os.kill(os.getpid(), signal.SIGTERM)
threading.Thread(target=interrupt).start()
try:
    write()
except errors.HandleClosed as exc:
    print(exc.code)
"""


@pytest.mark.parametrize(
    ("end", "says"),
    [("sys.exit(0)", ["closed"]), ("pass", ["closed", "handle_closed"])],
    ids=["exits", "goes-on"],
)
@pytest.mark.parametrize("place", ["folder", "http"])
def test_a_signal_handler_closes_a_memory_inside_of_a_call(
    tmp_path: Path, place: str, end: str, says: list[str]
) -> None:
    folder = tmp_path / "store"
    if place == "folder":
        assert closed_by_signal(str(folder), QUIET, end) == says
    else:
        with HttpServer(folder) as server:
            assert closed_by_signal(server.address, None, end) == says
    with day1.connect(folder, settings=QUIET) as memory:
        memory.add("The locks are free.")
        assert memory.rows("fact").total >= 4


def closed_by_signal(target: str, settings: object, end: str) -> list[str]:
    """Run a program that a signal interrupts in a call; return what it prints."""
    program = PROGRAM.format(settings=settings, end=end)
    done = subprocess.run(
        [sys.executable, "-c", program, target],
        cwd=ROOT, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def test_the_last_call_closes_what_was_closed_inside_of_a_call() -> None:
    closings: list[int] = []

    class Owner:
        """What a lifetime belongs to."""

    owner = Owner()
    lifetime = Lifetime(owner, lambda: closings.append(1))
    with lifetime.using():
        lifetime.close()
        with pytest.raises(errors.HandleClosed), lifetime.using():
            pass
        assert not closings
    assert closings == [1]
    lifetime.close()
    assert closings == [1]
