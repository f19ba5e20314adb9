"""A store that an earlier day1 made on a Dolt server is upgraded by the documented user.

Each folder `made_by_*` has the files of a server as that version left them. The administrator has
nothing to do for an upgrade: the user has the rights that docs/servers.md gives, and no others.
"""

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from day1.adapters.ledger.tables import SUM, VERSION
from tests import documented_users, servers
from tests.adapters.server_ledgers import said
from tests.compatibility.archives import unpack
from tests.compatibility.test_earlier_versions import (
    answers_as_recorded,
    doctor_finds_all_well,
    held,
    text_of,
)
from tests.sampling import sampled
from tests.wires.command_line import CommandLine
from tests.wires.http_server import HttpServer

VERSIONS = sorted(Path(__file__).parent.glob("made_by_*"))
ASKED = frozenset({"status", "held", "memory_get", "memory_log", "memory_branch_list", "search"})
"""Of the recorded questions those that every run asks."""
EVERYTHING: frozenset[str] = frozenset()


@pytest.fixture(scope="module", params=VERSIONS, ids=lambda folder: folder.name)
def made(request: pytest.FixtureRequest) -> Path:
    """The folder of what one version made."""
    folder: Path = request.param
    return folder


@pytest.fixture
def administrator(made: Path, tmp_path: Path) -> Iterator[str]:
    """A server of the test's own with the earlier version's store, as its administrator has it."""
    if not servers.has_dolt():
        servers.skip("no `dolt` program on the PATH that could serve an earlier version's files")
    folder = tmp_path / "dolt"
    folder.mkdir()
    unpack(made / "dolt.tar.xz", folder)
    server = servers.DoltServer(folder)
    server.up()
    yield server.url
    server.stop()


@pytest.fixture
def url(administrator: str) -> Iterator[str]:
    """The store as the documented user has it."""
    with documented_users.user(f"{administrator}/day1", documented_users.DOLT) as url:
        yield url


@pytest.fixture
def day1(url: str, tmp_path: Path) -> CommandLine:
    """The present command line of the documented user, on the machine that the store knows."""
    line = CommandLine(tmp_path)
    line.env |= {"DAY1_STORE__URL": url, "DAY1_HOME": str(tmp_path / "dolt" / "node")}
    return line


def ledger_of(server: str, *statements: str) -> list[tuple[object, ...]]:
    """Run statements on the ledger as the administrator."""
    return said(f"{server}/day1_ledger", *statements)


def as_an_earlier_version_left_it(server: str) -> None:
    """Make the ledger one that waits for its upgrade, with a row that has no checksum."""
    ledger_of(
        server,
        f"UPDATE branches SET {SUM} = NULL",
        f"DELETE FROM ledger_schema WHERE version = {VERSION}",
    )


def serve(day1: CommandLine) -> None:
    """Serve the store until it is ready."""
    settings: dict[str, Any] = {n: v for n, v in day1.env.items() if n.startswith("DAY1_")}
    with HttpServer(Path(settings.pop("DAY1_HOME")), **settings) as node:
        assert node.ask("GET", "/ready").status == 200


COMMANDS = [["status"], ["search", "deploy", "-b", "main"], ["doctor"], ["init"]]


def test_whichever_command_comes_first_upgrades_the_store(
    day1: CommandLine, administrator: str
) -> None:
    deeds: list[Callable[[], object]] = [partial(day1, *command) for command in COMMANDS]
    deeds += [partial(day1.add, "New.", "-b", "begun"), partial(serve, day1)]
    for deed in deeds:
        deed()
        assert ledger_of(administrator, "SELECT max(version) FROM ledger_schema") == [(VERSION,)]
        as_an_earlier_version_left_it(administrator)


@pytest.mark.parametrize("asked", sampled((ASKED, EVERYTHING), (ASKED,)))
def test_the_upgraded_store_gives_the_recorded_answers(
    made: Path, day1: CommandLine, asked: frozenset[str]
) -> None:
    answers = json.loads(text_of(made / "dolt_answers.json.xz"))
    answers_as_recorded(day1, [one for one in answers if not asked or names(one["ask"]) & asked])
    doctor_finds_all_well(day1)


def names(ask: list[str]) -> set[str]:
    return set(ask[:2])


def test_the_upgraded_store_takes_writes_and_merges(day1: CommandLine) -> None:
    (before,) = held(day1)
    new = day1.add("Written by the present version.", "-b", "review-me")
    day1("merge", "review-me", "--into", "main", "--yes", code=3)
    assert [hit["id"] for hit in day1.json("search", "present", "-b", "main")["result"]] == [new]
    assert len(held(day1)) == 2, "the merge held what conflicts"
    day1("held", "take", before, "-b", "main")
    assert before not in held(day1)
    assert len(day1.json("history", new, "-b", "main")["versions"]) == 1
    doctor_finds_all_well(day1)
