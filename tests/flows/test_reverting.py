"""Random histories with reverts, on the engine and on the copying oracle."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.oracle.copying_store import CopyingMemory
from tests.suites.engine_memory import EngineMemory
from tests.suites.memory import Choice, Refusal, Reverted, State

BRANCHES = ("main", "side")
STEPS = 60
COLUMNS: tuple[dict[str, Any], ...] = (
    {"category": "red"},
    {"category": "blue"},
    {"fact_text": "one"},
    {"confidence": 0.5, "category": "red"},
)


class Histories:
    """Every step on both; what they answer and what can be read must be the same."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = Random(seed)
        self.engine, self.oracle = EngineMemory(folder), CopyingMemory()
        self.times: dict[str, list[int]] = {"main": []}
        self.made = self.kept = self.undone = 0

    def do(self, branch: str, method: str, *given: Any, **columns: Any) -> Any:
        self.engine.clock.tick(self.random.randrange(3))
        try:
            done: Any = getattr(self.engine, method)(*given, **columns)
        except Refusal as refused:
            done = refused.code
        self.oracle.next_time = getattr(done, "at", None)
        try:
            same: Any = getattr(self.oracle, method)(*given, **columns)
        except Refusal as refused:
            same = refused.code
        if isinstance(done, Reverted | str):
            assert done == same, (method, given, done, same)
        at = getattr(done, "at", None)
        if at is not None:
            self.times[branch].append(at)
        self.engine.commit_pending(branch)  # so that each addition is a commit, as it is a copy
        self.compare(branch)
        return done

    def compare(self, branch: str) -> None:
        assert self.engine.state(branch) == self.oracle.state(branch)
        assert sorted(map(repr, self.engine.held(branch))) == sorted(
            map(repr, self.oracle.held(branch))
        )

    def row(self, branch: str) -> str:
        ids = sorted(self.oracle.state(branch)["facts"])
        return self.random.choice(ids or ["fact_none"])

    def fresh(self) -> str:
        self.made += 1
        return f"fact_{self.made}"

    def step(self) -> None:
        branch = self.random.choice(BRANCHES)
        steps = (self.add, self.update, self.supersede, self.remove, self.merge, self.revert)
        self.random.choices(steps, (2, 4, 3, 1, 3, 6))[0](branch)

    def add(self, branch: str) -> None:
        self.do(branch, "add_fact", branch, self.fresh(), fact_text="a")

    def update(self, branch: str) -> None:
        columns = self.random.choice(COLUMNS)
        self.do(branch, "update_fact", branch, self.row(branch), **columns)

    def supersede(self, branch: str) -> None:
        self.do(branch, "supersede", branch, self.row(branch), self.fresh(), "new")

    def remove(self, branch: str) -> None:
        self.do(branch, "remove", branch, self.row(branch))

    def merge(self, branch: str) -> None:
        other = BRANCHES[1 - BRANCHES.index(branch)]
        bases = self.oracle.bases(other, branch)
        if all(base.content == bases[0].content for base in bases):
            # Else the engine may start from any of them.
            items = self.random.choice([None, None, [self.row(other)]])
            strategy = "auto" if items is None else "cherry_pick"
            self.do(branch, "merge", other, branch, strategy, items=items)

    def revert(self, branch: str) -> None:
        """Undo one of the last actions, and that again; what stood in the way is decided."""
        at = self.random.choice(self.times[branch][-6:])
        kept = self.undo(branch, at, [])
        if kept:
            self.kept += 1
            row_id, cell = self.random.choice(kept)
            take = self.random.choice(["ours", "theirs", "theirs", "skip"])
            self.undo(branch, at, [Choice(row_id, take, cell)])

    def undo(self, branch: str, at: int, choices: list[Choice]) -> tuple[tuple[str, str], ...]:
        before = self.oracle.state(branch)
        done = self.do(branch, "revert", branch, at, choices)
        if done == "not_found":  # the action changed nothing, so there is none
            return ()
        assert _pointing_nowhere(before) or not _pointing_nowhere(self.oracle.state(branch))
        # A decision may write a cell that is held, and what is held is not written unasked.
        if done.at is not None and not (choices and self.oracle.held(branch)):
            back = self.do(branch, "revert", branch, done.at)
            if not _pointing_nowhere(before):  # which a revert never brings about
                assert (self.oracle.state(branch), back.kept) == (before, ())
                self.undone += 1
        kept: tuple[tuple[str, str], ...] = done.kept
        return kept


def _pointing_nowhere(state: State) -> bool:
    facts = state["facts"]
    return any((fact["superseded_by"] or fact_id) not in facts for fact_id, fact in facts.items())


@pytest.mark.parametrize("seed", range(6))
def test_both_stores_agree_and_an_undone_revert_never_was(tmp_path: Path, seed: int) -> None:
    both = Histories(tmp_path, seed)
    for name in ("fact_a", "fact_b"):
        both.do("main", "add_fact", "main", name, fact_text=name)
    both.times["side"] = list(both.times["main"])
    both.do("side", "fork", "side", "main")
    for _ in range(STEPS):
        both.step()
    for branch in BRANCHES:
        for row_id in both.oracle.state(branch)["facts"]:
            versions = (memory.versions(branch, row_id) for memory in (both.engine, both.oracle))
            engine, oracle = (sorted(map(repr, found)) for found in versions)
            assert engine == oracle
    both.engine.close()
    assert both.undone >= 5, both.undone
    assert both.kept, "what changed since never stood in the way"
