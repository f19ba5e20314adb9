"""The contract suite on a MatrixOne server, through day1's services."""

from collections.abc import Iterator

import pytest

from tests.suites.contract import MemorySuite
from tests.suites.engine_memory import EngineMemory
from tests.suites.memory import Memory


class TestMatrixOne(MemorySuite):
    @pytest.fixture
    def memory(self, matrixone_database: str) -> Iterator[Memory]:
        memory = EngineMemory(matrixone_database)
        yield memory
        memory.close()
