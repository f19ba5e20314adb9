"""What stands for Python in the tests ends, prints and is stopped as Python is."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.forkserver import python

PROGRAM = """
import atexit, os, signal, sys, threading, time
atexit.register(print, "at exit")
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell has it ignored
print(sys.argv[1:], os.environ["SAID"], os.getcwd(), sys.path[0], os.umask(0), flush=True)
match sys.argv[1]:
    case "read": print(sys.stdin.read(), file=sys.stderr)
    case "leave": sys.exit(3)
    case "leave with nothing": sys.exit()
    case "leave with -1": sys.exit(-1)
    case "leave with words": sys.exit("some words")
    case "leave a thread": threading.Thread(target=lambda: (time.sleep(0.1), print("later"))).start()
    case "close": sys.stdout.close()
    case "fail": raise ValueError("of a test")
    case "die": os.kill(os.getpid(), signal.SIGABRT)
    case "stay": signal.pause()
"""
HOW = (["-m", "program"], ["-c", PROGRAM])
ENDS = (
    "read",
    "leave",
    "leave with nothing",
    "leave with -1",
    "leave with words",
    "leave a thread",
    "close",
    "fail",
    "die",
    "nothing",
)
MODULES = ("json",)
"""What the server of these tests imports: nothing that takes time."""


@pytest.fixture
def begin(tmp_path: Path) -> Any:
    (tmp_path / "program.py").write_text(PROGRAM)

    def begin(prefix: list[str], how: list[str], *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*prefix, *how, *arguments],
            env={**os.environ, "SAID": "said", "PYTHONPATH": str(tmp_path)},
            cwd=tmp_path,
            umask=0o27,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return begin


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("how", HOW, ids=["module", "program"])
def test_a_forked_process_ends_as_python_ends(begin: Any, how: list[str], end: str) -> None:
    ends = []
    for prefix in ([sys.executable], python(*MODULES)):
        process = begin(prefix, how, end, "more")
        out, errors = process.communicate("given")
        ends.append((process.returncode, out, errors.splitlines()[-1:]))
    assert ends[0] == ends[1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_forked_process_is_stopped_as_python_is(begin: Any, number: signal.Signals) -> None:
    ends = []
    for prefix in ([sys.executable], python(*MODULES)):
        process = begin(prefix, HOW[0], "stay")
        process.stdout.readline()
        process.send_signal(number)
        process.communicate(timeout=60)  # the process itself has ended: nobody has its streams
        ends.append(process.returncode)
    assert ends[0] == ends[1]
