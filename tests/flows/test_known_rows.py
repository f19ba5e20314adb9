"""What a workspace keeps of a branch is what a new reading would tell, after any deed."""

import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from day1.errors import Conflict, NotFound, Refused
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT, OBSERVATION
from day1.model.workspace.known_rows import KnownRows
from day1.services.branches.lookup import find
from day1.services.workspace.known_rows import known_rows, newest_rows, read_rows, seen_rows
from tests.flows.random_store import RandomTeam, opened_at
from tests.flows.test_large_states import Deeds

DAY = 86_400_000_000


@pytest.fixture
def team(tmp_path: Path) -> Iterator[RandomTeam]:
    with opened_at(tmp_path / "store", create=True) as store:
        yield RandomTeam(store)


class WorkspaceDeeds(Deeds):
    """Also deeds that only a workspace tells apart."""

    def link(self, branch: str) -> None:
        ends = {side: self.team.some_fact(branch) for side in ("source_entity", "target_entity")}
        until = self.chance.choice((None, "2050-01-01"))
        said = {"relation_type": "linked", "valid_until": until}
        self.team.do("memory_write_relation", **ends, **said, branch=branch)

    def expire(self, branch: str) -> None:
        self._update(branch, expires_at="2050-01-01")

    def derive(self, branch: str) -> None:
        """Copy a fact, so that the copy ends with it."""
        with self.team.store.repo.store.adding(branch) as work:
            row = work.get(FACT, [self.team.some_fact(branch)]).popitem()[1]
            self.team.said += 1
            row |= {"id": f"fact_copy{self.team.said}", "origin_id": row["id"]}
            work.add(FACT, [row | {"created_at": work.now, "task_id": "task_1"}])


DEEDS = [name for name in dir(WorkspaceDeeds) if not name.startswith("_") and name != "team"]


def compare(team: RandomTeam, branch: str, now: int) -> int:
    """Compare what is kept of a branch with what is read; return how many rows may be shown."""
    repo = team.store.repo
    with repo.store.reading(Ref(branch=branch)) as reading:
        kinds = (FACT, OBSERVATION)
        ids = [str(i) for kind in kinds for (i,) in reading.scan(kind, ("id",), Query())]
        ids.append("fact_of_nobody")
        known = known_rows(repo, find(repo, branch).id, reading)
        fresh = KnownRows(known.state, known.mask)
        told = read_rows(fresh, reading, ids, now, linked=True)
        assert read_rows(known, reading, ids, now, linked=True) == told
        assert seen_rows(known, ids, now, linked=True) in (told, None)
        for_task = newest_rows(KnownRows(known.state, known.mask), reading, "task_1", now)
        assert newest_rows(known, reading, "task_1", now) == for_task
    return len(told.items)


@pytest.mark.parametrize("seed", range(6))
def test_kept_rows_are_those_of_the_branch(team: RandomTeam, seed: int) -> None:
    team.chance = random.Random(seed)
    deeds = WorkspaceDeeds(team)
    team.write(12, "main")
    shown = set()
    for _ in range(30):
        branch, name = team.chance.choice(team.branches), team.chance.choice(DEEDS)
        with suppress(Conflict, NotFound, Refused):
            getattr(deeds, name)(branch)
        now = team.store.repo.clock()
        for each in {branch, "main"}:
            for later in (0, 1, 40 * 365 * DAY):  # some rows have expired by then
                shown.add(compare(team, each, now + later))
    assert len(shown) > 3
