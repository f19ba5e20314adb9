"""docs/compose-memory.md and docs/examples/chat.py run as they stand."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.wires.compose_client import ComposeClient, composing

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "compose-memory.md").read_text("utf-8")
CHAT = DOCS / "examples" / "chat.py"
WRITTEN = "http://127.0.0.1:8787"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComposeClient]:
    with composing(tmp_path_factory.mktemp("compose") / "store") as client:
        yield client


def address(client: ComposeClient) -> str:
    return str(client.http.base_url).rstrip("/")


def test_the_loop_in_ten_lines_finds_what_was_remembered(client: ComposeClient) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    said: dict[str, object] = {}
    exec(code.replace(WRITTEN, address(client)), said)
    assert "Ann deploys on Fridays." in str(said["answer"])
    thread = client.ok("transcript_get", id="t1", agentWallet="helper", userAddress="ann")
    assert [message["role"] for message in thread["messages"]] == ["user", "assistant"]


def test_the_chat_works_on_a_branch_and_opens_a_review(client: ComposeClient) -> None:
    lines = CHAT.read_text("utf-8").splitlines()
    assert len(lines) <= 100
    done = subprocess.run(
        [sys.executable, str(CHAT), "--server", address(client), "--user", "bo"],
        input="remember The mill in Selm has 90 spindles.\nHow many spindles has the mill?\n\n",
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0, done.stderr
    assert "90 spindles" in done.stdout.partition("Review:")[0]
    review = re.search(r"/review/reviews/(\w+)$", done.stdout.strip())
    assert review is not None
    shown = client.day1("review_show", review_id=review[1])
    assert shown["source_branch"].startswith("chat/")
    assert "90 spindles" not in str(client.day1("memory_timeline", branch="main"))
