"""The command line as a person, a script and a pipe meet it."""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from day1.interfaces.cli import main as porcelain
from day1.interfaces.web.rendering import short
from tests.engine import needs_files
from tests.wires.command_line import CommandLine

PROMISED = (
    *("init", "status", "add", "edit", "rm", "search", "log", "show", "diff", "branch", "switch"),
    *("merge", "cherry-pick", "snapshot", "restore", "topology", "import", "export", "model"),
    *("doctor", "gc", "mcp", "call", "held", "task", "template", "handoff", "bundle", "verify"),
    *("history", "blame", "revert", "review", "redact", "token", "serve", "backup", "copy"),
)


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    cli = CommandLine(tmp_path)
    cli("init")
    return cli


@pytest.fixture
def bare(tmp_path: Path) -> CommandLine:
    """A folder without a store."""
    return CommandLine(tmp_path)


# Help, start-up, exit codes


def test_every_promised_command_is_there_and_helps(bare: CommandLine) -> None:
    shown = bare("--help").out
    for name in PROMISED:
        assert f"  {name} " in shown
        assert bare(name, "--help").out.startswith(f"Usage: day1 {name}")
    for code in ("0", "1", "2", "3", "130"):
        assert f"\n    {code} " in shown
    assert set(PROMISED) == {n for names in porcelain.SECTIONS.values() for n in names}


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
    assert said == "error: There is no branch 'nowhere'. `day1 branch` shows those there are.\n"
    refused = cli.refused("switch", "nowhere")
    assert refused["code"] == "unknown_branch"
    assert refused["details"] == {"branch": "nowhere"}


def test_a_setting_that_does_not_fit_is_named(cli: CommandLine) -> None:
    cli.env["DAY1_STORE__WAIT_S"] = "-1"
    assert "DAY1_STORE__WAIT_S" in cli("status", code=1).err


# Writing


def test_each_kind_of_memory_is_added(cli: CommandLine) -> None:
    fact = cli.json("add", "Ada: 42", "-c", "preference", "--confidence", "0.5", "--agent", "bo")
    row = cli.json("show", fact["id"])
    assert (row["category"], row["confidence"], row["agent_id"]) == ("preference", 0.5, "bo")
    assert row["source"] == "user"
    seen = cli.json("add", "-o", "decision", "keep HTTP/1.1", "--tool", "Bash")
    assert cli.json("show", seen["id"])["tool_name"] == "Bash"
    link = cli.json("add", "--relation", "Gateway", "depends_on", "Auth")
    assert cli.json("show", link["id"])["target_entity"] == "Auth"
    piped = cli.json("add", "-", stdin="  two\nlines\n")
    assert cli.json("show", piped["id"])["fact_text"] == "two\nlines"
    assert cli.json("status")["pending"] == 4


def test_options_that_would_be_passed_over_are_refused(cli: CommandLine) -> None:
    cli("add", "x", "--relation", "a", "b", "c", code=2)
    cli("add", "-o", "decision", "x", "-c", "architecture", code=2)
    cli("add", "x", "--tool", "Bash", code=2)
    assert cli.json("status")["pending"] == 0


def test_a_repeated_text_is_noted(cli: CommandLine) -> None:
    first = cli.add("Ada: 42")
    assert first[-8:] in cli("add", "Ada: 42", "--agent", "bo").err


def test_what_is_added_again_is_added_once(cli: CommandLine) -> None:
    """F4: said again within a minute, or ever with the same --request-id."""
    first = cli.json("add", "Ada: 42")
    again = cli("add", "Ada: 42")
    assert first["id"] in again.out
    assert "less than a minute ago" in again.err
    named = [cli.json("add", "Ada: 42", "--request-id", name)["id"] for name in ("a", "b", "a")]
    assert named[0] == named[2] != named[1]
    assert cli.json("status")["pending"] == 3


