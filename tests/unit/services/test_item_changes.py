"""Changing and removing items: facts in place, messages as a whole; each in one commit."""

import json
from typing import Any

import pytest

from day1.errors import InvalidRequest, NotFound
from day1.model.branches.branch import MAIN
from day1.model.layers.row_detail import detail_of
from day1.model.rows.change import Message, Query, Ref
from day1.model.rows.kind import CONVERSATION, FACT, MESSAGE, Row, canonical
from day1.model.values.wallet_space import Owner
from day1.services.history.reverting import RevertRequest, revert
from day1.services.items.changing import ItemChanged, ItemUpdate, Wanted, delete_item, update_item
from day1.services.items.finding import Narrowing, item_of
from day1.services.rows.recording import NewFact, fact_row, new_row
from tests.unit.services.conftest import ADA, Bench

ANN = Owner("w", "ann")
DETAIL = {"retention": "short", "threadId": "th1", "metadata": {"a": 1}}


@pytest.fixture(autouse=True)
def items(bench: Bench) -> None:
    """A fact and a message of one user."""
    bench.now += 1
    with bench.store.adding(MAIN) as work:
        row = fact_row("fact_a", NewFact("Tea.", confidence=0.5, space=ANN.space), ADA, work.now)
        work.add(FACT, [row | {"detail": detail_of(ANN, **DETAIL), "expires_at": 90_000}])
        talk: Row = {"space": ANN.space, "detail": detail_of(ANN, threadId="th1")}
        work.add(CONVERSATION, [new_row(CONVERSATION, "conv_1", talk, ADA, work.now)])
        said: Row = {"conversation_id": "conv_1", "content": "Hi.", "role": "user"}
        work.add(MESSAGE, [new_row(MESSAGE, "msg_a", said, ADA, work.now)])
    bench.store.commit_pending(MAIN)
    bench.now += 1


def update(bench: Bench, item_id: str = "fact_a", **values: Any) -> ItemChanged:
    spaces = values.pop("spaces", ANN.spaces)
    narrowing = values.pop("narrowing", Narrowing())
    wanted = Wanted(item_id, spaces, narrowing)
    return update_item(bench.repo, bench.branch(), wanted, ItemUpdate(**values), ADA)


def prepare(bench: Bench, **columns: Any) -> Row:
    """Change the fact as somebody did before."""
    with bench.store.changing(MAIN) as work:
        work.change(FACT, "fact_a", columns)
        work.commit(Message("change", "before"))
    return bench.present("fact_a")


def line(bench: Bench) -> str:
    commit = bench.store.commits[bench.store.history.branches()[MAIN]]
    assert commit.op == "change"
    return commit.line


def detail(row: Row) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(str(row["detail"]))
    return read


OWN = json.loads(detail_of(ANN, **DETAIL))


@pytest.mark.parametrize(
    ("values", "columns"),
    [
        ({"text": "Coffee."}, {"fact_text": "Coffee."}),
        ({"confidence": 0.0}, {"confidence": 0.0}),
        ({"metadata": {"b": 2}}, {"detail": canonical({**OWN, "metadata": {"b": 2}})}),
        ({"metadata": {}}, {"detail": canonical({**OWN, "metadata": {}})}),
        (
            {"metadata": {"sensitivity": "secret"}},
            {
                "sensitivity": "secret",
                "detail": canonical({**OWN, "metadata": {"sensitivity": "secret"}}),
            },
        ),
        (
            {"retention": "long", "expires_at": 95_000},
            {"expires_at": 95_000, "detail": canonical({**OWN, "retention": "long"})},
        ),
        (
            {"retention": "ever"},
            {"expires_at": None, "detail": canonical({**OWN, "retention": "ever"})},
        ),
        ({"status": "archived"}, {"status": "archived"}),
        (
            {"status": "superseded"},
            {"status": "archived", "detail": canonical({**OWN, "status": "superseded"})},
        ),
    ],
    ids=["text", "confidence", "metadata", "no metadata", "secret", "retention", "no end", "archived", "superseded"],
)  # fmt: skip
def test_an_update_sets_what_it_names_in_one_commit(
    bench: Bench, values: dict[str, Any], columns: Row
) -> None:
    before = bench.present("fact_a")
    done = update(bench, **values)
    after = bench.present("fact_a")
    assert {name: after[name] for name in columns} == columns
    assert {name for name in after if after[name] != before[name]} <= {*columns, "content_hash"}
    assert (done.row, done.is_changed, done.pending) == (after, True, 0)
    assert done.commit == bench.store.history.branches()[MAIN]
    assert line(bench).startswith("change fact fact_a: ")


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"text": "Tea."},
        {"confidence": 0.5},
        {"metadata": {"a": 1}},
        {"retention": "short", "expires_at": 99_000},
        {"status": "active"},
    ],
    ids=["nothing", "text", "confidence", "metadata", "retention", "status"],
)
def test_an_update_that_changes_nothing_writes_nothing(bench: Bench, values: Any) -> None:
    bench.add("fact_other", "It waits.")
    tip = bench.store.history.branches()[MAIN]
    done = update(bench, **values)
    assert done == ItemChanged(bench.present("fact_a"), tip, 1, is_changed=False)
    assert bench.store.history.branches()[MAIN] == tip


def test_a_commit_names_what_was_changed(bench: Bench) -> None:
    update(bench, text="Coffee.", confidence=0.9)
    assert line(bench) == "change fact fact_a: fact_text, confidence"


