"""docs/frameworks/openai-agents.md and docs/examples/openai_agents_session.py run as they stand."""

from pathlib import Path

import pytest

from tests.wires.framework_pages import FrameworkPage, run

pytest.importorskip("agents.memory", reason="the extra `openai-agents` is not installed")

PAGE = FrameworkPage("openai-agents", "openai_agents_session")


def test_the_example_prints_what_the_page_says_and_leaves_no_file(tmp_path: Path) -> None:
    PAGE.check_example(tmp_path)


def test_the_blocks_of_the_page_run_one_after_the_other(tmp_path: Path) -> None:
    printed = PAGE.printed_by_blocks(tmp_path)
    assert printed == ["oil", "1", "['a', 'b'] ['a']", "0 3"]


def test_without_the_package_the_error_says_which_extra_to_install(tmp_path: Path) -> None:
    code = "import sys; sys.modules['agents'] = None\nimport day1.integrations.openai_agents"
    with pytest.raises(AssertionError, match=r"pip install 'day1\[openai-agents\]'"):
        run(tmp_path, "-c", code)
