"""Public suites: where they come from, what they run in, and what came of them."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import xml.etree.ElementTree as ET
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

import pytest

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]
LIMIT_S: Final = 1_800


def surroundings(*folders: Path, **more: str) -> dict[str, str]:
    """The environment of a suite: day1 from this checkout, its packages behind the suite's."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("DAY1_", "PYTHON", "PYTEST"))}
    import_path = os.pathsep.join(map(str, (*folders, ROOT)))
    return {
        **kept,
        "PYTHONPATH": import_path,
        "DAY1_PACKAGES": sysconfig.get_path("purelib"),
        **more,
    }


def source_of(source: str, checkout: str, into: Path) -> Path:
    """The folder of a package's source, in `into`; skips with the reason if there is none.

    Args:
        source: the package and its version.
        checkout: its folder in a checkout.
        into: where it is put.
    """
    copies = os.environ.get("DAY1_PUBLIC_SUITES")
    if copies and (Path(copies) / checkout / "tests").is_dir():
        ignored = shutil.ignore_patterns(".git", ".venv")
        shutil.copytree(Path(copies) / checkout, into / "all", ignore=ignored)
        return into / "all"
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
    (folder,) = (into / "all").iterdir()
    return folder


def outcomes(report: Path) -> dict[str, set[str]]:
    """The outcomes of each test function, over all its parameters."""
    outcomes_by_test: dict[str, set[str]] = {}
    for case in ET.parse(report).iter("testcase"):
        kinds = {child.tag for child in case} & {"failure", "error", "skipped"}
        name = str(case.get("name")).partition("[")[0]
        outcomes_by_test.setdefault(name, set()).update(kinds or {"passed"})
    return outcomes_by_test


def check_suite(
    command: Sequence[str | Path], folder: Path, listed: Collection[str], **environment: str
) -> None:
    """Run a suite by pytest, which must pass but for the listed tests, and these must not pass.

    Args:
        command: Python, and what follows `-m pytest`: options and the file of the suite.
        folder: where it runs, which has a `pytest.ini`.
        listed: the names of the excepted test functions.
        environment: further variables.
    """
    python, *options = command
    done = subprocess.run(
        [python, "-m", "pytest", "-q", "-c", "pytest.ini", "--rootdir", ".", *options,
         "--junitxml", "report.xml"],
        cwd=folder,
        env=surroundings(folder, HERE, **environment),
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )  # fmt: skip
    assert (folder / "report.xml").exists(), done.stdout[-2_000:] + done.stderr[-2_000:]
    outcomes_by_test = outcomes(folder / "report.xml")
    failed = {name for name, kinds in outcomes_by_test.items() if kinds != {"passed"}}
    assert not failed - set(listed), done.stdout[-6_000:]
    passing = {name for name in listed if "passed" in outcomes_by_test.get(name, {"passed"})}
    assert not passing, f"listed as exceptions, and they pass or are gone: {sorted(passing)}"
