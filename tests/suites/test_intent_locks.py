"""Intents and their locks through the contract: in a folder, and on servers."""

from functools import partial
from pathlib import Path

import pytest

from tests.adapters.server_ledgers import opened as opened_on_a_server
from tests.suites.intent_suite import IntentContract, Opens, Pair
from tests.suites.opened_ledger import opened_at


class TestInAFolder(IntentContract):
    @pytest.fixture
    def place(self, tmp_path: Path) -> str:
        return str(tmp_path)

    @pytest.fixture
    def opens(self, place: str) -> Opens:
        return partial(opened_at, place)


class TestOnADoltServer(IntentContract):
    @pytest.fixture
    def place(self, dolt_database: str) -> str:
        return dolt_database

    @pytest.fixture
    def opens(self, place: str) -> Opens:
        return partial(opened_at, place)


class TestOnAServerWithOneLockEach(IntentContract):
    """As on MatrixOne, which is not known to let a connection hold several locks."""

    by_name = False

    def is_wanted(self, pair: Pair) -> bool:
        """Whether somebody waits for it: an open intent has it."""
        with pair.one._opened() as connection:
            statements = connection.exec_driver_sql("SHOW PROCESSLIST").all()
        return any("GET_LOCK" in str(row) for row in statements)

    @pytest.fixture
    def place(self, dolt_database: str) -> str:
        return dolt_database

    @pytest.fixture
    def opens(self, place: str) -> Opens:
        return partial(opened_on_a_server, place, stamp=None)
