"""What workspaces read of a branch is kept while the branch does not change."""

from collections.abc import Sequence
from typing import Any

import pytest

from day1.model.redaction.mask import Mask
from day1.model.rows.change import Message, Query, Ref
from day1.model.rows.kind import FACT, OBSERVATION, RELATION, Row
from day1.model.rows.origin import Origin
from day1.model.workspace.known_rows import KnownRows, SeenRows
from day1.services.rows.recording import NewRelation, relation_row
from day1.services.workspace import known_rows as reading_rows
from day1.services.workspace.known_rows import known_rows, newest_rows, read_rows, seen_rows
from tests.fakes.memory_store import MemoryReading
from tests.unit.services.searched import Searching
from tests.unit.services.searched import searching as searching  # noqa: PLC0414 - a fixture

IDS = ("fact_a", "obs_b", "fact_none")


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The ids, or the tasks, that were asked for since."""
    asked: list[Any] = []
    scan = MemoryReading.scan

    def noted(self: MemoryReading, kind: Any, columns: Sequence[str], query: Query) -> Any:
        asked.append(next(iter(query.among.values()), query.equal.get("task_id")))
        return scan(self, kind, columns, query)

    monkeypatch.setattr(MemoryReading, "scan", noted)
    return asked


def read(
    searching: Searching, ids: Sequence[str] = IDS, now: int | None = None, *, linked: bool = False
) -> SeenRows:
    """Read rows of the main branch, each with its own opening."""
    bench = searching.bench
    now = bench.now if now is None else now
    with bench.store.reading(Ref(branch="main")) as reading:
        known = known_rows(bench.repo, bench.branch().id, reading)
        seen = read_rows(known, reading, ids, now, linked=linked)
    assert seen_rows(known, ids, now, linked=linked) in (seen, None)
    return seen


def link(searching: Searching, one: str, other: str, **columns: Any) -> None:
    with searching.bench.store.adding("main") as work:
        made = NewRelation(one, "linked", other)
        row = relation_row(f"rel_{one}_{other}", made, Origin("ada"), work.now)
        work.add(RELATION, [row | columns])


def change(searching: Searching, row_id: str, **columns: Any) -> None:
    with searching.bench.store.changing("main") as work:
        row = work.get(FACT, [row_id])[row_id]
        work.apply({FACT.table: {row_id: row | columns}})
        work.commit(Message("change", "a change"))


def test_what_was_read_is_not_read_again(searching: Searching, scans: list[Any]) -> None:
    searching.fact("a", "Herons fish.")
    searching.observation("b", "Otters fish.")
    assert [*read(searching).items] == ["fact_a", "obs_b"]
    scans.clear()
    assert [*read(searching, [*IDS, "fact_c"]).items] == ["fact_a", "obs_b"]
    assert scans == [["fact_c"]]


def test_a_changed_branch_is_read_again(searching: Searching) -> None:
    searching.fact("a", "Herons fish.")
    assert read(searching).items["fact_a"].text == "Herons fish."
    change(searching, "fact_a", fact_text="Herons fly.")
    assert read(searching).items["fact_a"].text == "Herons fly."
    searching.observation("b", "Otters fish.")  # which waits to be committed
    assert [*read(searching).items] == ["fact_a", "obs_b"]
    change(searching, "fact_a", sensitivity="secret")
    assert [*read(searching).items] == ["obs_b"]


def test_rows_are_read_again_after_a_redaction(searching: Searching) -> None:
    bench, branch_id = searching.bench, searching.bench.branch().id
    searching.fact("a", "Herons fish.")
    read(searching)
    with bench.store.reading(Ref(branch="main")) as reading:
        known = bench.repo.known_rows[branch_id]
        assert known_rows(bench.repo, branch_id, reading) is known
        reading.mask = Mask(frozenset({"fact_x"}))
        assert known_rows(bench.repo, branch_id, reading) is not known


def test_rows_and_relations_end(searching: Searching, scans: list[Any]) -> None:
    now = searching.bench.now
    searching.fact("a", "One.", expires_at=now + 50)
    searching.observation("b", "Two.", expires_at=now + 60)
    searching.fact("c", "Three.", valid_until=now + 70)
    link(searching, "fact_a", "fact_c", valid_until=now + 40)
    ids = ["fact_a", "obs_b", "fact_c"]
    shown = [
        (len(seen.items), len(seen.links))
        for at in (39, 40, 49, 50, 59, 60, 69, 70)
        for seen in [read(searching, ids, now + at, linked=True)]
    ]
    assert shown == [(3, 1), (3, 0), (3, 0), (2, 0), (2, 0), (1, 0), (1, 0), (0, 0)]
    assert len(scans) == 2 + 2, "rows or relations were read again"


def test_a_derived_fact_is_read_each_time(searching: Searching, scans: list[Any]) -> None:
    searching.fact("b", "One.", origin_id="fact_a")
    assert [*read(searching, ["fact_b"]).items] == ["fact_b"]
    scans.clear()
    assert [*read(searching, ["fact_b"]).items] == ["fact_b"]
    assert ["fact_b"] in scans


def test_links_are_found_from_both_ends(searching: Searching, scans: list[Any]) -> None:
    link(searching, "fact_a", "fact_b")
    pair = ("fact_a", "fact_b")
    assert read(searching, ["fact_a", "fact_b"], linked=True).links == {pair}
    assert read(searching, ["fact_a", "fact_b"]).links == set()
    scans.clear()
    for one in pair:
        assert read(searching, [one], linked=True).links == {pair}
    assert read(searching, ["fact_x"], linked=True).links == set()
    assert scans == [["fact_x"]] * 3


def test_too_many_relations_are_not_kept(
    searching: Searching, scans: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_rows, "_RELATIONS", 2)
    for other in ("b", "c"):
        link(searching, "fact_a", f"fact_{other}")
    for _ in range(2):
        scans.clear()
        assert len(read(searching, ["fact_a"], linked=True).links) == 2
        assert ["fact_a"] in scans


def newest(searching: Searching, now: int) -> dict[Any, list[str]]:
    bench = searching.bench
    with bench.store.reading(Ref(branch="main")) as reading:
        known = known_rows(bench.repo, bench.branch().id, reading)
        rows = newest_rows(known, reading, "task_1", now)
    return {kind: [str(row["id"]) for row in of_kind] for kind, of_kind in rows.items()}


def test_the_newest_rows_of_a_task(
    searching: Searching, scans: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_rows, "NEWEST", 2)
    now = searching.bench.now
    for name in ("a", "b", "c"):
        ends: Row = {"expires_at": now + 50} if name == "c" else {}
        searching.fact(name, f"The fact {name}.", task_id="task_1", **ends)
    searching.fact("d", "Another task's.", task_id="task_2")
    assert newest(searching, now + 10) == {FACT: ["fact_c", "fact_b"], OBSERVATION: []}
    scans.clear()
    assert newest(searching, now + 10)[FACT] == ["fact_c", "fact_b"]
    assert scans == []
    assert newest(searching, now + 60)[FACT] == ["fact_b", "fact_a"], "an older one takes its place"
    searching.fact("e", "A copy.", task_id="task_1", origin_id="fact_a")
    newest(searching, now + 60)
    scans.clear()
    assert newest(searching, now + 60)[FACT] == ["fact_e", "fact_b"]
    assert scans, "a derived row may have ended with its source"


def test_what_was_used_longest_ago_is_forgotten(
    searching: Searching, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = searching.bench
    searching.fact("a", "Herons fish.")
    read(searching)
    old = {
        f"old{n}": KnownRows(known.state, known.mask, 500)
        for n in range(3)
        for known in [bench.repo.known_rows[bench.branch().id]]
    }
    size = bench.repo.known_rows[bench.branch().id].size
    monkeypatch.setattr(reading_rows, "_MAX_SIZE", 500 + size)
    bench.repo.known_rows.update(old)
    read(searching)
    assert [*bench.repo.known_rows] == ["old2", bench.branch().id]
    monkeypatch.setattr(reading_rows, "_MAX_SIZE", 10)
    assert [*read(searching).items] == ["fact_a"]
    assert [*bench.repo.known_rows] == []
