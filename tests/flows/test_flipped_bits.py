"""A bit of a file that changed by itself: never a wrong answer in silence.

Where which bits are flipped is drawn by a seed, so a run can be repeated; `DAY1_TEST_FLIPS` says
how many are flipped in each file.
"""

import json
import os
import random
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from day1.app.open import open_store
from day1.app.stores import place_of
from day1.errors import Day1Error, StoreDamaged
from day1.interfaces.open_store import OpenStore
from day1.services.health import doctor
from day1.services.search.indexing import embed_pending
from day1.settings import EmbedderSettings, SearchSettings, Settings
from tests.fakes.hashing_embedder import HashingEmbedder
from tests.flows.opened_store import call, facts, make, opened, read_only, refused, write
from tests.flows.random_store import RandomTeam, questions
from tests.sampling import sampled

FLIPS = int(os.environ.get("DAY1_TEST_FLIPS", "2"))
SEEDS = sampled(range(4), {0})
Answers = list[str]


@contextmanager
def store_in(folder: Path, *, create: bool = False) -> Iterator[OpenStore]:
    """A store that is searched by words and by vectors, which need no model."""
    settings = Settings(
        home=folder,
        embedder=EmbedderSettings(kind="none"),
        search=SearchSettings(chroma=False),
    )
    store = open_store(settings, create=create)
    store.search = replace(store.search, embedder=HashingEmbedder())
    try:
        yield store
    finally:
        store.close()


def make_whole(folder: Path, *, compacted: bool) -> None:
    """Make a store in which all has happened that can, with a whole index."""
    with store_in(folder, create=True) as store:
        RandomTeam(store, seed=3).work(40, 4, 3)
        if compacted:
            store.repo.store.compact()
        for name in store.repo.history.branches():
            call(store, "memory_search", query="otter", branch=name)
        assert store.search.embedder
        embed_pending(store.search.index, store.search.embedder, None)


@pytest.fixture(scope="module")
def pristine(tmp_path_factory) -> Path:
    """A compacted store in which all has happened that can, with a whole index."""
    folder = tmp_path_factory.mktemp("pristine") / "store"
    make_whole(folder, compacted=True)
    return folder


@pytest.fixture(scope="module")
def lived(tmp_path_factory) -> Path:
    """The same, as it was lived: its log holds every write, and no process has compacted it."""
    folder = tmp_path_factory.mktemp("lived") / "store"
    make_whole(folder, compacted=False)
    return folder


@pytest.fixture(scope="module")
def asked(pristine: Path) -> list[tuple[str, dict[str, Any]]]:
    with store_in(pristine) as store:
        return questions(store, 3)


@pytest.fixture(scope="module")
def reference(pristine: Path, asked) -> tuple[Answers, Answers]:
    """What is to be answered, and what with an index that is new."""
    with store_in(pristine) as store:
        now = answers(store, asked)[0]
    fresh = pristine.with_name("fresh")
    shutil.copytree(pristine, fresh)
    for path in (fresh / "index.db", *(fresh / "vectors").iterdir()):
        path.unlink()
    with store_in(fresh) as store:
        answers(store, asked)
        return now, answers(store, asked)[0]


def answers(store: OpenStore, asked) -> tuple[Answers, bool]:
    """Each answer or the code of its error; and whether an answer said that the index was lost."""
    found, said = [], False
    for tool, arguments in asked:
        try:
            answer = call(store, tool, **arguments)
        except Day1Error as error:
            found.append(f"error: {error.code}")
            continue
        notes = answer.get("read", {}).pop("notes", [])
        said |= any("damaged" in note for note in notes)
        found.append(json.dumps(answer, sort_keys=True, default=str))
    return found, said


def flip(file: Path, chance: random.Random) -> None:
    place, bit = chance.randrange(file.stat().st_size), chance.randrange(8)
    with file.open("r+b") as opened_file:
        opened_file.seek(place)
        (old,) = opened_file.read(1)
        opened_file.seek(place)
        opened_file.write(bytes([old ^ 1 << bit]))


def outcome(folder: Path, asked, reference: tuple[Answers, Answers]) -> str:
    """What a flipped bit did: nothing, an error with a code, a rebuilt index, or a wrong answer."""
    try:
        with store_in(folder) as store:
            got, rebuilt = answers(store, asked)
            silent = [g for g, r in zip(got, reference[0], strict=True) if g != r]
            silent = [g for g in silent if not g.startswith("error: ")]
            if not silent:
                return "same" if got == reference[0] else "error"
            if rebuilt:
                answers(store, asked)  # now every branch is followed
                again = answers(store, asked)[0]
                return "rebuilt" if again == reference[1] else "wrong"
            found = list(doctor.check(store.repo, store.search, place_of(store)))
            bad = {finding.name for finding in found if finding.level == "error"}
            bad |= {f.name for f in found if f.name == "index" and f.level != "ok"}
            return "doctor" if bad else "wrong"
    except Day1Error:
        return "error"


