"""Files that can be made anew, damaged in every way: no command fails, and `day1 doctor` says so.

`DAY1_TEST_DAMAGE` says how many bits are flipped in each file; `all`: one of every byte of the first
pages, and 500 drawn ones elsewhere.
"""

import os
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from day1.adapters.index.index import LocalIndex
from day1.adapters.index.uses import FileUses
from day1.app.background import prime_renewer
from day1.errors import StoreUnavailable
from day1.formats import prime_file
from day1.interfaces.open_store import OpenStore
from day1.model.rows.kind import FACT
from day1.ports.index import IndexBehind
from day1.services.health import doctor
from tests.flows.damaged_copies import (
    DERIVED,
    SHAPES,
    Hits,
    copied,
    flipped,
    hits,
    indexed_in,
    make,
    named,
    notes,
    places,
)
from tests.flows.heard import said
from tests.flows.opened_store import no_file_beyond
from tests.flows.test_flipped_bits import store_in

_ASKED = os.environ.get("DAY1_TEST_DAMAGE", "10")
MOST = None if _ASKED == "all" else int(_ASKED)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The derived files of a store, none of which is damaged."""
    folder = tmp_path_factory.mktemp("whole") / "store"
    make(folder)
    return folder


@pytest.fixture(scope="module")
def store(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenStore]:
    """The same store, open, whose own derived files nobody uses."""
    folder = copied(whole, tmp_path_factory.mktemp("open") / "store")
    with store_in(folder) as opened:
        yield opened


@pytest.fixture(scope="module")
def expected(store: OpenStore, whole: Path, tmp_path_factory: pytest.TempPathFactory) -> Hits:
    """What is found with whole files."""
    folder = derived(whole, tmp_path_factory.mktemp("expected") / "store")
    with indexed_in(store, folder):
        found = hits(store)
        assert named(store) == set()
    for path in (folder / "index.db", *(folder / "vectors").iterdir()):
        path.unlink()
    with indexed_in(store, folder):
        hits(store)
        assert hits(store) == found  # an index that was made anew finds the same
    return found


def derived(source: Path, folder: Path) -> Path:
    """A copy of what can be made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name in DERIVED:
        path = source / name
        copy = shutil.copytree if path.is_dir() else shutil.copy
        copy(path, folder / name)
    return folder


def files_of(folder: Path, name: str) -> list[Path]:
    path = folder / name
    return sorted(path.iterdir()) if path.is_dir() else [path]


def outcome(store: OpenStore, folder: Path, expected: Hits) -> str:
    """What became of a damaged index: nothing, a right answer, or one that doctor warns of."""
    with indexed_in(store, folder):
        found = hits(store)
        if found == expected:
            return "right"
        again = notes(store)
        if any("cannot be used" in note for note in again):
            assert named(store) == {"index"}
            return "in memory"
        if hits(store) == expected:
            return "made anew"
        if "index" not in named(store):
            return "wrong in silence"
        doctor.repair(store.repo, store.search, 1)
        hits(store)
        return "said by doctor" if hits(store) == expected else "wrong after the repair"


@pytest.mark.parametrize("name", ["index.db", "vectors"])
def test_a_flipped_bit_of_the_index_fails_no_command_and_no_answer_is_wrong_in_silence(
    tmp_path, store, whole, expected, name, record_property
):
    seen: Counter[str] = Counter()
    for number, file in enumerate(files_of(whole, name)):
        for place, bit in places(file, MOST):
            folder = derived(whole, tmp_path / str(number))
            damaged = folder / file.relative_to(whole)
            flipped(damaged, place, bit)
            result = outcome(store, folder, expected)
            assert result in {"right", "made anew", "in memory", "said by doctor"}, (place, bit)
            seen[result] += 1
    record_property("summary", f"{name}: {dict(seen)}")


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("name", ["index.db", "vectors"])
def test_an_index_of_another_shape_fails_no_command(tmp_path, store, whole, expected, name, shape):
    for number, file in enumerate(files_of(whole, name)):
        folder = derived(whole, tmp_path / str(number))
        shape(folder / file.relative_to(whole))
        others = {p: p.read_bytes() for p in folder.rglob("of somebody else")}
        assert outcome(store, folder, expected) in {
            *("right", "made anew", "in memory", "said by doctor")
        }
        for path, content in others.items():
            assert not path.exists() or path.read_bytes() == content


def test_a_folder_of_vectors_that_is_a_file_leaves_the_words(tmp_path, store, whole, expected):
    folder = derived(whole, tmp_path / "copy")
    shutil.rmtree(folder / "vectors")
    (folder / "vectors").write_text("dear diary")
    assert outcome(store, folder, expected) == "in memory"
    assert (folder / "vectors").read_text() == "dear diary"


