"""A recording server that answers as MatrixOne does, and what it was told."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from day1.adapters.mysql.url import ServerDatabase
from day1.adapters.rows.tables import SCHEMA_VERSION
from day1.adapters.versioned.history import encode
from day1.adapters.versioned.matrixone.store import MatrixOneStore
from day1.model.rows.change import Message
from tests.fakes.recording_server import RecordingServer

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
NS = int(NOW.timestamp()) * 10**9
HINT = f"{{MO_TS = {NS}}}"
OLD = NS - 5 * 10**9
TIP, MAIN = "a" * 32, "day1_b_main_00000001"
CREATED = NOW.replace(tzinfo=None) - timedelta(days=1)
PITR = ("day1_keep", CREATED, CREATED, "account", "sys", "*", "*", 100, "y")


def server(**answers):
    """A store with one commit, that of its making."""
    told: Any
    text = encode(Message("init", "init"), 1, (), {})
    usual = {
        r"SELECT GET_LOCK": [(1,)],
        r"SELECT utc_timestamp": [(NOW.replace(tzinfo=None),)],
        r"SELECT now": [(NOW.replace(tzinfo=None),)],
        r"SELECT current_account_name": [("sys",)],
        r"SHOW PITR": answers.get("pitr", [PITR]),
        r"SELECT db, tip, units FROM": lambda _: [(MAIN, TIP, units(told))],
        r"SELECT db, ns FROM": [(MAIN, answers.get("ns", OLD))],
        r"SELECT name FROM `day1_graph`": [("main",)],
        r"SELECT id, parent, merged": [(TIP, None, None, "day1", text)],
        r"SELECT min\(": [(SCHEMA_VERSION, SCHEMA_VERSION)],
        r"SELECT sum\(": [(0, None, None)],
        r"SELECT count\(": [(0,)],
        r"SELECT 1 FROM `day1_graph`.`commits`": [(1,)],
    }
    first = answers.get("first", {})
    told = RecordingServer(first | {p: a for p, a in usual.items() if p not in first})
    return told


def units(told):
    """How many units of work the server has been told of."""
    return len([said for said in told.said if "units = units + 1" in said])


def opened(told):
    store = MatrixOneStore(ServerDatabase(told.engine(), "day1", "there/day1", "4.2.0"))
    told.said.clear()
    return store


def order(told, *patterns):
    """The places of the first statements that match, which must be in this order."""
    found = [next(i for i, s in enumerate(told.said) if re.match(p, s)) for p in patterns]
    assert found == sorted(found), told.said
    return found
