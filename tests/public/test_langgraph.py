"""LangGraph's own suites, unchanged: of stores over `Day1Store`, of savers over `stamped` savers.

The suites come from the packages' source distributions, else from a checkout whose folder
`DAY1_PUBLIC_SUITES` names (`FOLDER/langgraph/libs/…`); else the test is skipped, and says why.
"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.fetching import python_with
from tests.public.langgraph_exceptions import EXCEPTIONS
from tests.public.suites import HERE, LIMIT_S, check_suite, source_of, surroundings

pytestmark = pytest.mark.weekly

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
SETTINGS = "[pytest]\nasyncio_mode = auto\nmarkers = flaky\n"


def suite_in(source: str, folder: str, into: Path) -> Path:
    """The tests of a package, copied into a folder; skips with the reason if there are none."""
    suite_folder = source_of(source, f"langgraph/libs/{folder}", into)
    # `conftest.py` has the fixtures of other stores.
    shutil.copytree(
        suite_folder / "tests", into / "tests", ignore=shutil.ignore_patterns("conftest.py")
    )
    return into


@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_of_stores_passes_but_for_the_exceptions(suite: str, tmp_path: Path) -> None:
    python = python_with(*PINS)
    folder = suite_in(*SUITES[suite], tmp_path)
    (folder / "pytest.ini").write_text(SETTINGS, encoding="utf-8")
    name = suite.rpartition("/")[2]
    place = "memory" if suite.startswith("memory/") else "sqlite"
    options = ("-p", "langgraph_stores", f"tests/{name}")
    check_suite([python, *options], folder, EXCEPTIONS[suite], DAY1_IN_PLACE_OF=place)


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
