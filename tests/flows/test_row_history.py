"""The past of a row on an engine without row history, for a limited token, and with little time."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from day1.adapters.versioned.doltlite.history import DoltLiteHistory
from day1.adapters.versioned.doltlite.store import DoltLiteStore
from day1.errors import NotFound, Unsupported
from day1.model.access.permissions import Access
from day1.model.branches.branch import Branch
from day1.model.rows.kind import FACT
from day1.ports.store import Capabilities
from day1.services.access.scoped import scoped
from day1.services.branches import lookup, snapshots
from day1.services.history import tracing
from day1.services.history.reverting import RevertRequest, preview
from tests.suites.engine_memory import EngineMemory
from tests.suites.starting_states import A, B, forked


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[EngineMemory]:
    memory = EngineMemory(tmp_path)
    yield memory
    memory.close()


def main(memory: EngineMemory) -> Branch:
    return lookup.find(memory.repo, "main")


def test_an_engine_without_row_history_tells_the_same(
    memory: EngineMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    forked(memory, category="base")
    memory.add_fact("side", B, fact_text="b")
    memory.update_fact("side", A, category="theirs")
    memory.update_fact("main", A, confidence=0.5)
    memory.merge("side", "main")
    gone = memory.remove("main", B).at
    memory.restore_row("main", B, gone - 1)
    told = [tracing.history(memory.repo, main(memory), row_id) for row_id in (A, B)]
    blamed = [tracing.blame(memory.repo, main(memory), row_id) for row_id in (A, B)]
    able = memory.store.capabilities

    def less(_: object) -> Capabilities:
        return replace(able, row_history=False)

    def cannot(*_: object) -> Any:
        raise Unsupported("This engine has no row history.")

    monkeypatch.setattr(DoltLiteStore, "capabilities", property(less))
    monkeypatch.setattr(DoltLiteHistory, "versions", cannot)
    assert [tracing.history(memory.repo, main(memory), row_id) for row_id in (A, B)] == told
    assert [tracing.blame(memory.repo, main(memory), row_id) for row_id in (A, B)] == blamed


def test_blame_reads_few_commits_of_many(
    memory: EngineMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    forked(memory)
    memory.update_fact("side", A, category="theirs")
    memory.merge("side", "main")
    for number in range(200):
        memory.add_fact("main", f"fact_{number}", fact_text="more")
        memory.commit_pending("main")
    asked: list[str] = []
    read = DoltLiteHistory.row

    def row(self: DoltLiteHistory, kind: Any, row_id: str, commit: str) -> Any:
        asked.append(commit)
        return read(self, kind, row_id, commit)

    monkeypatch.setattr(DoltLiteHistory, "row", row)
    _, cells = tracing.blame(memory.repo, main(memory), A)
    category = next(cell for cell in cells if cell.cell == "category")
    assert [passage.commit.op for passage in category.passages] == ["merge"]
    assert len(asked) <= 40, len(asked)


def test_a_branch_into_which_it_was_merged_later_has_a_commit(memory: EngineMemory) -> None:
    forked(memory)
    memory.fork("without", "main")
    changed = memory.update_fact("main", A, category="wrong").at
    memory.update_fact("main", A, confidence=0.5)
    memory.add_fact("side", B, fact_text="b")
    memory.merge("main", "side")
    undo = next(c.id for c in memory.store.history.log("main") if c.ts == changed)
    seen = preview(memory.repo, RevertRequest(lookup.find(memory.repo, "main"), undo))
    found = [(dependent.type, dependent.id) for dependent in seen.depends]
    names = [dependent.name for dependent in seen.depends]
    assert (found[0], names[1:]) == (("row", A), ["side"])


def test_a_limited_token_learns_nothing_of_other_branches(memory: EngineMemory) -> None:
    memory.add_fact("main", A, fact_text="a")
    memory.fork("secret", "main")
    memory.update_fact("secret", A, category="theirs")
    memory.fork("task/x", "main")
    merged = memory.merge("secret", "task/x").at
    memory.fork("secret/later", "task/x")
    for branch in ("task/x", "secret/later"):
        snapshots.snapshot(
            memory.repo, lookup.find(memory.repo, branch), f"of {branch}", memory.clock()
        )
    limited = scoped(memory.repo, Access(scope="write", branches=("task/*",)))
    task = lookup.find(limited, "task/x")
    _, cells = tracing.blame(limited, task, A)
    category = next(cell for cell in cells if cell.cell == "category")
    assert (category.branch, category.passages[0].source) == (None, None)
    _, versions = tracing.history(limited, task, A)
    assert [version.branch for version in versions] == [None, None]
    undo = next(c.id for c in memory.store.history.log("task/x") if c.ts == merged)
    seen = preview(limited, RevertRequest(lookup.find(limited, "task/x"), undo))
    assert [dependent.name for dependent in seen.depends] == ["of task/x"]
    every = preview(memory.repo, RevertRequest(lookup.find(memory.repo, "task/x"), undo))
    names = {"of task/x", "of secret/later", "secret/later"}
    assert {dependent.name for dependent in every.depends} == names


def test_what_is_beyond_the_limits_of_a_token_is_not_read(memory: EngineMemory) -> None:
    memory.fork("task/x", "main")
    memory.add_fact("main", A, fact_text="a")
    hidden = memory.store.commit_pending("main")
    limited = scoped(memory.repo, Access(scope="write", branches=("task/*",)))
    with pytest.raises(NotFound):
        limited.history.row(FACT, A, hidden)
    with pytest.raises(NotFound):
        limited.history.versions(FACT, A, hidden)
