"""Contexts and memories that are upserted by a key: ids, what changes them, what recalls them."""

import json
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from day1.errors import Refused, RequestReused
from day1.model.branches.branch import MAIN
from day1.model.contexts.keyed import CONTEXT, context_id, memory_id, passage_id
from day1.model.rows.change import Message, Ref
from day1.model.rows.kind import FACT, OBSERVATION, Row
from day1.services.contexts.contexts import NewContext, Recall, recall, save
from day1.services.contexts.keyed_rows import KeyedRow, UpsertedRows, unredacted, upsert_rows
from day1.services.contexts.memories import NewMemory, Upserted, upsert
from day1.services.rows.recording import NewFact, fact_row
from tests.unit.services.conftest import ADA, Bench

SPACE = "project:metal"


@pytest.fixture
def units(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many units of work were opened, by the store's method."""
    opened: Counter[str] = Counter()

    def counted(method: str) -> None:
        open_unit = getattr(bench.store, method)

        def counting(branch: str) -> Any:
            opened[method] += 1
            return open_unit(branch)

        monkeypatch.setattr(bench.store, method, counting)

    counted("adding")
    counted("changing")
    return opened


def saved(bench: Bench, key: str | None, content: Any, **more: Any) -> Row:
    """Save a context a moment later than the one before; its row."""
    bench.now += 1
    new = replace(NewContext(SPACE, key, content), **more)
    return save(bench.repo, bench.branch(), new, ADA)[0]


def upserted(bench: Bench, *items: NewMemory, space: str | None = SPACE) -> Upserted:
    bench.now += 1
    return upsert(bench.repo, bench.branch(), space, items, ADA)


def fact(bench: Bench, row_id: str) -> Row:
    return bench.present(row_id)


def change(bench: Bench, row_id: str, **columns: Any) -> None:
    """Change a fact past all rules, as a later decision would."""
    with bench.store.changing(MAIN) as work:
        work.change(FACT, row_id, columns)
        work.commit(Message("change", "by hand"))


# One unit of work


def test_a_changed_key_is_one_unit_of_work(bench: Bench, units: Counter[str]) -> None:
    for content in ("slow", "slow", "quick"):
        saved(bench, "state", content)
    assert units.total() == 3


def test_new_and_changed_memories_are_one_commit_after_that_of_pending_rows(
    bench: Bench, units: Counter[str]
) -> None:
    upserted(bench, NewMemory("a", "0"), NewMemory("b", "1"))
    written = upserted(bench, NewMemory("a", "0"), NewMemory("c", "1"), NewMemory("d", "2")).written
    assert (written.added, written.changed, written.pending) == (1, 1, 0)
    assert units.total() == 2
    log = [(commit.op, commit.line) for commit in bench.store.history.log(MAIN)]
    assert log[:2] == [("change", "change 1 keyed rows, add 1"), ("add", "add 2 rows")]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ([], ["a", "b"], (2, 0, 2)),
        (["a"], ["a"], (0, 0, 1)),
        (["a"], ["a", "b"], (1, 0, 2)),
        (["a"], ["b"], (0, 1, 0)),
        (["a", "b"], ["b", "a"], (0, 2, 0)),
        (["a", "b"], ["b", "a", "c", "d"], (2, 2, 0)),
    ],
    ids=["new", "equal", "one more", "changed", "both changed", "two of each"],
)
def test_how_many_rows_are_added_changed_and_pending(
    bench: Bench, before: list[str], after: list[str], expected: tuple[int, int, int]
) -> None:
    def memories(texts: list[str]) -> list[NewMemory]:
        return [NewMemory(text, str(number)) for number, text in enumerate(texts)]

    upserted(bench, *memories(before))
    written = upserted(bench, *memories(after)).written
    assert (written.added, written.changed, written.pending) == expected


def test_a_row_that_is_equal_is_not_written_beside_one_that_changed(bench: Bench) -> None:
    upserted(bench, NewMemory("a", "0"), NewMemory("b", "1"))
    upserted(bench, NewMemory("a", "0"), NewMemory("c", "1"))
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        changes = reading.changes(str(bench.store.commits[reading.tip].parents[0]))
    assert [change.id for change in changes[FACT.table]] == [memory_id(SPACE, "1")]


def test_an_upsert_of_several_kinds_adds_each_row_to_its_table(bench: Bench) -> None:
    rows = [
        KeyedRow(FACT, "fact_a", {"fact_text": "a"}, origin_id="fact_o"),
        KeyedRow(OBSERVATION, "obs_a", {"summary": "a", "observation_type": "note"}),
    ]

    def at(_: object, __: int) -> list[KeyedRow]:
        return rows

    written = upsert_rows(bench.repo, bench.branch(), at, ADA)
    assert (written.added, set(written.rows)) == (2, {"fact_a", "obs_a"})
    assert fact(bench, "fact_a")["origin_id"] == "fact_o"
    assert fact(bench, "fact_a")["agent_id"] == "ada"


