"""A chore that fails is named by `/ready` and `day1 status`, and prevents no call."""

import json
from pathlib import Path

from day1.app.background import failures_of
from day1.services.upkeep.chores import ChoreState
from tests.flows.opened_store import opened
from tests.wires.command_line import CommandLine
from tests.wires.served_toolsets import served

READY = {"status": "ready", "access": "write"}


def test_ready_names_a_chore_that_fails_until_it_works_again(tmp_path: Path) -> None:
    with opened(tmp_path / "store", create=True) as store, served(store) as http:
        report = failures_of(store)
        report({"index": ChoreState(0, 1, "store_busy"), "jobs": ChoreState(0)})
        answer = http.get("/ready")
        assert (answer.status_code, answer.json()) == (200, {**READY, "chores": {"index": "store_busy"}})  # fmt: skip
        report({"index": ChoreState(0)})
        assert http.get("/ready").json() == READY


def test_status_names_a_chore_that_fails(cli: CommandLine) -> None:
    assert json.loads(cli("status", "--json").out)["chores"] == {}
    assert "Background work" not in cli("status").out
    with opened(cli.folder / ".day1") as store:
        failures_of(store)({"embed": ChoreState(0, 3, "OSError")})
        assert json.loads(cli("status", "--json").out)["chores"] == {"embed": "OSError"}
        assert "Background work that fails: embed (OSError)" in cli("status").out
        failures_of(store)({"embed": ChoreState(0)})
