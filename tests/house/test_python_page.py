"""The Python of the README and of docs/python.md runs, and says what is there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import day1
from tests.house.console import blocks
from tests.wires.http_server import HttpServer

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "python.md").read_text("utf-8")
README = (ROOT / "README.md").read_text("utf-8")


def run(code: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "PYTHONPATH": str(ROOT),
            "DAY1_EMBEDDER__KIND": "none",
        },
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def test_the_blocks_of_the_page_run_one_after_the_other(tmp_path: Path) -> None:
    with HttpServer(tmp_path / "store") as server:
        code = "\n".join(blocks(PAGE, "python")).replace("http://127.0.0.1:8420", server.address)
        said = run(f"token = {server.token('page')!r}\n{code}", tmp_path).splitlines()
    assert said[0] == "The lathe needs oil every Friday."
    assert "upkeep writer" in said
    assert "2 The lathe needs oil every Tuesday." in said
    assert said[-2] == "The lathe needs oil every Friday."
    assert said[-1].startswith("unknown_branch There is no branch 'nowhere'")
    assert "`memory.branches()` lists the branches." in PAGE
    assert "`memory.branches()` lists the branches." in said[-1]


def test_the_readme_begins_with_three_lines_of_python(tmp_path: Path) -> None:
    (three,) = blocks(README, "python")
    assert len(three.splitlines()) == 3
    assert README.index(three) < 1_500
    assert run(f"import day1\n{three}", tmp_path).strip() == (
        "The deploy job needs 4 GB of memory since March 2026."
    )


@pytest.mark.parametrize("owner", ["Memory", "Past"])
def test_every_method_stands_on_the_page(owner: str) -> None:
    named = set(re.findall(r"`(\w+)(?:\([^`]*\))?`", PAGE)) | {"settle", "close"}
    methods = {name for name in dir(getattr(day1, owner)) if not name.startswith("_")}
    assert methods - named - {"name", "place", "at"} == set()