def use(store: OpenStore, folder: Path) -> set[str]:
    """Use the files for hooks and of counts as commands do; answers what doctor names first."""
    with indexed_in(store, folder):
        warned = named(store)
        store.prime.uses.shown(["fact_1"], 2, "main")
        store.prime.uses.most(50)
        store.prime.uses.known()
        prime_renewer(store).renew(("main", "side"))
        return warned


def test_a_flipped_bit_of_a_prime_makes_it_no_prime(tmp_path, store, whole):
    for file in files_of(whole, "prime"):
        told = prime_file.read(whole, file.stem)
        for place, bit in places(file, MOST):
            folder = derived(whole, tmp_path / "copy")
            flipped(folder / file.relative_to(whole), place, bit)
            found = prime_file.read(folder, file.stem)
            assert found in (None, told), (place, bit)
            assert use(store, folder) == (set() if found else {"files"}), (place, bit)
            assert prime_file.read(folder, file.stem) is not None, (place, bit)


def test_counts_begin_anew_in_place_of_damaged_ones(tmp_path, store, whole, record_property):
    (file,) = files_of(whole, "uses.db")
    seen: Counter[str] = Counter()
    for place, bit in places(file, MOST):
        folder = derived(whole, tmp_path / "copy")
        flipped(folder / "uses.db", place, bit)
        seen["named" if use(store, folder) else "right"] += 1
        use(store, folder)
        assert "fact_1" in FileUses(folder, read_only=False).known(), (place, bit)
        seen["begun anew"] += (folder / "uses.db.damaged").exists()
    record_property("summary", str(dict(seen)))


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("name", ["prime", "uses.db", "spool"])
def test_a_small_file_of_another_shape_fails_no_command(tmp_path, store, whole, name, shape):
    folder = derived(whole, tmp_path / "copy")
    shape(files_of(folder, name)[0])
    use(store, folder)
    for folder_name in ("prime", "spool"):
        folder = derived(whole, tmp_path / "copy")
        shutil.rmtree(folder / folder_name)
        (folder / folder_name).write_text("dear diary")
        with indexed_in(store, folder):
            assert named(store) == {"files"}
        assert (folder / folder_name).read_text() == "dear diary"


def test_a_line_of_a_hook_is_taken_in_as_it_was_heard_or_put_aside(tmp_path, whole):
    (file,) = files_of(whole, "spool")
    seen: Counter[str] = Counter()
    for place, bit in places(file, MOST)[-1_000:]:
        folder = copied(whole, tmp_path / "copy")
        flipped(folder / "spool" / file.name, place, bit)
        with store_in(folder) as opened:
            texts = [text for talk in said(opened).values() for _, text in talk]
            assert texts in ([], ["what the person asked for"]), (place, bit)
            seen["taken in" if texts else "kept"] += 1
            assert texts or named(opened) & {"hooks", "files"}, (place, bit)
    assert seen["kept"]


# What is no damage


def test_a_full_disk_missing_rights_and_a_lock_of_another_leave_the_index(tmp_path, store, whole):
    folder = derived(whole, tmp_path / "copy")
    file = folder / "index.db"
    inode = file.stat().st_ino
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with indexed_in(store, folder):
            index = store.search.index
            index._database._wait_s = 0.05
            with pytest.raises(IndexBehind):
                index.words.learn(FACT, {"1" * 64: "one more"})
    (folder / "index.lock").unlink()
    (folder / "index.lock").mkdir()  # nobody can open it, as without rights
    with indexed_in(store, folder):
        assert any("cannot be used" in note for note in notes(store))
    (folder / "index.lock").rmdir()
    most = no_file_beyond(file.stat().st_size)
    with indexed_in(store, folder), most, pytest.raises(IndexBehind):
        store.search.index.words.learn(FACT, {str(n): "some words" * 999 for n in range(99)})
    assert file.stat().st_ino == inode
    with indexed_in(store, folder):
        assert "index" not in named(store)


def test_an_error_that_comes_again_with_a_new_file_is_not_taken_for_damage(tmp_path, whole):
    folder = derived(whole, tmp_path / "copy")
    index = LocalIndex(folder)
    try:
        for says in ("damaged", "cannot be used"):
            with pytest.raises(StoreUnavailable, match=says), index._database.reading():
                raise TypeError
        assert (folder / "index.db").exists()
    finally:
        index.close()


def test_a_process_that_has_the_file_open_goes_on_while_another_makes_it_anew(
    tmp_path, store, whole, expected
):
    folder = derived(whole, tmp_path / "copy")
    with indexed_in(store, folder):
        assert hits(store) == expected
        first = store.search
        with indexed_in(store, folder):
            store.search.index._database.close()
            with (folder / "index.db").open("r+b") as file:
                file.seek(4096)
                file.write(b"\xff" * 4096 * 6)
            hits(store)
            assert hits(store) == expected
        store.search = first
        hits(store)
        assert hits(store) == expected
        assert "index" not in named(store)
