"""A store that was made, and its backup, for the flows that begin with them."""

from pathlib import Path

import pytest

from tests.flows.backed_up_store import backed_up
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
