"""Open and create stores with the engine that the settings name."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Engine

from day1.adapters.failures import of_system
from day1.adapters.flock import PAUSE_FILE, WriteLock
from day1.adapters.ledger.file_locks import FOLDER as LOCKS
from day1.adapters.ledger.file_locks import WHOLE_FILE as INTENT_LOCK
from day1.adapters.ledger.file_locks import FileLocks
from day1.adapters.ledger.ledger import SqlLedger
from day1.adapters.ledger.sqlite import FILE as LEDGER
from day1.adapters.ledger.sqlite import check_file, open_ledger
from day1.adapters.mysql.url import ServerDatabase, ServerUrl, connect, engine_of, parse
from day1.adapters.versioned.doltlite.store import FILE, LOCK_FILE, DoltLiteStore, close_to_others
from day1.adapters.versioned.store import SqlStore
from day1.errors import Day1Error, StoreFull
from day1.git_folders import keep_out
from day1.model.values.callbacks import Clock
from day1.model.values.ids import new_id
from day1.settings import Settings

if TYPE_CHECKING:
    from day1.adapters.versioned.dolt.store import DoltStore
    from day1.adapters.versioned.matrixone.store import MatrixOneStore

log = logging.getLogger(__name__)

_LEAST_FREE_BYTES = 256 * 1024
"""Free bytes on the disk below which the store counts as full; a write takes about 10,000."""
NODE = "node"
LEFTOVER = "purged.tmp"
"""The folder that a process leaves behind if it is killed while it rewrites a store."""


def create_store(
    settings: Settings, folder: Path, clock: Clock, server_clock: Clock | None = None
) -> bool:
    """Make a store where there is none; return whether one was made. Clocks: see `open_engine`.

    Raises:
        ForeignStore: the file or database of the rows or the ledger is another program's.
    """
    if settings.store.url is None:
        check_file(folder)
        was_created = DoltLiteStore.create(folder, clock)
        if was_created:
            try:
                keep_out(folder)
            except OSError as exc:
                log.warning("git is not told to ignore %s: %s", folder, exc.strerror)
        return was_created
    from day1.adapters.ledger.server import check_ledger

    with ExitStack() as open_resources:
        server = _server(settings, open_resources)
        server_url = server.place
        check_ledger(server_url)
        return server.adapter.create(
            server.engine, server_url.database, server_url.name, server_clock
        )


@dataclass(frozen=True, slots=True)
class EngineHandles:
    """The rows and the ledger of an open store."""

    store: SqlStore
    ledger: SqlLedger
    where: str
    obstacles: Callable[[], list[Day1Error]]
    """Lists why nobody, or not this user, can write now."""
    node: str = ""
    read_only: bool = False


def open_engine(
    settings: Settings,
    folder: Path,
    clock: Clock,
    opened: ExitStack,
    server_clock: Clock | None = None,
) -> EngineHandles:
    """Open the rows and the ledger of a store; `opened` closes them.

    A server gives rows its own times; only tests give a `server_clock`.

    Raises:
        NotAStore: there is none.
    """
    if settings.store.url is None:
        return _in_folder(settings, folder, clock, opened)
    from day1.adapters.ledger.server import open_server_ledger

    server = _server(settings, opened)
    server_url, wait_s = server.place, settings.store.wait_s
    database = ServerDatabase(
        server.engine, server_url.database, server_url.name, server.version, wait_s
    )
    store = server.adapter(database, server_clock)
    opened.callback(store.close)
    ledger = open_server_ledger(server.engine, server_url, wait_s=wait_s, stamp=server.stamp)
    opened.callback(ledger.close)
    node = _node(folder, clock)
    return EngineHandles(store, ledger, server_url.name, store.obstacles, node)


def _in_folder(settings: Settings, folder: Path, clock: Clock, opened: ExitStack) -> EngineHandles:
    close_to_others(folder)
    try:
        read_only = folder.is_dir() and not _writable(folder)
        has_leftover = not read_only and (folder / LEFTOVER).exists()
    except OSError as exc:
        raise of_system(exc, folder, writing=False) from exc
    wait_s = settings.store.wait_s
    if has_leftover:
        from day1.adapters.archive.rewriting import clear

        clear(folder)
    store = DoltLiteStore(
        folder, clock, read_only=read_only, wait_s=wait_s, cache_mb=settings.store.cache_mb
    )
    opened.callback(store.close)
    file_locks = FileLocks(folder, wait_s)
    ledger = open_ledger(folder, file_locks, read_only=read_only, wait_s=wait_s)
    opened.callback(ledger.close)
    obstacles = partial(obstacles_in, folder)
    return EngineHandles(store, ledger, str(folder), obstacles, read_only=read_only)


@dataclass(frozen=True, slots=True)
class _Server:
    """A connected server, and the adapter for its engine."""

    place: ServerUrl
    engine: Engine
    adapter: type[DoltStore] | type[MatrixOneStore]
    version: str
    stamp: str | None
    """SQL that reads a value which changes with each write to the ledger; None: there is none."""


def _server(settings: Settings, opened: ExitStack) -> _Server:
    url_setting = settings.store.url
    server_url = parse(url_setting.get_secret_value() if url_setting else "")
    engine = connect(server_url, settings.store.wait_s)
    opened.callback(engine.dispose)
    engine_name, version = engine_of(engine, server_url.name)
    if engine_name == "dolt":
        from day1.adapters.ledger.stamp import DOLT_STAMP
        from day1.adapters.versioned.dolt.store import DoltStore

        return _Server(server_url, engine, DoltStore, version, DOLT_STAMP)
    from day1.adapters.versioned.matrixone.store import MatrixOneStore

    return _Server(server_url, engine, MatrixOneStore, version, None)


def _node(folder: Path, clock: Clock) -> str:
    """Read this machine's id; it is made when the machine first opens the store."""
    id_path = folder / NODE
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        close_to_others(folder)
        with suppress(FileExistsError), id_path.open("x", encoding="utf-8") as id_file:
            id_file.write(new_id("node", clock()))
        return id_path.read_text(encoding="utf-8")
    except OSError as exc:
        raise of_system(exc, id_path, writing=True) from exc


def _writable(folder: Path) -> bool:
    """Whether this user may write the folder and the files in it, which others may own."""
    files = [folder / file_name for file_name in (FILE, LEDGER, LOCK_FILE, INTENT_LOCK, LOCKS)]
    return all(os.access(path, os.W_OK) for path in (folder, *files) if path.exists())


def obstacles_in(folder: Path) -> list[Day1Error]:
    """List why this user cannot write the store in a folder now; empty: nothing prevents it."""
    obstacles: list[Day1Error] = []
    for lock_name in (LOCK_FILE, INTENT_LOCK, PAUSE_FILE):
        try:
            with WriteLock(folder / lock_name, 0).held_if_free():
                pass
        except Day1Error as exc:
            obstacles.append(exc)
    free_bytes = shutil.disk_usage(folder).free
    if free_bytes < _LEAST_FREE_BYTES:
        message = f"The disk has {free_bytes:,} bytes free: free some space. Reading goes on."
        obstacles.append(StoreFull(message, free=free_bytes))
    return obstacles
