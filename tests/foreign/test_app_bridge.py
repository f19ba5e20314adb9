"""A review inside a chat whose host is the official code for hosts of MCP Apps, in a real browser."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

from tests.browser.chat_host import KNOWS, Chat
from tests.browser.chromium import NoChromium, launched
from tests.fetching import bundled
from tests.wires.mcp_session import Session

PINS = ("@modelcontextprotocol/ext-apps@2.0.4",)
_HOST = """
import { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";
window.host = async ({ html, capabilities, context, input, result }) => {
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts");
  document.body.append(frame);
  const bridge = new AppBridge(null, { name: "host", version: "1" }, capabilities, { hostContext: context });
  const told = (window.told = []);
  bridge.oncalltool = ({ name, arguments: given }) => callTool({ name, arguments: given }).then((one) => one.result);
  bridge.onsizechange = ({ height }) => (frame.style.height = `${height}px`);
  bridge.onupdatemodelcontext = async (params) => (told.push(params), {});
  bridge.oninitialized = async () => {
    await bridge.sendToolInput({ arguments: input });
    await bridge.sendToolResult(result);
  };
  const ready = bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.srcdoc = html;
  await ready;
  window.teardown = () => bridge.teardownResource({});
};
"""


@pytest.mark.weekly
def test_a_review_is_decided_and_merged_in_the_official_host(tmp_path: Path) -> None:
    script = bundled(_HOST, tmp_path, *PINS)
    session = Session(tmp_path / "store")
    session.extensions = [KNOWS]
    try:
        with session as agent, sync_playwright() as driver, launched(driver) as browser:
            fact = agent.ok("memory_write_fact", fact_text="It waits 30 s.")["id"]
            agent.ok("memory_branch_create", branch_name="task/x")
            for branch, seconds in (("main", 60), ("task/x", 45)):
                text = f"It waits {seconds} s."
                agent.ok("memory_update_fact", fact_id=fact, fact_text=text, branch=branch)
            chat = Chat(browser, agent)
            chat.page.add_script_tag(content=script)
            chat.host = "(asked) => host(asked)"
            chat.show("review_open", source_branch="task/x")
            chat.main.get_by_role("button", name="Theirs").click()
            chat.says("Decided: theirs")
            chat.main.get_by_role("button", name="Merge…").click()
            chat.main.get_by_role("button", name="Merge", exact=True).click()
            chat.says("task/x into main: merged 1, held 0.")
            chat.fits()
            assert chat.page.evaluate("teardown()") == {}
            told: list[dict[str, Any]] = chat.page.evaluate("told")
            assert len(told) == 2, "after each deed"
            (kept,) = agent.everything(["main"])["main"]["facts"]
            assert kept["fact_text"] == "It waits 45 s."
    except NoChromium as exc:
        pytest.skip(str(exc))
