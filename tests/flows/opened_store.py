"""A store opened as a process opens it, for tests of what goes wrong with its files."""

import hashlib
import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from day1.app.open import open_store
from day1.errors import Day1Error
from day1.interfaces.heads import ProcessHead, caller_of
from day1.interfaces.open_store import OpenStore
from day1.settings import EmbedderSettings, HttpSettings, SearchSettings, Settings
from day1.toolsets import TOOLSETS
from tests.engine import store_settings

TOOLS = {tool.name: tool for tool in TOOLSETS.choose("core,review,browse")}
SIDES = {"source_branch": "side", "target_branch": "main"}
MERGE = {**SIDES, "strategy": "auto"}
WRITES = (
    ("memory_write_fact", {"fact_text": "new"}),
    ("memory_write_observation", {"observation_type": "discovery", "summary": "new"}),
    ("memory_branch_create", {"branch_name": "new"}),
    ("memory_branch_enrich", {"branch_name": "side", "owner": "new"}),
    ("memory_snapshot", {"label": "new"}),
    ("memory_branch_merge", MERGE),
)


@contextmanager
def opened(folder: Path, *, create: bool = False, wait_s: float = 10.0) -> Iterator[OpenStore]:
    """The store in `folder`, searched by keywords only."""
    store = open_store(
        Settings(
            home=folder,
            embedder=EmbedderSettings(kind="none"),
            search=SearchSettings(chroma=False),
            http=HttpSettings(rate=0),  # all tests of a module call as one caller
            store=store_settings(folder, wait_s=wait_s),
        ),
        create=create,
    )
    try:
        yield store
    finally:
        store.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[OpenStore]:
    """A new store, open."""
    with opened(tmp_path / "store", create=True) as store:
        yield store


def call(store: OpenStore, tool: str, /, **arguments: Any) -> dict[str, Any]:
    """Call a tool as a client on main does."""
    caller = caller_of(store.settings, ProcessHead(store.repo, "main"), None)
    answer: dict[str, Any] = TOOLS[tool].call(store.context(caller), arguments)
    return answer


def remember(store: OpenStore, text: str, **more: Any) -> str:
    """Write a fact; gives its id."""
    made: str = call(store, "memory_write_fact", fact_text=text, **more)["id"]
    return made


def write(store: OpenStore, *texts: str, branch: str = "main") -> None:
    for text in texts:
        call(store, "memory_write_fact", fact_text=text, branch=branch)


def facts(store: OpenStore, branch: str = "main") -> list[str]:
    """The texts of the facts of a branch, oldest first."""
    found = call(store, "memory_timeline", branch=branch, limit=500)["result"]
    return [str(item["content"]) for item in found if item["type"] == "fact"]


def branches(store: OpenStore) -> set[str]:
    return {found["branch_name"] for found in call(store, "memory_branch_list")["result"]}


def make(folder: Path, *texts: str) -> None:
    """Make a store with facts on main, `side` forked from it with one more, and a search behind."""
    with opened(folder, create=True) as store:
        write(store, *(texts or ("one", "two", "three")))
        call(store, "memory_branch_create", branch_name="side")
        write(store, "aside", branch="side")
        call(store, "memory_snapshot", label="first")
        call(store, "memory_search", query="one")


def refused(action: Callable[[], Any], code: str, *says: str) -> Day1Error:
    """The action must fail with `code`; the message holds each of `says`."""
    with pytest.raises(Day1Error) as caught:
        action()
    assert caught.value.code == code, caught.value
    for part in says:
        assert part in str(caught.value)
    return caught.value


def open_and_close(folder: Path, *, create: bool = False) -> None:
    with opened(folder, create=create):
        pass


def digest(folder: Path, *names: str) -> dict[str, str]:
    """What the files of a folder hold, or the named ones of them."""
    files = [folder / name for name in names] if names else folder.rglob("*")
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
        if path.is_file()
    }


def mount(*arguments: str) -> None:
    """Mount, or skip the test where that is not permitted."""
    if os.geteuid() != 0:
        pytest.skip("mounting is not permitted")
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"mounting is not permitted: {done.stderr.strip()}")


@contextmanager
def mounted(place: Path, *arguments: str) -> Iterator[Path]:
    place.mkdir(exist_ok=True)
    mount(*arguments, str(place))
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@contextmanager
def read_only(folder: Path, seen_as: Path | None = None) -> Iterator[Path]:
    """The folder, or another path to it, as one that may not be written.

    The superuser may write whatever the modes say, so for him it is mounted.
    """
    if os.geteuid() != 0 and seen_as is None:
        modes = {path: path.stat().st_mode for path in (folder, *folder.rglob("*"))}
        for path, mode in modes.items():
            path.chmod(mode & ~0o222)
        try:
            yield folder
        finally:
            for path, mode in modes.items():
                path.chmod(mode)
        return
    with mounted(seen_as or folder, "--bind", str(folder)) as place:
        mount("-o", "remount,bind,ro", str(place))
        yield place


def fill(disk: Path, pages: int) -> None:
    """Leave so many pages of a disk free, or fewer if another process writes meanwhile."""
    free = max(0, os.statvfs(disk).f_bavail - pages)
    with suppress(OSError), (disk / "filler").open("ab", buffering=0) as filler:
        for _ in range(free):
            filler.write(bytes(4096))


@contextmanager
def no_file_beyond(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
