"""docs/frameworks/agent-framework.md and its example run as they stand."""

import asyncio
import sys
from pathlib import Path

import pytest

from tests.house.console import ROOT
from tests.wires.framework_pages import FrameworkPage, run

pytest.importorskip("agent_framework", reason="the extra `agent-framework` is not installed")

PAGE = FrameworkPage("agent-framework", "agent_framework_history")


def test_the_example_prints_what_the_page_says_and_leaves_no_file(tmp_path: Path) -> None:
    PAGE.check_example(tmp_path)


def test_the_blocks_of_the_page_run_one_after_the_other(tmp_path: Path) -> None:
    question = "When do I oil the lathe?"
    assert PAGE.printed_by_blocks(tmp_path) == [
        question, f"['{question}']", f"['{question}', 'Every Friday.']"
    ]  # fmt: skip


def test_without_the_package_the_error_says_which_extra_to_install(tmp_path: Path) -> None:
    code = "import sys; sys.modules['agent_framework'] = None\nimport day1.integrations.agent_framework"
    with pytest.raises(AssertionError, match=r"pip install 'day1\[agent-framework\]'"):
        run(tmp_path, "-c", code)


def test_the_mcp_client_of_the_framework_calls_the_tools_of_day1(tmp_path: Path) -> None:
    from agent_framework import MCPStdioTool

    async def work() -> tuple[set[str], str]:
        environment = {"PYTHONPATH": str(ROOT), "DAY1_HOME": str(tmp_path / "store")}
        environment |= {"HOME": str(tmp_path), "DAY1_EMBEDDER__KIND": "none"}
        tool = MCPStdioTool(
            "day1", command=sys.executable, args=["-m", "day1", "mcp"], env=environment
        )
        async with tool:
            by_name = {function.name: function for function in tool.functions}
            await by_name["memory_write_fact"].invoke(
                arguments={"fact_text": "The lathe needs oil."}
            )
            hits = await by_name["memory_search"].invoke(arguments={"query": "lathe oil"})
            return set(by_name), str([content.text for content in hits])

    names, answer = asyncio.run(work())
    assert {"memory_branch_create", "memory_branch_merge"} <= names
    assert "The lathe needs oil." in answer
