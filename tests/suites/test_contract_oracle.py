"""The contract suite on the oracle: what it asks for can be had by copying everything."""

import pytest

from tests.oracle.copying_store import CopyingMemory
from tests.suites.contract import MemorySuite
from tests.suites.memory import Memory


class TestOracle(MemorySuite):
    @pytest.fixture
    def memory(self) -> Memory:
        return CopyingMemory()
