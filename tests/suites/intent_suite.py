"""What every ledger that several processes share does with intents and their locks."""

import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path

import pytest

from day1.adapters.ledger.ledger import SqlLedger
from day1.errors import StoreBusy, StoreUnavailable
from day1.model.records.intent import Intent
from day1.model.records.snapshot import Snapshot
from tests.adapters.server_ledgers import FORK, Forked
from tests.sampling import sampled
from tests.waiting import until

ROOT = Path(__file__).parents[2]
Opens = Callable[..., AbstractContextManager[SqlLedger]]
"""Opens the ledger again, as another process does: with its longest wait and what recovers."""
DYING = """
import sys
from tests.adapters.server_ledgers import FORK, Forked
from tests.suites.opened_ledger import opened_at
place, *names = sys.argv[1:]
with opened_at(place) as ledger, ledger.open_intent(FORK, Forked("dies"), 1, names):
    print("open", flush=True)
    sys.stdin.readline()
"""
"""A process that is killed while it has an intent open."""


class Pair:
    """Two ledgers of one store, and the intents that each recovered."""

    def __init__(self, opens: Opens, stack: ExitStack, wait_s: float = 10.0) -> None:
        self.recovered: list[str] = []
        self.one, self.two = (stack.enter_context(opens(wait_s, self.note)) for _ in range(2))

    def note(self, intent: Intent) -> None:
        self.recovered.append(str(intent.payload["name"]))


def left(ledger: SqlLedger, name: str, *names: str) -> None:
    """Leave the row of an intent, as a process that died did."""
    ledger.add_intent(Intent(f"i_{name}", "fork", {"name": name}, 1, names))


def _count(ledger: SqlLedger, names: list[str]) -> None:
    """Read a count for each name, and write it one higher: two at once would lose one."""
    with ledger.open_intent(FORK, Forked("counts"), 1, names):
        for name in names:
            ledger.set_head(name, str(int(ledger.head(name) or 0) + 1))


