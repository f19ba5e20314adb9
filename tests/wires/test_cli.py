"""The command line as a person, a script and a pipe meet it: help, exit codes, terminals."""

import json
import subprocess
import sys

import click
import pytest

from day1.app.cli import main
from day1.interfaces.cli import main as command_line
from tests.engine import needs_files
from tests.wires.command_line import CommandLine

PROMISED = (
    *(
        "init",
        "status",
        "where",
        "hook",
        "prime",
        "setup",
        "add",
        "edit",
        "rm",
        "search",
        "log",
        "show",
        "diff",
        "branch",
        "switch",
    ),
    *("merge", "cherry-pick", "snapshot", "restore", "topology", "import", "export", "model"),
    *("doctor", "gc", "mcp", "call", "held", "task", "template", "handoff", "bundle", "verify"),
    *("history", "blame", "revert", "review", "redact", "token", "serve", "backup", "copy"),
)


# Help, start-up, exit codes


def test_every_promised_command_is_there_and_helps(bare: CommandLine) -> None:
    shown = bare("--help").out
    for name in PROMISED:
        assert f"  {name} " in shown
        assert bare(name, "--help").out.startswith(f"Usage: day1 {name}")
    for code in ("0", "1", "2", "3", "130"):
        assert f"\n    {code} " in shown
    assert set(PROMISED) == {n for names in command_line.SECTIONS.values() for n in names}


def test_every_command_that_prints_an_answer_takes_json() -> None:
    """README says so; the other three serve a client until it leaves."""
    context = click.Context(command_line.day1)

    def without_json(command: click.Command, name: str) -> list[str]:
        if isinstance(command, click.Group):
            words = command.list_commands(context)
            inner = [(command.get_command(context, word), word) for word in words]
            return [name for found, word in inner if found for name in without_json(found, word)]
        return [] if any("--json" in option.opts for option in command.params) else [name]

    assert sorted(without_json(command_line.day1, "day1")) == ["hook", "mcp", "serve"]


def test_help_loads_click_and_no_engine(bare: CommandLine) -> None:
    loaded = _loaded(bare, "--help")
    assert "click" in loaded
    assert not {"sqlalchemy", "pydantic", "rich", "day1.app.open"} & loaded


@pytest.mark.parametrize("command", ["status", "log", "log --graph", "diff main main2"])
def test_looking_loads_nothing_heavy(cli: CommandLine, command: str) -> None:
    cli("branch", "main2")
    loaded = _loaded(cli, *command.split())
    assert "sqlalchemy" in loaded
    assert not {"mcp", "chromadb", "onnxruntime", "numpy", "git", "tokenizers", "rich"} & loaded


def _loaded(cli: CommandLine, *arguments: str) -> set[str]:
    script = (
        "import sys, day1.app.cli as m; code = m.run(sys.argv[1:]);"
        "print('\\n'.join(['', '##', *sys.modules])); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=cli.folder,
        env=cli.env,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.partition("\n##\n")[2].splitlines())


def test_without_a_store_looking_fails_and_makes_nothing(bare: CommandLine) -> None:
    for command in ("status", "log", "diff", "branch", "search x", "held", "doctor", "gc"):
        assert bare.refused(*command.split())["code"] == "not_a_store"
    bare("export", code=1)
    assert "day1 init" in bare("status", code=1).err
    assert list(bare.home.iterdir()) == []
    assert list(bare.folder.iterdir()) == []


def test_the_first_memory_makes_a_store_at_home(bare: CommandLine) -> None:
    needs_files()
    row = bare.add("Ada: tea, not coffee")
    assert (bare.home / ".day1" / "memory.db").is_file()
    assert bare.json("show", row)["fact_text"] == "Ada: tea, not coffee"


def test_init_is_done_once_and_the_nearest_store_is_found(cli: CommandLine) -> None:
    needs_files()
    assert "Reinitialized" in cli("init").out
    below = cli.folder / "a" / "b"
    below.mkdir(parents=True)
    cli.folder = below
    assert cli.json("status")["store"] == str(below.parents[1] / ".day1")
    made = cli.json("init")
    assert made == {"store": str(below / ".day1"), "created": True, "branch": "main"}
    assert cli.json("status")["store"] == str(below / ".day1")
    cli.env["DAY1_HOME"] = str(cli.home / "else")
    assert cli.json("init")["store"] == str(cli.home / "else")


@pytest.mark.parametrize("line", ["brnch", "merge", "add x --confidence 2", "log --nope", "add"])
def test_a_command_line_that_does_not_fit_is_exit_code_2(cli: CommandLine, line: str) -> None:
    assert cli(*line.split(), code=2).err
    assert cli.refused(*line.split(), code=2)["code"] == "usage"


def test_a_mistyped_command_is_named(cli: CommandLine) -> None:
    assert "Did you mean 'branch'?" in cli("brnch", code=2).err


def test_a_refusal_speaks_in_commands_and_in_one_json_shape(cli: CommandLine) -> None:
    said = cli("switch", "nowhere", code=1).err
    assert said == "error: There is no branch 'nowhere'. `day1 branch` lists the branches.\n"
    refused = cli.refused("switch", "nowhere")
    assert refused["code"] == "unknown_branch"
    assert refused["details"] == {"branch": "nowhere"}


def test_a_setting_that_does_not_fit_is_named(cli: CommandLine) -> None:
    cli.env["DAY1_STORE__WAIT_S"] = "-1"
    assert "DAY1_STORE__WAIT_S" in cli("status", code=1).err


