"""A backup or restore that is killed, or meets a full disk, leaves nothing half done."""

import os
import resource
import signal
import subprocess
from pathlib import Path

import pytest

from tests.flows.backed_up_store import backed_up, restored
from tests.flows.opened_store import call, facts, no_file_beyond, opened, refused
from tests.forkserver import python

ROOT = Path(__file__).parents[2]
OFFLINE = {"DAY1_EMBEDDER__KIND": "none", "DAY1_SEARCH__CHROMA": "false"}


def run(store: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*python(), "-m", "day1", "backup", *arguments],
        cwd=ROOT,
        env={**os.environ, **OFFLINE, "DAY1_HOME": str(store), **env},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("point", ["ahead", "copied", "packed", "checked"])
def test_a_backup_that_is_killed_leaves_no_file_and_the_next_one_works(
    store: Path, point: str
) -> None:
    file = store.with_name("b.tar.gz")
    killed = run(store, str(file), DAY1_KILL_AT=f"backup.{point}")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not file.exists()
    with opened(store) as opened_store:
        call(opened_store, "memory_write_fact", fact_text="afterwards")
    assert run(store, str(file)).returncode == 0
    assert {path.name for path in store.parent.iterdir()} == {"store", "b.tar.gz"}
    restored(file, store.with_name("new"))
    with opened(store.with_name("new")) as copy:
        assert facts(copy)[-1] == "afterwards"


def test_a_restore_that_is_killed_leaves_no_store_and_the_next_one_works(
    store: Path, backup: Path
) -> None:
    new = store.with_name("new")
    arguments = (str(backup), "--restore", "--into", str(new))
    killed = run(store, *arguments, DAY1_KILL_AT="restore.checked")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not new.exists()
    killed = run(store, *arguments, DAY1_KILL_AT="restore.published")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    with opened(new) as opened_store:
        assert facts(opened_store, "side") == ["one", "two", "three", "aside"]


@pytest.mark.parametrize("most", [0, 5_000, 60_000, 150_000])
def test_on_a_full_disk_nothing_is_left(
    store: Path, backup: Path, tmp_path: Path, most: int
) -> None:
    before = {path.name for path in tmp_path.iterdir()}
    with opened(store) as opened_store, no_file_beyond(most):
        refused(lambda: backed_up(opened_store, tmp_path / "b"), "store_full")
    with no_file_beyond(most):
        refused(lambda: restored(backup, tmp_path / "new"), "store_full")
    assert {path.name for path in tmp_path.iterdir()} == before
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
