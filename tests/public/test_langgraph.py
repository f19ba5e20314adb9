"""LangGraph's own suites, unchanged: of stores over `Day1Store`, of savers over `stamped` savers.

The suites come from the packages' source distributions, else from a checkout whose folder
`DAY1_PUBLIC_SUITES` names (`FOLDER/langgraph/libs/…`); else the test is skipped, and says why.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.fetching import python_with
from tests.public.langgraph_exceptions import EXCEPTIONS

pytestmark = pytest.mark.weekly

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PINS = (
    *("langgraph-checkpoint==4.3.2", "langgraph-checkpoint-sqlite==3.1.2"),
    *("langgraph-checkpoint-conformance==0.0.2", "langchain-core==1.8.3"),
    *("pytest==9.2.0", "pytest-asyncio==1.5.0", "pytest-mock==3.15.1", "pytest-retry==1.7.0"),
)
SUITES = {
    "test_store.py": ("langgraph-checkpoint-sqlite==3.1.2", "checkpoint-sqlite"),
    "test_async_store.py": ("langgraph-checkpoint-sqlite==3.1.2", "checkpoint-sqlite"),
    "test_ttl.py": ("langgraph-checkpoint-sqlite==3.1.2", "checkpoint-sqlite"),
    "memory/test_store.py": ("langgraph-checkpoint==4.3.2", "checkpoint"),
}
"""The source distribution that has a file, and its folder in a checkout."""
LIMIT_S = 1_800
SETTINGS = "[pytest]\nasyncio_mode = auto\nmarkers = flaky\n"


def surroundings(*folders: Path, **more: str) -> dict[str, str]:
    """The environment of a suite: day1 from this checkout, its packages behind the suite's."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("DAY1_", "PYTHON", "PYTEST"))}
    found = os.pathsep.join(map(str, (*folders, ROOT)))
    return {**kept, "PYTHONPATH": found, "DAY1_PACKAGES": sysconfig.get_path("purelib"), **more}


def suite_in(source: str, folder: str, into: Path) -> Path:
    """The tests of a package, copied into a folder; skips with the reason if there are none."""
    checkout = os.environ.get("DAY1_PUBLIC_SUITES")
    if checkout:
        given = Path(checkout) / "langgraph" / "libs" / folder / "tests"
        if given.is_dir():
            shutil.copytree(given, into / "tests", ignore=shutil.ignore_patterns("conftest.py"))
            return into
    fetched = (sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", ":all:")
    quietly = ("--quiet", "--disable-pip-version-check", "--retries", "1", "--timeout", "20")
    done = subprocess.run(
        [*fetched, *quietly, "--dest", into, source], capture_output=True, text=True, check=False
    )
    archives = list(into.glob("*.tar.gz"))
    if done.returncode or not archives:
        why = (done.stderr.strip().splitlines() or ["no archive"])[-1][:200]
        pytest.skip(f"{source} could not be fetched ({why}), and DAY1_PUBLIC_SUITES names no copy")
    with tarfile.open(archives[0]) as archive:
        archive.extractall(into / "all", filter="data")
    (tests,) = (into / "all").glob("*/tests")
    tests.rename(into / "tests")
    return into


def outcomes(report: Path) -> dict[str, set[str]]:
    """The outcomes of each test function, over all its parameters."""
    found: dict[str, set[str]] = {}
    for case in ET.parse(report).iter("testcase"):
        kinds = {child.tag for child in case} & {"failure", "error", "skipped"}
        name = str(case.get("name")).partition("[")[0]
        found.setdefault(name, set()).update(kinds or {"passed"})
    return found


@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_of_stores_passes_but_for_the_exceptions(suite: str, tmp_path: Path) -> None:
    python = python_with(*PINS)
    folder = suite_in(*SUITES[suite], tmp_path)
    (folder / "pytest.ini").write_text(SETTINGS, encoding="utf-8")
    options = ("-q", "-p", "langgraph_stores", "-c", "pytest.ini", "--rootdir", ".")
    name = suite.rpartition("/")[2]
    place = "memory" if suite.startswith("memory/") else "sqlite"
    done = subprocess.run(
        [python, "-m", "pytest", *options, "--junitxml", "report.xml", f"tests/{name}"],
        cwd=folder,
        env=surroundings(folder, HERE, DAY1_IN_PLACE_OF=place),
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    assert (folder / "report.xml").exists(), done.stdout[-2_000:] + done.stderr[-2_000:]
    found = outcomes(folder / "report.xml")
    failed = {name for name, kinds in found.items() if kinds != {"passed"}}
    listed = set(EXCEPTIONS[suite])
    assert not failed - listed, done.stdout[-6_000:]
    passing = {name for name in listed if "passed" in found.get(name, {"passed"})}
    assert not passing, f"listed as exceptions, and they pass or are gone: {sorted(passing)}"


def test_a_stamped_saver_passes_what_the_saver_passes() -> None:
    done = subprocess.run(
        [python_with(*PINS), HERE / "langgraph_savers.py"],
        env=surroundings(),
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    for name, (alone, with_stamps) in json.loads(done.stdout).items():
        assert with_stamps == alone, name
        assert not any(failed for _, failed, _ in with_stamps.values()), with_stamps
        assert sum(passed for passed, _, _ in with_stamps.values()) >= 50, name
