"""The hooks that `day1 setup` writes: beside those of others, and as clients run them."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from day1.adapters.clients import jsonc
from day1.adapters.clients.hook_table import HOOKS
from day1.adapters.clients.table import BRIEFLY, CLIENTS, INSTRUCTIONS
from day1.formats.events import CLIENTS as HOOKED
from day1.formats.events import EVENTS
from day1.toolsets import TOOLSETS
from tests.engine import needs_files
from tests.flows.opened_store import make
from tests.wires.clients_files import fresh, states, tree
from tests.wires.command_line import ROOT, CommandLine
from tests.wires.hooked import Client

GOLDEN = Path(__file__).with_name("clients")
OTHERS = """{
  // mine
  "model": "x",
  "hooks": {
    "Stop": [
      {"hooks": [{"type": "command", "command": "say done"}]}, // keep
    ],
    "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "day1log x"}]}]
  }
}
"""


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    """A fresh home, and a project; `day1` is on the PATH."""
    return fresh(tmp_path)


def settings(cli: CommandLine, text: str | None = OTHERS) -> Path:
    path = cli.home / ".claude" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    if text is not None:
        path.write_text(text)
    return path


def set_up(cli: CommandLine, hooks: dict[str, Any] | None = None) -> dict[str, Any]:
    """The hooks that setup writes, or makes of these; nothing else is in the file."""
    path = settings(cli, None if hooks is None else json.dumps({"hooks": hooks}, indent=2) + "\n")
    cli("setup", "claude")
    written = json.loads(path.read_bytes())
    assert set(written) == {"hooks"}
    found: dict[str, Any] = written["hooks"]
    return found


def commands(path: Path) -> dict[str, list[str]]:
    """The commands of each event, whatever the shape."""
    hooks: dict[str, Any] = jsonc.value_of(path.read_bytes())["hooks"]
    return {
        event: [
            each["command"]
            for entry in entries
            for each in entry.get("hooks", [entry])
            if "command" in each
        ]
        for event, entries in hooks.items()
    }


def test_every_command_is_an_event_that_there_is() -> None:
    told = {
        name: re.findall(rf'"command": "day1 hook (\S+) --client {name}"', golden.read_text())
        for name in HOOKS
        if (golden := GOLDEN / f"{name}.txt")
    }
    for name, events in told.items():
        assert set(events) <= set(EVENTS), name
        assert len(events) == 2 * len(HOOKS[name].events), "of a user and of a project"
    assert {*HOOKS, "opencode"} == set(HOOKED)
    assert set(CLIENTS) - set(HOOKED) == {"zed"}


def test_claude_asks_the_server_for_what_is_near_a_prompt(cli: CommandLine) -> None:
    path = settings(cli, None)
    cli("setup", "claude")
    ((event, hint),) = [
        (event, each)
        for event, groups in json.loads(path.read_text())["hooks"].items()
        for each in groups[0]["hooks"]
        if each["type"] == "mcp_tool"
    ]
    assert hint["server"] == "day1"
    assert hint["input"]["event"] == event, "it drops an answer that does not name its event"
    tool = TOOLSETS.tools[hint["tool"]]
    assert hint["input"]["session_id"] == "${session_id}"
    assert hint["input"].keys() <= tool.operation.request.model_fields.keys()


def test_hooks_of_others_stay(cli: CommandLine) -> None:
    path = settings(cli)
    cli("setup", "claude")
    found = commands(path)
    assert found["Stop"] == ["say done", "day1 hook turn-end --client claude"]
    assert found["PreToolUse"] == ["day1log x"], "it is not day1"
    lines = iter(path.read_text().splitlines())
    assert all(line.rstrip(",") in (each.rstrip(",") for each in lines) for line in OTHERS.splitlines()[:6])  # fmt: skip
    assert set(states(cli, "claude").values()) == {"same"}
    cli("setup", "claude", "--remove")
    assert path.read_text() == OTHERS


def test_removing_keeps_what_changed_since(cli: CommandLine) -> None:
    path = settings(cli)
    cli("setup", "claude")
    path.write_text(path.read_text().replace('"x"', '"y"'))
    cli("setup", "claude", "--remove")
    assert jsonc.value_of(path.read_bytes()) == {
        "model": "y",
        "hooks": {
            "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
            "PreToolUse": [
                {"matcher": "Bash", "hooks": [{"type": "command", "command": "day1log x"}]}
            ],
        },
    }


def test_what_a_person_chose_in_a_hook_stays(cli: CommandLine) -> None:
    path = settings(cli, None)
    cli("setup", "claude")
    before = json.loads(path.read_text())
    (inner,) = before["hooks"]["Stop"][0]["hooks"]
    inner["timeout"] = 99
    beside = {"type": "command", "command": "say done"}
    before["hooks"]["SessionEnd"][0]["hooks"].append(beside)
    before["hooks"]["Old"] = [{"hooks": [{"command": "day1 hook old --client claude"}]}]
    before["hooks"]["PostCompact"][0]["hooks"][0]["command"] = "/gone/day1 hook x --client claude"
    path.write_text(json.dumps(before, indent=2))
    assert states(cli, "claude", "--check", code=1)["settings.json hooks"] == "changed"
    cli("setup", "claude")
    after = json.loads(path.read_text())
    assert after["hooks"]["Stop"][0]["hooks"][0]["timeout"] == 99
    assert len(after["hooks"]["SessionEnd"]) == 1
    assert "Old" not in after["hooks"], "an earlier day1 listened to it"
    assert commands(path)["PostCompact"] == ["day1 hook compacted --client claude"]
    assert set(states(cli, "claude", "--check").values()) == {"same"}
    cli("setup", "claude", "--remove")
    assert json.loads(path.read_text())["hooks"] == {"SessionEnd": [{"hooks": [beside]}]}


def test_what_an_earlier_day1_wrote_wrongly_is_put_right(cli: CommandLine) -> None:
    right, wrong = set_up(cli), set_up(cli)
    wrong["Stop"][0]["hooks"][0]["async"] = True
    del wrong["UserPromptSubmit"][0]["hooks"][1]["input"]["event"]
    assert set_up(cli, wrong) == right


def test_a_group_that_holds_others_keeps_the_command_and_the_question(cli: CommandLine) -> None:
    right, wrong = set_up(cli), set_up(cli)
    for hooks in (right, wrong):
        beside = {"type": "command", "command": "say asked"}
        hooks["UserPromptSubmit"][0]["hooks"].insert(0, beside)
    del wrong["UserPromptSubmit"][0]["hooks"][2]["input"]["event"]
    wrong["UserPromptSubmit"][0]["hooks"][1]["async"] = True
    assert set_up(cli, wrong) == right


def test_an_entry_of_another_form_becomes_one_that_the_client_reads(cli: CommandLine) -> None:
    right, flat = set_up(cli), set_up(cli)
    flat["UserPromptSubmit"] = [{"command": "day1 hook prompt --client claude"}]
    assert set_up(cli, flat) == right


def test_a_hook_that_stands_twice_is_put_right(cli: CommandLine) -> None:
    once, twice = set_up(cli), set_up(cli)
    twice["Stop"] *= 2
    assert set_up(cli, twice) == once


@pytest.mark.parametrize(
    "command",
    [
        "day1 hook turn-end --client claude; other",
        "day1 hook turn-end --client claude && other",
        "day1 hook turn-end --client claude # mine",
        "day1 hook turn-end --client claude --more",
        "uvx day1 hook turn-end --client claude",
        "cd /x && day1 hook turn-end --client claude",
        "$HOME/bin/day1 hook turn-end --client claude",
    ],
)
def test_a_line_that_a_person_wrote_stays_and_gets_no_second_one(
    cli: CommandLine, command: str
) -> None:
    beside = {"type": "command", "command": "say done"}
    by_hand = [{"hooks": [{"type": "command", "command": command}, beside]}]
    path = settings(cli, json.dumps({"hooks": {"Stop": by_hand}}, indent=2) + "\n")
    before = path.read_bytes()
    assert states(cli, "claude")["settings.json hooks"] == "added"
    assert json.loads(path.read_text())["hooks"]["Stop"] == by_hand
    assert "SessionStart" in commands(path)
    assert "hooks.Stop[0].hooks[0]" in cli("setup", "claude").err
    cli("setup", "claude", "--remove")
    assert path.read_bytes() == before
    assert states(cli, "claude", "--remove")["settings.json hooks"] == "kept"


@pytest.mark.parametrize("text", ['{"hooks": []}', '{"hooks": {"Stop": {}}}', '{"hooks": 7}', "{"])
def test_hooks_of_another_form_are_never_touched(cli: CommandLine, text: str) -> None:
    path = settings(cli, text)
    assert states(cli, "claude", code=1)["settings.json hooks"] == "refused"
    assert path.read_text() == text
    assert "turn-end" in cli("setup", "claude", code=1).err, "it says what to add"


def test_without_hooks_the_instructions_say_more(cli: CommandLine) -> None:
    cli("setup", "claude", "gemini", "opencode", "--no-hooks")
    assert not [name for name in tree(cli.home) if "hooks" in name or "plugins" in name]
    assert "hook" not in (cli.home / ".gemini" / "settings.json").read_text()
    notes = cli.home / ".claude" / "CLAUDE.md"
    assert INSTRUCTIONS.strip() in notes.read_text()
    assert set(states(cli, "claude", "gemini", "--no-hooks").values()) == {"same"}
    cli("setup", "claude", "gemini", "opencode")
    assert BRIEFLY.strip() in notes.read_text()
    assert "hook" in (cli.home / ".gemini" / "settings.json").read_text()
    cli("setup", "claude", "gemini", "opencode", "--remove", "--no-hooks")
    assert tree(cli.home) == {}, "to remove means hooks too"


def test_a_plugin_of_that_name_which_is_not_day1s_stays(cli: CommandLine) -> None:
    path = cli.home / ".config" / "opencode" / "plugins" / "day1.ts"
    path.parent.mkdir(parents=True)
    path.write_text("export const Mine = 1\n")
    assert states(cli, "opencode", code=1)["day1.ts plugin day1"] == "refused"
    assert states(cli, "opencode", "--remove", code=1)["day1.ts plugin day1"] == "refused"
    assert path.read_text() == "export const Mine = 1\n"


def test_a_client_that_runs_what_was_written_is_heard(tmp_path: Path) -> None:
    """Each command as it stands in the file, through a shell, with the client's words."""
    needs_files()
    client = Client(tmp_path / "client")
    make(client.store)
    cli = fresh(tmp_path / "setup")
    program = cli.home.parent / "bin" / "day1"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m day1 "$@"\n')
    cli("setup", *HOOKS)
    client.env["PATH"] = f"{program.parent}:/usr/bin:/bin"
    said = json.dumps({"session_id": "one", "prompt": "p", "cwd": str(client.project)})
    for count, (name, hooks) in enumerate(HOOKS.items(), start=1):
        place = hooks.user.replace("{claude_folder}", ".claude").replace("{codex}", ".codex")
        found = commands(cli.home / place.replace("{home}/", ""))
        assert found.keys() == hooks.events.keys()
        (command,) = found[list(found)[-1]]
        done = subprocess.run(
            command, shell=True, cwd=client.project, env=client.env, input=said.encode(),
            capture_output=True, check=True,
        )  # fmt: skip
        assert done.stdout.strip() in {b"", b"{}"}, name
        assert len(client.lines()) == count


