"""Intents and their locks through the contract: in a folder, and on servers."""

from functools import partial
from pathlib import Path

import pytest

from tests.adapters.server_ledgers import opened as opened_on_a_server
from tests.suites.intent_suite import IntentContract, Opens
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

    @pytest.fixture
    def place(self, dolt_database: str) -> str:
        return dolt_database

    @pytest.fixture
    def opens(self, place: str) -> Opens:
        return partial(opened_on_a_server, place, stamp=None)
