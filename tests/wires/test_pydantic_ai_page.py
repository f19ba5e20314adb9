"""docs/frameworks/pydantic-ai.md and docs/examples/pydantic_ai_store.py run as they stand."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.console import blocks

pytest.importorskip("pydantic_ai.conversation_store", reason="the extra is not installed")

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "pydantic_ai_store.py"
PAGE = (ROOT / "docs" / "frameworks" / "pydantic-ai.md").read_text("utf-8")


def run(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "PYTHONPATH": str(ROOT),
             "TMPDIR": str(folder), "DAY1_EMBEDDER__KIND": "none"},
        capture_output=True,
        text=True,
        timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_example_prints_what_the_page_says_and_leaves_no_file(tmp_path: Path) -> None:
    assert EXAMPLE.read_text("utf-8").count("\n") <= 60
    (shown,) = blocks(PAGE, "text")
    assert run(tmp_path, str(EXAMPLE)).strip() == shown.strip()
    assert not list(tmp_path.iterdir())


def test_the_blocks_of_the_page_run_one_after_the_other(tmp_path: Path) -> None:
    printed = run(tmp_path, "-c", "\n".join(blocks(PAGE, "python"))).splitlines()
    assert printed == [
        "Every Friday.", "When do I oil the lathe?", "['ann']", "['again', 'ann']"
    ]  # fmt: skip


def test_without_the_package_the_error_says_which_extra_to_install(tmp_path: Path) -> None:
    code = "import sys; sys.modules['pydantic_ai'] = None\nimport day1.integrations.pydantic_ai"
    with pytest.raises(AssertionError, match=r"pip install 'day1\[pydantic-ai\]'"):
        run(tmp_path, "-c", code)
