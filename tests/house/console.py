"""Run the console sessions of a page, and compare what the commands print with the page."""

import os
import re
import shlex
import subprocess
from pathlib import Path

from tests.forkserver import python

ROOT = Path(__file__).resolve().parents[2]

_NAMES = re.compile(
    r"\b(?:fact|held|merge|review|task)_[0-9A-Z]{8,}\b"  # ids, whole or shortened
    r"|\b[0-9a-f]{8}\b"  # commits
)


def blocks(text: str, language: str) -> list[str]:
    """The code blocks of one language, in the order of the page."""
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def run_session(session: str, folder: Path) -> str:
    """Run the commands of a session in a new store; answer commands with what they print.

    A command of the page may name an id that an earlier command printed: it gets the id that was
    printed in its place now.
    """
    environment = {**os.environ, "HOME": str(folder.parent), "PYTHONPATH": str(ROOT)}
    environment.pop("DAY1_HOME", None)
    folder.mkdir()
    name_by_written: dict[str, str] = {}
    lines: list[str] = []
    for step in re.split(r"^(?=\$ )", session, flags=re.MULTILINE)[1:]:
        line, _, answer = step.partition("\n")
        _, *arguments = shlex.split(line.removeprefix("$ "))
        command = subprocess.run(
            [*python(), "-m", "day1", *(_renamed(a, name_by_written) for a in arguments)],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        lines += [line, *command.stdout.splitlines()]
        names = _NAMES.findall(answer), _NAMES.findall(command.stdout)
        name_by_written.update(zip(*names, strict=False))
    return "\n".join(lines)


def _renamed(argument: str, name_by_written: dict[str, str]) -> str:
    for written, name in name_by_written.items():
        argument = argument.replace(written, name)
        if "_" in written:  # the last eight letters of a row's id name it too
            argument = argument.replace(written[-8:], name[-8:])
    return argument


def plain(text: str) -> str:
    """Replace what differs from run to run: ids, commits, times, folders, scores."""
    text = re.sub(r"\b(fact|held|merge|review|task)_[0-9A-Z]{8,}", r"\1_ID", text)
    text = re.sub(r"\b(day1 review \w+) [0-9A-Z]{8}\b", r"\1 ID", text)
    text = re.sub(r"\b[0-9a-f]{8}\b", "COMMIT", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:]+Z", "TIME", text)
    text = re.sub(r"\d{4}-\d\d-\d\d", "DATE", text)
    text = re.sub(r"^\d\.\d\d\t", "SCORE\t", text, flags=re.MULTILINE)
    return re.sub(r"store in .*", "store in FOLDER", text)
