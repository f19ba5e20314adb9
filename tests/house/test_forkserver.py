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
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell has it ignored
print(sys.argv[1:], os.environ["SAID"], os.getcwd(), sys.path[0], os.umask(0), flush=True)
match sys.argv[1]:
    case "read": print(sys.stdin.read(), file=sys.stderr)
    case "leave": sys.exit(3)
    case "fail": raise ValueError("of a test")
    case "die": os.kill(os.getpid(), signal.SIGABRT)
    case "stay": signal.pause()
"""


@pytest.fixture
def begin(tmp_path: Path) -> Any:
    (tmp_path / "program.py").write_text(PROGRAM)

    def begin(prefix: list[str], *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*prefix, "-m", "program", *arguments],
            env={**os.environ, "SAID": "said", "PYTHONPATH": str(tmp_path)},
            cwd=tmp_path,
            umask=0o27,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return begin


@pytest.mark.parametrize("how", ["read", "leave", "fail", "die", "nothing"])
def test_a_forked_process_ends_as_python_ends(begin: Any, how: str) -> None:
    ends = []
    for prefix in ([sys.executable], python()):
        process = begin(prefix, how, "more")
        out, errors = process.communicate("given")
        ends.append((process.returncode, out, errors.splitlines()[-1:]))
    assert ends[0] == ends[1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_forked_process_is_stopped_as_python_is(begin: Any, number: signal.Signals) -> None:
    ends = []
    for prefix in ([sys.executable], python()):
        process = begin(prefix, "stay")
        process.stdout.readline()
        process.send_signal(number)
        process.communicate(timeout=60)  # the process itself has ended: nobody has its streams
        ends.append(process.returncode)
    assert ends[0] == ends[1]
