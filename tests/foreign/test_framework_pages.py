"""Pages of frameworks without an adapter: their blocks run with the framework that they name.

Each framework has an environment of its own (`tests/fetching.py`), with day1's packages behind it
if the page imports day1. `day1 mcp` always runs in the environment of the tests. Those that take
minutes to fetch run in `scripts/foreign`.
"""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.fetching import python_with
from tests.house.console import ROOT, blocks

LIMIT_S = 300
BEHIND = 'import os, sys\nsys.path.append(os.environ["DAY1_PACKAGES"])\n'
"""What day1 needs is found behind the framework's own packages."""
SAME_CALLS = """
import inspect
import mem0
for name in ("add", "search", "update", "delete", "history"):
    own = [each for each in inspect.signature(getattr(Memories, name)).parameters.values()]
    theirs = inspect.signature(getattr(mem0.MemoryClient, name))
    places = [each.name for each in own if each.kind is each.POSITIONAL_OR_KEYWORD]
    words = {each.name: None for each in own if each.kind is each.KEYWORD_ONLY}
    theirs.bind(*places, **words)
print("the same calls")
"""
"""The calls of the page fit those of mem0's client."""


def printed(page: str, pins: tuple[str, ...], folder: Path, after: str = "") -> list[str]:
    """What the blocks of a page print, one after the other in one process."""
    interpreter = python_with(*pins)
    text = (ROOT / "docs" / "frameworks" / f"{page}.md").read_text("utf-8")
    code = "\n".join(blocks(text, "python"))
    if "import day1" in code:
        code = BEHIND + code
    programs = folder / "bin"
    programs.mkdir()
    day1 = programs / "day1"
    day1.write_text(
        f'#!/bin/sh\nPYTHONPATH="{ROOT}" DAY1_EMBEDDER__KIND=none '
        f'exec "{sys.executable}" -m day1 "$@"\n',
        encoding="utf-8",
    )
    day1.chmod(0o755)
    work = folder / "work"
    work.mkdir()
    done = subprocess.run(
        [interpreter, "-c", code + after],
        cwd=work,
        env={
            "PATH": f"{programs}{os.pathsep}/usr/bin{os.pathsep}/bin",
            "HOME": str(folder),
            "TMPDIR": str(folder),
            "PYTHONPATH": str(ROOT),
            "DAY1_PACKAGES": sysconfig.get_path("purelib"),
            "DAY1_EMBEDDER__KIND": "none",
            # None of them tells anybody of what it runs.
            "MEM0_TELEMETRY": "False",
            "CREWAI_DISABLE_TELEMETRY": "true",
            "CREWAI_TRACING_ENABLED": "false",
            "OTEL_SDK_DISABLED": "true",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    assert done.returncode == 0, done.stdout[-1_000:] + done.stderr[-4_000:]
    return done.stdout.splitlines()


def test_the_page_of_mem0_has_the_calls_of_its_client(tmp_path: Path) -> None:
    assert printed("mem0", ("mem0ai==2.2.1",), tmp_path, SAME_CALLS) == [
        "Ann oils the lathe every Monday.",
        "[]",
        "2",
        "['removed']",
        "the same calls",
    ]


@pytest.mark.weekly
def test_the_page_of_google_adk_has_tools_and_a_memory_service(tmp_path: Path) -> None:
    assert printed("google-adk", ("google-adk[mcp]==2.13.0",), tmp_path) == [
        "['memory_branch_merge', 'memory_search']",
        "user The lathe needs oil every Friday.",
        "[]",
        "False",
    ]


@pytest.mark.weekly
def test_the_page_of_llamaindex_has_tools_and_a_memory_block(tmp_path: Path) -> None:
    pins = ("llama-index-core==0.14.25", "llama-index-tools-mcp==0.6.0")
    assert printed("llamaindex", pins, tmp_path) == [
        "['memory_branch_merge', 'memory_search']",
        "True",
        "Tray number 0 holds screws.",
    ]


@pytest.mark.weekly
def test_the_page_of_dspy_has_tools_history_and_mcp(tmp_path: Path) -> None:
    fact, question = "The lathe needs oil every Friday.", "When do I oil the lathe?"
    turn = {"question": question, "answer": "Every Friday."}
    assert printed("dspy", ("dspy[mcp]==3.4.1",), tmp_path) == [
        f"Every Friday. {[fact]}",
        str([turn]),
        question,
        "True",
    ]


@pytest.mark.weekly
def test_the_page_of_crewai_has_tools(tmp_path: Path) -> None:
    # CrewAI itself prints boxes about its connections, before and after.
    assert printed("crewai", ("crewai==1.15.30",), tmp_path).count("True") == 1
