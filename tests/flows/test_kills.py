"""`kill -9` loses nothing that was acknowledged: one real process killed at each named point.

Every run tries a third of the points, and the weekly one all.
`scripts/kills` does the same five times each, and fifty times more at random under load.
"""

import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from day1.model.redaction.mask import REDACTED
from tests.flows.kill_scenarios import POINTS, ROOT, State, kill_at, told
from tests.sampling import sampled


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, State]:
    folder = tmp_path_factory.mktemp("kills") / "store"
    return folder, told(folder)


@pytest.mark.parametrize("point", sampled(POINTS, POINTS[::3]))
def test_a_kill_leaves_what_was_acknowledged(
    point: str, before: tuple[Path, State], tmp_path: Path
) -> None:
    store, state = before
    shutil.copytree(store, tmp_path / "store")
    found = kill_at(point, tmp_path / "store", state)
    texts = set(found["main"].values())
    if point in {"add.after_commit", "change.after_commit"}:
        assert texts & {"written when killed", "changed at last"}
    if point in {"fork.after_engine", "fork.after_ledger", "fill.after_rows"}:
        assert "fresh" in found
    if point == "merge.after_engine":
        assert "said on the side" in texts
    if (
        point == "propose.after_review"
    ):  # no part of a branch is merged without a review of the rest
        with closing(sqlite3.connect(tmp_path / "store" / "ledger.db")) as ledger:
            assert ledger.execute("SELECT status FROM reviews").fetchall() == [("open",)]
    if point.startswith(("redact.", "purge.")):  # what was begun is finished, in the index too
        assert REDACTED in texts
        with closing(sqlite3.connect(tmp_path / "store" / "index.db")) as index:
            assert not index.execute("SELECT 1 FROM texts WHERE text LIKE 'as %'").fetchall()
    if point.startswith("backup."):
        assert not (tmp_path / "backup.tar.gz").exists()
    if point.startswith("purge."):  # the file that holds the words is the old one, or is gone
        replaced = point not in {"purge.after_intent", "purge.copied"}
        assert (b"as said again" in (tmp_path / "store" / "memory.db").read_bytes()) != replaced
        assert not (tmp_path / "store" / "purged.tmp").exists()
    if point.startswith("restore."):
        assert (tmp_path / "restored").exists() == (point == "restore.published")


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
    assert named == set(POINTS) | of_a_server | of_a_step | of_lessons | of_hooks
