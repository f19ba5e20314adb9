"""Skills over MCP: the extension `io.modelcontextprotocol/skills` (SEP-2640).

A skill is a folder with a `SKILL.md`, which tells an agent how to do something with day1. The same
folders are in the plugin. A client of the protocol of 2026 that says that it knows the extension is
told of each skill with the digests of its files. Any client can read the files as resources.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    PaginatedRequestParams,
    RequestParams,
    TextResourceContents,
)
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from day1.interfaces.mcp.resources import start_of

EXTENSION: Final = "io.modelcontextprotocol/skills"
FOLDER: Final = Path(__file__).parents[2] / "skills"
MARKDOWN: Final = "text/markdown"
_MAIN: Final = "SKILL.md"
_PAGE: Final = 100
FRESH_MS: Final = 3_600_000
"""For so long a client may keep what changes with the program only."""
_KEPT: Final = {"ttlMs": FRESH_MS, "cacheScope": "public"}


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill and its files."""

    uri: str
    """The address of its `SKILL.md`."""
    frontmatter: Mapping[str, str]
    files: Mapping[str, bytes]
    """By address, `SKILL.md` first."""

    @property
    def entry(self) -> dict[str, Any]:
        """What the extension says of a skill."""
        files = [
            {"uri": uri, "digest": f"sha256:{sha256(content).hexdigest()}", "size": len(content)}
            for uri, content in self.files.items()
        ]
        return {"uri": self.uri, "frontmatter": dict(self.frontmatter), "resources": files}


@cache
def skill(name: str) -> Skill:
    """The skill in a folder of this name."""
    root = FOLDER / name
    paths = sorted(p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file())
    paths.sort(key=lambda path: path != _MAIN)
    files = {f"skill://{name}/{path}": (root / path).read_bytes() for path in paths}
    uri = f"skill://{name}/{_MAIN}"
    return Skill(uri, _frontmatter(files[uri].decode()), files)


def _frontmatter(text: str) -> dict[str, str]:
    """The lines between the first two `---`: day1's own have a plain text in each."""
    return dict(line.split(": ", 1) for line in text.split("---\n", 2)[1].splitlines())


def contents(names: Sequence[str]) -> dict[str, TextResourceContents]:
    """The files of skills as resources, by address."""
    return {
        uri: TextResourceContents(uri=uri, mime_type=MARKDOWN, text=content.decode())
        for name in names
        for uri, content in skill(name).files.items()
    }


class _Named(RequestParams):
    uri: str


def add_skills(server: Server[Any], names: Sequence[str]) -> None:
    """Tell clients that know the extension of skills; with none, tell nobody."""
    entries = [skill(name).entry for name in names]

    async def list_skills(ctx: Any, params: PaginatedRequestParams) -> dict[str, Any]:
        _negotiated(ctx)
        return listed(entries, params.cursor)

    async def get_skill(ctx: Any, params: _Named) -> dict[str, Any]:
        _negotiated(ctx)
        return got(entries, params.uri)

    if entries:
        server.extensions[EXTENSION] = {}
        server.add_request_handler("skills/list", PaginatedRequestParams, list_skills)
        server.add_request_handler("skills/get", _Named, get_skill)


def _negotiated(ctx: Any) -> None:
    """Refuse clients of the protocol of 2025, and those that do not say that they know skills.

    Raises:
        MCPError: it is such a client.
    """
    if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        raise MCPError(METHOD_NOT_FOUND, "Method not found", ctx.method)
    known = ctx.session.client_capabilities
    if EXTENSION not in ((known and known.extensions) or {}):
        raise MCPError(
            MISSING_REQUIRED_CLIENT_CAPABILITY,
            f"A client says in its capabilities that it knows {EXTENSION}.",
            {"requiredCapabilities": {"extensions": {EXTENSION: {}}}},
        )


def listed(
    entries: Sequence[Mapping[str, Any]], cursor: str | None, page: int = _PAGE
) -> dict[str, Any]:
    """A page of skills.

    Raises:
        MCPError: day1 did not make this cursor.
    """
    start = start_of(cursor)
    more = {"nextCursor": str(start + page)} if len(entries) > start + page else {}
    return {"skills": list(entries[start : start + page]), **more, **_KEPT}


def got(entries: Sequence[Mapping[str, Any]], uri: str) -> dict[str, Any]:
    """One skill, by the address of its `SKILL.md`.

    Raises:
        MCPError: there is none.
    """
    for entry in entries:
        if entry["uri"] == uri:
            return {"skill": entry, **_KEPT}
    there = ", ".join(entry["uri"] for entry in entries)
    raise MCPError(INVALID_PARAMS, f"There is no skill {uri[:200]!r}; there are {there}.")
