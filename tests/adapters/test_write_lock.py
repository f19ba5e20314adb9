"""The store's write lock: one holder at a time, and a limit to waiting."""

import threading

import pytest

from day1.adapters.flock import WriteLock
from day1.errors import Day1Error, StoreBusy


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


def test_waiting_has_a_limit_and_who_gave_up_does_not_keep_the_lock(path):
    holder = Holder(path)
    with pytest.raises(StoreBusy) as busy, WriteLock(path, 0.01).held():
        pass
    assert busy.value.retryable
    holder.let_go()
    with WriteLock(path, 10).held():
        pass


def test_a_waiter_gets_the_lock_when_it_is_free(path):
    holder = Holder(path)
    threading.Timer(0.05, holder.let_go).start()
    with WriteLock(path, 10).held(), WriteLock(path, 10).held_if_free() as free:
        assert not free


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
