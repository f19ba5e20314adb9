"""A limited token on what is neither a tool nor a route: resources, completions, prompts, pages."""

import json
from collections.abc import Iterator
from functools import partial
from typing import Any
from urllib.parse import quote

import pytest
from mcp.shared.exceptions import MCPError
from mcp.types import PromptReference, ResourceTemplateReference

from day1.interfaces.mcp.resources import TEMPLATES
from tests.waiting import until
from tests.wires.http_server import HttpSession
from tests.wires.scriptless_browser import _Reader
from tests.wires.test_http_access import HIDDEN, Guarded
from tests.wires.test_http_access import guarded as guarded  # noqa: PLC0414 - a fixture

SECRETS = (*HIDDEN, "Ada", "main/source", "secret mark", "of-main", "of main")


def leaked(said: str, asked: str) -> list[str]:
    """Words of hidden branches that an answer has and the question had not."""
    return [word for word in SECRETS if word in said and word not in asked]


def listed(session: HttpSession) -> list[str]:
    """The address of every resource."""
    found: list[str] = []
    cursor = None
    while True:
        page = session._portal.call(partial(session._client.list_resources, cursor=cursor))
        found += [str(one.uri) for one in page.resources]
        cursor = page.next_cursor
        if cursor is None:
            return found


def rows(guarded: Guarded) -> list[dict[str, Any]]:
    answer = guarded.server.ok("memory_list", guarded.admin, type="fact", branch="main")
    found: list[dict[str, Any]] = answer["rows"]
    return found


@pytest.fixture(params=["auto", "legacy"])
def limited(guarded: Guarded, request: pytest.FixtureRequest) -> Iterator[HttpSession]:
    with HttpSession(guarded.server, token=guarded.limited, mode=request.param) as session:
        yield session


def test_no_resource_tells_of_a_hidden_branch(guarded: Guarded, limited: HttpSession) -> None:
    """Every address that an administrator reads, and hidden facts beside branches one may see."""
    with HttpSession(guarded.server, token=guarded.admin) as admin:
        every = listed(admin)
    facts = [row["id"] for row in rows(guarded)]
    own = quote("mine/work", safe="")
    every += [f"day1://branches/{place}/facts/{one}" for place in ("main", own) for one in facts]
    assert len(every) > len(listed(limited)) > 1
    for uri in every:
        try:
            said = str(limited._portal.call(limited._client.read_resource, uri))
        except MCPError as error:
            said = f"{error} {error.error}"
        assert not leaked(said, uri), uri


def test_no_completion_and_no_prompt_tells_of_a_hidden_branch(
    guarded: Guarded, limited: HttpSession
) -> None:
    snapshots = guarded.server.ok("memory_snapshot_list", guarded.admin)["result"]
    hidden = {one["id"] for one in snapshots}
    prompts = limited._portal.call(limited._client.list_prompts).prompts
    asked: list[tuple[Any, str]] = [
        (ResourceTemplateReference(uri=one.uri_template), name)
        for one in TEMPLATES.resource_templates
        for name in ("branch", "id", "target")
    ]
    asked += [
        (PromptReference(name=prompt.name), argument.name)
        for prompt in prompts
        for argument in prompt.arguments or ()
    ]
    for reference, name in asked:
        for typed in ("", "m", "main", "mine", "s"):
            argument = {"name": name, "value": typed}
            found = limited._portal.call(limited._client.complete, reference, argument)
            values = found.completion.values
            assert all(value.startswith("mine/") for value in values), (reference, name, values)
            assert found.completion.total == len(values)
            assert not hidden & set(values)
    for prompt in prompts:
        given = {argument.name: "mine/work" for argument in prompt.arguments or ()}
        worded = limited._portal.call(limited._client.get_prompt, prompt.name, given)
        assert not leaked(str(worded), "")


@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
def test_who_subscribes_to_hidden_addresses_hears_of_none(guarded: Guarded) -> None:
    """A client of 2025, whose subscriptions are calls of their own."""
    heard: list[str] = []
    fact = rows(guarded)[0]["id"]
    addresses = (
        "day1://branches",
        "day1://branches/main",
        f"day1://branches/main/facts/{fact}",
        "day1://branches/mine%2Fwork",
    )
    session = HttpSession(guarded.server, token=guarded.limited, mode="legacy")

    async def told(message: Any) -> None:
        heard.append(str(message))

    session.told = told
    with session:
        for uri in addresses:
            session._portal.call(session._client.subscribe_resource, uri)
        server, admin = guarded.server, guarded.admin
        server.ok("memory_write_fact", admin, fact_text="Unheard of Ada.", branch="main")
        server.ok("memory_branch_create", admin, branch_name="unheard/Ada")
        server.ok("memory_write_fact", admin, fact_text="Heard.", branch="mine/work")
        until(lambda: any("mine%2Fwork" in one for one in heard), "news of the token's own branch")
    assert not [one for one in heard if "main" in one or "unheard" in one]


def test_no_page_and_no_event_of_a_page_tells_of_a_hidden_branch(guarded: Guarded) -> None:
    """Every page that an administrator comes to by links, asked for with the limited token."""
    server = guarded.server

    def get(path: str, token: str) -> str:
        return str(server.ask("GET", path, token).body)

    seen: set[str] = set()
    waiting = ["/review", "/review/search?q=tea", "/review/reviews"]
    while waiting and len(seen) < 60:
        path = waiting.pop(0)
        if path in seen:
            continue
        seen.add(path)
        reader = _Reader()
        reader.feed(get(path, guarded.admin))
        waiting += [link for link in reader.links if link.startswith("/review")]
    assert len(seen) > 20
    for path in seen:
        assert not leaked(get(path, guarded.limited), path), path
    bearer = {"Authorization": f"Bearer {guarded.limited}"}
    with server.http.stream("GET", "/review/events", headers=bearer) as stream:
        lines = stream.iter_lines()
        assert next(lines).startswith("retry")
        server.ok("memory_write_fact", guarded.admin, fact_text="Ada again.", branch="main")
        server.ok("memory_branch_create", guarded.admin, branch_name="unheard/Ada-2")
        server.ok(
            "memory_write_fact", guarded.admin, fact_text="Heard by a page.", branch="mine/work"
        )
        told = []
        for line in lines:
            told.append(line)
            if line.startswith("data") and json.loads(line[5:])["branch"] == "mine/work":
                break
    assert not [line for line in told if "main" in line or "unheard" in line]
