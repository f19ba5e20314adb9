"""The document that shows a review inside a chat: who is told of it, and what it may do."""

import re
from base64 import b64encode
from collections.abc import Iterator
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from mcp.client.extension import advertise
from mcp.shared.exceptions import MCPError

from day1.interfaces.mcp.apps import EXTENSION, HTML, REVIEW
from tests.wires.http_server import HttpServer, HttpSession
from tests.wires.mcp_session import Session

SHOWN = {"review_open", "review_show"}
CLIENTS: dict[str, dict[str, Any] | None] = {
    "shows views": {"mimeTypes": [HTML]},
    "shows others": {"mimeTypes": ["text/html"]},
    "says nothing of kinds": {},
    "says nonsense": {"mimeTypes": HTML},
    "knows none": None,
}


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Session]]:
    """Clients of both eras by what they say of views, of one server."""
    with ExitStack() as opened:
        made: dict[str, Session] = {}
        server = opened.enter_context(HttpServer(tmp_path_factory.mktemp("views") / "store"))
        for mode in ("auto", "legacy"):
            for name, settings in CLIENTS.items():
                session = HttpSession(server, mode=mode)
                known = [] if settings is None else [advertise(EXTENSION, settings)]
                session.extensions = known
                made[f"{mode} {name}"] = opened.enter_context(session)
        yield made


def views(agent: Session) -> dict[str, Any]:
    """The view of each tool that has one."""
    metas = {name: (tool.meta or {}).get("ui") for name, tool in agent.tools.items()}
    return {name: ui for name, ui in metas.items() if ui is not None}


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_that_shows_views_is_told_of_them_and_no_other(
    clients: dict[str, Session], name: str
) -> None:
    there = dict.fromkeys(SHOWN, None) if name == "shows views" else {}
    for mode in ("auto", "legacy"):
        agent = clients[f"{mode} {name}"]
        assert views(agent) == {tool: {"resourceUri": REVIEW} for tool in there}, mode
        assert agent.tools["review_merge"].meta == {"anthropic/requiresUserInteraction": True}


def test_what_a_tool_answers_is_whole_without_a_view(clients: dict[str, Session]) -> None:
    for name in ("auto shows views", "auto knows none"):
        agent, branch = clients[name], name.replace(" ", "-")
        agent.ok("memory_branch_create", branch_name=branch)
        agent.ok("memory_write_fact", fact_text="New.", branch=branch)
        review = agent.ok("review_open", source_branch=branch)["id"]
        assert agent.call("review_show", {"review_id": review}).document["rows"]


def test_the_document_asks_nobody_for_anything(clients: dict[str, Session]) -> None:
    answer = clients["auto knows none"].raw("resources/read", uri=REVIEW)
    assert (answer["cacheScope"], answer["ttlMs"] > 0) == ("public", True)
    (content,) = answer["contents"]
    assert (content["uri"], content["mimeType"]) == (REVIEW, HTML)
    domains = ("connectDomains", "resourceDomains", "frameDomains", "baseUriDomains")
    assert content["_meta"]["ui"]["csp"] == {name: [] for name in domains}
    assert "permissions" not in content["_meta"]["ui"]
    page = content["text"]
    assert not re.search(r"https?:|//[a-z]|@import|url\(|\bsrc=|\bhref=", page)
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|Function\(", page
    )
    assert not re.search(
        r"fetch\(|XMLHttpRequest|WebSocket|EventSource|localStorage|open-link", page
    )


def test_the_documents_own_policy_names_its_script_and_style(clients: dict[str, Session]) -> None:
    (content,) = clients["legacy shows views"].raw("resources/read", uri=REVIEW)["contents"]
    page = content["text"]
    (policy,) = re.findall('Content-Security-Policy" content="([^"]+)"', page)
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        (text,) = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert rules.pop(rule) == f"'sha256-{digest}'"
    assert set(rules.values()) == {"'none'"}
    assert set(rules) == {"default-src", "base-uri", "form-action"}


@pytest.mark.parametrize("uri", ["ui://day1/", "ui://day1/review", "ui://other/review.html"])
def test_an_address_of_no_document_is_refused(clients: dict[str, Session], uri: str) -> None:
    with pytest.raises(MCPError) as refused:
        clients["auto shows views"].raw("resources/read", uri=uri)
    assert refused.value.error.code == -32602


def test_a_server_says_what_it_has(clients: dict[str, Session], tmp_path: Path) -> None:
    told = clients["auto knows none"].raw("server/discover")["capabilities"]
    assert told["extensions"][EXTENSION] == {}
    session = Session(tmp_path / "store", toolsets="core")
    session.extensions = [advertise(EXTENSION, {"mimeTypes": [HTML]})]
    with session as core:
        assert EXTENSION not in core.raw("server/discover")["capabilities"]["extensions"]
        assert views(core) == {}
        with pytest.raises(MCPError):
            core.raw("resources/read", uri=REVIEW)
