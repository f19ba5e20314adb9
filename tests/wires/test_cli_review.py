"""Reviews and protection on the command line: by flags, by keys, by two at once, and killed."""

import re
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.wires.cli_conflict import OURS, THEIRS, experiment
from tests.wires.command_line import CommandLine


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    """On main, which is protected; `experiment` added a fact and changed one that main changed."""
    cli = experiment(tmp_path)
    cli("branch", "--protect", "review", "main")
    return cli


def text(cli: CommandLine) -> str:
    return str(cli.json("show", cli.env["CONFLICT"], "--branch", "main")["fact_text"])


def state(cli: CommandLine) -> dict[str, object]:
    (found,) = cli.json("review", "list", "--all")["result"]
    return dict(found)


def test_a_branch_comes_to_a_protected_one_by_a_review(cli: CommandLine) -> None:
    assert cli.refused("add", "direct")["code"] == "branch_protected"
    assert "day1 review open" in cli("merge", "experiment", "-y", code=1).err
    assert "No review" in cli("review").err
    cli("review", "open", "experiment", "-t", "Redis")
    assert "Redis: experiment into main: 1 conflict, 1 new, 1 undecided." in cli("review").out
    shown = cli("review", "show", "experiment").out
    assert "+ fact_" in shown
    assert f"    main:       {OURS}" in shown
    assert "    experiment: Ada: the gateway waits [-45-]{+60+} seconds" in shown
    assert cli("review", "merge", "experiment", code=1).err
    short = cli.env["CONFLICT"][-8:]
    assert "merge" in cli("review", "decide", "experiment", f"{short}:fact_text=theirs").err
    done = cli("review", "merge", "experiment")
    assert "Merged into main: 2 memories" in done.out
    assert text(cli) == THEIRS
    assert "(merged)" in cli("review", "list", "--all").out
    advice = re.fullmatch(r"note: `day1 (.*)` undoes it\.\n", done.err)
    assert advice is not None
    cli(*advice[1].split())
    assert text(cli) == OURS


def test_the_printed_commands_name_the_review(cli: CommandLine) -> None:
    """Without its id they would look for a review of the current branch, `main`."""

    def printed(text: str) -> list[str]:
        (commands,) = re.findall("`day1 ([^`]*)`", text)
        return str(commands).split()

    opened = cli("review", "open", "experiment").err
    first_page = cli("review", "show", "experiment", "--limit", "1").err.splitlines()
    assert re.fullmatch("1 more: `.* --offset 1 --limit 1`", first_page[0])
    second_page = cli(*printed(first_page[0]))
    assert len(re.findall("^.{0,2}fact_", second_page.out, re.MULTILINE)) == 1
    for note in (opened, first_page[1], second_page.err):
        assert printed(note)[:2] == ["review", "decide"]
    decided = cli(*printed(opened), f"{cli.env['CONFLICT']}:fact_text=theirs").err
    cli(*printed(decided))
    assert text(cli) == THEIRS


def test_what_is_skipped_is_held_and_the_exit_code_says_so(cli: CommandLine) -> None:
    review = cli.json("review", "open", "experiment")["id"]
    cli("review", "decide", review[-8:], f"{cli.env['CONFLICT']}=skip")
    assert "1 held" in cli("review", "merge", review[-8:], code=3).out
    assert cli.json("status")["held"] == 1


def test_a_plan_that_was_not_seen_is_refused(cli: CommandLine) -> None:
    digest = cli.json("review", "open", "experiment")["digest"]
    short = f"{cli.env['CONFLICT']}:fact_text"
    decided = cli.json("review", "decide", "experiment", f"{short}=theirs")["digest"]
    assert digest != decided
    assert cli.refused("review", "merge", "experiment", "--expect", digest)["code"] == (
        "plan_changed"
    )
    cli("review", "decide", "experiment", f"{short}=clear")
    assert cli.json("review", "show", "experiment")["digest"] == digest


def test_a_branch_that_is_gone_leaves_a_review_that_can_be_closed(cli: CommandLine) -> None:
    cli("review", "open", "experiment")
    cli("branch", "-D", "experiment")
    review = str(state(cli)["id"])
    assert "was deleted" in cli("review", "show", review[-8:]).out
    assert "deleted" in cli("review", "merge", review[-8:], code=1).err
    assert "closed" in cli("review", "close", review[-8:], "--reason", "gone").out
    assert state(cli)["reason"] == "gone"


