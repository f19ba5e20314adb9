"""The OpenAI Agents SDK's own suites of sessions, unchanged, over `Day1Session`.

The suites come from the SDK's source distribution, else from a checkout whose folder
`DAY1_PUBLIC_SUITES` names (`FOLDER/openai-agents-python`); else the test is skipped, and says why.
"""

import shutil
from pathlib import Path

import pytest

from tests.fetching import python_with
from tests.public.openai_agents_exceptions import EXCEPTIONS
from tests.public.suites import check_suite, source_of

pytestmark = pytest.mark.weekly

SOURCE = "openai-agents==0.24.0"
PINS = (SOURCE, "openai==3.57.0", "pytest==9.2.0", "pytest-asyncio==1.5.0")
SETTINGS = "[pytest]\nasyncio_mode = auto\nmarkers =\n  allow_call_model_methods\n  serial\n"


@pytest.mark.parametrize("suite", EXCEPTIONS)
def test_a_suite_of_sessions_passes_but_for_the_exceptions(suite: str, tmp_path: Path) -> None:
    python = python_with(*PINS)
    folder = source_of(SOURCE, "openai-agents-python", tmp_path)
    shutil.rmtree(folder / "src", ignore_errors=True)  # the installed package is tested
    (folder / "pytest.ini").write_text(SETTINGS, encoding="utf-8")
    options = ("-p", "openai_agents_sessions", f"tests/memory/{suite}")
    check_suite([python, *options], folder, EXCEPTIONS[suite])