FIRST = """
import plugin from "./day1.mjs"
const parts = (text) => [{ type: "text", text }, { type: "text", text: "hidden", synthetic: true }]
const messages = [
  { info: { id: "u1", role: "user" }, parts: parts("Where do swallows sleep?") },
  { info: { id: "s1", role: "assistant", summary: true }, parts: parts("Of swallows.") },
  { info: { id: "u2", role: "user" }, parts: [parts("")[1]] },
  { info: { id: "a1", role: "assistant", modelID: "m" }, parts: parts("In reeds.") },
]
const client = { session: { messages: async () => ({ data: messages }) } }
const hooks = await plugin.server({ client, directory: process.argv[2] })
const system = { system: [] }
await hooks["experimental.chat.system.transform"]({ sessionID: "s" }, system)
await hooks["experimental.chat.system.transform"]({ sessionID: "s" }, system)
for (const type of ["session.idle", "session.compacted", "nonsense"])
  await hooks.event({ event: { type, properties: { sessionID: "s" } } })
await hooks.event({ event: { type: "session.deleted", properties: { info: { id: "s" } } } })
console.log(JSON.stringify(system.system))
"""
SECOND = """
import plugin from "./day1.mjs"
const hooks = {}, sessionID = "s", system = []
const hook = async (name, does) => (hooks[name] = does)
let go, over
const asked = new Promise((done) => (go = done)), all = new Promise((done) => (over = done))
async function* subscribe() {
  await asked
  yield { type: "session.text.ended", data: { sessionID, assistantMessageID: "a0", text: "Hm." } }
  yield { type: "session.text.ended", data: { sessionID, assistantMessageID: "a1", text: "In reeds." } }
  yield { type: "session.idle", data: { sessionID } }
  yield { type: "session.compaction.ended", data: { sessionID, text: "Of swallows." } }
  yield { type: "nonsense", data: {} }
  yield { type: "session.deleted", data: { sessionID } }
  over()
}
const location = { directory: process.argv[2] }
await plugin.setup({ location, session: { hook }, event: { subscribe } })
await hooks.context({ sessionID, system })
await hooks.compaction({ sessionID, system })
await hooks.prompt({ sessionID, messageID: "u1", prompt: { text: "Where do swallows sleep?" } })
go()
await all
console.log(JSON.stringify(system.map((part) => part.text)))
"""


