"""`kill -9` loses nothing that was acknowledged: one real process killed at each named point.

Every run tries a third of the points, and the weekly one all.
`scripts/kills` does the same five times each, and fifty times more at random under load.
"""

import re
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from day1.model.redaction.mask import REDACTED
from tests.flows import test_compose_kills as compose_kills
from tests.flows import test_gwt_kills as gwt_kills
from tests.flows.kill_scenarios import POINTS, ROOT, State, kill_at, told
from tests.sampling import sampled


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, State]:
    folder = tmp_path_factory.mktemp("kills") / "store"
    return folder, told(folder)


@dataclass
class Killed:
    """What a kill left, after a check that nothing acknowledged was lost."""

    folder: Path
    """The one in which the store lies, and what was to be made beside it."""
    branches: State

    @property
    def texts(self) -> set[str]:
        return set(self.branches["main"].values())

    def answers(self, file: str, query: str) -> list[Any]:
        """What a SQLite file of the store answers."""
        with closing(sqlite3.connect(self.folder / "store" / file)) as connection:
            return connection.execute(query).fetchall()


Holds = Callable[[Killed], bool]


def written(killed: Killed) -> bool:
    return bool(killed.texts & {"written when killed", "changed at last"})


def forked(killed: Killed) -> bool:
    return "fresh" in killed.branches


def merged(killed: Killed) -> bool:
    return "said on the side" in killed.texts


def under_review(killed: Killed) -> bool:
    """No part of a branch is merged without a review of the rest."""
    return killed.answers("ledger.db", "SELECT status FROM reviews") == [("open",)]


def redacted(killed: Killed) -> bool:
    """What was begun is finished, in the index too."""
    quoted = killed.answers("index.db", "SELECT 1 FROM texts WHERE text LIKE 'as %'")
    return REDACTED in killed.texts and not quoted


def not_yet_rewritten(killed: Killed) -> bool:
    """The file that holds the redacted words is still there."""
    return redacted(killed) and not rewritten(killed)


def rewritten(killed: Killed) -> bool:
    """The file that held the redacted words is gone, and so is the copy that took its place."""
    store = killed.folder / "store"
    assert not (store / "purged.tmp").exists()
    return redacted(killed) and b"as said again" not in (store / "memory.db").read_bytes()


def no_backup(killed: Killed) -> bool:
    return not (killed.folder / "backup.tar.gz").exists()


def restored(killed: Killed) -> bool:
    return (killed.folder / "restored").exists()


def not_restored(killed: Killed) -> bool:
    return not restored(killed)


MUST_HOLD: Mapping[str, Holds] = {
    "add.after_commit": written,
    "change.after_commit": written,
    "fork.after_engine": forked,
    "fork.after_ledger": forked,
    "fill.after_rows": forked,
    "merge.after_engine": merged,
    "propose.after_review": under_review,
    "redact.after_intent": redacted,
    "redact.after_ledger": redacted,
    "redact.after_index": redacted,
    "backup.ahead": no_backup,
    "backup.copied": no_backup,
    "backup.packed": no_backup,
    "backup.checked": no_backup,
    "restore.checked": not_restored,
    "restore.published": restored,
    "purge.after_intent": not_yet_rewritten,
    "purge.copied": not_yet_rewritten,
    "purge.replaced": rewritten,
    "purge.after_ledger": rewritten,
    "purge.scrubbed": rewritten,
}
"""By point what holds after a kill there. Of other points either end of the action will do."""


@pytest.mark.parametrize("point", sampled(POINTS, POINTS[::3]))
def test_a_kill_leaves_what_was_acknowledged(
    point: str, before: tuple[Path, State], tmp_path: Path
) -> None:
    store, state = before
    shutil.copytree(store, tmp_path / "store")
    killed = Killed(tmp_path, kill_at(point, tmp_path / "store", state))
    assert point not in MUST_HOLD or MUST_HOLD[point](killed)


def test_every_named_point_is_tried() -> None:
    named = {
        point
        for file in (ROOT / "day1").rglob("*.py")
        for point in re.findall(r'point\("([a-z_.]+)"\)', file.read_text())
    }
    of_a_server = {"commit.before_stamp"}  # tried by tests/adapters/test_matrixone_store.py
    of_a_step = {point for point in named if point.startswith("schema.")}  # by test_stepping.py
    # Those of lessons are tried by test_lessons_killed.py.
    of_lessons = {point for point in named if point.startswith(("consolidate.", "insights."))}
    of_hooks = {
        point for point in named if point.startswith("taking.")
    }  # by test_hearing_killed.py
    of_compose = {point for point, _ in (*compose_kills.KILLS, *compose_kills.DEEDS)} - set(POINTS)
    of_compose |= {"schedule.after_job"}  # by test_jobs_killed.py
    of_systems = of_compose | of_lessons | {point for point, _ in gwt_kills.KILLS} - set(POINTS)
    assert MUST_HOLD.keys() <= set(POINTS)
    assert named == set(POINTS) | of_a_server | of_a_step | of_hooks | of_systems
