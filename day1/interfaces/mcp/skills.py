"""Skills over MCP: the extension `io.modelcontextprotocol/skills` (SEP-2640).

A skill is a folder with a `SKILL.md`, which tells an agent how to do something with day1. The same
folders are in the plugin. A client of the 2026 protocol that knows the extension can list the
skills with digests of their files. Any client can read the files as resources.
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
"""The name of MCP's extension for skills."""
FOLDER: Final = Path(__file__).parents[2] / "skills"
"""The folder of all skills."""
MARKDOWN: Final = "text/markdown"
_MAIN: Final = "SKILL.md"
_PAGE: Final = 100
"""Skills on a page of the list."""
FRESH_MS: Final = 3_600_000
"""Milliseconds for which a client may cache what changes only with the program."""
_CACHE_HINTS: Final = {"ttlMs": FRESH_MS, "cacheScope": "public"}
"""The fields of an answer about skills that let a client cache it."""


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill and its files."""

    uri: str
    """The address of its `SKILL.md`."""
    frontmatter: Mapping[str, str]
    files: Mapping[str, bytes]
    """Contents by address, `SKILL.md` first."""

    @property
    def entry(self) -> dict[str, Any]:
        """The skill's entry for the extension: address, frontmatter, digests of its files."""
        file_entries = [
            {"uri": uri, "digest": f"sha256:{sha256(content).hexdigest()}", "size": len(content)}
            for uri, content in self.files.items()
        ]
        return {"uri": self.uri, "frontmatter": dict(self.frontmatter), "resources": file_entries}


@cache
def skill(name: str) -> Skill:
    """Read the skill in the folder of this name."""
    folder = FOLDER / name
    relative_paths = sorted(
        file_path.relative_to(folder).as_posix()
        for file_path in folder.rglob("*")
        if file_path.is_file()
    )
    relative_paths.sort(key=lambda path: path != _MAIN)
    files = {f"skill://{name}/{path}": (folder / path).read_bytes() for path in relative_paths}
    uri = f"skill://{name}/{_MAIN}"
    return Skill(uri, _frontmatter(files[uri].decode()), files)


def _frontmatter(text: str) -> dict[str, str]:
    """Parse the lines between the first two `---`: a key and a plain text in each."""
    return dict(line.split(": ", 1) for line in text.split("---\n", 2)[1].splitlines())


def contents(names: Sequence[str]) -> dict[str, TextResourceContents]:
    """Return the files of skills as resources, by address."""
    return {
        uri: TextResourceContents(uri=uri, mime_type=MARKDOWN, text=content.decode())
        for name in names
        for uri, content in skill(name).files.items()
    }


class _Named(RequestParams):
    uri: str


def add_skills(server: Server[Any], names: Sequence[str]) -> None:
    """Add the extension's methods to a server; without skills, add nothing."""
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
    """Refuse a client of the 2025 protocol, or one that does not declare the extension.

    Raises:
        MCPError: the client is refused.
    """
    if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        raise MCPError(METHOD_NOT_FOUND, "Method not found", ctx.method)
    client_capabilities = ctx.session.client_capabilities
    if EXTENSION not in ((client_capabilities and client_capabilities.extensions) or {}):
        raise MCPError(
            MISSING_REQUIRED_CLIENT_CAPABILITY,
            f"This client did not declare {EXTENSION}: declare it in its capabilities.",
            {"requiredCapabilities": {"extensions": {EXTENSION: {}}}},
        )


def listed(
    entries: Sequence[Mapping[str, Any]], cursor: str | None, page: int = _PAGE
) -> dict[str, Any]:
    """Return one page of the list of skills.

    Raises:
        MCPError: day1 did not make this cursor.
    """
    page_start = start_of(cursor)
    cursor_field = (
        {"nextCursor": str(page_start + page)} if len(entries) > page_start + page else {}
    )
    return {"skills": list(entries[page_start : page_start + page]), **cursor_field, **_CACHE_HINTS}


def got(entries: Sequence[Mapping[str, Any]], uri: str) -> dict[str, Any]:
    """Return the skill with this address of its `SKILL.md`.

    Raises:
        MCPError: no skill has this address.
    """
    for entry in entries:
        if entry["uri"] == uri:
            return {"skill": entry, **_CACHE_HINTS}
    known_uris = ", ".join(entry["uri"] for entry in entries)
    raise MCPError(INVALID_PARAMS, f"There is no skill {uri[:200]!r}; there are {known_uris}.")