@pytest.mark.parametrize("name", ["memory.db", "ledger.db", "index.db", "vectors"])
@pytest.mark.parametrize("seed", SEEDS)
def test_no_flipped_bit_gives_a_wrong_answer_in_silence(
    tmp_path, pristine, asked, reference, seed, name, record_property
):
    """Of the ledger and the words SQLite has no checksums: what only doctor finds is counted."""
    chance = random.Random(f"bits of {name} {seed}")
    seen: Counter[str] = Counter()
    for number in range(FLIPS):
        folder = tmp_path / str(number)
        shutil.copytree(pristine, folder)
        file = folder / name
        flip(next(file.glob("*.f32")) if file.is_dir() else file, chance)
        seen[outcome(folder, asked, reference)] += 1
        shutil.rmtree(folder)
    record_property("summary", f"{name}: {dict(seen)}")
    assert not seen["wrong"], seen
    if name in {"memory.db", "vectors"}:  # every stretch that is read is checked
        assert not seen["doctor"], seen
    assert seen["same"] + seen["error"] + seen["rebuilt"] + seen["doctor"] == FLIPS


@pytest.mark.parametrize("used", [False, True], ids=["opened", "used"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_log_that_is_flipped_under_a_process_that_has_it_open_is_damaged_to_it(
    tmp_path, lived, seed, used
):
    """Nothing goes back to the state before the damage, nothing is "not found", nothing written."""
    with store_in(lived) as store:
        asked = questions(store, 3)
        right = answers(store, asked)[0]
    chance = random.Random(f"bits under a process: {used} {seed}")
    for number in range(FLIPS):
        folder = tmp_path / str(number)
        shutil.copytree(lived, folder)
        with store_in(folder) as store:
            if used:
                answers(store, asked)
            for _ in range(20):
                flip(folder / "memory.db", chance)
            flipped = (folder / "memory.db").read_bytes()
            got = answers(store, asked)[0]
        refused_as = {g for g, r in zip(got, right, strict=True) if g != r}
        assert refused_as <= {"error: store_damaged", "error: store_unavailable"}
        assert refused_as or used  # what is in use already need not be read again
        assert (folder / "memory.db").read_bytes() == flipped
        shutil.rmtree(folder)


@pytest.mark.parametrize("name", ["ledger.db", "index.db", "vectors"])
def test_no_file_that_is_cut_gives_a_wrong_answer_in_silence(
    tmp_path, pristine, asked, reference, name
):
    chance = random.Random(f"cuts of {name}")
    for number in range(3):
        folder = tmp_path / str(number)
        shutil.copytree(pristine, folder)
        file = folder / name
        file = next(file.glob("*.f32")) if file.is_dir() else file
        os.truncate(file, chance.randrange(file.stat().st_size))
        assert outcome(folder, asked, reference) in {"error", "rebuilt"}


def test_a_memory_that_is_cut_is_refused_or_is_what_it_once_was(tmp_path):
    """The engine takes what lies behind the last whole commit for a write that was cut off."""
    folder = tmp_path / "store"
    make(folder, "one")
    known, states = folder / "memory.db", []
    with opened(folder) as store:
        for number in range(4):
            states.append((known.stat().st_size, facts(store)))
            write(store, f"later {number}")
    whole = known.read_bytes()
    chance = random.Random(4)
    for size in (chance.randrange(states[0][0], len(whole)) for _ in range(12)):
        known.write_bytes(whole[:size])
        once = [found for length, found in states if length <= size]
        with suppress(StoreDamaged), opened(folder) as store:
            assert facts(store) in (once[-1], [*once[-1], f"later {len(once) - 1}"])


def test_a_folder_that_turns_read_only_while_it_is_used_reads_on(tmp_path):
    folder = tmp_path / "store"
    make(folder, "one")
    with opened(folder) as store:
        write(store, "two")
        with read_only(folder):
            refused(lambda: call(store, "memory_branch_create", branch_name="x"), "store_read_only")
            found = call(store, "memory_search", query="two")["result"]
            assert [hit["fact_text"] for hit in found] == ["two"]
            assert facts(store) == ["one", "two"]
        write(store, "three")
        assert facts(store) == ["one", "two", "three"]
