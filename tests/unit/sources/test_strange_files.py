"""What lies in a stranger's folder: links out of it, pipes, devices, names that are no text."""

import os
import signal
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any

import pytest

from day1.adapters.sources.graph import GraphSource
from day1.adapters.sources.markdown import MarkdownSource
from day1.adapters.sources.tools import catalogue
from day1.errors import Day1Error, ImportBroken, NotFound
from day1.interfaces.cli.files import lines_of
from day1.ports.source import Machine, Source
from tests.flows.git_repository import GitRepository
from tests.unit.sources.imported_rows import rows_of, text_of
from tests.wires import tool_databases as databases

SECRET = "The key of the safe is plover."
NAMES = (
    "MEMORY.md",
    "memory_summary.md",
    "rollout_summaries/a.md",
    "memories.json",
    "history.db",
    "engram.db",
    "manifest.json",
    "chunks/a.jsonl.gz",
    ".beads/issues.jsonl",
    ".engram/engram.db",
    ".engram/manifest.json",
    ".engram/chunks/a.jsonl.gz",
    "notes/a.md",
)
"""What some importer looks for in a folder."""
TOOLS = ("claude-code", "codex", "basic-memory", "mem0", "engram", "letta", "claude-ai")
SOURCES: Mapping[str, Callable[[Path], Source]] = {
    "markdown": lambda folder: MarkdownSource([folder], folder),
    **{
        name: lambda folder, name=name: catalogue.tool_memory(  # type: ignore[misc]  # mypy knows no type of a lambda's default
            name, [folder], Machine(Path("/nowhere"), {})
        )
        for name in TOOLS
    },
}

_opened: list[str] | None = None


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if _opened is not None and event in ("open", "sqlite3.connect"):
        _opened.append(os.fsdecode(arguments[0]) if not isinstance(arguments[0], int) else "")


sys.addaudithook(_watch)


