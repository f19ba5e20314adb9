"""docs/frameworks/anthropic.md and docs/examples/anthropic_memory_tool.py run as they stand."""

from pathlib import Path

import pytest

from tests.wires.framework_pages import FrameworkPage, run

pytest.importorskip("anthropic.lib.tools", reason="the extra `anthropic` is not installed")

PAGE = FrameworkPage("anthropic", "anthropic_memory_tool")


def test_the_example_prints_what_the_page_says_and_leaves_no_file(tmp_path: Path) -> None:
    PAGE.check_example(tmp_path)


def test_the_blocks_of_the_page_run_one_after_the_other(tmp_path: Path) -> None:
    printed = PAGE.printed_by_blocks(tmp_path)
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
