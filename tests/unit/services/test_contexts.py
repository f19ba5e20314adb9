"""Rows that are kept by a key: one unit of work, whether they are added, changed or both."""

from collections import Counter
from typing import Any

import pytest

from day1.model.branches.branch import MAIN
from day1.services.contexts.contexts import NewContext, save
from day1.services.contexts.keyed_rows import UpsertedRows
from day1.services.contexts.memories import NewMemory, upsert
from tests.unit.services.conftest import ADA, Bench


@pytest.fixture
def units(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many units of work were opened, by the store's method."""
    opened: Counter[str] = Counter()

    def counted(method: str) -> None:
        open_unit = getattr(bench.store, method)

        def counting(branch: str) -> Any:
            opened[method] += 1
            return open_unit(branch)

        monkeypatch.setattr(bench.store, method, counting)

    counted("adding")
    counted("changing")
    return opened


def test_a_changed_key_is_one_unit_of_work(bench: Bench, units: Counter[str]) -> None:
    for content in ("slow", "slow", "quick"):
        bench.now += 1
        save(bench.repo, bench.branch(), NewContext(None, "state", content), ADA)
    assert units.total() == 3


def test_new_and_changed_memories_are_one_commit_after_that_of_pending_rows(
    bench: Bench, units: Counter[str]
) -> None:
    def upserted(*texts: str) -> UpsertedRows:
        bench.now += 1
        items = [NewMemory(text, str(number)) for number, text in enumerate(texts)]
        return upsert(bench.repo, bench.branch(), None, items, ADA).written

    upserted("a", "b")
    kept = upserted("a", "c", "d")
    assert (kept.added, kept.changed, kept.pending) == (1, 1, 0)
    assert units.total() == 2
    log = [(commit.op, commit.line) for commit in bench.store.history.log(MAIN)]
    assert log[:2] == [("change", "change 1 keyed rows, add 1"), ("add", "add 2 rows")]
