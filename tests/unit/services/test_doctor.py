"""The doctor: what each check says of a sound and an unsound store, and what a repair does."""

from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest

from day1.errors import EmbedderUnavailable, StoreUnavailable
from day1.model.branches.branch import MAIN
from day1.model.records.desk import Desk, next_desk
from day1.model.records.intent import Intent
from day1.ports.index import Cursor, IndexLost
from day1.services.branches import retiring
from day1.services.health import compacting, doctor
from day1.services.health.doctor import Finding, StoreLocation
from tests.fakes.memory_index import MemoryIndex
from tests.unit.services.conftest import Bench

MB = 1024 * 1024
HERE = StoreLocation(10 * MB, 900 * MB, read_only=False, chroma=False)


class Index(MemoryIndex):
    """An index whose check and vectors a test decides about."""

    def __init__(self) -> None:
        super().__init__()
        self.vectors = Mock(pending=Mock(return_value=3))
        self.check = Mock()


@pytest.fixture
def search() -> Any:
    return Mock(index=Index(), embedder=None)


def findings(bench: Bench, search: Any, place: StoreLocation = HERE) -> dict[str, Finding]:
    return {one.name: one for one in doctor.check(bench.repo, search, place)}


def test_a_sound_store_has_no_finding(bench: Bench, search: Any) -> None:
    doctor.repair(bench.repo, search, bench.now)
    found = findings(bench, search, replace(HERE, now=bench.now))
    assert {one.level for one in found.values()} == {"ok"}
    assert list(found) == [
        *("engine", "rows", "ledger", "branches", "deeds", "times", "refs", "space"),
        *("disk", "writing", "model", "index", "chroma", "hooks", "files"),
    ]
    assert str(found["branches"].text) == "1, all known to engine and ledger"
    assert str(found["index"].text) == "every branch is up to date, 0 texts wait for a vector"
    assert str(found["refs"].text) == "1 branch"


PLACES: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "a server's disk": ({"node": "/node", "free_bytes": 900 * MB}, "disk", "ok", "index, in /node"),
    "a server's disk, full": ({"node": "/node", "free_bytes": 9}, "disk", "warn", "DAY1_HOME"),
    "at the limit": ({"free_bytes": 200 * MB}, "disk", "ok", "200.0 MB free"),
    "below the limit": ({"free_bytes": 200 * MB - 1}, "disk", "warn", "second copy"),
    "room for no copy": ({"store_bytes": 901 * MB}, "disk", "warn", "second copy"),
    "read-only": ({"read_only": True}, "disk", "warn", "read-only"),
    "an obstacle": ({"obstacles": ("Full.", "Full.")}, "writing", "error", "Full."),
    "an obstacle, read-only": (
        {"obstacles": ("Full.",), "read_only": True}, "writing", "error", "Full.",
    ),
    "read-only folder": ({"read_only": True}, "writing", "ok", "the folder is read-only"),
    "a server's rows": ({"node": "/node"}, "rows", "ok", "the tables of every branch"),
    "a server's space": ({"node": "/node", "store_bytes": 0}, "space", "ok", "on the server, which"),
    "its size": ({"node": "/node", "store_bytes": MB}, "space", "ok", "1.0 MB, on the server"),
    "collections": ({"chroma": True}, "chroma", "ok", "server created collections"),
    "no collections": ({}, "chroma", "ok", "not used yet"),
    "a Chroma server": ({"chroma_server": "far"}, "chroma", "ok", "on far"),
    "Chroma fails": ({"chroma_trouble": "It is away."}, "chroma", "warn", "It is away."),
    "lines aside": ({"unheard": 1}, "hooks", "warn", "1 of the lines that they wrote"),
    "lines gone": ({"unheard_gone": 2_000}, "hooks", "warn", "2,000 older ones were removed"),
    "a damaged file": ({"damaged": ("uses.db",)}, "files", "warn", "1 cannot be read: uses.db"),
    "six files": ({"damaged": tuple("abcdef")}, "files", "warn", "a, b, c, d, e, …"),
    "five files": ({"damaged": tuple("abcde")}, "files", "warn", "5 cannot be read: a, b, c, d, e"),
    "a chore": (
        {"failing_chores": (("index", "store_busy"),)}, "chores", "warn", "index (store_busy)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", PLACES)
