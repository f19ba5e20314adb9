"""Copies of a store whose derived files are damaged, and what commands then do with them."""

import os
import random
import shutil
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from day1.adapters.index.index import LocalIndex
from day1.adapters.index.uses import FileUses
from day1.adapters.primes import FilePrimes
from day1.app.background import prime_renewer
from day1.app.stores import place_of
from day1.formats import spool
from day1.formats.events import line_of
from day1.interfaces.open_store import OpenStore
from day1.services.health import doctor
from day1.services.prime.prime_services import PrimeServices
from day1.services.search.indexing import embed_pending
from day1.services.search.search_engine import SearchEngine
from tests.flows.opened_store import call, write
from tests.flows.random_store import WORDS
from tests.flows.test_flipped_bits import store_in

DERIVED = ("index.db", "vectors", "uses.db", "prime", "spool")
QUESTIONS = (
    ("otter river", "main"),
    ("number 7", "main"),
    ("aside", "side"),
    ("deploy a worker at night", "side"),
)
_CACHES = ("views", "usual", "questions", "aside")
Hits = list[list[tuple[str, float]]]


def make(folder: Path) -> None:
    """Make a store with an index, counts of what was shown, a prime, and an event that waits."""
    with store_in(folder, create=True) as store:
        chance = random.Random(1)
        write(store, *(f"{' '.join(chance.sample(WORDS, 6))} number {n}" for n in range(30)))
        call(store, "memory_branch_create", branch_name="side")
        write(store, "aside", "deploy a worker at night", branch="side")
        hits(store)
        assert store.search.embedder
        embed_pending(store.search.index, store.search.embedder, None)
        found = hits(store)
        store.search.uses.shown([row_id for row_id, _ in found[0]], 1, "main")
        prime_renewer(store).renew()
    told = {
        "format": 1,
        "event": "prompt",
        "client": "claude",
        "agent": "claude-code",
        "session": "s",
        "turn": "t",
        "at": 1,
        "text": "what the person asked for",
    }
    spool.append(spool.path_of(folder, "s"), line_of(told), lambda _: False)


def hits(store: OpenStore) -> Hits:
    """The rows and scores that some questions find."""
    return [
        [(hit["id"], hit["score"]) for hit in found["result"]]
        for found in (call(store, "memory_search", query=q, branch=b) for q, b in QUESTIONS)
    ]


def notes(store: OpenStore) -> list[str]:
    """What searches say beside what they find."""
    asked = [call(store, "memory_search", query=q, branch=b) for q, b in QUESTIONS]
    return [note for found in asked for note in found["read"].get("notes", [])]


def named(store: OpenStore) -> set[str]:
    """The checks of `day1 doctor` that are not content with what lies in the folder."""
    checks = {"index", "chroma", "hooks", "files"}
    found = doctor.check(store.repo, store.search, place_of(store))
    return {finding.name for finding in found if finding.level != "ok"} & checks


def copied(source: Path, folder: Path) -> Path:
    """A copy of a folder without links to what it was copied from."""
    shutil.rmtree(folder, ignore_errors=True)
    return Path(shutil.copytree(source, folder, ignore=shutil.ignore_patterns("*.lock")))


@contextmanager
def indexed_in(store: OpenStore, folder: Path) -> Iterator[None]:
    """Let an open store use the derived files of another folder, as a process that just began.

    To open a store takes longer than all that is looked at here.
    """
    search, prime, place = store.search, store.prime, store.folder
    index, uses = LocalIndex(folder), FileUses(folder, read_only=False)
    fresh: dict[str, Any] = {
        field.name: field.default_factory()
        for field in fields(SearchEngine)
        if field.name in _CACHES and callable(field.default_factory)
    }
    store.search = replace(search, index=index, uses=uses, **fresh)
    store.prime = PrimeServices(uses, FilePrimes(folder, read_only=False))
    store.folder = folder
    try:
        yield
    finally:
        index.close()
        uses.close()
        store.search, store.prime, store.folder = search, prime, place


# Ways to damage a file


def flipped(file: Path, place: int, bit: int) -> None:
    data = bytearray(file.read_bytes())
    data[place] ^= 1 << bit
    file.write_bytes(data)


def places(file: Path, most: int | None) -> list[tuple[int, int]]:
    """Bytes and bits to flip: drawn ones, or (None) all of the first pages and 500 elsewhere."""
    data = file.read_bytes()
    chance = random.Random(zlib.crc32(file.name.partition(".")[0].encode()))
    used = [place for place in range(len(data)) if any(data[max(place - 4, 0) : place + 5])]
    drawn = [
        (chance.choice(used), chance.randrange(8)) for _ in range(500 if most is None else most)
    ]
    if most is not None:
        return drawn
    most_first = 512 if file.suffix == ".f32" else 3 * 4096  # every byte of vectors is summed alike
    return [(place, chance.randrange(8)) for place in range(min(len(data), most_first))] + drawn


def _as_link(file: Path) -> None:
    """Leave a link to a file of somebody else's in its place."""
    other = file.with_name("of somebody else")
    other.write_text("dear diary\n" * 50)
    _remove(file)
    file.symlink_to(other)


def _as_folder(file: Path) -> None:
    _remove(file)
    file.mkdir()


def _as_loop(file: Path) -> None:
    _remove(file)
    file.symlink_to(file.name)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def _zero_a_page(file: Path) -> None:
    data = bytearray(file.read_bytes())
    start = min(4096, len(data) // 2)
    data[start : start + 4096] = bytes(len(data[start : start + 4096]))
    file.write_bytes(data)


SHAPES: dict[str, Callable[[Path], object]] = {
    "cut to half": lambda file: os.truncate(file, file.stat().st_size // 2),
    "cut to a page": lambda file: os.truncate(file, min(4096, file.stat().st_size - 1)),
    "empty": lambda file: os.truncate(file, 0),
    "a zeroed page": _zero_a_page,
    "zeroes": lambda file: file.write_bytes(bytes(file.stat().st_size)),
    "a text": lambda file: file.write_text("dear diary\n" * 500),
    "a folder": _as_folder,
    "a link to a file of others": _as_link,
    "a link to itself": _as_loop,
}