@pytest.fixture
def opened() -> Iterator[list[str]]:
    """The files that are opened meanwhile; what waits for ten seconds is ended."""
    global _opened

    def end(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(10)
    _opened = []
    yield _opened
    _opened = None
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def outside(tmp_path: Path) -> Path:
    """A folder of one's own, which has all that an importer looks for."""
    folder = tmp_path / "outside"
    GitRepository(folder).commit(SECRET, {"a.txt": SECRET})
    for name in (*NAMES, "a.md"):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".db":
            with sqlite3.connect(file) as there:
                there.executescript(databases.ENGRAM + databases.HISTORY)
            there.close()
        else:
            file.write_text(SECRET)
    return folder


def link(file: Path, target: Path) -> None:
    file.symlink_to(target)


def link_the_folder(file: Path, target: Path) -> None:
    if file.parent.name == target.parent.name:
        file.parent.rmdir()
        file.parent.symlink_to(target.parent)


def pipe(file: Path, _: Path) -> None:
    os.mkfifo(file)


def device(file: Path, _: Path) -> None:
    file.symlink_to("/dev/zero")


def circle(file: Path, _: Path) -> None:
    file.symlink_to(file.name)


@pytest.mark.parametrize("make", [link, link_the_folder, pipe, device, circle])
@pytest.mark.parametrize("name", SOURCES)
def test_a_strangers_folder_leads_to_nothing_outside(
    name: str, make: Callable[[Path, Path], None], tmp_path: Path, opened: list[str]
) -> None:
    away, folder = outside(tmp_path), tmp_path / "stranger" / "memory"
    folder.mkdir(parents=True)
    (folder / "plain.md").write_text("A plain note.")
    (folder / ".git").symlink_to(away / ".git")
    for place in NAMES:
        file = folder / place
        if file.parent.resolve().is_relative_to(folder):
            file.parent.mkdir(parents=True, exist_ok=True)
            make(file, away / place)
    opened.clear()
    try:
        source = SOURCES[name](folder)
        rows = rows_of(source)
    except (ImportBroken, NotFound):
        rows = {}
    else:
        assert source.left_out
    assert not any("plover" in text_of(row) for row in rows.values())
    assert [path for path in opened if "/outside" in path or path == "/dev/zero"] == []


@pytest.mark.parametrize("target", ["file", "folder"])
def test_the_memory_found_in_a_strangers_project_is_in_that_project(
    target: str, tmp_path: Path, opened: list[str]
) -> None:
    away, project = outside(tmp_path), tmp_path / "project"
    project.mkdir()
    for name in (".beads", ".engram"):
        if target == "folder":
            (project / name).symlink_to(away / name)
        else:
            (project / name).mkdir()
            for file in (away / name).iterdir():
                (project / name / file.name).symlink_to(file)
    opened.clear()
    assert catalogue.found_memories(Machine(tmp_path / "home", {}, (project,))) == []
    assert not any("outside" in path for path in opened)


@pytest.mark.parametrize("name", SOURCES)
def test_a_name_that_is_no_text_stops_nothing(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "a" / "memory"
    strange = Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9"))
    strange.mkdir(parents=True)
    for file in (folder / "MEMORY.md", strange / "a.md", strange.with_name("\udce9.md")):
        file.write_text("# A\n\n- A point.\n")
    try:
        source = SOURCES[name](folder)
        rows = rows_of(source)
    except NotFound:
        return
    assert [text_of(row) for row in rows.values()]
    assert sorted(source.left_out["files whose names are not UTF-8"]) == [
        f"{folder}/\\xe9.md",
        f"{folder}/caf\\xe9/a.md",
    ]


@pytest.mark.parametrize("name", ["lines", "beads", "claude-mem", "mem0", "engram", "claude-ai"])
def test_a_file_whose_name_is_no_text_is_refused_by_name(name: str, tmp_path: Path) -> None:
    file = tmp_path / "\udce9.json"
    file.write_text("{}")
    with pytest.raises(Day1Error) as failed:
        list(catalogue.tool_memory(name, [file], Machine(Path("/nowhere"), {})).items())
    assert str(failed.value.details["path"]).endswith("/\\xe9.json")


@pytest.mark.usefixtures("opened")
def test_lines_come_from_no_device_and_no_pipe_without_a_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("day1.foreign_files.PIPE_WAIT_S", 0.1)
    pipe(tmp_path / "pipe", tmp_path)
    for path, why in (
        (tmp_path / "pipe", "stdin with `-`"),
        (Path("/dev/zero"), "no ordinary file"),
    ):
        with pytest.raises(ImportBroken, match=why), lines_of(path):
            pass
        with pytest.raises(ImportBroken, match="no ordinary file"):
            list(GraphSource(path).items())


@pytest.mark.usefixtures("opened")
def test_lines_come_from_a_pipe_with_a_writer(tmp_path: Path) -> None:
    """Also more lines than a pipe holds at a time, and from a shell's `<(command)`."""
    lines = [b"%d\n" % number for number in range(50_000)]
    pipe(tmp_path / "pipe", tmp_path)
    reading, writing = os.pipe()
    named: list[tuple[Path, Callable[[], IO[bytes]]]] = [
        (tmp_path / "pipe", lambda: (tmp_path / "pipe").open("wb")),
        (Path(f"/dev/fd/{reading}"), lambda: os.fdopen(writing, "wb")),
    ]
    for path, opening in named:
        write = partial(_write, opening, b"".join(lines))
        writer = threading.Thread(target=write, daemon=True)
        writer.start()
        with lines_of(path) as told:
            assert list(told) == lines
        writer.join()
    os.close(reading)


def _write(opening: Callable[[], IO[bytes]], data: bytes) -> None:
    with opening() as file:
        file.write(data)


def test_a_line_without_an_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "long"
    file.write_bytes(b"short\n" + b"x" * 5_000)
    monkeypatch.setattr("day1.foreign_files.lines_in.__defaults__", (1_000,))
    with lines_of(file) as lines, pytest.raises(ImportBroken, match="longer") as failed:
        list(lines)
    assert failed.value.details["line"] == 2