class IntentContract:
    """Each ledger subclasses this, and gives the fixtures `opens` and `place`.

    `by_name` is false where each name stands for the whole store.
    """

    by_name = True

    def is_wanted(self, pair: "Pair") -> bool:
        """Whether somebody has the lock of the whole store or waits for it."""
        return not pair.one._locks.whole_is_free()

    @pytest.fixture
    def pair(self, opens: Opens) -> Iterator[Pair]:
        with ExitStack() as stack:
            yield Pair(opens, stack)

    @pytest.fixture
    def hasty(self, opens: Opens) -> Iterator[Pair]:
        """Who waits for a lock for a second only."""
        with ExitStack() as stack:
            yield Pair(opens, stack, 1.0)

    def test_intents_with_different_names_are_open_at_once(self, hasty: Pair) -> None:
        if not self.by_name:
            pytest.skip("each name stands for the whole store")
        with (
            hasty.one.open_intent(FORK, Forked("a"), 1, ["a", "b"]),
            hasty.two.open_intent(FORK, Forked("c"), 1, ["c"]),
        ):
            names = {str(intent.payload["name"]) for intent in hasty.one.open_intents()}
            assert names == {"a", "c"}
        assert (hasty.one.open_intents(), hasty.recovered) == ([], [])

    @pytest.mark.parametrize("names", [["b"], ["B", "z"], ["a", "b"], []])
    def test_a_name_is_of_one_intent_at_a_time(self, hasty: Pair, names: list[str]) -> None:
        with hasty.one.open_intent(FORK, Forked("first"), 1, ["a", "b"]):
            with (
                pytest.raises(StoreBusy) as busy,
                hasty.two.open_intent(FORK, Forked("second"), 1, names),
            ):
                pass
            assert "1 s" in str(busy.value)
            assert "A fork that began at 1970" in str(busy.value)
            assert hasty.two.recover_orphans() == 0
        with hasty.two.open_intent(FORK, Forked("second"), 1, names):
            pass
        assert hasty.recovered == []

    def test_the_whole_store_is_held_alone(self, hasty: Pair) -> None:
        with hasty.one.exclusive():
            for names in (["a"], []):
                with (
                    pytest.raises(StoreBusy),
                    hasty.two.open_intent(FORK, Forked("late"), 1, names),
                ):
                    pass
                with pytest.raises(StoreBusy), hasty.two.exclusive(*names):
                    pass
        assert (hasty.two.open_intents(), hasty.recovered) == ([], [])

    def test_who_wants_the_whole_store_waits_for_open_intents_and_stops_new_ones(
        self, pair: Pair
    ) -> None:
        order: list[str] = []
        goes_on, begun = threading.Event(), threading.Event()

        def first() -> None:
            with pair.one.open_intent(FORK, Forked("first"), 1, ["a"]):
                begun.set()
                assert goes_on.wait(30)
                order.append("first")

        def whole() -> None:
            with pair.two.exclusive():
                order.append("whole")

        def second() -> None:
            with pair.one.open_intent(FORK, Forked("second"), 1, ["b"]):
                order.append("second")

        with ThreadPoolExecutor(3) as threads:
            done = [threads.submit(first)]
            assert begun.wait(30)
            done.append(threads.submit(whole))
            until(partial(self.is_wanted, pair), "the whole store is wanted")
            done.append(threads.submit(second))
            goes_on.set()
            for one in done:
                one.result(30)
        assert order == ["first", "whole", "second"]
        assert pair.recovered == []

    def test_an_intent_in_an_intent_is_refused(self, pair: Pair) -> None:
        with pair.one.open_intent(FORK, Forked("outer"), 1, ["a"]):
            for names in (["a"], ["b"], []):
                with (
                    pytest.raises(RuntimeError, match="fork cannot be opened inside of fork"),
                    pair.one.open_intent(FORK, Forked("inner"), 1, names),
                ):
                    pass
            assert pair.one.recover_orphans() == 0
            assert [i.payload["name"] for i in pair.two.open_intents()] == ["outer"]
        assert (pair.one.open_intents(), pair.recovered) == ([], [])

    def test_an_orphan_is_recovered_by_who_wants_one_of_its_names(self, pair: Pair) -> None:
        left(pair.one, "dead", "b", "c")
        if self.by_name:
            with pair.one.open_intent(FORK, Forked("other"), 1, ["a"]):
                assert pair.recovered == []
        with pair.one.open_intent(FORK, Forked("next"), 1, ["a", "b"]):
            assert pair.recovered == ["dead"]
            assert [i.payload["name"] for i in pair.two.open_intents()] == ["next"]

    def test_orphans_are_recovered_beside_living_intents(self, pair: Pair) -> None:
        if not self.by_name:
            pytest.skip("each name stands for the whole store")
        left(pair.one, "dead", "b", "c")
        with pair.one.open_intent(FORK, Forked("living"), 1, ["a"]):
            assert pair.two.recover_orphans() == 1
        assert pair.recovered == ["dead"]

    def test_an_orphan_waits_for_all_of_its_locks(self, pair: Pair) -> None:
        """Whoever has one of its names is not to see it change."""
        with pair.one.exclusive("b"):
            left(pair.one, "dead", "b", "c")
            assert pair.two.recover_orphans() == 0
        assert pair.two.recover_orphans() == 1

    def test_an_orphan_of_the_whole_store_is_recovered_first(self, pair: Pair) -> None:
        """An earlier day1, whose intents had no names, left it, or a purge."""
        left(pair.one, "dead")
        with pair.one.open_intent(FORK, Forked("next"), 1, ["a"]):
            assert pair.recovered == ["dead"]

    def test_the_whole_store_is_held_after_all_orphans_are_recovered(self, pair: Pair) -> None:
        left(pair.one, "dead", "a", "b")
        left(pair.one, "gone", "c")
        with pair.two.exclusive():
            assert sorted(pair.recovered) == ["dead", "gone"]
            assert pair.two.open_intents() == []

    def test_the_last_writes_and_the_end_are_one_transaction(self, pair: Pair) -> None:
        snapshot = Snapshot("s", None, "b", "c", 1)
        with pair.one.open_intent(FORK, Forked("a"), 1, ["a"]):
            with pair.one.ending():
                pair.one.put(snapshot)
            assert pair.two.open_intents() == []
            assert pair.two.records(Snapshot) == [snapshot]

        def fail() -> None:
            with pair.one.open_intent(FORK, Forked("b"), 1, ["a"]), pair.one.ending():
                pair.one.put(Snapshot("t", None, "b", "c", 1))
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        assert pair.one.records(Snapshot) == [snapshot]
        assert pair.recovered == ["b"]
        assert pair.one.open_intents() == []

    @pytest.mark.parametrize("ends", [True, False])
    def test_who_was_taken_for_dead_is_told(self, pair: Pair, *, ends: bool) -> None:
        """Its locks are lost, and another process recovers its intent; nobody does again."""

        def work() -> None:
            with pair.one.open_intent(FORK, Forked("a"), 1, ["a"]):
                (intent,) = pair.two.open_intents()
                pair.two.remove(Intent, intent.id)
                if ends:
                    with pair.one.ending():
                        pair.one.put(Snapshot("late", None, "b", "c", 1))

        with pytest.raises(StoreUnavailable, match="check whether it was done"):
            work()
        assert (pair.one.records(Snapshot), pair.recovered) == ([], [])

    @pytest.mark.parametrize("rounds", sampled((12, 200), {12}))
    def test_random_pairs_of_names_lose_nothing_and_block_nobody(
        self, opens: Opens, rounds: int
    ) -> None:
        """Threads of two processes, each with two of six names, in both orders."""
        names = "abcdef"

        def work(number: int) -> list[str]:
            chance = random.Random(number)
            drawn: list[str] = []
            ledger = (pair.one, pair.two)[number % 2]
            for _ in range(rounds):
                two = chance.sample(names, 2)
                _count(ledger, two)
                drawn += two
            return drawn

        with ExitStack() as stack:
            pair = Pair(opens, stack, 120.0)
            with ThreadPoolExecutor(8) as threads:
                drawn = [name for some in threads.map(work, range(8)) for name in some]
            for name in names:
                assert pair.one.head(name) == str(drawn.count(name))
            assert (pair.one.open_intents(), pair.recovered) == ([], [])

    def test_a_killed_process_frees_its_locks_and_leaves_its_intent(
        self, opens: Opens, place: str
    ) -> None:
        if not self.by_name:
            pytest.skip("the process would take its locks by name")
        with ExitStack() as stack:
            pair = Pair(opens, stack)
            process = subprocess.Popen(
                [sys.executable, "-c", DYING, place, "a", "b"],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            with process:
                assert process.stdout is not None
                assert process.stdout.readline() == "open\n"
                assert pair.one.recover_orphans() == 0
                process.send_signal(signal.SIGKILL)
                process.wait()
            with pair.two.open_intent(FORK, Forked("next"), 1, ["b"]):
                assert pair.recovered == ["dies"]
