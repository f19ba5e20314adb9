"""docs/frameworks/langgraph.md and docs/examples/langgraph_store.py run as they stand."""

from pathlib import Path

import pytest

from tests.wires.framework_pages import FrameworkPage, run

pytest.importorskip("langgraph.store.base", reason="the extra `langgraph` is not installed")

PAGE = FrameworkPage("langgraph", "langgraph_store")


def test_the_example_prints_what_the_page_says_and_leaves_no_file(tmp_path: Path) -> None:
    PAGE.check_example(tmp_path)


def test_the_blocks_of_the_page_run_one_after_the_other(tmp_path: Path) -> None:
    said = PAGE.printed_by_blocks(tmp_path)
    assert said[:3] == ["dark", "dark", "light 0"]
    assert said[3].isdigit()
    assert said[4:] == ["{'n': 3} {'n': 9}"] * 2 + ["0"]


def test_without_the_package_the_error_says_which_extra_to_install(tmp_path: Path) -> None:
    code = "import sys; sys.modules['langgraph'] = None\nimport day1.integrations.langgraph"
    with pytest.raises(AssertionError, match=r"pip install 'day1\[langgraph\]'"):
        run(tmp_path, "-c", code)
