"""The faults of the matrix: how each is made and mended, and what may be answered meanwhile."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.flows.opened_store import fill, read_only
from tests.matrix.connection_proxy import ConnectionProxy

OK = "ok"
AWAY, FULL, READ_ONLY = "store_unavailable", "store_full", "store_read_only"


@dataclass(frozen=True, slots=True)
class Scene:
    """Where a fault is made."""

    store: Path
    model: Path
    """The folder of the embedding model."""
    proxy: ConnectionProxy | None = None
    """What stands before the store's server."""
    hosts: Path | None = None
    """What tells the processes the server's address."""


Make = Callable[[Scene], AbstractContextManager[object]]
"""Makes a fault for a block, and mends it at the end."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One row: while `during` lasts, each call answers one of these."""

    name: str
    during: Make
    doctor: str
    """What `day1 doctor` says of it."""
    list: str = OK
    search: str = OK
    write: str = OK
    log: str = ""
    """What one of the processes logs."""
    ready: tuple[int, ...] = (200,)
    wrong: frozenset[str] = frozenset()
    """The codes that `/ready` names."""
    needs: str = "folder"
    """Which store: `folder`, `disk` (a folder on a disk of its own), `model`, `server`, `names`."""
    settings: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def away(path: Path) -> Iterator[None]:
    """The file is gone, and comes back as it was."""
    kept = path.with_name(f"{path.name}.kept")
    path.rename(kept)
    try:
        yield
    finally:
        kept.rename(path)


@contextmanager
def no_locks(store: Path) -> Iterator[None]:
    """None of the lock files can be opened: folders are in their place."""
    locks = [store / name for name in ("lock", "deeds.lock", "index.lock")]
    for lock in locks:
        lock.unlink(missing_ok=True)
        lock.mkdir()
    try:
        yield
    finally:
        for lock in locks:
            lock.rmdir()


@contextmanager
def corrupt(path: Path) -> Iterator[None]:
    """Behind its head the file holds something else; day1 itself puts it right."""
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()
    path.write_bytes(b"SQLite format 3\0".ljust(20_000, b"?"))
    yield


@contextmanager
def no_chroma(store: Path) -> Iterator[None]:
    """A file is where Chroma's folder should be, which is opened anew: the index was lost too."""
    folder = store / "chroma"
    shutil.rmtree(folder, ignore_errors=True)
    for file in store.glob("index.db*"):
        file.unlink()
    folder.write_text("in the way", encoding="utf-8")
    try:
        yield
    finally:
        folder.unlink()


@contextmanager
def full(disk: Path) -> Iterator[None]:
    fill(disk, 0)
    try:
        yield
    finally:
        (disk / "filler").unlink()


@contextmanager
def unknown(hosts: Path) -> Iterator[None]:
    """Names tell no address any more."""
    kept = hosts.read_text(encoding="utf-8")
    hosts.write_text("", encoding="utf-8")
    try:
        yield
    finally:
        hosts.write_text(kept, encoding="utf-8")


@contextmanager
def unnamed(scene: Scene) -> Iterator[None]:
    assert scene.proxy is not None
    assert scene.hosts is not None
    with unknown(scene.hosts), scene.proxy.cut():
        yield


def _proxy(scene: Scene) -> ConnectionProxy:
    assert scene.proxy is not None
    return scene.proxy


def _store_away(name: str, during: Make, doctor: str, needs: str = "folder") -> Fault:
    """A fault during which nothing of the store can be asked."""
    wrong = frozenset({AWAY})
    return Fault(name, during, doctor, AWAY, AWAY, AWAY, ready=(503,), wrong=wrong, needs=needs)


def _no_writes(name: str, during: Make, doctor: str, code: str, needs: str = "folder") -> Fault:
    """A fault during which the store is read, and not written."""
    return Fault(name, during, doctor, write=code, wrong=frozenset({code}), needs=needs)


FAULTS = (
    _store_away(
        "memory.db away and back", lambda at: away(at.store / "memory.db"), "memory.db is not in"
    ),
    _store_away("ledger.db away and back", lambda at: away(at.store / "ledger.db"), "(ledger.db)"),
    _store_away(
        "server down and back", lambda at: _proxy(at).cut(), "cannot be connected to", "server"
    ),
    _store_away("DNS gone", unnamed, "cannot be connected to", "names"),
    _no_writes("disk full", lambda at: full(at.store.parent), "free some space", FULL, "disk"),
    _no_writes(
        "read-only folder", lambda at: read_only(at.store), "the folder is read-only", READ_ONLY
    ),
    _no_writes(
        "lock files unusable", lambda at: no_locks(at.store), "lock cannot be used now", AWAY
    ),
    Fault(
        "index.db corrupt",
        lambda at: corrupt(at.store / "index.db"),
        doctor="",  # the first who searched has built it anew
        log="the index is damaged",
    ),
    Fault(
        "Chroma broken",
        lambda at: no_chroma(at.store),
        doctor="chroma is not a folder",
        needs="model",
        log="Chroma cannot be opened",
        settings={"DAY1_SEARCH__CHROMA": "true", "DAY1_SEARCH__EXACT_ROWS": "0"},
    ),
    Fault("model file gone", lambda at: away(at.model), doctor="warn\tmodel\t", needs="model"),
    Fault(
        "server slow (10 s)",
        lambda at: _proxy(at).held(10),
        doctor="",  # it waits, and then nothing is wrong
        ready=(200, 503),  # it answers late, or says that the store does
        wrong=frozenset({AWAY}),
        needs="server",
    ),
)
