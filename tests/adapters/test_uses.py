"""The file that counts which memories were shown."""

from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from day1.adapters.index.uses import FileUses
from day1.ports.uses import Branches, Use


@pytest.fixture
def uses(tmp_path: Path) -> Iterator[FileUses]:
    with closing(FileUses(tmp_path, read_only=False)) as uses:
        uses.shown(["a", "b", "c", "d"], 1, "main")
        uses.shown(["a", "x'y"], 2, "side")
        yield uses


@pytest.mark.parametrize(
    ("row_ids", "branches", "counts"),
    [
        (["a"], None, {"a": Use(2, 2)}),
        (["d", "a", "a", "gone"], None, {"a": Use(2, 2), "d": Use(0, 1)}),
        (["x'y"], None, {"x'y": Use(1, 2)}),
        (["a", "b"], frozenset({"side"}), {"a": Use(1, 2)}),
        (["a"], frozenset(), {}),
        ([], None, {}),
    ],
)
def test_the_uses_of_some_rows_are_those_among_all(
    uses: FileUses, row_ids: Collection[str], branches: Branches, counts: dict[str, Use]
) -> None:
    assert uses.of(row_ids, branches) == counts
    known = uses.known(branches)
    assert counts == {row_id: known[row_id] for row_id in row_ids if row_id in known}


def test_counting_goes_on_in_a_new_file_after_the_file_was_removed(
    uses: FileUses, tmp_path: Path
) -> None:
    (tmp_path / "uses.db").unlink()
    assert uses.of(["a"]) == {}
    uses.shown(["a"], 3, "main")
    assert uses.of(["a"]) == {"a": Use(1, 3)}


def test_counting_begins_again_after_the_open_file_was_damaged(
    uses: FileUses, tmp_path: Path
) -> None:
    file = tmp_path / "uses.db"
    file.write_bytes(b"\xff" * file.stat().st_size)
    uses.shown(["a"], 3, "main")  # not counted, and the file is moved aside
    uses.shown(["a"], 4, "main")
    assert uses.of(["a", "b"]) == {"a": Use(1, 4)}
    assert (tmp_path / "uses.db.damaged").exists()


def test_a_closed_file_is_opened_again(uses: FileUses) -> None:
    uses.close()
    uses.close()
    uses.shown(["a"], 3, "main")
    assert uses.of(["a"]) == {"a": Use(3, 3)}


def test_threads_and_other_processes_count_in_one_file(uses: FileUses, tmp_path: Path) -> None:
    with closing(FileUses(tmp_path, read_only=False)) as other, ThreadPoolExecutor(8) as pool:
        for n in range(200):
            pool.submit((uses, other)[n % 2].shown, ["t"], n, "main")
    assert uses.of(["t"]) == {"t": Use(200, 199)}


def test_no_rows_were_used_where_nothing_was_shown(tmp_path: Path) -> None:
    assert FileUses(tmp_path / "new", read_only=False).of(["a"]) == {}
