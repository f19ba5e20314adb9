"""Each right that docs/servers.md gives day1's user on Dolt is needed, and no other is."""

import re
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import make_url

from day1.adapters.ledger.tables import VERSION
from day1.errors import Day1Error
from tests import documented_users, servers
from tests.adapters.server_ledgers import opened, said
from tests.flows.random_store import opened_at
from tests.suites.engine_memory import EngineMemory
from tests.suites.memory import Refusal
from tests.wires.command_line import CommandLine

GRANTS = {
    ("day1_ledger" if "day1_ledger" in grant else "day1"): re.split(r",? ", grant)[1:-4]
    for grant in documented_users.statements(documented_users.DOLT)
    if grant.startswith("GRANT")
}
GIVEN = [(database, right) for database, rights in GRANTS.items() for right in rights]


def test_the_document_gives_rights_on_both_databases() -> None:
    assert set(GRANTS) == {"day1", "day1_ledger"}
    assert not {"DROP", "ALL"} & set(GRANTS["day1"])


def everything(url: str) -> None:
    """What takes rights: a store is made and stepped, rows are written, merged, held, removed."""
    with closing(EngineMemory(url, old=True)) as memory:
        memory.add_fact("main", "fact_1", fact_text="one")
        memory.fork("side", "main")
        memory.update_fact("side", "fact_1", fact_text="two")
        memory.update_fact("main", "fact_1", fact_text="three")
        memory.merge("side", "main")
        memory.remove("main", "fact_1")


def upgraded(url: str, administrator: str) -> None:
    said(
        f"{administrator}_ledger",
        "ALTER TABLE branches DROP COLUMN protection",
        f"UPDATE ledger_schema SET version = {VERSION - 1}",
    )
    with opened(url):
        pass


def whole(url: str, administrator: str) -> None:
    everything(url)
    upgraded(url, administrator)


def test_the_documented_user_does_everything(documented_dolt: str, dolt_database: str) -> None:
    """F1: nothing is dropped any more, so the right to is no longer given."""
    whole(documented_dolt, dolt_database)


@pytest.mark.parametrize(("database", "right"), GIVEN)
def test_no_right_can_be_taken_away(dolt_database: str, database: str, right: str) -> None:
    """F1: each right of the document is tried by taking it away."""
    revoke = f"REVOKE {right} ON {database}.* FROM 'day1'@'%'"
    with documented_users.user(dolt_database, documented_users.DOLT, revoke) as url:
        with pytest.raises((Day1Error, Refusal)) as caught:
            whole(url, dolt_database)
        assert getattr(caught.value, "code", str(caught.value)) == "store_read_only"


def nothing(_administrator: str) -> None:
    """Take nothing away."""


def rights(administrator: str) -> None:
    """Take the user's rights on the store."""
    name = administrator.rpartition("/")[2]
    said(administrator, f"REVOKE {', '.join(GRANTS['day1'])} ON `{name}`.* FROM '{name}'@'%'")


def database(administrator: str) -> None:
    """Drop the store's database, on which the user keeps its rights."""
    server, _, name = administrator.rpartition("/")
    said(server, f"DROP DATABASE `{name}`")


APART = {
    "user name and password": nothing,
    "no rights on it": rights,
    "has no database": database,
}
"""What a message says alone, and what is taken away before."""


@pytest.mark.parametrize("text", APART)
def test_password_rights_and_database_are_told_apart(
    documented_dolt: str, dolt_database: str, tmp_path: Path, text: str
) -> None:
    day1 = CommandLine(tmp_path)
    day1.env |= {"DAY1_STORE__URL": documented_dolt, "DAY1_HOME": str(tmp_path / "node")}
    day1("init")
    APART[text](dolt_database)
    if APART[text] is nothing:
        url = make_url(documented_dolt).set(password="wrong")
        day1.env["DAY1_STORE__URL"] = url.render_as_string(hide_password=False)
    for command in (["status"], ["add", "New."], ["search", "new"], ["doctor", "--json"]):
        answer = day1(*command, code=1)
        told = answer.out + answer.err
        assert [part for part in APART if part in told] == [text], (command, told)
        assert "wrong" not in told


@pytest.mark.parametrize("password", ["schlüssel", "ключ 🗝 €", "p@ss:w/or%d#?&'\\"])
def test_a_password_may_have_any_characters(
    documented_dolt: str, dolt_database: str, tmp_path: Path, password: str
) -> None:
    """The driver sent letters outside of ASCII in another encoding, or failed at them."""
    url = make_url(documented_dolt).set(password=password)
    with servers.connection(dolt_database) as connection, connection.cursor() as cursor:
        cursor.execute(f"ALTER USER '{url.username}'@'%%' IDENTIFIED BY %s", (password,))
    day1 = CommandLine(tmp_path)
    day1.env |= {"DAY1_HOME": str(tmp_path / "node")}
    day1.env["DAY1_STORE__URL"] = url.render_as_string(hide_password=False)
    day1("init")


def test_a_user_that_may_only_read_is_not_said_to_write(
    documented_dolt: str, dolt_database: str
) -> None:
    """`day1 doctor` and `/ready` said that this process can write."""
    name = dolt_database.rpartition("/")[2]
    with opened_at(documented_dolt, create=True) as store:
        assert store.obstacles() == []
        said(dolt_database, f"REVOKE INSERT ON `{name}`.* FROM '{name}'@'%'")
        assert [error.code for error in store.obstacles()] == ["store_read_only"]
