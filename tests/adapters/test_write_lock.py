"""The store's write lock: one holder at a time, and a limit to waiting."""

import os
import threading
import time

import pytest

from day1.adapters.flock import PAUSE_FILE, Patience, WriteLock, is_free, take
from day1.adapters.ledger.file_locks import WHOLE_FILE, FileLocks
from day1.adapters.ledger.lock_and_watch import WHOLE
from day1.errors import Day1Error, StoreBusy
from tests.waiting import until


@pytest.fixture
def path(tmp_path):
    return tmp_path / "lock"


class Holder:
    """Another thread that holds the lock until it is let go."""

    def __init__(self, path):
        self._got, self._go = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._hold, args=(path,))
        self._thread.start()
        assert self._got.wait(10)

    def _hold(self, path):
        with WriteLock(path, 10).held():
            self._got.set()
            self._go.wait(10)

    def let_go(self):
        self._go.set()
        self._thread.join(10)
        assert not self._thread.is_alive()


def test_the_write_lock_has_one_holder_at_a_time(path):
    inside, most, rounds = [], [], 25

    def work():
        for _ in range(rounds):
            with WriteLock(path, 10).held():
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 4 * rounds


def test_a_lock_is_freed_also_if_a_process_was_forked_while_it_was_held(path):
    lock_handle, unforgotten = take(path), take(path.with_name("other"))
    assert lock_handle is not None
    assert unforgotten is not None
    from_child, to_parent = os.pipe()
    from_parent, to_child = os.pipe()
    child = os.fork()
    if child == 0:  # it has the files open, closes one of them, and stays
        os.close(to_child)
        unforgotten.close()
        os.write(to_parent, b"closed")
        os.read(from_parent, 1)
        os._exit(0)
    try:
        os.close(from_parent)
        assert os.read(from_child, 6) == b"closed"
        assert not is_free(path.with_name("other"))
        lock_handle.close()
        assert is_free(path)
    finally:
        os.close(to_child)
        os.waitpid(child, 0)
        os.close(from_child)
        os.close(to_parent)


def test_waiting_has_a_limit_and_who_gave_up_does_not_keep_the_lock(path):
    holder = Holder(path)
    with pytest.raises(StoreBusy) as busy, WriteLock(path, 0.01).held():
        pass
    assert busy.value.retryable
    holder.let_go()
    with WriteLock(path, 10).held():
        pass


class Interrupted(Patience):
    def wait(self, event):
        raise KeyboardInterrupt


def test_a_waiter_that_is_interrupted_does_not_keep_the_lock(path):
    holder = Holder(path)
    with pytest.raises(KeyboardInterrupt) as interrupt:
        take(path, Interrupted(10))
    holder.let_go()
    until(lambda: is_free(path), "the lock", 10)
    assert interrupt.tb  # which refers to the handle, as that of the last error does in a notebook


def test_a_waiter_gets_the_lock_when_it_is_free(path):
    holder = Holder(path)
    threading.Timer(0.05, holder.let_go).start()
    with WriteLock(path, 10).held(), WriteLock(path, 10).held_if_free() as free:
        assert not free


def write_lock(folder):
    """Wait at most half a second for the lock that `lock` is."""
    return WriteLock(folder / "lock", 0.5).held()


def whole_lock(folder):
    """Wait at most half a second for the lock of the whole store."""
    return FileLocks(folder, 0.5).held(WHOLE, 0.5)


@pytest.mark.parametrize(("wanted", "file"), [(write_lock, "lock"), (whole_lock, WHOLE_FILE)])
def test_a_waiter_endures_a_compaction_that_takes_longer_than_its_limit(tmp_path, wanted, file):
    compaction, writer = (Holder(tmp_path / name) for name in (PAUSE_FILE, file))

    def end() -> None:
        writer.let_go()
        compaction.let_go()

    threading.Timer(1.0, end).start()
    with wanted(tmp_path):
        pass


@pytest.mark.parametrize(("wanted", "file"), [(write_lock, "lock"), (whole_lock, WHOLE_FILE)])
def test_a_waiter_endures_no_compaction_for_ever(tmp_path, wanted, file):
    holders = [Holder(tmp_path / name) for name in (PAUSE_FILE, file)]
    started_at = time.monotonic()
    with pytest.raises(StoreBusy), wanted(tmp_path):
        pass
    assert time.monotonic() - started_at >= 2.5  # its own limit, and four times that
    for holder in holders:
        holder.let_go()


def test_only_a_compaction_that_lasts_makes_a_waiter_patient(tmp_path):
    Holder(tmp_path / PAUSE_FILE).let_go()  # the file stays, as after each compaction
    holder = Holder(tmp_path / "lock")
    threading.Timer(2.0, holder.let_go).start()
    with pytest.raises(StoreBusy), write_lock(tmp_path):
        pass


def test_a_write_lock_that_is_held_is_not_free(path):
    lock = WriteLock(path, 10)
    with lock.held_if_free() as free:
        assert free
        with WriteLock(path, 10).held_if_free() as free_too:
            assert not free_too
    with lock.held_if_free() as free:
        assert free


def test_a_block_that_fails_lets_go(path):
    with pytest.raises(ZeroDivisionError), WriteLock(path, 10).held():
        raise ZeroDivisionError
    with WriteLock(path, 10).held_if_free() as free:
        assert free


def test_a_lock_that_cannot_be_made_is_said_in_day1s_words(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(Day1Error), WriteLock(tmp_path / "file" / "lock", 1).held():
        pass
