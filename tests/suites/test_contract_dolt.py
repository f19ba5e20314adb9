"""The contract suite on a Dolt server, through day1's services, as the user of docs/servers.md."""

from collections.abc import Iterator

import pytest

from tests.suites.contract import MemorySuite
from tests.suites.engine_memory import EngineMemory
from tests.suites.memory import Memory


class TestDolt(MemorySuite):
    @pytest.fixture
    def memory(self, documented_dolt: str) -> Iterator[Memory]:
        memory = EngineMemory(documented_dolt)
        yield memory
        memory.close()