def test_a_fact_is_corrected_superseded_and_removed(cli: CommandLine) -> None:
    row = cli.add("Ada: 30")
    cli("edit", row, "Ada: 45", "-m", "measured", "--agent", "bo")
    shown = cli.json("show", row, "--history")
    assert shown["authors"]["fact_text"]["by"] == "bo"
    assert [e["reason"] for e in shown["edits"] if e["cell"] == "fact_text"] == ["measured"]
    made = cli.json("edit", row, "Ada: 60", "--supersede")
    assert cli.json("show", row)["superseded_by"] == made["id"]
    removed = cli.json("rm", row, made["id"], "-m", "tidy")
    assert cli.refused("show", row)["code"] == "not_found"
    cli("restore", row, "--source", removed["before"])
    assert cli.json("show", row)["status"] == "superseded"
    assert cli.refused("rm", row, made["id"])["code"] == "not_found"
    assert cli.json("show", row), "a removal that cannot be whole removes nothing"


def test_the_text_of_a_fact_opens_in_the_editor(cli: CommandLine, tmp_path: Path) -> None:
    row = cli.add("Ada: 30")
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/30/31/ "$1"\n')
    editor.chmod(0o755)
    with cli.terminal("edit", row[-8:], EDITOR=str(editor)) as terminal:
        assert terminal.end() == 0, terminal.said
    assert cli.json("show", row)["fact_text"] == "Ada: 31"


def test_only_facts_are_edited(cli: CommandLine) -> None:
    seen = cli.json("add", "-o", "decision", "keep it")["id"]
    assert cli.refused("edit", seen, "drop it")["code"] == "refused"


def test_a_whole_branch_comes_back_after_a_yes(cli: CommandLine) -> None:
    row = cli.add("Ada: 30")
    cli("snapshot", "v1")
    cli("edit", row, "Ada: 45")
    cli("restore", "--source", "v1", code=2)
    with cli.terminal("restore", "--source", "v1") as terminal:
        terminal.wait_for("[y/N]")
        terminal.press("n\n")
        assert terminal.end() == 1
    assert cli.json("show", row)["fact_text"] == "Ada: 45"
    undo = cli.json("restore", "--source", "v1", "--yes")["snapshot_before"]
    assert cli.json("show", row)["fact_text"] == "Ada: 30"
    cli("restore", "--source", undo, "--yes")
    assert cli.json("show", row)["fact_text"] == "Ada: 45"


# Short names


def test_a_short_id_names_a_row_where_one_has_it(cli: CommandLine) -> None:
    row = cli.add("Ada: 30")
    for name in (row, row[-8:], row[-6:].lower(), f"fact_{row[-8:]}", row[5:-1]):
        assert cli.json("show", name)["id"] == row
    assert cli.refused("show", row[-5:])["code"] == "not_found", "too short"
    assert cli.refused("show", f"obs_{row[-8:]}")["code"] == "not_found"


def test_ids_have_one_length_everywhere(cli: CommandLine) -> None:
    """D4: the command line showed 8 letters, pages and handoffs 6, and the help spoke of 6."""
    row = cli.add("Ada: 30")
    assert f"fact_{row[-8:]}\t" in cli("search", "Ada").out
    cli("branch", "other")
    made = cli.json("handoff", "create", "main", "other", "--include-unverified")
    assert f"fact_{row[-8:]}  " in cli("handoff", "show", made["handoff_id"]).out
    assert short(row) == row[-8:]
    assert "its last eight letters" in cli("--help").out


def test_a_short_id_that_several_have_is_refused(cli: CommandLine) -> None:
    rows = [cli.add(f"Ada: {n}") for n in range(2)]
    shared = os.path.commonprefix(rows)  # noqa: RUF071 - of letters
    assert len(shared) >= len("fact_") + 6, "ids of one moment begin alike"
    refused = cli.refused("rm", shared)
    assert refused["code"] == "invalid_request"
    assert set(refused["details"]["ids"]) == set(rows)