def test_the_place_of_a_store_is_judged(bench: Bench, search: Any, case: str) -> None:
    change, name, level, text = PLACES[case]
    found = findings(bench, search, replace(HERE, **change))[name]
    assert found.level == level
    assert text in f"{found.text} {found.advice}"
    assert bool(found.advice) == (level == "warn"), "a warning comes with advice"
    if case == "five files":
        assert "…" not in str(found.text)


def test_problems_of_engine_rows_and_ledger_are_told(bench: Bench, search: Any) -> None:
    bench.store.warnings = lambda: ["It is old.", "It is slow."]
    bench.store.check = lambda: ["page 3", "page 4"]
    bench.repo.ledger.check = lambda: ["row 1"]
    found = findings(bench, search)
    assert (found["engine"].level, found["engine"].advice) == ("warn", "It is old. It is slow.")
    assert (found["rows"].level, found["rows"].text) == ("error", "2 problems, the first: page 3")
    assert "Copy the folder away first" in str(found["rows"].advice)
    assert (found["ledger"].level, found["ledger"].text) == (
        "error",
        "1 problems, the first: row 1",
    )
    on_server = findings(bench, search, replace(HERE, node="/node"))["rows"]
    assert (on_server.level, str(on_server.advice)[:18]) == ("error", "Back the server up")


def test_a_check_that_fails_is_a_finding_and_the_others_go_on(bench: Bench, search: Any) -> None:
    def away() -> Any:
        raise StoreUnavailable("It is away.")

    bench.store.check = away
    found = findings(bench, search)
    assert (found["rows"].level, str(found["rows"].text)) == ("error", "It is away.")
    assert found["ledger"].level == "ok"


def test_branches_that_only_one_of_engine_and_ledger_knows_are_repaired(
    bench: Bench, search: Any
) -> None:
    bench.fork("lost")
    bench.fork("away")
    bench.repo.history.drop("lost")
    retiring.retire(bench.repo, bench.branch("away"), bench.now)
    bench.repo.history.fork("strange", bench.store.tips[MAIN])
    found = findings(bench, search)["branches"]
    assert found.level == "error"
    assert found.text == "not in the ledger: strange; not in the engine: lost"
    done = doctor.repair(bench.repo, search, bench.now)
    assert done == [
        "added branch strange to the ledger",
        "removed branch lost from the ledger",
        "indexed 2 branches",
    ]
    assert findings(bench, search)["branches"].level == "ok"
    assert {b.name for b in bench.repo.ledger.branches()} == {MAIN, "away", "strange"}


def test_desks_that_a_deleted_branch_left_are_removed(bench: Bench, search: Any) -> None:
    """Earlier versions left them."""
    kept = next_desk(None, (bench.branch().id, "gwt", "mine"), "{}", bench.now)
    left = next_desk(None, ("branch_gone", "gwt", "mine"), "{}", bench.now)
    bench.repo.ledger.put(kept, left)
    done = doctor.repair(bench.repo, search, bench.now)
    assert done == ["removed desks of deleted branches: 1", "indexed 1 branch"]
    assert bench.repo.ledger.records(Desk) == [kept]


def test_what_is_half_done_is_told(bench: Bench, search: Any) -> None:
    bench.repo.ledger.put(Intent("i1", "merge", {}, 1), Intent("i2", "fork", {}, 1))
    found = findings(bench, search)["deeds"]
    assert (found.level, found.text) == (
        "warn",
        "2 unfinished, still running or killed: fork, merge",
    )


def test_times_ahead_of_the_clock_are_told_and_repaired(bench: Bench, search: Any) -> None:
    right = bench.now
    bench.fork("side")
    bench.now += 86_400_000_000
    bench.add("fact_b", "b", "side")
    bench.now += 2 * 86_400_000_000
    bench.add("fact_a", "a")
    assert findings(bench, search)["times"].level == "ok", "without a clock nothing is compared"
    found = findings(bench, search, replace(HERE, now=right))["times"]
    assert found.level == "warn"
    assert str(found.text).startswith("2 of the branches ahead")
    assert "main by 3 days" in str(found.text)
    actions = doctor.repair(bench.repo, search, right)
    assert {f"corrected times on {name}: 1 rows" for name in ("main", "side")} <= {*actions}


