"""Tiers on every wire: a branch is proposed, looked at by others, and merged."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.wires.command_line import CommandLine
from tests.wires.http_server import HttpServer, HttpSession
from tests.wires.mcp_session import Session
from tests.wires.scriptless_browser import Browser

RULES = ["none category=note", "two category=policy"]

# The command line


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    """An agent has written a note and a policy; main has tiers."""
    cli = CommandLine(tmp_path)
    cli("init")
    cli("switch", "-c", "work")
    with beside(cli) as agent:
        for sort in ("note", "policy", "claim"):
            agent.ok("memory_write_fact", fact_text=f"a {sort}", category=sort, branch="work")
    cli("switch", "main")
    return cli


def beside(cli: CommandLine, **settings: str) -> Session:
    """A client of the store that the command line works on, wherever that is."""
    named = {name: cli.env[name] for name in ("DAY1_STORE__URL",) if name in cli.env}
    return Session(cli.folder / ".day1", **named, **settings)


def tiered(cli: CommandLine, *rules: str) -> str:
    given = [part for rule in rules for part in ("--tier", rule)]
    return cli("branch", *given, "main").out


def test_who_changed_what_a_branch_requires_is_kept(cli: CommandLine) -> None:
    tiered(cli, "none")
    tiered(cli, "none")
    with beside(cli, DAY1_AGENT_ID="bob", toolsets="review") as agent:
        given = {"branch_name": "main", "requires": ["tiers"], "tiers": ["one"]}
        agent.ok("memory_branch_protect", **given)
    cli("branch", "--unprotect", "main")
    said = cli.json("topology")["metadata"]["protected"]
    none: dict[str, list[str]] = {"protection": [], "tiers": []}
    no_look, one_look = ({"protection": ["tiers"], "tiers": [rule]} for rule in ("none", "one"))
    assert [(one["by"], one["source"], one["before"], one["after"]) for one in said] == [
        (None, "user", one_look, none),
        ("bob", "agent", no_look, one_look),
        (None, "user", none, no_look),
    ], "what changes nothing is no change"
    shown = cli("topology").out
    assert " by a person: required tiers; one, now nothing" in shown
    assert " by bob: required tiers; none, now tiers; one" in shown


def test_a_person_sets_rules_looks_and_merges(cli: CommandLine) -> None:
    said = tiered(cli, "none category=note", "one category=policy,claim")
    assert said.splitlines()[1:] == ["  none category=note", "  one category=policy,claim"]
    assert "tiers: none category=note; one category=policy,claim" in cli("topology").out
    seen = cli.json("merge", "work", "--dry-run")
    assert {row["text"]: row["tier"] for row in seen["rows"]} == {
        "a note": "none",
        "a policy": "one",
        "a claim": "one",
    }
    done = cli("merge", "work", "-y", code=4)
    assert "Merged work into main: 1 memory" in done.out
    assert "2 changes must be looked at first" in done.err
    assert "Nothing is merged yet." in cli("merge", "work", "-y", code=4).out
    shown = cli("review", "show", "work")
    assert shown.out.count("    tier one: one category=policy,claim") == 2
    assert "valid ones so far: 0" in shown.err
    assert "valid ones so far: 0" in cli("review", "merge", "work", code=1).err
    digest = cli.json("review", "show", "work")["digest"]
    assert cli.refused("review", "approve", "work", "--expect", "other")["code"] == "plan_changed"
    cli("review", "approve", "work", "--expect", digest)
    taken = cli("review", "approve", "work", "--withdraw")
    assert "valid ones so far: 0" in taken.err
    assert "Approvals: 1 of 1 (one category=policy,claim)" in cli("review", "approve", "work").err
    cli("review", "merge", "work")
    cli("status", "--exit-code")


def test_the_former_words_of_tiers_are_taken_and_stay_in_the_ledger(cli: CommandLine) -> None:
    """A day1 of version 0.1 on the same store reads no other words."""
    said = tiered(cli, "Unseen category=note", "look category=claim", "one category=policy", "two")
    shown = ["none category=note", "one category=claim", "one category=policy", "two"]
    assert said.splitlines()[1:] == [f"  {rule}" for rule in shown]
    assert cli.json("topology")["metadata"]["tiers"] == shown
    assert tiered(cli, *shown) == said
    assert len(cli.json("topology")["metadata"]["protected"]) == 1, "the same rules again"
    with closing(sqlite3.connect(cli.folder / ".day1" / "ledger.db")) as ledger:
        (kept,) = ledger.execute("SELECT tiers FROM branches WHERE name = 'main'").fetchone()
        (noted,) = ledger.execute("SELECT tiers FROM protections").fetchone()
    stored = ["unseen category=note", "look category=claim", "look category=policy", "two"]
    assert json.loads(kept) == json.loads(noted) == stored


def test_what_does_not_fit_is_refused_with_what_would(cli: CommandLine) -> None:
    assert "A rule is a tier" in cli("branch", "--tier", "maybe", "main", code=1).err
    cli("branch", "--tier", "one", "--unprotect", "main", code=2)
    tiered(cli, "two")
    assert cli.json("branch", "--protect", "gate,tiers", "main")["tiers"] == ["two"]
    assert cli.json("branch", "--unprotect", "main")["tiers"] == []


# Over HTTP: MCP, REST and the pages


class Team(NamedTuple):
    server: HttpServer
    boss: str
    ann: str
    bob: str
    cy: str


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    """`ann` may write; `bob` and `cy` may merge; main has tiers, and `ann` has a branch."""
    with HttpServer(tmp_path / "store", DAY1_HTTP__RATE="0") as server:
        boss = server.token("boss")
        ann = server.token("ann", "write", boss, agent_id="ann")
        bob, cy = (server.token(name, "merge", boss, agent_id=name) for name in ("bob", "cy"))
        given = {"branch_name": "main", "requires": ["tiers"], "tiers": RULES}
        server.ok("memory_branch_protect", boss, **given)
        server.ok("memory_branch_create", ann, branch_name="side")
        for text, category in (("a note", "note"), ("a policy", "policy")):
            server.ok("memory_write_fact", ann, fact_text=text, category=category, branch="side")
        yield Team(server, boss, ann, bob, cy)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_an_agent_with_the_core_tools_proposes_and_others_look(team: Team, mode: str) -> None:
    with HttpSession(team.server, token=team.ann, path="/mcp", mode=mode) as ann:
        done = ann.ok("memory_branch_merge", source_branch="side", strategy="auto")
        assert (done["merged_count"], len(done["left"])) == (1, 1)
    review = {"review_id": done["review_id"]}
    with HttpSession(team.server, token=team.ann, mode=mode) as ann:
        digest = ann.ok("review_show", **review)["digest"]
        ann.refused("review_approve", "forbidden", **review, expect=digest)
        ann.refused("review_merge", "forbidden", **review)
    for token in (team.bob, team.cy):
        with HttpSession(team.server, token=token, mode=mode) as other:
            other.refused("review_merge", "branch_protected", **review)
            other.ok("review_approve", **review, expect=digest)
    with HttpSession(team.server, token=team.bob, mode=mode) as bob:
        assert bob.ok("review_show", **review)["can_merge"]
        assert bob.ok("review_merge", **review)["merged_count"] == 1


def test_scripts_do_the_same_over_rest(team: Team) -> None:
    say = team.server.ok
    done = say("memory_branch_merge", team.ann, source_branch="side", strategy="auto")
    review: dict[str, Any] = {"review_id": done["review_id"]}
    seen = say("review_show", team.bob, **review)
    assert [(row["tier"], row["why"]) for row in seen["rows"]] == [("two", "two category=policy")]
    for token in (team.bob, team.cy):
        assert team.server.post("review_merge", token, **review).status == 403
        say("review_approve", token, **review, expect=seen["digest"])
    say("review_merge", team.cy, **review)
    error = team.server.post("memory_branch_protect", team.cy, branch_name="main", requires=[])
    assert error.code == "forbidden"


def test_people_look_on_the_page(team: Team) -> None:
    server = team.server
    done = server.ok("memory_branch_merge", team.ann, source_branch="side", strategy="auto")
    path = f"/review/reviews/{done['review_id']}"
    with Browser(server) as of_bob, Browser(server) as of_cy, Browser(server) as of_ann:
        for browser, token in ((of_bob, team.bob), (of_cy, team.cy), (of_ann, team.ann)):
            browser.sign_in(token)
        page = of_bob.get(path)
        assert "needs two looks two category=policy" in " ".join(page.text.split())
        assert "0 of 2 looks that it needs" in page.text
        assert not [
            form for form in of_ann.get(path).forms if form.buttons == [("take", "approve")]
        ]
        stale = page.form(f"{path}/approve")
        more = {"fact_text": "a later policy", "category": "policy", "branch": "side"}
        server.ok("memory_write_fact", team.ann, **more)
        refused = of_bob.send(stale, 409, take="approve")
        assert "not the previewed one any more" in refused.text
        assert "You saw: side into main: 1 new." in " ".join(refused.text.split())
        form = of_bob.get(path).form(f"{path}/approve")
        page = of_bob.send(form, take="approve")
        assert "1 of 2 looks that it needs" in page.text
        assert "bob approved" in " ".join(page.text.split())
        page = of_bob.send(page.form(f"{path}/approve"), take="withdraw")
        assert "0 of 2 looks" in page.text
        for browser in (of_bob, of_cy):
            form = browser.get(path).form(f"{path}/approve")
            page = browser.send(form, take="approve")
        assert "2 of 2 looks" in page.text
        merging = of_cy.get(f"{path}/merge").form(f"{path}/merge")
        assert "merged" in of_cy.send(merging).text
