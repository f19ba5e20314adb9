"""The contract suite on the embedded engine, through day1's services."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.suites.contract import MemorySuite
from tests.suites.engine_memory import EngineMemory
from tests.suites.memory import Memory


class TestDoltLite(MemorySuite):
    @pytest.fixture
    def memory(self, tmp_path: Path) -> Iterator[Memory]:
        memory = EngineMemory(tmp_path)
        yield memory
        memory.close()