@pytest.mark.parametrize("driver", [FIRST, SECOND], ids=["opencode 1", "opencode 2"])
@pytest.mark.parametrize("works", [True, False])
def test_the_plugin_of_opencode_tells_and_injects(tmp_path: Path, works: bool, driver: str) -> None:
    if shutil.which("node") is None:
        pytest.skip("node is not installed: the plugin of opencode is JavaScript")
    needs_files()
    client = Client(tmp_path / "client")
    make(client.store)
    cli = fresh(tmp_path / "setup")
    program = cli.home.parent / "bin" / "day1"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m day1 "$@"\n')
    cli("setup", "opencode", "--project")
    shutil.copy(cli.folder / ".opencode" / "plugins" / "day1.ts", tmp_path / "day1.mjs")
    (tmp_path / "driver.mjs").write_text(driver)
    paths = [str(program.parent)] if works else []
    node = str(Path(str(shutil.which("node"))).parent)
    env = {**client.env, "PATH": os.pathsep.join([*paths, node, "/usr/bin", "/bin"])}
    done = subprocess.run(
        ["node", str(tmp_path / "driver.mjs"), str(client.project)],
        env=env, cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    said = json.loads(done.stdout)
    if not works:
        assert said == []
        assert client.lines() == []
        return
    assert len(said) == 2, "each call has a fresh list"
    assert all("<day1-memory" in text for text in said)
    told = [(line["event"], line.get("turn"), line.get("text")) for line in client.lines()]
    assert told == [
        ("session-start", None, None),
        ("prompt", "u1", "Where do swallows sleep?"),
        ("turn-end", "a1", "In reeds."),
        ("compacted", "s1" if driver is FIRST else None, "Of swallows."),
        ("session-end", None, None),
    ]


def test_a_store_for_where_no_project_is_is_made_only_if_it_is_asked_for(cli: CommandLine) -> None:
    store = cli.home / ".day1" / "memory.db"
    cli("setup", "claude")
    cli("setup", "claude", "--everywhere", "--check", code=1)
    assert not store.exists()
    assert "~/.day1 was made" in cli("setup", "claude", "--everywhere").err
    cli("setup", "claude", "--everywhere", "--check")
    cli("setup", "claude", "--everywhere", "--remove")
    assert store.exists(), "memory is never taken out"
