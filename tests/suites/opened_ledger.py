"""The ledger of a store, in a folder or on a server, as a process opens it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from day1.adapters.ledger.file_locks import FileLocks
from day1.adapters.ledger.ledger import SqlLedger
from day1.adapters.ledger.sqlite import open_ledger
from day1.ports.ledger import Recover
from tests.adapters import server_ledgers


@contextmanager
def opened_at(
    place: str, wait_s: float = 10.0, recover: Recover = server_ledgers.never
) -> Iterator[SqlLedger]:
    """Open the ledger of a folder, or of the store of a URL."""
    if "://" in place:
        with server_ledgers.opened(place, wait_s, recover) as ledger:
            yield ledger
        return
    folder = Path(place)
    ledger = open_ledger(folder, FileLocks(folder, wait_s), read_only=False, wait_s=wait_s)
    ledger.recover = recover
    try:
        yield ledger
    finally:
        ledger.close()