@pytest.mark.parametrize(("most", "level"), [(4, "ok"), (3, "warn")])
def test_many_refs_are_worth_a_warning(
    bench: Bench, search: Any, monkeypatch: pytest.MonkeyPatch, most: int, level: str
) -> None:
    monkeypatch.setattr(doctor, "MANY_REFS", most)
    bench.fork("side")
    bench.repo.history.tag("keep/gone", bench.store.tips["side"])
    found = findings(bench, search)["refs"]
    assert (found.level, str(found.text)[:17]) == (level, "2 branches, 1 tag")


@pytest.mark.parametrize(
    ("size", "level"),
    [(20 * MB, "ok"), (20 * MB + 1, "warn"), (4 * 8 * MB, "ok"), (4 * 8 * MB + 1, "warn")],
)
def test_unused_space_is_worth_a_warning_if_the_store_is_large_and_mostly_old(
    bench: Bench, search: Any, monkeypatch: pytest.MonkeyPatch, size: int, level: str
) -> None:
    live = 8 * MB if size > 30 * MB else 1
    monkeypatch.setattr(compacting, "live_bytes", lambda _: live)
    found = findings(bench, search, replace(HERE, store_bytes=size, free_bytes=10**12))["space"]
    assert found.level == level


class _Embedder:
    name = "hashing-64"

    def embed(self, _: Any) -> Any:
        return []


class _Lost(_Embedder):
    def embed(self, _: Any) -> Any:
        raise EmbedderUnavailable("No model.")


@pytest.mark.parametrize(
    ("embedder", "level", "text"),
    [
        (None, "ok", "none, by setting: search is by keywords"),
        (_Embedder(), "ok", "hashing-64"),
        (_Lost(), "warn", "No model."),
    ],
    ids=["none", "works", "lost"],
)
def test_the_model_is_tried(
    bench: Bench, search: Any, embedder: Any, level: str, text: str
) -> None:
    search.embedder = embedder
    found = findings(bench, search)["model"]
    assert (found.level, found.text) == (level, text)


def test_the_index_says_which_branches_are_to_follow_and_how_many_vectors_wait(
    bench: Bench, search: Any
) -> None:
    search.embedder = _Embedder()
    bench.fork("side")
    bench.fork("away")
    retiring.retire(bench.repo, bench.branch("away"), bench.now)
    found = findings(bench, search)["index"]
    assert found.text == "2 branches to index at the next search, 3 texts wait for a vector"
    doctor.repair(bench.repo, search, bench.now)
    bench.add("fact_a", "a", "side")
    found = findings(bench, search)["index"]
    assert found.text == "1 branch to index at the next search, 3 texts wait for a vector"
    search.index.check.side_effect = IndexLost("It is damaged.")
    found = findings(bench, search)["index"]
    assert (found.level, found.advice) == ("warn", "`day1 doctor --repair` builds it again.")


def test_a_repair_of_a_lost_index_begins_it_anew(bench: Bench, search: Any) -> None:
    words = search.index.words
    learned, cursor = [IndexLost("It is damaged.")], words.cursor

    def lost_once(key: str) -> Cursor | None:
        if learned:
            raise learned.pop()
        return cursor(key)

    words.cursor = lost_once
    assert doctor.repair(bench.repo, search, bench.now) == [
        "created an empty index",
        "indexed 1 branch",
    ]
    assert words.cursor(bench.branch().id) is not None


def test_the_state_of_the_index_is_told_of_one_branch(bench: Bench, search: Any) -> None:
    def state() -> tuple[bool | None, int | None]:
        found = doctor.index_state(bench.repo, search, bench.branch())
        return found.words_current, found.pending_vectors

    assert state() == (False, None)
    doctor.repair(bench.repo, search, bench.now)
    search.embedder = _Embedder()
    assert state() == (True, 3)
    bench.add("fact_a", "a")
    assert state() == (False, 3)
    search.index.vectors.pending.side_effect = StoreUnavailable("It is away.")
    assert state() == (None, None)
