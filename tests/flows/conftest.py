"""A store that was made, its backup, and a memory to import into."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flows.backed_up_store import backed_up
from tests.flows.imported_memory import ImportedMemory
from tests.flows.opened_store import make, opened


@pytest.fixture
def store(tmp_path: Path) -> Path:
    make(tmp_path / "store")
    return tmp_path / "store"


@pytest.fixture
def backup(store: Path) -> Path:
    file = store.with_name("backup.tar.gz")
    with opened(store) as opened_store:
        backed_up(opened_store, file)
    return file


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[ImportedMemory]:
    memory = ImportedMemory(tmp_path / "store")
    yield memory
    memory.close()
