"""docs/frameworks/anthropic.md and docs/examples/anthropic_memory_tool.py run as they stand."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.console import blocks

pytest.importorskip("anthropic.lib.tools", reason="the extra `anthropic` is not installed")

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "anthropic_memory_tool.py"
PAGE = (ROOT / "docs" / "frameworks" / "anthropic.md").read_text("utf-8")


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
        "File created successfully at: /memories/lathe.md",
        "[(1, 1, 'ann')]",
        "Here's the content of /memories/lathe.md with line numbers:",
        "     1\tOil: Monday.",
        "Oil: Tuesday.",
    ]


def test_without_the_package_the_error_says_which_extra_to_install(tmp_path: Path) -> None:
    code = "import sys; sys.modules['anthropic'] = None\nimport day1.integrations.anthropic"
    with pytest.raises(AssertionError, match=r"pip install 'day1\[anthropic\]'"):
        run(tmp_path, "-c", code)
