"""The command line on a store that a Dolt server has: what it says differs from a folder's."""

import re
from pathlib import Path

import pytest

from tests import documented_users, servers
from tests.wires.command_line import CommandLine


@pytest.fixture
def cli(tmp_path: Path, dolt_database: str) -> CommandLine:
    cli = CommandLine(tmp_path)
    cli.env["DAY1_STORE__URL"] = dolt_database
    return cli


def place(url: str) -> str:
    """The store as messages name it."""
    return url.partition("@")[2]


def test_a_store_is_made_on_the_server_and_nothing_in_this_folder(
    cli: CommandLine, dolt_database: str
) -> None:
    where = place(dolt_database)
    error = cli.refused("status")
    assert (error["code"], where in error["message"]) == ("not_a_store", True)
    assert "day1 init" in error["message"]
    assert "FOLDER" in cli("init", "below", code=2).err
    assert cli("init").out == f"Initialized empty day1 store in {where}\n"
    assert cli.json("init") == {"store": where, "created": False, "branch": "main"}
    cli.add("Ada: tea")
    assert cli("status").out.startswith(f"On branch main of {where}\n")
    assert list(cli.folder.iterdir()) == []


@pytest.mark.parametrize("folder", ["", "node"])
def test_where_names_the_server_also_while_it_is_away(
    cli: CommandLine, dolt_database: str, folder: str
) -> None:
    cli.env["DAY1_HOME"] = folder and str(cli.home / folder)
    cli("init")
    found = cli.json("where")
    assert (found["store"], found["rule"]) == (place(dolt_database), "server")
    assert found["branch"]["name"] == "main"
    away = "127.0.0.1:1/memory"
    cli.env["DAY1_STORE__URL"] = f"mysql+pymysql://day1:secret@{away}"
    found = cli.json("where")
    assert (found["store"], found["why"]) == (away, "DAY1_STORE__URL names it.")
    assert "cannot be connected to" in found["branch"]["why"]
    assert away in cli("where").out
    cli.env["DAY1_STORE__URL"] = "mysql+pymysql://day1:sec@ret@db/memory"
    said = cli("where")
    assert "%40" in said.out
    assert "ret@db" not in said.out + said.err


def test_a_copy_takes_a_password_of_any_characters(
    cli: CommandLine, dolt_url: str, dolt_database: str
) -> None:
    name = dolt_database.rpartition("/")[2]
    del cli.env["DAY1_STORE__URL"]
    cli("init")
    with servers.connection(dolt_url) as opened, opened.cursor() as cursor:
        cursor.execute(f"CREATE USER '{name}p'@'%' IDENTIFIED BY 'se/c?r#t['")
        cursor.execute(f"GRANT ALL PRIVILEGES ON *.* TO '{name}p'@'%'")
        url = f"mysql+pymysql://{name}p:se/c?r#t[@{place(dolt_database)}"
        assert cli.json("copy", ".day1", url)["to"] == f"mysql+pymysql://{place(dolt_database)}"
        cursor.execute(f"DROP USER '{name}p'@'%'")


def test_the_doctor_tells_the_server_from_this_machine(cli: CommandLine) -> None:
    cli("init")
    found = {each["name"]: each for each in cli.json("doctor")["findings"]}
    assert {each["level"] for each in found.values()} == {"ok"}
    node = next((cli.home / ".cache" / "day1" / "nodes").iterdir())
    assert str(node) in found["disk"]["text"]
    assert "on the server" in found["space"]["text"]
    assert found["rows"]["text"] == "the tables of every branch can be read"
    cli.env["DAY1_INDEX__CHROMA_URL"] = "http://user:secret@chroma.invalid:8000"
    chroma = {each["name"]: each for each in cli.json("doctor")["findings"]}["chroma"]
    assert chroma["text"].startswith("on chroma.invalid;")


