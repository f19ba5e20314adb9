"""Tests of one group run in one process, so that they make what they share once."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = """
import os
import pytest

@pytest.fixture(scope="module")
def shared():
    yield

@pytest.mark.parametrize("number", range(6))
def test_of_a_shared_fixture(number, shared, record_property):
    record_property("summary", "fixture " + os.environ["PYTEST_XDIST_WORKER"])

@pytest.mark.xdist_group("some")
@pytest.mark.parametrize("number", range(6))
def test_of_a_mark(number, record_property):
    record_property("summary", "mark " + os.environ["PYTEST_XDIST_WORKER"])
"""


def test_a_group_runs_in_one_process(tmp_path: Path) -> None:
    (tmp_path / "test_grouped.py").write_text(TESTS, "utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]", "utf-8")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadgroup"]
    plugins = ["-p", "no:schemathesis", "-p", "tests.conftest"]
    done = subprocess.run(
        [*command, *plugins, "test_grouped.py"],
        cwd=tmp_path,
        env=environment | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    for shared in ("fixture", "mark"):
        lines = [line.split()[-1] for line in done.stdout.splitlines() if f": {shared} " in line]
        assert len(lines) == 6, done.stdout
        assert len(set(lines)) == 1, lines
