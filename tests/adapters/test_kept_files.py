"""What searches keep beside the index: whole, of the present edition, or not at all."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from day1.adapters.index.index import LocalIndex
from day1.model.values.ids import content_hash
from tests.suites.index_suite import TEXTS, learn

CONTENT = b"a table of rows" * 1_000


@pytest.fixture
def index(tmp_path: Path) -> Iterator[LocalIndex]:
    index = LocalIndex(tmp_path)
    learn(index, *TEXTS)
    yield index
    index.close()


def kept_files(folder: Path) -> list[Path]:
    return list(folder.glob("vectors/*.kept"))


def test_what_is_kept_is_read_by_other_processes(index: LocalIndex, tmp_path: Path) -> None:
    assert index.kept("rows") is None
    index.keep("rows", index.edition(), CONTENT)
    for other in (LocalIndex(tmp_path), LocalIndex(tmp_path, read_only=True)):
        kept = other.kept("rows")
        assert kept is not None
        assert bytes(kept) == CONTENT
        assert other.kept("other rows") is None
        other.close()
    index.keep("rows", index.edition(), b"new")
    assert bytes(index.kept("rows") or b"") == b"new"


def test_a_damaged_file_is_not_used(index: LocalIndex, tmp_path: Path) -> None:
    index.keep("rows", index.edition(), CONTENT)
    (file,) = kept_files(tmp_path)
    for damaged in (b"", file.read_bytes()[:-1], b"A" + file.read_bytes()[1:]):
        file.write_bytes(damaged)
        assert index.kept("rows") is None


def test_nothing_is_kept_for_another_edition(index: LocalIndex, tmp_path: Path) -> None:
    index.keep("rows", "an earlier edition", CONTENT)
    assert kept_files(tmp_path) == []


def test_what_tells_about_a_forgotten_text_is_deleted(index: LocalIndex, tmp_path: Path) -> None:
    index.keep("rows", index.edition(), CONTENT)
    (file,) = kept_files(tmp_path)
    file.with_suffix(".new").write_bytes(b"a killed process began this")
    index.forget([content_hash(TEXTS[0])])
    assert index.kept("rows") is None
    assert [path.suffix for path in tmp_path.glob("vectors/*")] == []


def test_a_read_only_index_and_one_in_memory_keep_nothing(
    index: LocalIndex, tmp_path: Path
) -> None:
    index.close()
    reader = LocalIndex(tmp_path, read_only=True)
    memory = index.in_memory()
    for each in (reader, memory):
        each.keep("rows", each.edition(), CONTENT)
        assert each.kept("rows") is None
    assert kept_files(tmp_path) == []
    learn(memory, *TEXTS)
    memory.forget([content_hash(TEXTS[0])])
    reader.close()
