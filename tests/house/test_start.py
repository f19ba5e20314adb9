"""`scripts/start` ends with a server: until Ctrl-C on a terminal, else only long enough to look."""

import os
import pty
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.flows.opened_store import make
from tests.wires.command_line import Terminal

ROOT = Path(__file__).parents[2]
SERVE = "import os, story; story.serve(dict(os.environ), (), once={})"


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    make(tmp_path / "store")
    kept = {k: v for k, v in os.environ.items() if not k.startswith("DAY1_")}
    here = {"DAY1_HOME": str(tmp_path / "store"), "DAY1_EMBEDDER__KIND": "none"}
    return {**kept, **here, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'scripts'}"}


def run(env: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_looked_at_once_the_server_names_its_addresses_and_ends(env: dict[str, str]) -> None:
    done = run(env, "-c", SERVE.format(True))
    assert done.returncode == 0, done.stderr
    for what, path in (("people", "/review"), ("agents", "/mcp"), ("scripts", "/api/v1")):
        assert any(line.split()[0] == what and line.endswith(path) for line in done.stdout.splitlines() if line)  # fmt: skip
    assert "It is ready and its pages are there" in done.stdout


def test_the_story_serves_until_ctrl_c_on_a_terminal(env: dict[str, str]) -> None:
    child, handle = pty.fork()
    if child == 0:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.execve(sys.executable, [sys.executable, "-c", SERVE.format(False)], env)
    terminal = Terminal(child, handle)
    try:
        terminal.wait_for("/review")
        terminal.wait_for("Ctrl-C stops it.")
        assert terminal.interrupt() == 0, terminal.said
        assert "Stopped" in terminal.said
    finally:
        terminal.close()


def test_a_server_that_does_not_start_says_why(env: dict[str, str]) -> None:
    done = run({**env, "DAY1_HTTP__HOST": "0.0.0.0"}, "-c", SERVE.format(True))
    assert done.returncode == 1
    assert "day1 token create" in done.stderr


def test_the_story_ends_by_itself_without_a_terminal(env: dict[str, str]) -> None:
    done = run(env, "-c", "import sys, story; sys.argv[1:] = []; print(story.asked())")
    assert done.stdout == "True\n", done.stderr
    helped = run(env, str(ROOT / "scripts" / "story.py"), "--help")
    assert "--once" in helped.stdout
    assert "Without a terminal" in helped.stdout


PYTHON = """#!/bin/sh
# Stands in for Python: `-m venv` makes an environment of copies of this, and all else is noted.
case "$1 $2" in
  "-c import"*) ;;
  "-m venv") mkdir -p "$3/bin"; cp "$0" "$3/bin/python" ;;
  *) echo "$@" >> asked ;;
esac
"""


@pytest.mark.parametrize(
    ("script", "extra", "rest"),
    [
        (("start", "--once"), "", "scripts/story.py --once"),
        (("start",), "", "scripts/story.py"),
        (
            ("test", "-k", "once"),
            "[test]",
            "-m pytest -n 1 --dist loadgroup --no-loadscope-reorder -k once",
        ),
    ],
)
def test_a_fresh_clone_installs_what_the_script_needs_and_hands_on_its_arguments(
    env: dict[str, str], tmp_path: Path, script: tuple[str, ...], extra: str, rest: str
) -> None:
    """D1: what a script is asked for is never taken for an extra of pyproject."""
    clone = tmp_path / "clone"
    shutil.copytree(ROOT / "scripts", clone / "scripts")
    shutil.copy(ROOT / "pyproject.toml", clone)
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("python3", "chromium"):  # a browser, so that none is installed
        (programs / name).write_text(PYTHON, encoding="utf-8")
        (programs / name).chmod(0o755)
    env = {**env, "PATH": f"{programs}{os.pathsep}{env['PATH']}", "DAY1_TEST_PROCESSES": "1"}
    env = {**env, "PYTHON": "python3", "DAY1_EMBEDDER__MODEL_DIR": "here"}
    for _ in range(2):
        subprocess.run([clone / "scripts" / script[0], *script[1:]], env=env, check=True)
    pip = "-m pip install --quiet --disable-pip-version-check"
    installs = [f"{pip} --upgrade pip", f"{pip} --no-compile -e .{extra}"]
    assert (clone / "asked").read_text("utf-8").splitlines() == [*installs, rest, rest]
