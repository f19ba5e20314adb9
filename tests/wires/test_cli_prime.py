"""`day1 prime`, and the file that commands renew."""

import json

import pytest

from day1.formats import prime_file
from tests.engine import url_of
from tests.wires.command_line import CommandLine
from tests.wires.test_mcp_recall import OTHERS


@pytest.fixture
def in_folder(cli: CommandLine) -> None:
    if url_of(cli.folder) is not None:
        pytest.skip("a store on a server has its files elsewhere")


def test_it_prints_what_a_session_begins_with(cli: CommandLine) -> None:
    cli.add("The port is 80.")
    cli.add("Run the checks.", "--category", "pinned")
    said = cli("prime").out
    assert said.startswith('<day1-memory branch="main" commit="')
    assert said.endswith("</day1-memory>\n")
    assert said.index("Run the checks.") < said.index("The port is 80.")
    assert cli.json("prime")["text"] == said.removesuffix("\n")


def test_it_is_of_the_branch_and_the_space_that_are_named(cli: CommandLine) -> None:
    cli("branch", "side")
    cli.add("Of side.", "--branch", "side")
    cli.add("Of metal.", "--space", "project:metal")
    assert "Of side." not in cli("prime").out
    assert "Of side." in cli("prime", "--branch", "side").out
    assert "Of metal." not in cli("prime").out
    assert "Of metal." in cli("prime", "--space", "project:metal").out
    assert cli.refused("prime", "--branch", "none")["code"] == "unknown_branch"


def test_its_length_is_a_setting(cli: CommandLine) -> None:
    for number in range(30):
        cli.add(f"Fact number {number} says as much as it has to say.")
    for most in (400, 1_200, 4_000):
        cli.env["DAY1_PRIME__CHARS"] = str(most)
        said = cli("prime").out
        assert most - 100 < len(said) <= most or most == 4_000
    cli.env["DAY1_PRIME__CHARS"] = "399"
    assert "DAY1_PRIME__CHARS" in cli.refused("prime")["message"]


@pytest.mark.usefixtures("in_folder")
def test_a_command_that_writes_renews_the_file_and_another_does_not(cli: CommandLine) -> None:
    store = cli.folder / ".day1"
    cli.add("The port is 80.")
    first = prime_file.read(store, "main")
    assert first
    assert "The port is 80." in first.text
    assert first.stamp == prime_file.stamp_of(store)
    path = prime_file.path_of(store, "main")
    path.unlink()
    cli("status")
    cli("search", "port")
    cli("prime")
    assert not path.exists()
    cli.add("The port is 81.")
    again = prime_file.read(store, "main")
    assert again
    assert "The port is 81." in again.text
    assert again.stamp == prime_file.stamp_of(store)


@pytest.mark.usefixtures("in_folder")
def test_the_branch_on_which_sessions_begin_has_a_file_and_so_has_what_waits(
    cli: CommandLine,
) -> None:
    cli("branch", "side")
    cli.add("Of side.", "--branch", "side")
    cli.env["DAY1_BRANCH"] = "work"
    cli("branch", "work")
    store = cli.folder / ".day1"
    found = {one.branch: one for one in prime_file.kept(store)}
    assert set(found) == {"main", "side", "work"}
    assert "Of side." in found["side"].text


@pytest.mark.usefixtures("in_folder")
def test_a_space_of_the_environment_has_a_file_of_its_own(cli: CommandLine) -> None:
    cli.env["DAY1_SPACE"] = "project:metal"
    cli.add("Of metal.")
    store = cli.folder / ".day1"
    alone, both = prime_file.read(store, "main"), prime_file.read(store, "main", "project:metal")
    assert alone
    assert both
    assert "Of metal." not in alone.text
    assert "Of metal." in both.text
    assert json.loads(prime_file.path_of(store, "main", "project:metal").read_text())["space"]


def test_what_is_near_a_prompt_is_printed_and_nothing_where_nothing_is(cli: CommandLine) -> None:
    for word in OTHERS:
        cli.add(f"About {word} nobody knows.")
    cli.add("The gateway listens on port 8081 for plain http requests.")
    prompt = "Which port does the gateway listen on for plain http requests?"
    for said in (cli("prime", "--prompt", prompt), cli("prime", "--prompt", "-", stdin=prompt)):
        assert "- The gateway listens on port 8081 for plain http requests. (" in said.out
        assert len(said.out) <= 600
    assert cli("prime", "--prompt", "thanks").out == ""
    assert cli("prime", "--prompt", "-").out == ""
    assert cli.json("prime", "--prompt", "thanks")["ids"] == []
