"""Files that are damaged, foreign, gone or replaced: what is said, and nothing is made worse."""

import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from day1.adapters.versioned.doltlite.dbapi import driver
from day1.errors import Day1Error
from tests.flows.opened_store import (
    MERGE,
    SIDES,
    branches,
    call,
    digest,
    facts,
    make,
    open_and_close,
    opened,
    refused,
    write,
)

KEPT = ("memory.db", "ledger.db")
Damage = Callable[[Path], None]


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    """A store that nobody uses; tests damage copies of it."""
    folder = tmp_path_factory.mktemp("pristine") / "store"
    make(folder, *(f"fact {number} {'x' * 300}" for number in range(30)))
    return folder


@pytest.fixture
def store(pristine, tmp_path):
    return Path(shutil.copytree(pristine, tmp_path / "store"))


def overwrite(path: Path, at: int, data: bytes) -> None:
    """Put bytes into a file; a negative place counts from the end."""
    with path.open("r+b") as file:
        file.seek(at, os.SEEK_END if at < 0 else os.SEEK_SET)
        file.write(data)


def becomes_sqlite(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE facts (id TEXT)")


def becomes_anothers(path: Path) -> None:
    path.unlink()
    with closing(driver.connect(path, mode="rwc")) as connection:
        connection.execute("CREATE TABLE facts (id TEXT)")
        connection.execute("SELECT dolt_commit('-A', '-m', 'theirs')")


DAMAGED = {
    "the head is zeroed": lambda path: overwrite(path, 0, bytes(16)),
    "a text file": lambda path: path.write_text("dear diary\n" * 50),
    "an empty file": lambda path: os.truncate(path, 0),
    "an SQLite file": becomes_sqlite,
    "another program's": becomes_anothers,
    "the head alone is left": lambda path: os.truncate(path, 100),
    "zeroes near the end": lambda path: overwrite(path, -500, bytes(50)),
    # Not a few bytes: an old chunk may hold them all, and opening reads no old chunk's content.
    "zeroes in the middle": lambda path: overwrite(path, path.stat().st_size // 2, bytes(20_000)),
    "junk near the head": lambda path: overwrite(path, 150, b"junk" * 100),
}


@pytest.mark.parametrize("damage", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_memory_is_refused_with_what_to_do_and_left_as_it_is(store, damage: Damage):
    damage(store / "memory.db")
    before = digest(store)
    error = refused(lambda: open_and_close(store), "store_damaged", "memory.db", "a backup of")
    assert error.details["file"] == "memory.db"
    refused(lambda: open_and_close(store, create=True), "store_damaged")
    after = digest(store)
    assert {name: after[name] for name in before} == before


def test_a_memory_of_another_format_is_refused_with_the_way_over(store):
    overwrite(store / "memory.db", 4, (13).to_bytes(4, "little"))
    before = digest(store, *KEPT)
    error = refused(lambda: open_and_close(store), "store_version_unknown", "13", "day1 export")
    assert error.details["format"] == 13
    assert digest(store, *KEPT) == before


def test_a_memory_of_a_later_schema_is_refused(store):
    with closing(driver.connect(store / "memory.db", branch="main")) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO schema (version, created_at) VALUES (99, 1)")
        connection.execute("SELECT dolt_commit('-A', '-m', 'later')")
        connection.execute("COMMIT")
    before = digest(store, *KEPT)
    error = refused(lambda: open_and_close(store), "store_version_unknown", "99", "newer day1")
    assert error.details["version"] == 99
    assert digest(store, *KEPT) == before


def test_a_memory_cut_off_opens_at_its_last_whole_commit(store):
    with opened(store) as opened_store:
        known = facts(opened_store)
        whole = (store / "memory.db").stat().st_size
        write(opened_store, "late one", "late two")
        call(opened_store, "memory_snapshot", label="late")
    os.truncate(store / "memory.db", (whole + (store / "memory.db").stat().st_size) // 2)
    with opened(store) as opened_store:
        found = facts(opened_store)
        assert found[: len(known)] == known
        assert found[len(known) :] in ([], ["late one"], ["late one", "late two"])
        write(opened_store, "written after")
        assert facts(opened_store) == [*found, "written after"]
        assert len(call(opened_store, "memory_search", query="written after")["result"]) >= 1
        assert opened_store.repo.store.check() == []


def one_damage(rng: random.Random, path: Path) -> None:
    size = path.stat().st_size
    at = rng.randrange(size)
    match rng.choice(("zero", "flip", "cut", "junk", "zero tail")):
        case "zero":
            overwrite(path, at, bytes(min(50, size - at)))
        case "flip":
            overwrite(path, at, bytes([path.read_bytes()[at] ^ 1 << rng.randrange(8)]))
        case "cut":
            os.truncate(path, at)
        case "junk":
            overwrite(path, at, rng.randbytes(min(400, size - at)))
        case "zero tail":
            overwrite(path, at, bytes(size - at))


@pytest.mark.parametrize("compacted", [False, True], ids=["log", "compacted"])
def test_wherever_the_damage_is_no_answer_is_wrong_and_no_error_unclear(store, tmp_path, compacted):
    with opened(store) as opened_store:
        if compacted:
            opened_store.repo.store.compact()
        truth = {name: facts(opened_store, name) for name in ("main", "side")}
    rng = random.Random(7)
    for number in range(40):
        folder = Path(shutil.copytree(store, tmp_path / str(number)))
        one_damage(rng, folder / "memory.db")
        try:
            with opened(folder) as opened_store:
                for name, known in truth.items():
                    _ask_of_a_damaged_one(opened_store, name, known)
        except Day1Error as error:
            assert error.code == "store_damaged", (number, error)  # noqa: PT017 - it may raise or not
        shutil.rmtree(folder)


def _ask_of_a_damaged_one(opened_store, name, known):
    """Whole commits may be gone from the end, and with the first the branch; no row is wrong."""
    for ask in (
        lambda: facts(opened_store, name),
        lambda: call(opened_store, "memory_search", query="fact", branch=name),
        lambda: call(opened_store, "memory_merge_preview", **SIDES),
    ):
        try:
            found = ask()
            assert isinstance(found, dict) or found == known[: len(found)]
        except Day1Error as error:
            assert error.code in {"store_damaged", "store_unavailable", "unknown_branch"}  # noqa: PT017 - it may raise or not
            assert error.code != "unknown_branch" or "side" in str(error)  # noqa: PT017 - it may raise or not


# The ledger


LEDGER_DAMAGED = {
    "junk from the start": lambda path: path.write_bytes(os.urandom(9_000)),
    "junk within": lambda path: overwrite(path, 5_000, b"\xff" * 4_000),
}


@pytest.mark.parametrize("damage", LEDGER_DAMAGED.values(), ids=LEDGER_DAMAGED)
def test_a_damaged_ledger_is_refused_and_the_advice_helps(store, damage: Damage):
    damage(store / "ledger.db")
    before = digest(store, *KEPT)
    refused(lambda: open_and_close(store), "store_damaged", "ledger.db", "rebuilds the branches")
    assert digest(store, *KEPT) == before
    for path in store.glob("ledger.db*"):
        path.unlink()
    with opened(store) as opened_store:
        assert branches(opened_store) == {"main", "side"}
        assert len(facts(opened_store)) == 30
        assert facts(opened_store, "side")[-1] == "aside"
        assert call(opened_store, "memory_branch_merge", **MERGE)["merged_count"] == 1


@pytest.mark.parametrize("left", ["nothing", "an empty file", "its log"])
def test_a_lost_ledger_is_begun_anew_with_every_branch(store, left, caplog):
    if left == "its log":
        with closing(sqlite3.connect(store / "ledger.db")) as connection:
            connection.execute("UPDATE branches SET name = 'of the old log'")
            connection.commit()
            log = (store / "ledger.db-wal").read_bytes()
        (store / "ledger.db-wal").write_bytes(log)
    (store / "ledger.db").unlink()
    if left == "an empty file":
        (store / "ledger.db").touch()
    with opened(store) as opened_store:
        assert branches(opened_store) == {"main", "side"}
        assert facts(opened_store, "side")[-1] == "aside"
        assert "recorded anew" in caplog.text
        call(opened_store, "memory_branch_create", branch_name="later")
        assert branches(opened_store) == {"main", "side", "later"}


def test_a_ledger_older_than_the_memory_learns_the_branches_it_lacks(store):
    old = (store / "ledger.db").read_bytes()
    with opened(store) as opened_store:
        call(opened_store, "memory_branch_create", branch_name="later")
        write(opened_store, "of later", branch="later")
    (store / "ledger.db").write_bytes(old)
    with opened(store) as opened_store:
        assert branches(opened_store) == {"main", "side", "later"}
        assert facts(opened_store, "later")[-1] == "of later"


def test_a_fork_under_way_is_not_taken_for_a_lost_branch(store):
    """Its ref is there before its row; who opens meanwhile must not write one."""
    found = []

    def at(point: str) -> None:
        if point == "fork.after_engine":
            with pytest.raises(Day1Error) as caught, opened(store, wait_s=0.1):
                pass
            found.append(caught.value.code)

    with opened(store) as opened_store:
        object.__setattr__(opened_store.repo, "point", at)
        call(opened_store, "memory_branch_create", branch_name="later", description="mine")
    assert found == ["store_busy"]
    with opened(store) as opened_store:
        (later,) = [b for b in opened_store.repo.ledger.branches() if b.name == "later"]
        assert later.description == "mine"


# Files that change while they are open


def test_a_backup_moved_into_place_is_what_is_written_from_then_on(store, tmp_path):
    backup = Path(shutil.copytree(store, tmp_path / "backup"))
    with opened(store) as opened_store:
        known = facts(opened_store)
        write(opened_store, "after the backup")
        for name in KEPT:
            (backup / name).replace(store / name)
        write(opened_store, "after the return")
        call(opened_store, "memory_branch_enrich", branch_name="side", owner="ada")
        assert facts(opened_store) == [*known, "after the return"]
    with opened(store) as opened_store:
        assert facts(opened_store) == [*known, "after the return"]
        assert (
            call(opened_store, "memory_branch_enrich", branch_name="side")["metadata"]["owner"]
            == "ada"
        )
        assert opened_store.repo.store.check() == []


@pytest.mark.parametrize("compacted", [False, True], ids=["shorter", "longer"])
def test_a_backup_copied_over_the_file_is_what_is_written_from_then_on(store, tmp_path, compacted):
    """What connections know of the old file must not be written into the new one."""
    backup = Path(shutil.copytree(store, tmp_path / "backup"))
    with opened(store) as opened_store:
        known = facts(opened_store)
        if compacted:
            opened_store.repo.store.compact()
        write(opened_store, "after the backup", "and another")
        shutil.copyfile(backup / "memory.db", store / "memory.db")
        write(opened_store, "first")
        assert facts(opened_store) == [*known, "first"]
    with opened(store) as opened_store:
        assert facts(opened_store) == [*known, "first"]
        assert opened_store.repo.store.check() == []


def test_nothing_is_written_to_a_memory_that_was_deleted(store):
    with opened(store) as opened_store:
        (store / "memory.db").unlink()
        refused(lambda: write(opened_store, "lost"), "store_unavailable", "memory.db")
        refused(lambda: facts(opened_store), "store_unavailable")
    assert not (store / "memory.db").exists()


def test_nothing_is_written_to_a_store_that_was_deleted(store):
    with opened(store) as opened_store:
        shutil.rmtree(store)
        for action in (
            lambda: write(opened_store, "lost"),
            lambda: call(opened_store, "memory_branch_create", branch_name="lost"),
            lambda: call(opened_store, "memory_branch_enrich", branch_name="side", owner="lost"),
        ):
            assert refused(action, "store_unavailable").details["file"] == "ledger.db"
    assert not (store / "memory.db").exists()
    assert not (store / "ledger.db").exists()


# What is derived


def test_a_damaged_index_is_built_anew_and_said(store, caplog):
    (store / "index.db").write_bytes(os.urandom(20_000))
    with opened(store) as opened_store:
        before = digest(store, *KEPT)
        first = call(opened_store, "memory_search", query="fact")
        again = call(opened_store, "memory_search", query="fact")
        assert digest(store, *KEPT) == before
    assert first["result"]
    assert first["result"] == again["result"]
    assert any("damaged" in note for note in first["read"]["notes"])
    assert not any("damaged" in note for note in again["read"]["notes"])
    assert "the index is damaged" in caplog.text


# Paths


ODD = ["a b", "a#b", "a?b=c", "a%41b", "é ü 日本", "it's", 'say "x"', "a@b", "a&b;c", "line\nend"]
ODD += ["back\\slash", "file:x", "~", "-rf", os.fsdecode(b"not utf-8 \xff")]


@pytest.mark.parametrize("name", ODD, ids=ascii)
def test_any_character_may_be_in_the_path_of_a_store(tmp_path, name):
    folder = tmp_path / name / ".day1"
    make(folder)
    with opened(folder) as opened_store:
        assert facts(opened_store, "side") == ["one", "two", "three", "aside"]
        assert call(opened_store, "memory_branch_merge", **MERGE)["merged_count"] == 1
    assert {path.name for path in tmp_path.iterdir()} == {name}
    assert {"memory.db", "ledger.db", "index.db"} < {path.name for path in folder.iterdir()}


def long_path(start: Path, length: int) -> Path:
    """A path of so many bytes."""
    folder = start
    while (left := length - len(os.fsencode(folder)) - 1) > 0:
        folder /= "l" * (left if left <= 200 else min(200, left - 2))
    assert len(os.fsencode(folder)) == length
    return folder


def test_the_longest_path_takes_the_longest_branch_name(tmp_path):
    with opened(long_path(tmp_path, 480), create=True) as opened_store:
        call(opened_store, "memory_branch_create", branch_name="b" * 100)
        write(opened_store, "far down", branch="b" * 100)
        assert facts(opened_store, "b" * 100) == ["far down"]
        opened_store.repo.store.compact()


@pytest.mark.parametrize("length", [481, 1_000, 4_200])
def test_a_longer_path_is_refused_and_nothing_made(tmp_path, length):
    folder = long_path(tmp_path, length)
    refused(lambda: open_and_close(folder, create=True), "invalid_request", "path", "shorter")
    assert list(tmp_path.iterdir()) == []


def test_a_path_without_a_store_is_said_and_nothing_made(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("no folder")
    (tmp_path / "odd" / "memory.db").mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    for path in ("empty", "missing", "file", "file/below", "odd"):
        refused(partial(open_and_close, tmp_path / path), "not_a_store", "day1 init")
    for path in ("file", "file/below"):
        refused(partial(open_and_close, tmp_path / path, create=True), "not_a_store", "folder")
    assert sorted(tmp_path.rglob("*")) == before
