"""The plugin folder is what the program says, and fits what each client and registry asks."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from day1.version import __version__
from tests.wires.command_line import CommandLine

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "plugin"
OPEN = ROOT / "plugin-open"
SCRIPT = [sys.executable, str(ROOT / "scripts" / "build_plugin.py")]
MANIFESTS = [
    OPEN / "plugin.json",
    *(PLUGIN / f".{name}-plugin" / "plugin.json" for name in ("claude", "codex", "cursor")),
]


def read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def test_the_plugin_is_what_the_program_says() -> None:
    done = subprocess.run([*SCRIPT, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout}: run scripts/build_plugin.py"


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.parent.name)
def test_a_manifest_names_what_is_there(path: Path) -> None:
    manifest = read(path)
    assert re.fullmatch(r"[a-z0-9]([a-z0-9.-]{0,62}[a-z0-9])?", manifest["name"])
    assert manifest["version"] == __version__
    for key in {"skills", "mcpServers", "hooks"} & manifest.keys():
        assert (PLUGIN / manifest[key]).exists(), "paths begin at the plugin's folder"


def test_the_open_format_has_its_fields_and_no_others() -> None:
    """Agent Plugins 1.0.0: both files are closed."""
    manifest, servers = read(OPEN / "plugin.json"), read(OPEN / "mcp.json")
    base = "https://agent-plugins.org/schemas/1.0.0"
    assert manifest.keys() <= {
        "$schema", "name", "version", "description", "author", "homepage", "repository",
        "license", "keywords", "extensions",
    }  # fmt: skip
    assert servers.keys() == {"$schema", "mcpServers"}
    schemas = manifest["$schema"], servers["$schema"]
    assert schemas == (f"{base}/plugin.schema.json", f"{base}/mcp.schema.json")
    for server in servers["mcpServers"].values():
        assert {"type", "command"} <= server.keys() <= {"type", "command", "args", "env", "cwd"}


def test_the_open_format_stands_apart() -> None:
    """Codex 0.169 reads nothing of its own beside it: no hooks, and a server without the project."""
    assert not (PLUGIN / "plugin.json").exists()
    assert sorted(path.name for path in OPEN.iterdir()) == ["mcp.json", "plugin.json", "skills"]


def test_every_client_starts_a_server_that_there_is(tmp_path: Path) -> None:
    cli = CommandLine(tmp_path)
    files = [OPEN / "mcp.json", *PLUGIN.glob(".*/mcp.json"), PLUGIN / ".mcp.json"]
    assert len(files) == 4
    for path in files:
        (server,) = read(path)["mcpServers"].values()
        assert (server["command"], server["args"]) == ("day1", ["mcp"])
    cli("mcp", "--help")


@pytest.mark.parametrize(
    ("path", "client"),
    [
        ("hooks/hooks.json", "claude"),
        (".codex-plugin/hooks.json", "codex"),
        (".cursor-plugin/hooks.json", "cursor"),
    ],
)
def test_a_plugin_has_the_hooks_of_the_clients_settings(path: str, client: str) -> None:
    golden = (ROOT / "tests" / "wires" / "clients" / f"{client}.txt").read_text("utf-8")
    found = (PLUGIN / path).read_text("utf-8").replace("plugin:day1:day1", "day1")
    assert found in golden


def test_the_marketplaces_lead_to_the_plugin() -> None:
    (claude,) = read(ROOT / ".claude-plugin" / "marketplace.json")["plugins"]
    (codex,) = read(ROOT / ".agents" / "plugins" / "marketplace.json")["plugins"]
    assert (
        (ROOT / claude["source"]).resolve() == (ROOT / codex["source"]["path"]).resolve() == PLUGIN
    )


def test_the_registrys_entry_keeps_its_rules() -> None:
    done = subprocess.run([*SCRIPT, "--server-json", "someone"], capture_output=True, check=True)
    entry = json.loads(done.stdout)
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", entry["name"])
    assert entry["name"] == "io.github.someone/day1"
    assert 1 <= len(entry["description"]) <= 100
    assert entry["repository"].keys() == {"url", "source"}
    (package,) = entry["packages"]
    assert {"registryType", "identifier", "version", "transport"} <= package.keys()
    assert entry["version"] == package["version"] == __version__
    assert package["version"] != "latest"
    assert package["transport"] == {"type": "stdio"}
    assert [each["value"] for each in package["packageArguments"]] == ["mcp"]
    assert all(each["type"] == "positional" for each in package["packageArguments"])
    for variable in package["environmentVariables"]:
        assert f"`{variable['name']}`" in (ROOT / "docs" / "settings.md").read_text("utf-8")
        assert variable.get("format", "string") in {"string", "number", "boolean", "filepath"}
