#!/usr/bin/env python3
"""Write the plugin folders and their marketplaces from the program; with --check, only compare.

With `--server-json OWNER` print the entry for the MCP registry: the name there begins with the
owner of the repository, so it is made when the owner publishes.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from day1.adapters.clients.hook_edits import HooksEdit
from day1.adapters.clients.hook_table import HOOKS
from day1.adapters.clients.table import CLIENTS, SERVER
from day1.formats.events import agent_of
from day1.version import __version__

ROOT = Path(__file__).resolve().parent.parent
PLUGIN = "plugin"
AGENT_PLUGIN = "plugin-open"
"""The open format has a folder of its own: Codex reads nothing else where it finds a `plugin.json`,
and that one has no hooks, and starts servers in the plugin's folder."""
ABOUT = "Git for agent memory: remember, branch, review, merge, travel in time."
OPEN = "https://agent-plugins.org/schemas/1.0.0"
REGISTRY = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
COMMON = {"name": SERVER, "version": __version__, "description": ABOUT, "license": "Apache-2.0"}


def files() -> dict[str, str]:
    """Every generated file by its path in the repository, with its text."""
    documents = {
        f"{AGENT_PLUGIN}/plugin.json": {"$schema": f"{OPEN}/plugin.schema.json", **COMMON},
        f"{AGENT_PLUGIN}/mcp.json": {"$schema": f"{OPEN}/mcp.schema.json", **server(None)},
        f"{PLUGIN}/.claude-plugin/plugin.json": {**COMMON, "author": {"name": SERVER}},
        f"{PLUGIN}/.mcp.json": server("claude"),
        f"{PLUGIN}/hooks/hooks.json": hooks("claude"),
        f"{PLUGIN}/.codex-plugin/plugin.json": {
            **COMMON,
            "skills": "./skills/",
            "mcpServers": "./.codex-plugin/mcp.json",
            "hooks": "./.codex-plugin/hooks.json",
            "interface": {"displayName": SERVER},
        },
        f"{PLUGIN}/.codex-plugin/mcp.json": server("codex"),
        f"{PLUGIN}/.codex-plugin/hooks.json": hooks("codex"),
        f"{PLUGIN}/.cursor-plugin/plugin.json": {
            **COMMON,
            "skills": "./skills/",
            "mcpServers": "./.cursor-plugin/mcp.json",
            "hooks": "./.cursor-plugin/hooks.json",
        },
        f"{PLUGIN}/.cursor-plugin/mcp.json": server("cursor"),
        f"{PLUGIN}/.cursor-plugin/hooks.json": hooks("cursor"),
        ".claude-plugin/marketplace.json": {
            "name": SERVER,
            "description": ABOUT,
            "owner": {"name": SERVER},
            "plugins": [{"name": SERVER, "source": f"./{PLUGIN}", "description": ABOUT}],
        },
        ".agents/plugins/marketplace.json": {
            "name": SERVER,
            "interface": {"displayName": SERVER},
            "plugins": [
                {
                    "name": SERVER,
                    "source": {"source": "local", "path": f"./{PLUGIN}"},
                    "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"},
                    "category": "Productivity",
                }
            ],
        },
    }
    return {
        **skills(),
        **{path: json.dumps(found, indent=2) + "\n" for path, found in documents.items()},
    }


def skills() -> dict[str, str]:
    """The skills, which the server gives to clients too."""
    folder = ROOT / "day1" / "skills"
    return {
        f"{place}/skills/{path.relative_to(folder).as_posix()}": path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*.md"))
        for place in (PLUGIN, AGENT_PLUGIN)
    }


def server(client: str | None) -> dict[str, Any]:
    """The server as a client's plugin names it; None: any client."""
    entry: dict[str, Any] = {"type": "stdio", "command": "day1", "args": ["mcp"]}
    if client is not None:
        agent = agent_of(client)
        entry = {"type": "stdio", **CLIENTS[client].entry(["day1", "mcp"], agent)}
    return {"mcpServers": {SERVER: entry}}


def hooks(client: str) -> dict[str, Any]:
    """The hooks of a client's plugin, which are those of its settings."""
    text = HooksEdit(client, ROOT, HOOKS[client], SERVER).shown()
    renamed = text.replace(f'"server": "{SERVER}"', f'"server": "plugin:{SERVER}:{SERVER}"')
    hooks_document: dict[str, Any] = json.loads(renamed)
    return hooks_document


def server_json(owner: str, repository: str) -> dict[str, Any]:
    """The entry for the MCP registry."""
    return {
        "$schema": REGISTRY,
        "name": f"io.github.{owner}/{SERVER}",
        "description": ABOUT,
        "version": __version__,
        "repository": {"url": repository, "source": "github"},
        "packages": [
            {
                "registryType": "pypi",
                "identifier": SERVER,
                "version": __version__,
                "runtimeHint": "uvx",
                "packageArguments": [{"type": "positional", "value": "mcp"}],
                "environmentVariables": [
                    {"name": "DAY1_AGENT_ID", "description": "The agent that writes."},
                    {
                        "name": "DAY1_HOME",
                        "description": "The store's folder.",
                        "format": "filepath",
                    },
                ],
                "transport": {"type": "stdio"},
            }
        ],
    }


def main() -> int:
    """Write, or compare and say what differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="only compare")
    parser.add_argument("--server-json", metavar="OWNER", help="print the registry's entry")
    options = parser.parse_args()
    if options.server_json:
        url = f"https://github.com/{options.server_json}/{SERVER}"
        print(json.dumps(server_json(options.server_json, url), indent=2))
        return 0
    stale_files = []
    for name, text in files().items():
        path = ROOT / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale_files.append(name)
            if not options.check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
    if stale_files:
        print(f"{'stale' if options.check else 'wrote'}: {', '.join(stale_files)}")
    return 1 if stale_files and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