@pytest.mark.parametrize(
    ("before", "status", "after"),
    [
        ({"status": "archived"}, "active", {"status": "active"}),
        (
            {"status": "superseded", "superseded_by": "fact_b", "valid_until": 80_000},
            "active",
            {"status": "active", "superseded_by": None, "valid_until": None},
        ),
        (
            {"status": "archived", "valid_until": 80_000},
            "active",
            {"status": "active", "valid_until": 80_000},
        ),
        (
            {"status": "superseded", "superseded_by": "fact_b"},
            "superseded",
            {"status": "superseded", "superseded_by": "fact_b"},
        ),
        (
            {"status": "superseded", "superseded_by": "fact_b"},
            "archived",
            {"status": "archived", "superseded_by": "fact_b"},
        ),
        ({"status": "archived"}, "archived", {"status": "archived"}),
    ],
)
def test_a_status_follows_another(bench: Bench, before: Row, status: str, after: Row) -> None:
    prepare(bench, **before)
    update(bench, status=status)
    row = bench.present("fact_a")
    assert {name: row[name] for name in after} == after
    assert detail(row) == OWN


@pytest.mark.parametrize(("status", "noted"), [("active", None), ("archived", None), ("superseded", "superseded")])  # fmt: skip
def test_a_noted_status_does_not_outlive_another(bench: Bench, status: str, noted: str | None) -> None:  # fmt: skip
    update(bench, status="superseded")
    prepare(bench, status="archived" if status == "active" else "active")
    update(bench, status=status)
    assert detail(bench.present("fact_a")).get("status") == noted


def test_a_fact_without_a_detail_keeps_none(bench: Bench) -> None:
    prepare(bench, detail=None)
    assert update(bench, text="Coffee.").row["detail"] is None
    prepare(bench, detail=canonical({"status": "superseded"}), status="archived")
    assert update(bench, status="active").row["detail"] is None


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ({}, True),
        ({"spaces": Owner("w").spaces}, False),
        ({"spaces": (ANN.space,)}, True),
        ({"narrowing": Narrowing({"a": 1}, "th1")}, True),
        ({"narrowing": Narrowing({"a": 2})}, False),
        ({"narrowing": Narrowing(thread="th2")}, False),
        ({"item_id": "fact_none"}, False),
        ({"item_id": "conv_1"}, False),
        ({"item_id": "msg_a"}, True),
        ({"item_id": "msg_a", "spaces": Owner("w").spaces}, False),
        ({"item_id": "msg_a", "narrowing": Narrowing(thread="th2")}, False),
        ({"item_id": "msg_a", "narrowing": Narrowing(thread="th1")}, True),
    ],
    ids=[
        *("own", "above", "only its space", "metadata and thread", "other metadata"),
        *("other thread", "no such id", "a conversation", "message", "message above"),
        *("message of another thread", "message of the thread"),
    ],
)
def test_an_item_of_others_is_not_found(bench: Bench, more: dict[str, Any], found: bool) -> None:
    if found:
        assert not update(bench, **more).is_changed
    else:
        with pytest.raises(NotFound, match="no memory with this id"):
            update(bench, **more)


def test_a_message_stays_as_it_was_said(bench: Bench) -> None:
    values = {"text": "Ho.", "confidence": 0.1, "metadata": {}, "retention": "x", "status": "active"}  # fmt: skip
    names = ["content", "confidence", "metadata", "retention", "status"]
    with pytest.raises(InvalidRequest, match=r"^content, confidence, metadata, retention, status: cannot") as refused:  # fmt: skip
        update(bench, "msg_a", **values)
    problems: Any = refused.value.details["problems"]
    assert [each["argument"] for each in problems] == names
    assert all("cannot be changed" in each["problem"] for each in problems)
    with pytest.raises(InvalidRequest, match=r"^status: "):
        update(bench, "msg_a", status="active")


def test_a_deleted_fact_is_hidden_until_a_revert(bench: Bench) -> None:
    done = delete_item(bench.repo, bench.branch(), Wanted("fact_a", ANN.spaces), ADA)
    row = bench.present("fact_a")
    assert (done.row, done.is_changed, done.pending) == (row, True, 0)
    assert (row["status"], detail(row)) == ("archived", {**OWN, "status": "deleted"})
    assert (done.commit, line(bench)) == (bench.store.history.branches()[MAIN], "delete fact fact_a")  # fmt: skip
    for call in (update, lambda b: delete_item(b.repo, b.branch(), Wanted("fact_a", ANN.spaces), ADA)):  # fmt: skip
        with pytest.raises(NotFound):
            call(bench)
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        assert item_of(reading, ANN.spaces, "fact_a", bench.now, deleted=True).row == row
    revert(bench.repo, RevertRequest(bench.branch(), done.commit), ADA)
    assert bench.present("fact_a")["status"] == "active"


def test_a_deleted_message_leaves_the_branch(bench: Bench) -> None:
    done = delete_item(bench.repo, bench.branch(), Wanted("msg_a", ANN.spaces), ADA)
    assert (done.row["id"], done.is_changed, done.pending) == ("msg_a", True, 0)
    assert done.commit == bench.store.history.branches()[MAIN]
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        assert reading.find(MESSAGE, Query()) == []


@pytest.mark.parametrize("item_id", ["fact_a", "msg_a"])
def test_others_delete_nothing(bench: Bench, item_id: str) -> None:
    tip = bench.store.history.branches()[MAIN]
    with pytest.raises(NotFound):
        delete_item(bench.repo, bench.branch(), Wanted(item_id, Owner("w", "bo").spaces), ADA)
    assert bench.store.history.branches()[MAIN] == tip


def test_an_expired_fact_is_neither_changed_nor_deleted(bench: Bench) -> None:
    bench.now = 90_000
    for call in (update, lambda b: delete_item(b.repo, b.branch(), Wanted("fact_a", ANN.spaces), ADA)):  # fmt: skip
        with pytest.raises(NotFound):
            call(bench)
