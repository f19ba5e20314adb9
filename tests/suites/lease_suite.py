"""What a lease in every ledger does: one of two nodes holds it, and the other takes it over."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from unittest.mock import Mock

import pytest

from day1.errors import StoreUnavailable
from day1.model.values.instant import DAY, SECOND
from day1.ports.ledger import Ledger
from day1.services.upkeep.ledger_lease import LASTS, LedgerLease


@dataclass
class Nodes:
    """Two nodes of a store, each with a ledger of its own; the store's clock, and the machines'."""

    ledgers: tuple[Ledger, Ledger]
    now: int = 1_000 * SECOND
    ahead: int = 0

    def lease(self, node: int, name: str = "consolidate") -> LedgerLease:
        ledger, holder = self.ledgers[node], f"process_{node}"
        machine_clock = partial(self._machine_time, self.ahead)
        return LedgerLease(ledger, name, holder, machine_clock, lambda _: self.now)

    def _machine_time(self, ahead: int) -> int:
        return self.now + ahead


class LeaseContract:
    """Each ledger subclasses this, and gives it twice, as the fixtures `ledger` and `other`."""

    @pytest.fixture
    def nodes(self, ledger: Ledger, other: Ledger) -> Nodes:
        return Nodes((ledger, other))

    def test_one_node_holds_a_lease_until_it_gives_it_back(self, nodes: Nodes) -> None:
        mine, theirs = nodes.lease(0), nodes.lease(1)
        assert [mine.acquire(), theirs.acquire(), mine.acquire()] == [True, False, True]
        theirs.release()
        assert not theirs.acquire(), "who does not hold it gives nothing back"
        mine.release()
        assert [theirs.acquire(), mine.acquire()] == [True, False]

    def test_leases_of_other_names_are_apart(self, nodes: Nodes) -> None:
        assert nodes.lease(0).acquire()
        assert nodes.lease(1, "cleanup").acquire()

    def test_the_lease_of_a_node_that_died_is_taken_over_when_it_expires(
        self, nodes: Nodes
    ) -> None:
        assert nodes.lease(0).acquire()
        nodes.now += LASTS - 1
        assert not nodes.lease(1).acquire()
        nodes.now += 1
        assert nodes.lease(1).acquire()
        assert not nodes.lease(0).acquire(), "it may not go on when it wakes up"

    @pytest.mark.parametrize("ahead", [-DAY, DAY])
    def test_a_machine_whose_clock_is_wrong_keeps_a_lease_no_longer(
        self, nodes: Nodes, ahead: int
    ) -> None:
        right = nodes.lease(0)
        nodes.ahead = ahead
        wrong = nodes.lease(1)
        assert [right.acquire(), wrong.acquire()] == [True, False]
        right.release()
        assert [wrong.acquire(), right.acquire()] == [True, False]
        nodes.now += LASTS
        assert right.acquire()

    def test_a_clock_that_is_set_back_does_not_make_a_lease_last(self, nodes: Nodes) -> None:
        nodes.ahead = DAY
        mine = nodes.lease(0)
        assert mine.acquire()
        nodes.now += LASTS
        assert nodes.lease(1).acquire()
        mine.clock = lambda: nodes.now
        assert not mine.acquire()

    def test_a_lease_that_is_renewed_does_not_expire(self, nodes: Nodes) -> None:
        mine, theirs = nodes.lease(0), nodes.lease(1)
        for _ in range(5):
            assert mine.acquire()
            nodes.now += LASTS // 2
            assert not theirs.acquire()

    def test_a_lease_that_was_renewed_just_now_is_held_without_asking(self, nodes: Nodes) -> None:
        mine = nodes.lease(0)
        assert mine.acquire()
        mine.ledger = Mock(record=Mock(side_effect=StoreUnavailable("away")))
        nodes.now += 20 * SECOND - 1
        assert mine.acquire()
        nodes.now += 1
        with pytest.raises(StoreUnavailable):
            mine.acquire()

    def test_a_node_that_lost_its_lease_learns_so(self, nodes: Nodes) -> None:
        mine, theirs = nodes.lease(0), nodes.lease(1)
        assert mine.acquire()
        nodes.now += LASTS
        assert theirs.acquire()
        assert not mine.acquire()
        mine.release()
        assert theirs.acquire()

    def test_of_nodes_that_try_at_once_one_succeeds(self, nodes: Nodes) -> None:
        for number in range(5):
            leases = [nodes.lease(node, f"chore {number}") for node in (0, 1)]
            with ThreadPoolExecutor(2) as threads:
                held = list(threads.map(LedgerLease.acquire, leases))
            assert sorted(held) == [False, True]
