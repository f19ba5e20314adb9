"""The ledger on a server as a process opens it, and what another program says to that server."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from day1.adapters.ledger.ledger import SqlLedger
from day1.adapters.ledger.server import open_server_ledger
from day1.adapters.ledger.stamp import DOLT_STAMP
from day1.adapters.mysql.url import connect, parse
from day1.model.branches.branch import Branch
from day1.model.records.intent import Intent, IntentKind
from day1.ports.ledger import Recover
from tests import servers

ROOT = Path(__file__).parents[2]
MAIN = Branch("branch_1", "main", None, None, 1)


@dataclass(frozen=True)
class Forked:
    """What an intent of these tests is about."""

    name: str


FORK: IntentKind[Any, Forked] = IntentKind("fork", Forked, lambda _, __: None)


def never(_: Intent) -> None:
    raise AssertionError("there was nothing to recover")


@contextmanager
def opened(
    url: str,
    wait_s: float = 10.0,
    recover: Recover = never,
    stamp: str | None = DOLT_STAMP,
) -> Iterator[SqlLedger]:
    place = parse(url)
    engine = connect(place)
    ledger = open_server_ledger(engine, place, wait_s=wait_s, stamp=stamp)
    ledger.recover = recover
    try:
        yield ledger
    finally:
        ledger.close()
        engine.dispose()


def said(url: str, *statements: str) -> list[tuple[Any, ...]]:
    """Run statements as another program does; gives the rows of the last."""
    rows: list[tuple[Any, ...]] = []
    with servers.connection(url) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
            rows = list(cursor.fetchall())
    return rows


def processes(code: str, url: str, count: int = 4) -> list[subprocess.CompletedProcess[str]]:
    """Run as many processes, which begin together."""
    begun = [
        subprocess.Popen(
            [sys.executable, "-c", code, url, str(number)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(count)
    ]
    for process in begun:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    done = []
    for process in begun:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in begun:
        out, err = process.communicate(timeout=120)
        done.append(subprocess.CompletedProcess(process.args, process.returncode, out, err))
    return done
