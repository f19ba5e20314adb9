"""Upkeep on the command line: doctor, gc, and which model is used."""

import sqlite3

from tests.wires.command_line import CommandLine


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
    assert "removed branch gone from the ledger" in cli("doctor", "--repair").out
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


def test_gc_forgets_branches_that_were_deleted_long_ago(cli: CommandLine) -> None:
    cli("branch", "side")
    cli.add("Ada: aside", "-b", "side")
    cli("branch", "-D", "side")
    assert cli("gc", "--prune-deleted", "1").out.startswith("Forgot 0 deleted branches.")
    cli("branch", "--revive", "side")
    cli("branch", "-D", "side")
    assert cli("gc", "--prune-deleted", "0").out.startswith("Forgot 1 deleted branch.")
    assert "no branch 'side'" in cli("branch", "--revive", "side", code=1).err
    assert cli.json("gc", "--prune-deleted", "0")["pruned"] == 0
    assert {f["level"] for f in cli.json("doctor")["findings"]} == {"ok"}


def test_the_model_in_use_is_told(cli: CommandLine) -> None:
    assert cli.json("model", "status")["works"] is False
    cli.env["DAY1_EMBEDDER__KIND"] = "minilm"
    cli.env["DAY1_EMBEDDER__MODEL_DIR"] = str(cli.home)
    assert "day1 model install" in cli("model", "status").out
    warned = [f["name"] for f in cli.json("doctor")["findings"] if f["level"] == "warn"]
    assert warned == ["model"]