def test_what_has_the_id_of_a_redacted_row_is_refused() -> None:
    reading: Any = SimpleNamespace(mask=SimpleNamespace(rows={"fact_gone"}))
    rows = [KeyedRow(FACT, "fact_a", {}), KeyedRow(FACT, "fact_gone", {})]
    assert unredacted(reading, rows[:1]) == rows[:1]
    with pytest.raises(Refused) as refused:
        unredacted(reading, rows)
    assert refused.value.details["ids"] == ["fact_gone"]


# A repeated request


def repeated(bench: Bench) -> Any:
    """A repository that makes the same id for every call, as a repeated request does."""
    return replace(bench.repo, new_id=lambda prefix, _now: f"{prefix}_same", of_request=True)


@pytest.mark.parametrize(
    ("again", "is_reused"),
    [
        (NewContext(SPACE, None, "a"), False),
        (NewContext(SPACE, None, "a", expires_at=9_000_000), False),
        (NewContext(SPACE, None, "b"), True),
    ],
    ids=["the same", "it would expire later", "another text"],
)
def test_a_request_without_a_key_may_be_repeated_with_its_text_only(
    bench: Bench, again: NewContext, is_reused: bool
) -> None:
    save(repeated(bench), bench.branch(), NewContext(SPACE, None, "a"), ADA)
    if is_reused:
        with pytest.raises(RequestReused):
            save(repeated(bench), bench.branch(), again, ADA)
    else:
        _, written = save(repeated(bench), bench.branch(), again, ADA)
        assert (written.added, written.changed) == (0, 0)


# Contexts


def test_a_context_has_the_columns_of_its_request(bench: Bench) -> None:
    row = saved(
        bench, "state", {"b": 1, "a": 2.0}, tags=("x", "y"), expires_at=9, sensitivity="secret"
    )
    assert {column: row[column] for column in ("space", "observation_type", "structure")} == {
        "space": SPACE,
        "observation_type": CONTEXT,
        "structure": '{"b":1,"a":2.0}',
    }
    assert row["summary"] == "b: 1\na: 2.0"
    assert json.loads(str(row["tags"])) == ["x", "y"]
    assert json.loads(str(row["detail"])) == {"key": "state"}
    assert (row["expires_at"], row["sensitivity"], row["agent_id"]) == (9, "secret", "ada")
    plain = saved(bench, None, "a")
    assert (plain["tags"], plain["detail"]) == (None, None)


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ((SPACE, "k"), (SPACE, "k"), True),
        ((SPACE, "k"), (SPACE, "l"), False),
        ((SPACE, "k"), ("project:mill", "k"), False),
        ((SPACE, "k"), (None, "k"), False),
        ((SPACE, None), (SPACE, None), False),
    ],
    ids=["same key", "other key", "other space", "no space", "no key"],
)
def test_a_key_names_one_context_of_its_space(
    bench: Bench, one: tuple[str, str], other: tuple[str, str], is_same: bool
) -> None:
    first, second = (saved(bench, key, "a", space=space)["id"] for space, key in (one, other))
    assert (first == second) is is_same


def test_a_context_keeps_its_time_and_changes_its_columns(bench: Bench) -> None:
    first = saved(bench, "state", "slow", tags=("a",), expires_at=9_000)
    second = saved(bench, "state", "quick")
    assert second["created_at"] == first["created_at"]
    assert (second["summary"], second["tags"], second["expires_at"]) == ("quick", None, None)


