"""docs/frameworks/openai-agents.md and docs/examples/openai_agents_session.py run as they stand."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.console import blocks

pytest.importorskip("agents.memory", reason="the extra `openai-agents` is not installed")

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "openai_agents_session.py"
PAGE = (ROOT / "docs" / "frameworks" / "openai-agents.md").read_text("utf-8")


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
    assert printed == ["oil", "1", "['a', 'b'] ['a']", "0 3"]


def test_without_the_package_the_error_says_which_extra_to_install(tmp_path: Path) -> None:
    code = "import sys; sys.modules['agents'] = None\nimport day1.integrations.openai_agents"
    with pytest.raises(AssertionError, match=r"pip install 'day1\[openai-agents\]'"):
        run(tmp_path, "-c", code)