def test_commits_and_snapshots_are_shown_by_name(cli: CommandLine) -> None:
    cli.add("Ada: 30")
    cli("snapshot", "v1")
    commit = cli.json("log")["result"][0]["commit"]
    for name in (commit, commit[:6], "v1", "main"):
        shown = cli.json("show", name)
        assert shown["commit"] == commit
        assert [row["fact_text"] for row in shown["changes"]["added"]] == ["Ada: 30"]
    assert "snapshot v1" in cli("show", "v1").out


# Branches


def test_branches_are_made_listed_and_left(cli: CommandLine) -> None:
    cli("switch", "-c", "work/one", "--description", "a try")
    assert cli("branch").out == "  main\n* work/one\n"
    listed = {b["branch_name"]: b for b in cli.json("branch")["result"]}
    assert listed["work/one"]["parent"] == "main"
    assert "a try" in cli("branch", "-v").out
    cli("branch", "work/two")
    assert {b["branch_name"]: b["parent"] for b in cli.json("branch")["result"]}[
        "work/two"
    ] == "work/one"
    cli("switch", "main")
    assert cli("topology").out == "main *\n└── work/one\n    └── work/two\n"


def test_a_branch_with_something_of_its_own_is_deleted_by_force_only(cli: CommandLine) -> None:
    cli("switch", "-c", "try")
    cli.add("Ada: 30")
    assert cli.refused("branch", "-D", "try")["code"] == "refused", "one stands on it"
    cli("switch", "main")
    assert "day1 branch -D try" in cli("branch", "-d", "try", code=1).err
    cli("branch", "-D", "try")
    cli("branch", "empty")
    cli("branch", "-d", "empty")
    assert cli("branch").out == "* main\n"


def test_status_says_what_is_ahead_and_what_waits(cli: CommandLine) -> None:
    cli("switch", "-c", "try")
    cli.add("Ada: 30")
    said = cli("status").out
    assert "On branch try" in said
    assert "1 row stored, waiting for a commit" in said
    assert "Ahead of main: 1 added" in said
    cli("merge", "try", "--into", "main")
    status = cli.json("status")
    assert (status["status"], status["pending"], status["ahead"]) == ("merged", 0, {})


def test_gc_offers_merged_branches_and_switch_brings_them_back(cli: CommandLine) -> None:
    cli("switch", "-c", "try")
    row = cli.add("Ada: 30")
    cli("merge", "try", "--into", "main")
    assert cli.json("gc")["offered"] == [], "not the one that one stands on"
    cli("switch", "main")
    assert "day1 gc --retire" in cli("gc").err
    assert [b["branch_name"] for b in cli.json("gc", "--retire")["retired"]] == ["try"]
    assert cli("branch").out == "* main\n"
    assert cli.refused("add", "x", "--branch", "try")["code"] == "unknown_branch"
    assert "Brought back" in cli("switch", "try").out
    assert cli.json("show", row, "--branch", "try")["id"] == row


def test_what_only_a_retired_branch_reaches_outlives_compaction_twice(cli: CommandLine) -> None:
    needs_files()
    cli("switch", "-c", "try")
    cli("call", "memory_branch_enrich", '{"branch_name": "try", "ttl_days": 1}')
    rows = [cli.add("Ada: 30")]
    _age(cli, "try")
    for _ in range(2):
        cli("switch", "main")
        assert [b["why"] for b in cli.json("gc", "--retire")["retired"]] == ["past its 1 days"]
        cli("gc")
        cli("switch", "try")
        for row in rows:
            assert cli.json("show", row)["id"] == row
        rows.append(cli.add("Ada: more"))


def _age(cli: CommandLine, name: str) -> None:
    """Make a branch two days old."""
    with sqlite3.connect(cli.folder / ".day1" / "ledger.db") as ledger:
        ledger.execute(
            "UPDATE branches SET created_at = created_at - 172800000000, row_sum = NULL "
            "WHERE name = ?",
            (name,),
        )


