"""The ledger on a server is made, and an older one brought up, by whoever is first."""

from collections.abc import Callable, Iterator

import pytest

from day1.adapters.ledger.stamp import DOLT_STAMP
from day1.adapters.ledger.tables import VERSION
from day1.adapters.mysql.url import parse
from day1.errors import Refused, StoreReadOnly, StoreVersionUnknown
from day1.model.branches.branch import Branch
from tests.adapters.server_ledgers import MAIN, opened, processes, said

OPEN = """
import sys
from tests.adapters.server_ledgers import opened
print("ready", flush=True)
sys.stdin.readline()
with opened(sys.argv[1]) as ledger:
    print(len(ledger.branches()), flush=True)
"""


def test_processes_that_start_at_once_make_one_ledger(dolt_database: str) -> None:
    done = processes(OPEN, dolt_database)
    assert [(p.returncode, p.stdout) for p in done] == [(0, "0\n")] * 4, [p.stderr for p in done]
    rows = said(f"{dolt_database}_ledger", "SELECT version FROM ledger_schema")
    assert rows == [(VERSION,)]


def older(url: str) -> None:
    """Make the ledger one of an earlier day1: without a table and a column, with a branch."""
    with opened(url) as ledger:
        ledger.put_branch(MAIN)
    said(
        f"{url}_ledger",
        "DROP TABLE redactions",
        "ALTER TABLE branches DROP COLUMN protection",
        "ALTER TABLE sessions DROP COLUMN token_id",
        f"UPDATE ledger_schema SET version = {VERSION - 1}",
    )


def test_processes_that_start_at_once_bring_an_older_ledger_up(dolt_database: str) -> None:
    older(dolt_database)
    done = processes(OPEN, dolt_database)
    assert [(p.returncode, p.stdout) for p in done] == [(0, "1\n")] * 4, [p.stderr for p in done]
    with opened(dolt_database) as ledger:
        assert ledger.branch("main") == MAIN
        protected = Branch("branch_2", "held", None, None, 2, protection=("review",))
        ledger.put_branch(protected)
        assert ledger.branch("held") == protected
    rows = said(f"{dolt_database}_ledger", "SELECT version FROM ledger_schema ORDER BY version")
    assert rows == [(VERSION - 1,), (VERSION,)]


@pytest.mark.parametrize("engine", ["dolt", "matrixone"])
def test_a_ledger_that_was_made_half_way_is_completed(
    engine: str, request: pytest.FixtureRequest
) -> None:
    url = str(request.getfixturevalue(f"{engine}_database"))
    server, _, name = url.rpartition("/")
    said(
        server,
        f"CREATE DATABASE {name}_ledger",
        f"USE {name}_ledger",
        "CREATE TABLE heads (`key` varchar(255) PRIMARY KEY, branch_id varchar(255) NOT NULL)",
    )
    with opened(url, stamp=DOLT_STAMP if engine == "dolt" else None) as ledger:
        ledger.set_head("cli", "branch_1")
        assert ledger.head("cli") == "branch_1"


def test_a_later_ledger_is_refused_and_left_as_it_is(dolt_database: str) -> None:
    """F9: a ledger of a later day1 was opened."""
    with opened(dolt_database):
        pass
    url = f"{dolt_database}_ledger"
    later = "ALTER TABLE reviews ADD COLUMN later text"
    said(url, f"INSERT INTO ledger_schema VALUES ({VERSION + 1})", "DROP TABLE sign_ins", later)
    with pytest.raises(StoreVersionUnknown, match="install a newer day1"), opened(dolt_database):
        pass
    assert ("sign_ins",) not in said(url, "SHOW TABLES")


@pytest.fixture
def user(dolt_url: str, dolt_database: str) -> Iterator[Callable[..., str]]:
    """Make a user who has been given these databases; gives the store's URL as it sees it."""
    place, name = parse(dolt_database), f"u_{parse(dolt_database).database}"

    def make(*databases: str, what: str = "ALL PRIVILEGES") -> str:
        said(dolt_url, f"CREATE USER '{name}'@'%' IDENTIFIED BY 'secret'")
        for database in databases:
            said(dolt_url, f"GRANT {what} ON `{database}`.* TO '{name}'@'%'")
        seen = place.url.set(username=name, password="secret", database=place.database)
        return seen.render_as_string(hide_password=False)

    yield make
    said(dolt_url, f"DROP USER IF EXISTS '{name}'@'%'")


def test_without_the_right_to_make_it_the_message_names_the_grant(
    user: Callable[..., str], dolt_database: str
) -> None:
    name = f"{parse(dolt_database).database}_ledger"
    with pytest.raises(Refused) as caught, opened(user(parse(dolt_database).database)):
        pass
    assert f"CREATE DATABASE `{name}`" in str(caught.value)
    assert "docs/servers.md" in str(caught.value)
    assert "GRANT ALL" not in str(caught.value), "F9: that is more than the document gives"


def test_who_may_not_bring_an_older_ledger_up_is_told_who_may(
    user: Callable[..., str], dolt_database: str
) -> None:
    older(dolt_database)
    names = parse(dolt_database).database, f"{parse(dolt_database).database}_ledger"
    with pytest.raises(StoreReadOnly, match="`day1 init`"), opened(user(*names, what="SELECT")):
        pass


def test_a_wrong_password_is_no_reason_to_try_again(
    user: Callable[..., str], dolt_database: str
) -> None:
    url = user(parse(dolt_database).database).replace("secret", "wrong")
    with pytest.raises(Refused, match="DAY1_STORE__URL") as caught, opened(url):
        pass
    assert "wrong" not in str(caught.value.body())
