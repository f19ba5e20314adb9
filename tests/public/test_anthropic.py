"""The Anthropic SDK's own suite of its memory tools, unchanged, over `Day1MemoryTool`.

The suite comes from the SDK's source distribution, else from a checkout whose folder
`DAY1_PUBLIC_SUITES` names (`FOLDER/anthropic-sdk-python`); else the test is skipped, and says why.
"""

import shutil
from pathlib import Path

import pytest

from tests.fetching import python_with
from tests.public.anthropic_exceptions import EXCEPTIONS
from tests.public.suites import check_suite, source_of

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
    check_suite([python, *plugin, "--tb=native", SUITE], folder, EXCEPTIONS)