def test_gc_retires_branches_and_leaves_the_rest_to_the_server(cli: CommandLine) -> None:
    cli("init")
    cli("switch", "-c", "side")
    cli.add("Ada: tea")
    cli("merge", "side", "--into", "main")
    cli("switch", "main")
    refused = cli.refused("gc", "--retire", "--purge-redacted")
    assert (refused["code"], refused["details"]["instead"]) == (
        "unsupported",
        "day1 copy --purge-redacted",
    )
    assert [each["branch_name"] for each in cli.json("gc")["offered"]] == ["side"], "not retired"
    assert "by itself" in cli("gc").err
    assert [each["branch_name"] for each in cli.json("gc", "--retire")["retired"]] == ["side"]
    assert "docs/servers.md" in cli.refused("backup", "b.tar.gz")["message"]


def test_a_server_that_is_not_there_is_named(tmp_path: Path) -> None:
    """F9: with nobody there a command said that what it wrote may be stored."""
    cli = CommandLine(tmp_path)
    cli.env["DAY1_STORE__URL"] = "mysql+pymysql://day1:hush@127.0.0.1:9/day1"
    for line in (["status"], ["add", "Ada: tea"], ["init"]):
        error = cli.refused(*line)
        assert error["code"] == "store_unavailable"
        assert "127.0.0.1:9/day1" in error["message"]
        assert "stored" not in error["message"]
        assert "hush" not in str(error)


MEMORY, LEDGER = (
    found[1]
    for statement in documented_users.statements(documented_users.DOLT)
    if (found := re.match("GRANT (.*) ON", statement))
)


def test_a_user_with_the_least_rights_does_everything_and_a_reader_reads(
    cli: CommandLine, dolt_url: str, dolt_database: str
) -> None:
    name = dolt_database.rpartition("/")[2]
    host = place(dolt_url)
    with servers.connection(dolt_url) as opened, opened.cursor() as cursor:

        def user(suffix: str, memory: str, ledger: str) -> str:
            cursor.execute(f"CREATE USER '{name}{suffix}'@'%' IDENTIFIED BY 'secret'")
            cursor.execute(f"GRANT {memory} ON `{name}`.* TO '{name}{suffix}'@'%'")
            cursor.execute(f"GRANT {ledger} ON `{name}_ledger`.* TO '{name}{suffix}'@'%'")
            return f"mysql+pymysql://{name}{suffix}:secret@{host}/{name}"

        cli.env["DAY1_STORE__URL"] = user("w", MEMORY, LEDGER)
        refused = cli.refused("init")
        assert f"CREATE DATABASE `{name}`" in refused["message"]
        cursor.execute(f"CREATE DATABASE `{name}`")
        assert f"CREATE DATABASE `{name}_ledger`" in cli.refused("init")["message"]
        cursor.execute(f"CREATE DATABASE `{name}_ledger`")
        cli("init")
        fact = cli.add("Ada drinks tea.")
        cli("switch", "-c", "side")
        cli("edit", fact, "Ada drinks coffee.")
        cli("edit", fact, "Ada drinks water.", "-b", "main")
        cli("merge", "side", "--into", "main", "--theirs")
        merge = cli.json("log", "main")["result"][0]["commit"]
        cli("revert", merge, "-b", "main")
        cli("snapshot", "then")
        cli("rm", fact, "-b", "main")
        cli("redact", fact, "-m", "asked for", "--confirm", fact)
        cli("branch", "gone")
        cli("branch", "-d", "gone")
        cli.env["DAY1_STORE__URL"] = user("r", "SELECT", "SELECT")
        assert merge in [each["commit"] for each in cli.json("log", "main")["result"]]
        assert "side" in cli("topology").out
        for line in (["add", "x"], ["branch", "y"], ["merge", "side", "--into", "main"]):
            assert cli.refused(*line)["code"] == "store_read_only"
        for suffix in "wr":
            cursor.execute(f"DROP USER '{name}{suffix}'@'%'")