@pytest.mark.parametrize("action", ["merge", "approve"])
def test_a_review_of_a_deleted_branch_names_the_command_that_closes_it(
    cli: CommandLine, action: str
) -> None:
    cli("review", "open", "experiment")
    cli("branch", "-D", "experiment")
    review = str(state(cli)["id"])
    assert "`day1 review close`" in cli("review", action, review[-8:], code=1).err
    assert cli.refused("review", action, review)["next"] == [{"operation": "review_close"}]


def test_the_list_of_reviews_without_a_command_is_json_if_asked(cli: CommandLine) -> None:
    cli("review", "open", "experiment")
    assert cli.json("review") == cli.json("review", "list")
    assert len(cli.json("review")["result"]) == 1
    assert "after 'list'" in cli("review", "--json", "list", code=2).err


def test_protection_is_one_thing_at_a_time(cli: CommandLine) -> None:
    assert "takes writes" in cli("branch", "--unprotect", "main").out
    cli.add("direct")
    cli("branch", "--protect", "review,gate,other", "main")
    assert "gate" in str(cli.json("topology")["metadata"]["protection"])
    cli("branch", "--protect", "luck", "main", code=1)
    cli("branch", "--protect", "gate", "--unprotect", "main", code=2)
    cli("branch", "--protect", "", "main", code=2)
    assert cli.refused("restore", "--source", "1h", "--yes")["code"] == "branch_protected"


def test_a_person_decides_by_one_key_each_and_goes_on_later(cli: CommandLine) -> None:
    cli("review", "open", "experiment")
    with cli.terminal("review", "decide", "experiment") as terminal:
        terminal.wait_for("[q]uit")
        terminal.press("q")
        assert terminal.end() == 0
    assert state(cli)["decided"] == 0
    with cli.terminal("review", "decide", "experiment") as terminal:
        terminal.wait_for("[q]uit")
        terminal.press("t")
        assert terminal.end() == 0
    cli("review", "merge", "experiment")
    assert text(cli) == THEIRS


def test_two_who_decide_at_once_lose_nothing(cli: CommandLine) -> None:
    cli("switch", "experiment")
    ids = [cli.add(f"fact number {number}") for number in range(6)]
    review = cli.json("review", "open", "experiment")["id"]

    def decide(row: str) -> int:
        return cli.process("review", "decide", review, f"{row}=skip", "--agent", row).returncode

    with ThreadPoolExecutor(3) as reviewers:
        assert list(reviewers.map(decide, ids)) == [0] * len(ids)
    rows = cli.json("review", "show", review)["rows"]
    decided = {d["id"]: d["by"] for row in rows for d in row["decisions"]}
    assert decided == {row: row for row in ids}


POINTS = {
    "merge.after_intent": "open",
    "merge.after_engine": "merged",
    "merge.after_ledger": "merged",
}


@pytest.mark.parametrize("point", POINTS)
def test_a_review_is_merged_if_its_merge_was_done_whoever_was_killed(
    cli: CommandLine, point: str
) -> None:
    review = cli.json("review", "open", "experiment")["id"]
    cli("review", "decide", review, f"{cli.env['CONFLICT']}=theirs", "--agent", "ada")
    killed = cli.process("review", "merge", review, "--agent", "ada", DAY1_KILL_AT=point)
    assert killed.returncode == -9
    found = state(cli)
    assert found["status"] == POINTS[point]
    assert text(cli) == (THEIRS if POINTS[point] == "merged" else OURS)
    if POINTS[point] == "merged":
        assert found["closed_by"] == "ada"
        assert str(found["merge_id"]).startswith("merge_")
        assert cli.refused("review", "merge", review)["code"] == "conflict"
    else:
        cli("review", "merge", review)
    cli("doctor")


def test_a_store_of_before_reviews_is_brought_up(tmp_path: Path) -> None:
    """Branches and sessions that know nothing of protection and tokens stay as they are."""
    cli = CommandLine(tmp_path)
    cli("init")
    cli.env["DAY1_SESSION_ID"] = "s-1"
    cli.add("old")
    ledger = cli.folder / ".day1" / "ledger.db"
    with sqlite3.connect(ledger) as connection:
        connection.execute("ALTER TABLE branches DROP COLUMN protection")
        connection.execute("ALTER TABLE sessions DROP COLUMN token_id")
        connection.execute("ALTER TABLE merges DROP COLUMN review_id")
        for table in ("branches", "sessions", "merges"):
            connection.execute(f"ALTER TABLE {table} DROP COLUMN row_sum")
        connection.execute("DROP TABLE reviews")
        connection.execute("PRAGMA user_version = 1")
    cli.add("new")
    cli("branch", "--protect", "gate", "main")
    assert cli.refused("add", "newer")["code"] == "branch_protected"