@pytest.mark.parametrize("point", ["retire.marked", "revive.forked"])
def test_a_killed_retirement_is_settled_by_the_next_command(cli: CommandLine, point: str) -> None:
    cli("switch", "-c", "try")
    row = cli.add("Ada: 30")
    cli("merge", "try", "--into", "main")
    cli("switch", "main")
    command = ["gc", "--retire"]
    if point == "revive.forked":
        cli(*command)
        command = ["switch", "try"]
    assert cli.process(*command, DAY1_KILL_AT=point).returncode == -9
    assert "try" in cli("branch").out
    assert cli.json("show", row, "--branch", "try")["id"] == row
    assert not any(f["level"] == "error" for f in cli.json("doctor")["findings"])


# Time


def test_the_log_shows_what_waits_on_top(cli: CommandLine) -> None:
    cli.add("Ada: 30")
    lines = cli("log", "--oneline").out.splitlines()
    assert lines[0] == "(waiting) 1 row on main"
    assert "(HEAD -> main) init" in lines[1]
    assert len(lines) == 2, "the engine's own first commit is not shown"
    cli("snapshot", "v1")
    top = cli("log").out.splitlines()
    assert top[0].endswith("(HEAD -> main, snapshot: v1)")
    assert "    add 1 fact" in top
    assert len(cli.json("log", "-n", "1")["result"]) == 1


def test_the_past_is_searched_shown_logged_and_exported(cli: CommandLine) -> None:
    row = cli.add("Ada: the gateway waits 30 seconds")
    cli("snapshot")
    at = cli.json("log")["result"][0]["at"]
    cli("edit", row, "Ada: the gateway waits 45 seconds")
    cli.add("Bo: the gateway moved")
    texts = [hit["fact_text"] for hit in cli.json("search", "gateway", "--at", at)["result"]]
    assert texts == ["Ada: the gateway waits 30 seconds"]
    assert len(cli.json("search", "gateway", "--at", "now")["result"]) == 2
    assert cli.json("search", "gateway", "--at", "1h")["result"] == []
    assert cli.json("show", row, "--at", at)["fact_text"] == "Ada: the gateway waits 30 seconds"
    assert [c["op"] for c in cli.json("log", "--at", at)["result"]] == ["add", "init"]
    assert cli("export", "--at", at).out.count('"kind":"facts"') == 1


def test_diff_since_a_snapshot_shows_what_became_of_a_branch(cli: CommandLine) -> None:
    row = cli.add("Ada: 30")
    cli("snapshot", "v1")
    cli("edit", row, "Ada: 45")
    assert "[-30-]{+45+}" in cli("diff", "v1").out
    assert cli.json("diff", "v1")["changed"][0]["after"] == {"fact_text": "Ada: 45"}
    assert "no parent" in cli("diff", code=1).err


# In and out


def test_an_export_comes_back_byte_for_byte(cli: CommandLine, tmp_path: Path) -> None:
    cli.add("Ada: 30")
    cli("switch", "-c", "try")
    cli("add", "--relation", "a", "b", "c")
    whole = cli("export", "--all").out
    assert cli.json("export", "--all", "-o", "all.jsonl")["lines"] == whole.count("\n")
    assert (cli.folder / "all.jsonl").read_text() == whole
    other = CommandLine(tmp_path / "other")
    other("init")
    done = other.json("import", "jsonl", "-", stdin=whole)
    assert done["branches"] == ["try"]
    assert other("export", "--all").out == whole
    assert cli("export", "--all", "--at", "now", code=2).err
    assert cli.refused("export", code=2)["code"] == "usage"


