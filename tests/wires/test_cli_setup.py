"""`day1 setup`: what it writes for each client, and that it harms nothing that others wrote.

What each client gets is in `clients/NAME.txt`, file by file.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from day1.adapters.clients.table import BRIEFLY, CLIENTS, INSTRUCTIONS
from day1.toolsets import TOOLSETS
from tests.wires.clients_files import COMMENTED, TOML, codex, fresh, states, tree, zed
from tests.wires.command_line import CommandLine

GOLDEN = Path(__file__).with_name("clients")


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    """A fresh home, and a project; `day1` is on the PATH."""
    return fresh(tmp_path)


# Every client


@pytest.mark.parametrize("client", CLIENTS)
def test_what_a_client_gets(cli: CommandLine, client: str) -> None:
    cli("setup", client)
    cli("setup", client, "--project")
    told = [f"== ~/{name}\n{data.decode()}" for name, data in tree(cli.home).items()]
    told += [f"== project/{name}\n{data.decode()}" for name, data in tree(cli.folder).items()]
    golden = GOLDEN / f"{client}.txt"
    if os.environ.get("DAY1_TEST_WRITE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text("\n".join(told))
    assert "\n".join(told) == golden.read_text()


@pytest.mark.parametrize("scope", ["--user", "--project"])
def test_twice_changes_nothing_and_removing_leaves_nothing(cli: CommandLine, scope: str) -> None:
    every = [*CLIENTS, scope]
    empty = tree(cli.home) | tree(cli.folder)
    assert set(states(cli, *every, "--check", code=1).values()) == {"added"}
    assert tree(cli.home) | tree(cli.folder) == empty, "to check writes nothing"
    cli("setup", *every)
    first = tree(cli.home) | tree(cli.folder)
    assert set(states(cli, *every).values()) == {"same"}
    assert set(states(cli, *every, "--check").values()) == {"same"}
    assert tree(cli.home) | tree(cli.folder) == first
    assert set(states(cli, *every, "--remove").values()) == {"removed"}
    assert tree(cli.home) | tree(cli.folder) == empty
    assert set(states(cli, *every, "--remove").values()) == {"absent"}


def test_what_is_written_is_what_a_client_reads_and_starts(cli: CommandLine) -> None:
    cli("setup", *CLIENTS)
    for name, client in CLIENTS.items():
        place = Path(
            client.user.servers[0]
            .format(claude="", home="", codex=".codex", config=".config", code=".config/Code")
            .lstrip("/")
        )
        text = (cli.home / place).read_text()
        entry = tomllib.loads(text) if client.format == "toml" else json.loads(text)
        entry = entry[client.key]["day1"]
        command = entry["command"]
        words = command if isinstance(command, list) else [command, *entry["args"]]
        assert words[:2] == ["day1", "mcp"], name
        if client.tools:
            assert words[2:] == ["--tools", client.tools]


def test_every_tool_of_the_instructions_is_one_of_every_day() -> None:
    daily = {tool.name for tool in TOOLSETS.choose("core14")}
    for text in (INSTRUCTIONS, BRIEFLY):
        named = set(re.findall(r"`(memory_\w+)`", text))
        assert named
        assert named <= daily
    assert len(BRIEFLY) < len(INSTRUCTIONS) < 1_000


def test_without_day1_on_the_path_a_users_entry_says_where_it_is(cli: CommandLine) -> None:
    cli.env["PATH"] = "/usr/bin:/bin"
    beside = Path(sys.executable).with_name("day1")
    if not beside.is_file():
        pytest.skip("day1 is not installed beside this Python")
    cli("setup", "zed")
    entry = json.loads(zed(cli, None).read_text())["context_servers"]["day1"]
    assert entry["command"] == str(beside)
    cli("setup", "zed")
    assert set(states(cli, "zed", "--check").values()) == {"same"}
    assert "not on the PATH" in cli("setup", "zed", "--project").err
    project = json.loads((cli.folder / ".zed" / "settings.json").read_text())
    assert project["context_servers"]["day1"]["command"] == "day1", "others have it elsewhere"


def test_the_help_names_every_client(cli: CommandLine) -> None:
    shown = cli("setup", "--help").out
    assert [name for name in CLIENTS if name not in shown] == []
    assert "there are: claude, codex" in cli("setup", "emacs", code=2).err


# What others wrote stays


@pytest.mark.parametrize("line", [b"\n", b"\r\n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("ends", [True, False])
def test_comments_order_and_line_ends_stay(
    cli: CommandLine, line: bytes, bom: bytes, ends: bool
) -> None:
    def formed(text: bytes) -> bytes:
        return bom + (text if ends else text.rstrip()).replace(b"\n", line)

    before = formed(COMMENTED), formed(TOML)
    files = zed(cli, before[0]), codex(cli, before[1])
    cli("setup", "zed", "codex")
    after = [file.read_bytes() for file in files]
    for was, now in zip(before, after, strict=True):
        assert now != was
        lines = iter(now.split(line))
        assert all(each in lines for each in was.split(line)), "others' lines, in their order"
        assert now.count(b"\n") == now.count(line)
    assert set(states(cli, "zed", "codex").values()) == {"same"}
    cli("setup", "zed", "codex", "--remove")
    assert tuple(file.read_bytes() for file in files) == before


def test_removing_keeps_what_changed_since(cli: CommandLine) -> None:
    settings, config = zed(cli), codex(cli)
    cli("setup", "zed", "codex")
    settings.write_bytes(settings.read_bytes().replace(b"One Dark", b"Ayu"))
    config.write_bytes(config.read_bytes() + b"\n[later]\ny = 2\n")
    notes = cli.home / ".codex" / "AGENTS.md"
    notes.write_text(notes.read_text() + "\nMine.\n")
    cli("setup", "zed", "codex", "--remove")
    assert settings.read_bytes() == COMMENTED.replace(b"One Dark", b"Ayu")
    assert config.read_bytes() == TOML + b"\n[later]\ny = 2\n"
    assert notes.read_text() == "\nMine.\n"


def test_another_server_of_the_name_stays(cli: CommandLine) -> None:
    foreign = b'{"context_servers": {"day1": {"command": "other", "args": ["mcp"]}}}'
    path = zed(cli, foreign)
    assert states(cli, "zed", code=1)["settings.json context_servers.day1"] == "refused"
    answer = cli("setup", "zed", code=1)
    assert "does not start day1" in answer.err
    assert '"command": "day1"' in answer.err, "it says what to add"
    assert states(cli, "zed", "--remove", code=1)["settings.json context_servers.day1"] == "refused"
    assert path.read_bytes() == foreign


def test_what_a_person_chose_in_the_entry_stays(cli: CommandLine) -> None:
    own = {
        "command": "day1",
        "args": ["mcp", "--toolsets", "core,review"],
        "env": {"X": "1", "DAY1_AGENT_ID": "mine"},
    }
    path = zed(cli, json.dumps({"context_servers": {"day1": own}}).encode())
    cli("setup", "zed")
    entry = json.loads(path.read_bytes())["context_servers"]["day1"]
    assert entry == {**own, "source": "custom"}
    cli("setup", "zed", "--tools", "core14")
    entry = json.loads(path.read_bytes())["context_servers"]["day1"]
    assert entry["args"] == ["mcp", "--tools", "core14"]
    assert entry["env"] == own["env"]
    cli("setup", "zed")
    assert json.loads(path.read_bytes())["context_servers"]["day1"] == entry


LAUNCHERS = [
    ["uvx", "day1", "mcp"],
    ["wsl", "-e", "day1", "mcp"],
    ["${workspaceFolder}/.venv/bin/day1", "mcp"],
    [".venv/bin/day1", "mcp"],
    ["~/bin/day1", "mcp", "--tools", "core14"],
    ["C:\\tools\\day1.exe", "mcp"],
    ["day1", "mcp"],
]


@pytest.mark.parametrize("words", LAUNCHERS, ids=[words[0] for words in LAUNCHERS])
def test_an_entry_that_a_person_wrote_stays(cli: CommandLine, words: list[str]) -> None:
    entry: dict[str, Any] = {"command": words[0], "args": words[1:]}
    if words[0] != "day1":
        entry["env"] = {"DAY1_AGENT_ID": "zed"}
    text = json.dumps({"context_servers": {"day1": entry}}).encode()
    path = zed(cli, text)
    for more in (["--check"], ["--tools", "core14"], ["--remove"]):
        (file,) = cli.json("setup", "zed", *more)["files"]
        assert file["state"] == "kept"
        assert "context_servers.day1: not in the form of `day1 setup`" in file["why"]
    assert path.read_bytes() == text


def test_what_cannot_be_found_from_here_is_no_fault_of_the_entry(cli: CommandLine) -> None:
    cli("setup", "zed", "claude")
    before = tree(cli.home)
    cli.env["PATH"] = "/usr/bin:/bin"
    assert set(states(cli, "zed", "claude").values()) == {"same"}
    assert tree(cli.home) == before


def test_a_path_in_the_file_of_a_project_stays(cli: CommandLine) -> None:
    """It may be right on another machine, or in a container."""
    entry = {"command": "/opt/day1", "args": ["mcp"], "env": {"DAY1_AGENT_ID": "claude-code"}}
    path = cli.folder / ".mcp.json"
    path.write_text(json.dumps({"mcpServers": {"day1": entry}}))
    assert states(cli, "claude", "--project")[".mcp.json mcpServers.day1"] == "kept"
    assert json.loads(path.read_text())["mcpServers"]["day1"] == entry


def test_a_program_that_is_gone_is_put_right(cli: CommandLine) -> None:
    text = (
        b'[mcp_servers.day1]\ncommand = "/gone/day1" # old\nargs = ["mcp"]\n'
        b'env = {DAY1_AGENT_ID = "codex", X = "1"}\n'
    )
    path = codex(cli, text)
    assert states(cli, "codex", "--check", code=1)["config.toml mcp_servers.day1"] == "changed"
    cli("setup", "codex")
    assert path.read_bytes() == text.replace(b"/gone/day1", b"day1")


def test_comments_around_an_entry_stay_when_it_goes(cli: CommandLine) -> None:
    text = (
        b'# above\n[mcp_servers.day1]\n# mine\ncommand = "day1" # why\nargs = ["mcp"]\n'
        b'[mcp_servers.day1.env]\nDAY1_AGENT_ID = "codex" # who\n\n# after\n[tui]\nx = 1 # last\n'
    )
    path = codex(cli, text)
    assert states(cli, "codex", "--dry-run")["config.toml mcp_servers.day1"] == "same"
    assert states(cli, "codex", "--remove")["config.toml mcp_servers.day1"] == "removed"
    assert path.read_bytes() == (
        b"# above\n# mine\n # why\n # who\n\n# after\n[tui]\nx = 1 # last\n"
    )


def test_instructions_that_two_clients_share_stay_while_one_needs_them(cli: CommandLine) -> None:
    notes = cli.folder / "AGENTS.md"
    notes.write_text("# Ours")
    cli("setup", "codex", "opencode", "--project")
    assert notes.read_text().count("BEGIN day1") == 1
    cli("setup", "codex", "--project", "--remove")
    assert "BEGIN day1" in notes.read_text()
    cli("setup", "opencode", "--project", "--remove")
    assert notes.read_text() == "# Ours"


def test_an_older_section_is_replaced_in_its_place(cli: CommandLine) -> None:
    notes = cli.folder / "CLAUDE.md"
    cli("setup", "claude", "--project")
    fresh = notes.read_text()
    old = "Above.\n\n<!-- BEGIN day1 (older) -->\nold\n<!-- END day1 -->\n\nBelow.\n"
    notes.write_text(old)
    cli("setup", "claude", "--project")
    assert notes.read_text() == f"Above.\n\n{fresh}\nBelow.\n"


# Looking, choosing


@pytest.mark.parametrize("look", ["--dry-run", "--print", "--check"])
def test_looking_writes_nothing(cli: CommandLine, look: str) -> None:
    zed(cli)

    def state() -> dict[Path, tuple[int, ...]]:
        found = {path: path.lstat() for path in cli.home.rglob("*")}
        return {path: (s.st_ino, s.st_mode, s.st_mtime_ns) for path, s in found.items()}

    before = state()
    answer = cli("setup", "zed", look, code=1 if look == "--check" else 0)
    assert ('"command": "day1"' in answer.out) == (look == "--print")
    assert state() == before


def test_no_client_named_means_those_that_are_found(cli: CommandLine) -> None:
    assert "No client is found" in cli("setup", code=1).err
    (cli.home / ".codex").mkdir()
    (cli.home.parent / "bin" / "gemini").write_text("#!/bin/sh\n")
    (cli.home.parent / "bin" / "gemini").chmod(0o755)
    assert "Found: Codex CLI, Gemini CLI" in cli("setup", "--check", code=1).err
    with cli.terminal("setup") as terminal:
        terminal.wait_for("Go on with these?")
        terminal.press("n\n")
        assert terminal.end() == 130
    assert tree(cli.home) == {}
    with cli.terminal("setup") as terminal:
        terminal.wait_for("Go on with these?")
        terminal.press("y\n")
        assert terminal.end() == 0
    assert sorted(tree(cli.home)) == [
        ".codex/AGENTS.md", ".codex/config.toml", ".codex/hooks.json", ".gemini/GEMINI.md",
        ".gemini/settings.json",
    ]  # fmt: skip


def test_folders_that_the_environment_names_are_used(cli: CommandLine) -> None:
    for name in ("CODEX_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR"):
        cli.env[name] = str(cli.home / name)
    cli("setup", "codex", "zed", "claude", "vscode")
    assert set(tree(cli.home)) == {
        "CODEX_HOME/config.toml", "CODEX_HOME/AGENTS.md", "XDG_CONFIG_HOME/zed/settings.json",
        "CLAUDE_CONFIG_DIR/.claude.json", "CLAUDE_CONFIG_DIR/CLAUDE.md",
        "CLAUDE_CONFIG_DIR/settings.json", "CODEX_HOME/hooks.json", ".copilot/hooks/day1.json",
        "XDG_CONFIG_HOME/Code/User/mcp.json",
    }  # fmt: skip


def test_the_project_is_the_whole_worktree(cli: CommandLine) -> None:
    subprocess.run(["git", "init", "-q", str(cli.folder)], check=True)
    top, cli.folder = cli.folder, cli.folder / "deep"
    cli.folder.mkdir()
    cli("setup", "claude", "--project")
    assert (top / ".mcp.json").is_file()


def test_tools_that_there_are_not_are_refused(cli: CommandLine) -> None:
    assert cli.refused("setup", "zed", "--tools", "core15")["code"] == "not_found"
    assert tree(cli.home) == {}


def test_setup_needs_no_store_and_makes_none(cli: CommandLine) -> None:
    cli("setup", "claude")
    assert not (cli.home / ".day1").exists()
    assert cli.json("where")["exists"] == bool(
        os.environ.get("DAY1_STORE__URL") or cli.env.get("DAY1_STORE__URL")
    )


def test_the_editors_are_loaded_by_setup_alone(cli: CommandLine) -> None:
    for command in (["--help"], ["where"], ["setup", "--help"]):
        code = (
            "import atexit, sys; from day1.app.cli import main; "
            "atexit.register(lambda: print(*sys.modules, sep='\\n', file=sys.stderr)); main()"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, *command], cwd=cli.folder, env=cli.env,
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        loaded = set(done.stderr.splitlines())
        assert not {"tree_sitter", "day1.adapters.clients.setup"} & loaded
