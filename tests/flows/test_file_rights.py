"""Who may read a store's files: whoever made it, and others only if they were let in."""

import os
import subprocess
from pathlib import Path

from tests.forkserver import python


def day1(home: Path, *arguments: str, umask: int) -> None:
    subprocess.run(
        [*python(), "-m", "day1", *arguments],
        env={**os.environ, "DAY1_HOME": str(home), "DAY1_EMBEDDER__KIND": "none"},
        umask=umask,
        check=True,
        capture_output=True,
    )


def rights(folder: Path) -> dict[str, int]:
    every = (folder, *folder.rglob("*"))
    return {str(path.relative_to(folder)): path.stat().st_mode & 0o777 for path in every}


def test_a_new_store_is_its_users_alone(tmp_path: Path) -> None:
    """C3: `day1 init` makes a folder that nobody else enters, and files that nobody else reads."""
    home = tmp_path / "project" / ".day1"
    day1(home, "init", umask=0o022)
    day1(home, "add", "The gateway answers at noon.", umask=0o022)
    day1(home, "search", "gateway", umask=0o022)
    found = rights(home)
    assert {"memory.db", "ledger.db", "index.db"} <= found.keys()
    assert {name: oct(mode) for name, mode in found.items() if mode & 0o077} == {}
    assert tmp_path.joinpath("project").stat().st_mode & 0o777 == 0o755


def test_a_folder_that_is_shared_stays_shared(tmp_path: Path) -> None:
    """C3: who made the folder a group's has files that the group reads."""
    home = tmp_path / "shared"
    home.mkdir()
    home.chmod(0o2770)
    day1(home, "init", umask=0o002)
    day1(home, "add", "The gateway answers at noon.", umask=0o002)
    found = rights(home)
    assert found["."] == 0o770
    assert (found["memory.db"] & 0o640, found["ledger.db"] & 0o640) == (0o640, 0o640)


def test_a_store_that_is_there_keeps_its_rights(tmp_path: Path) -> None:
    """C3: a store that an earlier version made is opened as it is."""
    home = tmp_path / "earlier"
    day1(home, "init", umask=0o022)
    home.chmod(0o755)
    (home / "memory.db").chmod(0o644)
    day1(home, "add", "The gateway answers at noon.", umask=0o022)
    found = rights(home)
    assert (found["."], found["memory.db"]) == (0o755, 0o644)


def test_an_export_is_its_users_alone_and_one_that_is_overwritten_keeps_its_rights(
    tmp_path: Path,
) -> None:
    """C3: it is as confidential as the store, but whoever was let in to read it still can."""
    home, new, shared = tmp_path / ".day1", tmp_path / "new", tmp_path / "shared"
    day1(home, "init", umask=0o022)
    shared.touch()
    shared.chmod(0o644)
    for file in (new, shared):
        day1(home, "export", "--all", "-o", str(file), umask=0o022)
    assert [oct(file.stat().st_mode & 0o777) for file in (new, shared)] == ["0o600", "0o644"]
