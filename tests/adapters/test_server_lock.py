"""The queue of a process's threads for a named lock of a server."""

import threading
import time
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any

import pytest
from pydantic import SecretStr

from day1.adapters.mysql.lock import Queues
from day1.app.engines import create_store, open_engine
from day1.errors import StoreBusy
from day1.settings import Settings, StoreSettings

LIMIT_S = 0.4
CONNECTION: Any = object()


@contextmanager
def another_process_has_it(_connection, _name, wait_s):
    """The server's lock, which is not freed in time."""
    time.sleep(wait_s)
    if wait_s >= 0:
        raise StoreBusy(f"{wait_s} s", limit_s=wait_s)
    yield


@contextmanager
def free(_connection, _name, _wait_s):
    """The server's lock, which nobody has."""
    yield


def test_a_writer_that_gives_up_says_how_long_it_waited_in_all():
    queues = Queues(LIMIT_S, another_process_has_it)
    connecting = threading.Event()

    @contextmanager
    def connect():
        connecting.set()
        time.sleep(LIMIT_S / 2)
        yield CONNECTION

    told = []

    def wait() -> None:
        with pytest.raises(StoreBusy) as caught, queues.held("lock", connect):
            pass
        told.append(caught.value)

    threads = [threading.Thread(target=wait) for _ in range(2)]
    threads[0].start()
    assert connecting.wait(10)
    threads[1].start()
    for thread in threads:
        thread.join()
    assert {str(error) for error in told} == {
        "Another writer has held this store for 0.4 s; try again."
    }
    assert {error.details["limit_s"] for error in told} == {LIMIT_S}


def test_what_is_busy_inside_the_lock_is_told_as_it_is():
    queues = Queues(LIMIT_S, free)
    inner = StoreBusy("The inner lock.")
    with (
        pytest.raises(StoreBusy) as caught,
        queues.held("lock", lambda: nullcontext(CONNECTION)),
    ):
        raise inner
    assert caught.value is inner


def test_a_database_has_the_same_locks_however_its_name_is_written(dolt_database, tmp_path):
    """Two nodes whose addresses differed in case wrote to one branch at once."""
    server, _, name = dolt_database.rpartition("/")
    with ExitStack() as stack:
        stores = []
        for written in (name, name.upper()):
            url = SecretStr(f"{server}/{written}")
            settings = Settings(store=StoreSettings(url=url, wait_s=0.2))
            create_store(settings, tmp_path, time.time_ns)
            stores.append(open_engine(settings, tmp_path, time.time_ns, stack).store)
        one, other = stores
        with one.adding("main"), pytest.raises(StoreBusy), other.adding("main"):
            pass
