"""The file that counts which memories were shown."""

from collections.abc import Collection
from pathlib import Path

import pytest

from day1.adapters.index.uses import FileUses
from day1.ports.uses import Branches, Use


@pytest.fixture
def uses(tmp_path: Path) -> FileUses:
    uses = FileUses(tmp_path, read_only=False)
    uses.shown(["a", "b", "c", "d"], 1, "main")
    uses.shown(["a", "x'y"], 2, "side")
    return uses


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


def test_no_rows_were_used_where_nothing_was_shown(tmp_path: Path) -> None:
    assert FileUses(tmp_path / "new", read_only=False).of(["a"]) == {}