@pytest.mark.parametrize("setting", ["DAY1_AGENT_ID", "DAY1_SESSION_ID", "DAY1_TASK_ID"])
@pytest.mark.parametrize("name", ["a" * 256, "a\nb", "\udcff"])
def test_a_setting_takes_no_name_that_arguments_may_not_have(
    cli: CommandLine, setting: str, name: str
) -> None:
    cli.env[setting] = name
    refused = cli.refused("add", "Ada likes tea.")
    assert refused["code"] == "invalid_request"
    assert refused["message"].startswith(f"{setting}: it must be a name of at most 255 ")
    cli.env[setting] = "  "
    assert cli.json("where")["agent"]["name"] is None


@pytest.mark.parametrize(
    "command",
    [
        *("status --branch", "show", "log", "diff", "merge main --into", "history x --branch"),
        *("review open", "cherry-pick x --from", "task list --type"),
        *("import graph f --branch", "import jsonl f --branch"),
    ],
)
def test_an_argument_that_is_not_utf_8_is_refused_by_its_text(
    cli: CommandLine, command: str
) -> None:
    refused = cli.refused(*command.split(), "\udcff")
    assert refused["code"] == "invalid_request"
    assert "The argument \\xff has bytes that are not UTF-8" in refused["message"]


def test_more_commits_than_a_machine_can_count_are_refused(cli: CommandLine) -> None:
    assert "is not in the range" in cli("log", "-n", str(10**20), code=2).err


# Plumbing


def test_call_runs_any_operation(cli: CommandLine) -> None:
    made = json.loads(cli("call", "memory_write_fact", '{"fact_text": "Ada: 42"}').out)
    assert made["written"]["branch"] == "main"
    found = json.loads(cli("call", "memory_search", "-", stdin='{"query": "Ada"}').out)
    assert [hit["id"] for hit in found["result"]] == [made["id"]]
    assert "memory_branch_merge" in cli("call").out
    assert cli.refused("call", "memory_nothing")["code"] == "unknown_tool"
    assert cli.refused("call", "memory_search", "[1]")["code"] == "invalid_request"
    assert cli.refused("call", "memory_search", "{")["code"] == "invalid_request"
    problem = cli.refused("call", "memory_search", '{"querry": "x"}')
    assert "querry" in problem["message"]


def test_mcp_serves_until_stdin_ends(bare: CommandLine) -> None:
    done = bare.process("mcp", "--toolsets", "core,review", "--agent", "bo")
    assert (done.returncode, done.stdout) == (0, "")
    assert (bare.home / ".day1").is_dir()


# Pipes and terminals


def test_a_reader_that_leaves_is_no_error(cli: CommandLine) -> None:
    for number in range(40):
        cli.add(f"Ada: {number} " + "long " * 400)
    command = f"{sys.executable} -m day1 export | head -c 10 >/dev/null; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=cli.folder,
        env=cli.env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("141\n", "")


def test_a_pipe_gets_no_colours_and_a_terminal_a_table(cli: CommandLine) -> None:
    cli.add("Ada: the gateway waits")
    piped = cli.process("search", "gateway")
    assert piped.returncode == 0
    assert "\x1b" not in piped.stdout
    assert piped.stdout.count("\t") == 3
    with cli.terminal("search", "gateway") as terminal:
        assert terminal.end() == 0
    assert "\x1b[" in terminal.raw
    assert "score" in terminal.said
    with cli.terminal("search", "gateway", NO_COLOR="1") as terminal:
        assert terminal.end() == 0
    assert "\x1b[3" not in terminal.raw


def test_what_memory_holds_cannot_act_on_the_terminal(cli: CommandLine) -> None:
    evil = "Ada \x1b]0;owned\x07\x1b[2J \u202egnp.exe \x9b31m \r overwritten"
    row = cli.add(evil, "-c", "c\x1b[31m")
    cli("snapshot", "l\x1b[31m")
    for command in (
        ["show", row],
        ["search", "Ada"],
        ["show", "main"],
        ["log"],
        ["snapshot", "-l"],
    ):
        printed = cli(*command).out
        assert not {"\x1b", "\x07", "\u202e", "\x9b", "\r"} & set(printed), command
    assert cli.json("show", row)["fact_text"] == evil, "JSON has the text as it is"


def test_a_terminal_shows_what_is_invisible_as_pages_do(cli: CommandLine) -> None:
    """D4: the terminal let pass what pages name: soft hyphens, zero widths, tags."""
    hidden = "\u00ad\u180e\u200b\u2060\ufeff\ufff9\U000e0041"
    shown = cli("show", cli.add(f"Ada{hidden}: 42")).out
    assert not set(hidden) & set(shown)
    assert "\\u200b" in shown
    assert "\\U000e0041" in shown


def test_an_interrupted_command_ends_with_130(cli: CommandLine) -> None:
    with cli.terminal("restore", "--source", "1h") as terminal:
        terminal.wait_for("[y/N]")
        assert terminal.interrupt() == 130


def test_an_interrupt_before_the_command_begins_ends_with_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("day1.app.garbage.look_rarely", interrupt)
    with pytest.raises(SystemExit) as ended:
        main(["status"])
    assert ended.value.code == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    "command",
    [
        *(f"import {kind}" for kind in ("text", "markdown", "lines", "graph", "jsonl", "git")),
        "bundle import",
        "backup --check",
    ],
)
def test_a_path_that_the_system_rejects_is_refused_by_its_name(
    cli: CommandLine, command: str
) -> None:
    name = "a" * 300
    refused = cli.refused(*command.split(), name)
    assert refused["code"] == "invalid_request"
    assert f"{name} cannot be used: File name too long." in refused["message"]
