"""The ledgers through their contract: in a file, on servers, in memory."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from day1.ports.ledger import Ledger
from tests.adapters.server_ledgers import opened as opened_on_a_server
from tests.fakes.memory_ledger import MemoryLedger
from tests.flows.opened_store import opened
from tests.suites.lease_suite import LeaseContract
from tests.suites.ledger_suite import LedgerContract


class TestInAFile(LedgerContract, LeaseContract):
    @pytest.fixture
    def ledger(self, tmp_path: Path) -> Iterator[Ledger]:
        with opened(tmp_path, create=True) as store:
            yield store.repo.ledger

    @pytest.fixture
    def other(self, ledger: Ledger, tmp_path: Path) -> Iterator[Ledger]:
        with opened(tmp_path) as store:
            yield store.repo.ledger


class TestOnADoltServer(LedgerContract, LeaseContract):
    @pytest.fixture
    def ledger(self, dolt_database: str) -> Iterator[Ledger]:
        with opened_on_a_server(dolt_database) as ledger:
            yield ledger

    @pytest.fixture
    def other(self, ledger: Ledger, dolt_database: str) -> Iterator[Ledger]:
        with opened_on_a_server(dolt_database) as other:
            yield other


class TestOnAMatrixOneServer(LedgerContract, LeaseContract):
    @pytest.fixture
    def ledger(self, matrixone_database: str) -> Iterator[Ledger]:
        with opened_on_a_server(matrixone_database, stamp=None) as ledger:
            yield ledger

    @pytest.fixture
    def other(self, ledger: Ledger, matrixone_database: str) -> Iterator[Ledger]:
        with opened_on_a_server(matrixone_database, stamp=None) as other:
            yield other


class TestInMemory(LedgerContract, LeaseContract):
    @pytest.fixture
    def ledger(self) -> Ledger:
        return MemoryLedger()

    @pytest.fixture
    def other(self, ledger: Ledger) -> Ledger:
        return ledger