def test_facts_of_an_older_version_become_as_secret_and_last_as_long(bench: Bench) -> None:
    row = saved(bench, "state", "a b")
    with bench.store.adding(MAIN) as work:
        ids = [passage_id(str(row["id"]), number) for number in (0, 1)]
        work.add(FACT, [fact_row(i, NewFact("a"), ADA, work.now) for i in ids])
    saved(bench, "state", "a b", sensitivity="secret", expires_at=9_000)
    assert [(fact(bench, i)["sensitivity"], fact(bench, i)["expires_at"]) for i in ids] == [
        ("secret", 9_000)
    ] * 2
    assert {fact(bench, i)["fact_text"] for i in ids} == {"a"}


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ({}, ["new", "secret", "old"]),
        ({"key": "old"}, ["old"]),
        ({"key": "elsewhere"}, []),
        ({"tags": ("x",)}, ["new", "old"]),
        ({"tags": ("x", "y")}, ["new"]),
        ({"tags": ("z",)}, []),
        ({"since": 2_000}, ["new", "secret"]),
        ({"since": 2_001}, ["new"]),
        ({"limit": 2}, ["new", "secret"]),
        ({"tags": ("x",), "limit": 1}, ["new"]),
        ({"space": "project:mill"}, ["elsewhere"]),
        ({"space": None}, ["shared"]),
    ],
    ids=str,
)
def test_which_contexts_are_recalled_newest_first(
    bench: Bench, conditions: dict[str, Any], expected: list[str]
) -> None:
    for at, key, more in (
        (1_500, "old", {"tags": ("x",)}),
        (2_000, "secret", {"sensitivity": "secret"}),
        (2_500, "new", {"tags": ("x", "y")}),
        (2_600, "expired", {"expires_at": 4_000}),
        (2_700, "elsewhere", {"space": "project:mill"}),
        (2_800, "shared", {"space": None}),
    ):
        bench.now = at - 1
        saved(bench, key, key, **more)
    bench.add("fact_a", "a fact")
    wanted = replace(Recall(SPACE, 4_000), **conditions)
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        assert [row["summary"] for row in recall(reading, wanted)] == expected


# Memories


def test_a_memory_has_the_columns_of_its_request(bench: Bench) -> None:
    item = NewMemory("a", "m1", {"topic": "b"}, [1.0, 0.0], "secret")
    upserted(bench, item)
    row = fact(bench, memory_id(SPACE, "m1"))
    assert (row["fact_text"], row["space"], row["sensitivity"]) == ("a", SPACE, "secret")
    assert json.loads(str(row["detail"])) == {"id": "m1", "metadata": {"topic": "b"}}
    assert json.loads(str(row["vector"]))["dimension"] == 2


def test_ids_are_answered_as_the_caller_knows_them_in_order(bench: Bench) -> None:
    done = upserted(bench, NewMemory("a", "m1"), NewMemory("b"), NewMemory("c", "m2"))
    assert (done.ids[0], done.ids[2]) == ("m1", "m2")
    assert fact(bench, done.ids[1])["fact_text"] == "b"
    assert fact(bench, done.ids[1])["detail"] is None


@pytest.mark.parametrize(
    ("space", "is_its_own"), [(SPACE, True), ("project:mill", False)], ids=["same", "other"]
)
def test_the_id_of_a_fact_names_it_in_its_own_space_only(
    bench: Bench, space: str, is_its_own: bool
) -> None:
    (row_id,) = upserted(bench, NewMemory("a")).ids
    upserted(bench, NewMemory("b", row_id), space=space)
    assert (fact(bench, row_id)["fact_text"] == "b") is is_its_own


ENDED = {"valid_until": 500}
EXPIRED = {"expires_at": 500}
LATER = {"valid_until": 5_000_000}
SUPERSEDED = {"status": "superseded", "superseded_by": "fact_n", "valid_until": 500}
ARCHIVED = {"status": "archived"}
INVALID = {"verification": "invalidated"}


@pytest.mark.parametrize(
    ("decision", "text", "expected", "hidden"),
    [
        (ENDED, "a", {"valid_until": None, "status": "active"}, None),
        (EXPIRED, "a", {"expires_at": None}, None),
        (LATER, "a", LATER, None),
        (LATER, "b", {"valid_until": None}, None),
        (SUPERSEDED, "a", SUPERSEDED, "superseded"),
        (SUPERSEDED, "b", {"status": "active", "superseded_by": None, "valid_until": None}, None),
        (ARCHIVED, "a", ARCHIVED, "archived"),
        (ARCHIVED, "b", {"status": "active"}, None),
        (INVALID, "a", INVALID, "invalidated"),
        (INVALID, "b", {"verification": "unverified"}, None),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_what_an_upsert_does_to_a_hidden_memory(
    bench: Bench, decision: dict[str, Any], text: str, expected: dict[str, Any], hidden: str | None
) -> None:
    upserted(bench, NewMemory("a", "m1"))
    change(bench, memory_id(SPACE, "m1"), **decision)
    done = upserted(bench, NewMemory(text, "m1"))
    row = fact(bench, memory_id(SPACE, "m1"))
    assert {column: row[column] for column in expected} == expected
    assert done.hidden == ({} if hidden is None else {"m1": hidden})


def test_the_ids_of_contexts_and_memories_stay(bench: Bench) -> None:
    """They are in stores: another id would be another row."""
    assert context_id(SPACE, "state") == saved(bench, "state", "a")["id"]
    written: UpsertedRows = upserted(bench, NewMemory("a", "m1")).written
    assert set(written.rows) == {memory_id(SPACE, "m1")}
