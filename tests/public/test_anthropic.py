"""The Anthropic SDK's own suite of its memory tools, unchanged, over `Day1MemoryTool`.

The suite comes from the SDK's source distribution, else from a checkout whose folder
`DAY1_PUBLIC_SUITES` names (`FOLDER/anthropic-sdk-python`); else the test is skipped, and says why.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.fetching import python_with
from tests.public.anthropic_exceptions import EXCEPTIONS
from tests.public.suites import HERE, LIMIT_S, outcomes, source_of, surroundings

pytestmark = pytest.mark.weekly

SOURCE = "anthropic==2.14.0"
PINS = (SOURCE, "pytest==9.2.0", "pytest-asyncio==1.5.0")
SUITE = "tests/lib/tools/memory_tools/test_filesystem.py"
SETTINGS = "[pytest]\nasyncio_mode = auto\n"


def test_the_suite_of_the_memory_tools_passes_but_for_the_exceptions(tmp_path: Path) -> None:
    python = python_with(*PINS)
    folder = source_of(SOURCE, "anthropic-sdk-python", tmp_path)
    shutil.rmtree(folder / "src", ignore_errors=True)  # the installed package is tested
    (folder / "pytest.ini").write_text(SETTINGS, encoding="utf-8")
    # What all its suites share needs packages for recorded requests, and this one makes none.
    plugin = ("-p", "anthropic_memory_tools", "--noconftest")
    options = ("-q", "--tb=native", "-c", "pytest.ini", "--rootdir", ".")
    done = subprocess.run(
        [python, "-m", "pytest", *plugin, *options, "--junitxml", "report.xml", SUITE],
        cwd=folder,
        env=surroundings(folder, HERE),
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    assert (folder / "report.xml").exists(), done.stdout[-2_000:] + done.stderr[-2_000:]
    found = outcomes(folder / "report.xml")
    failed = {name for name, kinds in found.items() if kinds != {"passed"}}
    assert not failed - set(EXCEPTIONS), done.stdout[-6_000:]
    passing = {name for name in EXCEPTIONS if "passed" in found.get(name, {"passed"})}
    assert not passing, f"listed as exceptions, and they pass or are gone: {sorted(passing)}"
