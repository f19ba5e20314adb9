"""Skills over MCP (SEP-2640): entries with digests, for clients of 2026 that say they know them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import yaml
from mcp.client.extension import advertise
from mcp.shared.exceptions import MCPError

from day1.interfaces.mcp.skills import EXTENSION, listed
from tests.wires.http_server import HttpServer, HttpSession
from tests.wires.mcp_session import ROOT, Session

NAMES = ["day1-memory", "day1-merge-review", "day1-handoff"]
INVALID, UNKNOWN_METHOD, LACKING = -32602, -32601, -32021

Client = Callable[..., Session]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with HttpServer(tmp_path_factory.mktemp("skills") / "store") as served:
        yield served


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, server: HttpServer) -> Iterator[Client]:
    """Clients by wire and era; one that knows the extension says so."""
    made: dict[tuple[str, str, bool], Session] = {}
    with ExitStack() as opened:

        def get(wire: str, mode: str = "auto", *, knows: bool = True) -> Session:
            key = wire, mode, knows
            if key not in made:
                session: Session = HttpSession(server, mode=mode)
                if wire == "stdio":
                    session = Session(tmp_path_factory.mktemp("skills") / "store", mode=mode)
                session.extensions = [advertise(EXTENSION)] if knows else []
                made[key] = opened.enter_context(session)
            return made[key]

        yield get


def text_of(agent: Session, uri: str) -> str:
    (content,) = agent.raw("resources/read", uri=uri)["contents"]
    assert (content["uri"], content["mimeType"]) == (uri, "text/markdown")
    text: str = content["text"]
    return text


@pytest.mark.parametrize("wire", ["stdio", "http"])
def test_a_host_can_verify_each_file_of_each_skill(client: Client, wire: str) -> None:
    """As the extension asks of it: size and digest of every file, then the frontmatter."""
    agent = client(wire)
    answer = agent.raw("skills/list")
    assert answer["resultType"] == "complete"
    assert (answer["ttlMs"] > 0, answer["cacheScope"], "nextCursor" in answer) == (
        True, "public", False,
    )  # fmt: skip
    assert [skill["frontmatter"]["name"] for skill in answer["skills"]] == NAMES
    for skill in answer["skills"]:
        name = skill["frontmatter"]["name"]
        assert skill["uri"] == f"skill://{name}/SKILL.md"
        assert [file["uri"] for file in skill["resources"]].count(skill["uri"]) == 1
        assert len(skill["resources"]) <= 512
        assert sum(file["size"] for file in skill["resources"]) <= 16 * 2**20
        for file in skill["resources"]:
            content = text_of(agent, file["uri"]).encode()
            assert len(content) == file["size"]
            assert f"sha256:{sha256(content).hexdigest()}" == file["digest"]
        _, head, _ = text_of(agent, skill["uri"]).split("---\n", 2)
        assert yaml.safe_load(head) == skill["frontmatter"]
        got = agent.raw("skills/get", uri=skill["uri"])
        assert got["skill"] == skill
        assert (got["resultType"], got["cacheScope"]) == ("complete", "public")


def test_what_is_served_is_what_the_plugin_has(client: Client) -> None:
    folder = ROOT / "plugin" / "skills"
    there = sorted(path for path in folder.rglob("*") if path.is_file())
    served = {
        file["uri"]
        for skill in client("stdio").raw("skills/list")["skills"]
        for file in skill["resources"]
    }
    assert served == {f"skill://{path.relative_to(folder).as_posix()}" for path in there}
    for path in there:
        uri = f"skill://{path.relative_to(folder).as_posix()}"
        assert text_of(client("stdio"), uri).encode() == path.read_bytes()


@pytest.mark.parametrize("wire", ["stdio", "http"])
@pytest.mark.parametrize(
    "uri",
    [
        "skill://day1-memory",
        "skill://day1-memory/",
        "skill://day1-memory/skill.md",
        "skill://day1-memory/../day1-memory/SKILL.md",
        "skill://elsewhere/SKILL.md",
        "file:///etc/passwd",
        "x" * 40_000,
        "",
    ],
)
def test_an_address_of_no_skill_is_refused(client: Client, wire: str, uri: str) -> None:
    for method in ("skills/get", "resources/read"):
        with pytest.raises(MCPError) as refused:
            client(wire).raw(method, uri=uri)
        assert refused.value.error.code == INVALID
        assert len(refused.value.error.message) < 1_000


@pytest.mark.parametrize("params", [{}, {"uri": None}, {"uri": 7}, {"uri": ["x"]}])
def test_get_needs_an_address(client: Client, params: dict[str, Any]) -> None:
    with pytest.raises(MCPError) as refused:
        client("stdio").raw("skills/get", **params)
    assert refused.value.error.code == INVALID


@pytest.mark.parametrize("cursor", ["-1", "x", "1e3", "9" * 30])
def test_a_cursor_that_nobody_gave_is_refused(client: Client, cursor: str) -> None:
    with pytest.raises(MCPError) as refused:
        client("stdio").raw("skills/list", cursor=cursor)
    assert refused.value.error.code == INVALID


def test_a_list_of_many_comes_in_pages() -> None:
    every: list[dict[str, Any]] = [{"uri": f"skill://{n}/SKILL.md"} for n in range(5)]
    found, cursor = [], None
    for size in (2, 2, 1):
        page = listed(every, cursor, 2)
        assert len(page["skills"]) == size
        found += page["skills"]
        cursor = page.get("nextCursor")
    assert (found, cursor) == (every, None)


@pytest.mark.parametrize("wire", ["stdio", "http"])
@pytest.mark.parametrize("method", ["skills/list", "skills/get"])
def test_a_client_that_does_not_say_that_it_knows_skills_is_told_to(
    client: Client, wire: str, method: str
) -> None:
    agent = client(wire, knows=False)
    with pytest.raises(MCPError) as refused:
        agent.raw(method, uri="skill://day1-memory/SKILL.md")
    assert refused.value.error.code == LACKING
    lacks = refused.value.error.data["requiredCapabilities"]["extensions"]
    assert lacks == {EXTENSION: {}}
    # The files are there for everybody, and the instructions say where.
    assert "# Remember and recall" in text_of(agent, "skill://day1-memory/SKILL.md")
    for name in NAMES:
        assert f"skill://{name}/SKILL.md" in str(agent.instructions)


@pytest.mark.parametrize("wire", ["stdio", "http"])
def test_the_protocol_of_2025_has_none(client: Client, wire: str) -> None:
    old = client(wire, "legacy")
    assert EXTENSION not in (old._client.server_capabilities.model_dump().get("extensions") or {})
    for method in ("skills/list", "skills/get"):
        with pytest.raises(MCPError) as refused:
            old.raw(method, uri="skill://day1-memory/SKILL.md")
        assert refused.value.error.code == UNKNOWN_METHOD
    assert "# Hand work over" in text_of(old, "skill://day1-handoff/SKILL.md")


def test_a_server_says_what_it_has(client: Client) -> None:
    told = client("stdio").raw("server/discover")["capabilities"]
    assert told["extensions"][EXTENSION] == {}
    assert "resources" in told, "the extension needs them"


def test_another_products_toolset_has_no_skills_of_day1(tmp_path: Path) -> None:
    session = Session(tmp_path / "store", toolsets="kompanion")
    session.extensions = [advertise(EXTENSION)]
    with session as agent:
        assert EXTENSION not in agent.raw("server/discover")["capabilities"].get("extensions", {})
        for method in ("skills/list", "resources/read"):
            with pytest.raises(MCPError):
                agent.raw(method, uri="skill://day1-memory/SKILL.md")
