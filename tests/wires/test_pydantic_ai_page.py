"""docs/frameworks/pydantic-ai.md and docs/examples/pydantic_ai_store.py run as they stand."""

from pathlib import Path

import pytest

from tests.wires.framework_pages import FrameworkPage, run

pytest.importorskip("pydantic_ai.conversation_store", reason="the extra is not installed")

PAGE = FrameworkPage("pydantic-ai", "pydantic_ai_store")


def test_the_example_prints_what_the_page_says_and_leaves_no_file(tmp_path: Path) -> None:
    PAGE.check_example(tmp_path)


def test_the_blocks_of_the_page_run_one_after_the_other(tmp_path: Path) -> None:
    printed = PAGE.printed_by_blocks(tmp_path)
    assert printed == [
        "Every Friday.", "When do I oil the lathe?", "['ann']", "['again', 'ann']"
    ]  # fmt: skip


def test_without_the_package_the_error_says_which_extra_to_install(tmp_path: Path) -> None:
    code = "import sys; sys.modules['pydantic_ai'] = None\nimport day1.integrations.pydantic_ai"
    with pytest.raises(AssertionError, match=r"pip install 'day1\[pydantic-ai\]'"):
        run(tmp_path, "-c", code)
