"""Which engine keeps the stores of tests that ask day1 as its users do.

They name stores by folders. With `pytest --engine dolt` (or DAY1_TEST_ENGINE=dolt) the store of a
folder is a database on a Dolt server, and the folder holds what the machine has of its own. Child
processes of a test learn both from the environment. `matrixone` is the same on a MatrixOne server.
"""

import atexit
import contextlib
import hashlib
import os
import sqlite3
from contextlib import ExitStack, closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from day1.adapters.versioned.doltlite.store import DoltLiteStore
from day1.adapters.versioned.store import SqlStore
from day1.app.engines import open_engine
from day1.ports.store import Store
from day1.settings import Settings, StoreSettings
from tests import servers

VARIABLE = "DAY1_TEST_ENGINE"
FOLDER = "folder"
_SERVERS = {"dolt": servers.dolt_url, "matrixone": servers.matrixone_url}
ENGINES = (FOLDER, *_SERVERS)


def engine() -> str:
    return os.environ.get(VARIABLE) or FOLDER


def needs_files() -> None:
    """Skip a test that is about the files of a store where a server has them."""
    if engine() != FOLDER:
        pytest.skip("it is about the store's own files, which a server has")


def url_of(folder: Path) -> str | None:
    """The URL of the store that a folder stands for; None where it is in the folder."""
    if engine() == FOLDER:
        return None
    digest = hashlib.sha256(str(folder.absolute()).encode()).hexdigest()
    return _made(f"w_{digest[:16]}")


@cache
def _made(name: str) -> str:
    """A database's URL; this process drops it at the end."""
    kind = engine()
    server = os.environ[f"DAY1_TEST_{kind.upper()}_URL"] = _SERVERS[kind]()
    kept = os.getpid()

    def drop() -> None:
        if os.getpid() == kept:
            with contextlib.suppress(Exception):
                servers.drop(server, name)

    atexit.register(drop)
    return f"{server}/{name}"


def variables(folder: Path) -> dict[str, str]:
    """What tells a process where the store of a folder is."""
    url = url_of(folder)
    return {"DAY1_HOME": str(folder), **({} if url is None else {"DAY1_STORE__URL": url})}


def store_settings(folder: Path, **more: Any) -> StoreSettings:
    url = url_of(folder)
    return StoreSettings(url=None if url is None else SecretStr(url), **more)


def beside(folder: Path, opened: ExitStack) -> SqlStore:
    """The rows of a folder's store for reading, as another process has them."""
    url = url_of(folder)
    if url is None:
        store = DoltLiteStore(folder, lambda: 0, read_only=True)
        opened.callback(store.close)
        return store
    settings = Settings(home=folder, store=store_settings(folder))
    return open_engine(settings, folder, lambda: 0, opened).store


def compact(store: Store, folder: Path) -> None:
    """Destroy what no ref reaches; a server's administrator does that."""
    url = url_of(folder)
    if url is None:
        store.compact()
        return
    if engine() == "matrixone":
        pytest.skip("a MatrixOne server gives space back by itself, and no statement asks for it")
    with servers.connection(url) as connection, connection.cursor() as cursor:
        cursor.execute("CALL DOLT_GC()")


def ledger_rows(folder: Path) -> dict[str, Any]:
    """Every row of every table of the ledger, as another program reads them."""
    url = url_of(folder)
    if url is None:
        file = f"file:{folder / 'ledger.db'}?mode=ro"
        with closing(sqlite3.connect(file, uri=True)) as ledger:
            names = ledger.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            return {name: ledger.execute(f"SELECT * FROM {name}").fetchall() for (name,) in names}
    with servers.connection(f"{url}_ledger") as connection, connection.cursor() as cursor:
        cursor.execute("SHOW TABLES")
        found: dict[str, Any] = {}
        for (name,) in cursor.fetchall():
            cursor.execute(f"SELECT * FROM `{name}`")
            found[str(name)] = list(cursor.fetchall())
        return found