def test_notes_are_imported_once_from_wherever_one_stands(cli: CommandLine) -> None:
    notes = cli.folder / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# Gateway\n\nIt waits 30 seconds.\n\n# Cache\n\nRedis.\n")
    assert cli.json("import", "markdown", "notes")["added"] == 2
    cli.folder = notes
    again = cli.json("import", "markdown", ".")
    assert (again["added"], again["unchanged"]) == (0, 2)
    (notes / "a.md").write_text("# Gateway\n\nIt waits 45 seconds.\n\n# Cache\n\nRedis.\n")
    said = cli("import", "markdown", ".")
    assert "0 added, 1 changed, 1 unchanged" in said.out
    hit = cli.json("search", "gateway waits")["result"][0]
    cli("edit", hit["id"], "Gateway: mine")
    (notes / "a.md").write_text("# Gateway\n\nIt waits 60 seconds.\n\n# Cache\n\nRedis.\n")
    assert f"left fact_{hit['id'][-8:]}: it was edited here" in cli("import", "markdown", ".").out
    assert cli.refused("import", "markdown", "nowhere")["code"] == "not_found"


def test_import_makes_a_store_and_takes_a_graph(bare: CommandLine) -> None:
    lines = [
        {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["likes tea"]},
        {"type": "relation", "from": "Ada", "to": "Bo", "relationType": "knows"},
    ]
    (bare.folder / "g.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert bare.json("import", "graph", "g.jsonl")["added"] >= 2
    assert (bare.home / ".day1").is_dir()


# Tending


def test_doctor_finds_nothing_in_a_sound_store(cli: CommandLine) -> None:
    cli.add("Ada: 30")
    found = {f["name"]: f["level"] for f in cli.json("doctor")["findings"]}
    assert set(found.values()) == {"ok"}
    assert found.keys() >= {"engine", "rows", "branches", "deeds", "refs", "model", "index", "disk"}


def test_doctor_finds_and_mends_a_branch_that_only_the_ledger_knows(cli: CommandLine) -> None:
    cli("branch", "try")
    with sqlite3.connect(cli.folder / ".day1" / "ledger.db") as ledger:
        ledger.execute(
            "UPDATE branches SET name = 'gone', folded = 'gone', row_sum = NULL WHERE name = 'try'"
        )
    assert "not in the engine: gone" in cli("doctor", code=1).out
    assert "forgot branch gone" in cli("doctor", "--repair").out
    assert cli("branch").out == "* main\n  try\n", "the engine's own is noted anew"


def test_doctor_says_that_a_file_is_damaged(cli: CommandLine) -> None:
    path = cli.folder / ".day1" / "memory.db"
    path.write_bytes(b"\0" * 512 + path.read_bytes()[512:])
    document = cli.json("doctor", code=1)
    assert document["findings"][0]["level"] == "error"


def test_doctor_builds_a_damaged_index_anew(cli: CommandLine) -> None:
    cli.add("Ada: the gateway waits")
    cli("search", "gateway")
    (cli.folder / ".day1" / "index.db").write_bytes(b"no index at all" * 100)
    cli("doctor", "--repair")
    assert len(cli.json("search", "gateway")["result"]) == 1


def test_gc_gives_space_back_and_keeps_everything(cli: CommandLine) -> None:
    rows = [cli.add(f"Ada: {n}") for n in range(5)]
    for row in rows:
        cli("edit", row, "Ada: changed")
    sizes = cli.json("gc")
    assert sizes["bytes_after"] < sizes["bytes_before"]
    assert len(cli.json("log")["result"]) == 7
    assert all(cli.json("show", row)["fact_text"] == "Ada: changed" for row in rows)


def test_the_model_in_use_is_told(cli: CommandLine) -> None:
    assert cli.json("model", "status")["works"] is False
    cli.env["DAY1_EMBEDDER__KIND"] = "minilm"
    cli.env["DAY1_EMBEDDER__MODEL_DIR"] = str(cli.home)
    assert "day1 model install" in cli("model", "status").out
    warned = [f["name"] for f in cli.json("doctor")["findings"] if f["level"] == "warn"]
    assert warned == ["model"]


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


def test_interrupted_is_130(cli: CommandLine) -> None:
    with cli.terminal("restore", "--source", "1h") as terminal:
        terminal.wait_for("[y/N]")
        assert terminal.interrupt() == 130
