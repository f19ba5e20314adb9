"""The contract suite on a Dolt server, through day1's services."""

from collections.abc import Iterator

import pytest

from tests.suites.contract import MemorySuite
from tests.suites.engine_memory import EngineMemory
from tests.suites.memory import Memory


class TestDolt(MemorySuite):
    @pytest.fixture
    def memory(self, dolt_database: str) -> Iterator[Memory]:
        memory = EngineMemory(dolt_database)
        yield memory
        memory.close()
