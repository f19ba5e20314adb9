"""`day1` with a standard stream that is closed, as in cron jobs and services."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.wires.command_line import CommandLine

_DEADLINE_S = 60


def closed(cli: CommandLine, redirection: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command from a shell that closes a stream, such as `>&-`."""
    return subprocess.run(
        [
            "/bin/sh",
            "-c",
            f'exec "$@" {redirection}',
            "sh",
            sys.executable,
            "-m",
            "day1",
            *arguments,
        ],
        cwd=cli.folder,
        env=cli.env,
        capture_output=True,
        text=True,
        timeout=_DEADLINE_S,
        check=False,
    )


@pytest.mark.parametrize("redirection", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_a_command_does_its_work_when_a_stream_is_closed(redirection: str, tmp_path: Path) -> None:
    cli = CommandLine(tmp_path)
    cli("init")
    ended = closed(cli, redirection, "add", "The gateway listens on 8787.")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert closed(cli, redirection, "export", "-o", "all.jsonl").returncode == 0
    assert "8787" in (cli.folder / "all.jsonl").read_text()


def test_a_full_stdout_is_told_and_what_was_added_stays(tmp_path: Path) -> None:
    cli = CommandLine(tmp_path)
    cli("init")
    ended = closed(cli, "> /dev/full", "add", "The gateway listens.")
    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1)
    assert "No space left" in ended.stderr
    ended = closed(cli, "> /dev/full", "add", "The gateway waits.", "--json")
    assert (ended.returncode, json.loads(ended.stderr)["error"]["code"]) == (1, "output_failed")
    assert len(cli.json("search", "gateway")["result"]) == 2
    assert "could not be written" in closed(cli, "> /dev/full", "export").stderr
    quiet = closed(cli, "2> /dev/full", "branch", "--delete", "none")
    assert (quiet.returncode, quiet.stderr) == (1, "")


def test_a_closed_stdin_is_empty(tmp_path: Path) -> None:
    cli = CommandLine(tmp_path)
    cli("init")
    ended = closed(cli, "<&-", "import", "lines", "-")
    assert (ended.returncode, ended.stdout) == (
        0,
        "lines: 0 facts, 0 observations, 0 relations\n    from -\n",
    )
