"""Items of an owner: found by id and by meaning, listed, counted, and stored with a vector."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from day1.errors import InvalidRequest, NotFound
from day1.model.branches.branch import MAIN
from day1.model.contexts import given_vector
from day1.model.layers.row_detail import detail_of
from day1.model.redaction.mask import REDACTED_HASH
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import CONVERSATION, FACT, MESSAGE, RELATION, Row
from day1.model.values.decay import decay_score
from day1.model.values.instant import DAY
from day1.model.values.wallet_space import Owner
from day1.services.contexts.matching import Where
from day1.services.items.counting import Counts, count_items
from day1.services.items.finding import (
    Narrowing,
    item_of,
    meant_facts,
    newest_facts,
    relations_named,
)
from day1.services.items.indexing import ToIndex, index_text
from day1.services.items.nearest import ItemQuery, nearest_items
from day1.services.items.remembering import Remembered, ToRemember
from day1.services.rows.recording import NewFact, new_row
from tests.unit.services.conftest import ADA, Bench
from tests.unit.services.searched import Searching
from tests.unit.services.searched import searching as searching  # noqa: PLC0414 - a fixture

ANN = Owner("w", "ann")
OWN = {"space": ANN.space}


def talk(bench: Bench, name: str, owner: Owner, **more: Any) -> None:
    """Add a conversation of an owner's thread."""
    with bench.store.adding(MAIN) as work:
        columns: Row = {"space": owner.space, "detail": detail_of(owner, **more)}
        work.add(CONVERSATION, [new_row(CONVERSATION, name, columns, ADA, work.now)])


def say(bench: Bench, name: str, text: str, conversation: str, **columns: Any) -> None:
    """Add a message."""
    bench.now += 1
    with bench.store.adding(MAIN) as work:
        own: Row = {"content": text, "conversation_id": conversation, "role": "user"}
        row = new_row(MESSAGE, f"msg_{name}", own, ADA, work.now)
        work.add(MESSAGE, [row | columns])


# By id


@pytest.mark.parametrize(
    ("name", "columns", "found"),
    [
        ("fact", {}, True),
        ("fact", {"space": None}, True),
        ("fact", {"space": Owner("w", "bo").space}, False),
        ("fact", {"content_hash": REDACTED_HASH}, False),
        ("fact", {"expires_at": 5}, False),
        ("fact", {"detail": detail_of(ANN, status="deleted")}, False),
        ("fact", {"detail": detail_of(ANN, status="superseded")}, True),
        ("fact", {"status": "archived"}, True),
        ("obs", {}, False),
        ("other", {}, False),
    ],
    ids=[
        *("own", "shared", "other", "redacted", "expired", "deleted", "superseded", "archived"),
        *("observation", "unknown"),
    ],
)
def test_which_fact_is_found_by_its_id(
    searching: Searching, name: str, columns: Row, *, found: bool
) -> None:
    searching.fact("a", "Tea.", **{**OWN, **columns})
    searching.observation("a", "Tea.", **OWN)
    with searching.bench.store.reading(Ref(branch=MAIN)) as reading:
        if found:
            item = item_of(reading, ANN.spaces, f"{name}_a", 10)
            assert (item.kind, item.row["id"]) == (FACT, "fact_a")
        else:
            with pytest.raises(NotFound) as refused:
                item_of(reading, ANN.spaces, f"{name}_a", 10)
            assert refused.value.details == {"id": f"{name}_a"}


def test_an_id_in_an_error_is_cut(bench: Bench) -> None:
    with bench.store.reading(Ref(branch=MAIN)) as reading, pytest.raises(NotFound) as refused:
        item_of(reading, (None,), "x" * 100, 10)
    assert refused.value.details == {"id": "x" * 80}


def test_a_message_is_found_in_the_space_of_its_conversation(bench: Bench) -> None:
    talk(bench, "conv_1", ANN, threadId="th1")
    say(bench, "a", "Hi.", "conv_1")
    say(bench, "b", "Hi.", "conv_1", content_hash=REDACTED_HASH)
    say(bench, "c", "Hi.", "conv_none")
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        item = item_of(reading, ANN.spaces, "msg_a", 10)
        assert (item.kind, item.detail["threadId"]) == (MESSAGE, "th1")
        assert item_of(reading, (None,), "msg_c", 10).detail == {}
        hidden: Any = ((Owner("w").spaces, "msg_a"), (ANN.spaces, "msg_b"), ((ANN.space,), "msg_c"))
        for spaces, name in hidden:
            with pytest.raises(NotFound):
                item_of(reading, spaces, name, 10)


# Lists


HIDDEN: dict[str, Row] = {
    "secret": {"sensitivity": "secret"},
    "expired": {"expires_at": 500},
    "ended": {"valid_until": 500},
    "archived": {"status": "archived"},
    "invalid": {"verification": "invalidated"},
    "other": {"space": Owner("w", "other").space},
}


@pytest.mark.parametrize(("limit", "names"), [(1, "e"), (2, "eb"), (3, "eba"), (9, "eba")])
def test_the_newest_facts_are_those_that_may_be_listed(
    searching: Searching, limit: int, names: str
) -> None:
    searching.fact("a", "one", **OWN)
    searching.fact("b", "two", space=None)
    for name, columns in HIDDEN.items():
        searching.fact(name, name, **{**OWN, **columns})
    for name in "cd":
        searching.fact(name, name, **OWN, content_hash=REDACTED_HASH)
    searching.fact("e", "six", space=Owner("w").space)
    now = searching.bench.now
    with searching.bench.store.reading(Ref(branch=MAIN)) as reading:
        rows = newest_facts(reading, ANN.spaces, now, limit)
        assert [row["id"] for row in rows] == [f"fact_{name}" for name in names]
        assert meant_facts(reading, ANN.spaces, now, Narrowing()) is None
        everywhere = meant_facts(reading, ANN.spaces, now, Narrowing(thread="t"))
        assert everywhere == {f"fact_{name}" for name in "abcde"}


def test_at_most_twenty_relations_are_named_beside_a_text(bench: Bench) -> None:
    for number in range(25):
        bench.now += 1
        row = dict.fromkeys(RELATION.columns)
        row |= {"id": f"rel_{number:02}", "source_entity": "Mill", "target_entity": f"T{number}"}
        row |= {"relation_type": "has", "created_at": bench.now, "space": ANN.space}
        with bench.store.adding(MAIN) as work:
            work.add(RELATION, [row])
    texts = ["the mill", "one two three four five six seven", ""]
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        named = relations_named(reading, ANN.spaces, bench.now, texts)
    ids = [str(row["id"]) for row in named[0]]
    assert ids == [f"rel_{number:02}" for number in range(24, 4, -1)]
    assert named[1:] == [[], []]


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("a b c d e f", "x a b c d e f y", True),
        ("a b c d e f g", "a b c d e f g", False),
        ("Ärzte", "die ÄRZTE", True),
        ("mill", "mills", False),
        ("river-po", "the River Po", True),
    ],
)
def test_a_name_of_up_to_six_words_is_found_in_a_text(
    bench: Bench, name: str, text: str, *, found: bool
) -> None:
    row = dict.fromkeys(RELATION.columns)
    row |= {"id": "rel_1", "source_entity": "?!", "target_entity": name, "relation_type": "has"}
    with bench.store.adding(MAIN) as work:
        work.add(RELATION, [row | {"created_at": 1}])
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        (named,) = relations_named(reading, (None,), bench.now, [text])
    assert [row["id"] for row in named] == ["rel_1"] * found


# By meaning


def nearest(searching: Searching, text: str = "wide river", **more: Any) -> Any:
    bench = searching.bench
    where = Where(searching.engine, MAIN, bench.branch().id)
    return nearest_items(where, ItemQuery(text, ANN.spaces, bench.now, **more))


def ids(searching: Searching, text: str = "wide river", **more: Any) -> list[str]:
    return [str(row["id"]) for row, _ in nearest(searching, text, **more)[0]]


@pytest.fixture
def river(searching: Searching) -> Searching:
    """Facts and messages of two threads about a river."""
    detail = detail_of(ANN, metadata={"x": 1}, threadId="th1", runId="r1")
    searching.fact("wide", "wide river", **OWN, detail=detail)
    searching.fact("calm", "calm river", **OWN, detail=detail_of(ANN, threadId="th2"))
    searching.fact("bo", "wide river now", space=Owner("w", "bo").space)
    for number, owner in ((1, ANN), (2, ANN), (3, Owner("w", "bo"))):
        talk(searching.bench, f"conv_{number}", owner, threadId=f"th{number}")
    say(searching.bench, "one", "the wide river", "conv_1")
    say(searching.bench, "two", "a river", "conv_2")
    say(searching.bench, "bo", "wide river", "conv_3")
    return searching


def test_facts_and_messages_are_one_list_the_nearest_first(river: Searching) -> None:
    found, answer = nearest(river)
    assert [row["id"] for row, _ in found][:2] == ["fact_wide", "msg_one"]
    assert {row["id"] for row, _ in found} == {"fact_wide", "msg_one", "fact_calm", "msg_two"}
    scores = [score for _, score in found]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == pytest.approx(1.0)
    assert (answer.notes, answer.pending_vectors) == ([], 0)
    assert ids(river, limit=2) == ["fact_wide", "msg_one"]
    assert ids(river, least=scores[1]) == ["fact_wide", "msg_one"]
    assert ids(river, "river sea", limit=1, least=2) == []


@pytest.mark.parametrize(
    ("narrowing", "names"),
    [
        (Narrowing(), {"fact_wide", "fact_calm", "msg_one", "msg_two"}),
        (Narrowing({"x": 1}), {"fact_wide"}),
        (Narrowing(run="r1"), {"fact_wide"}),
        (Narrowing(thread="th1"), {"fact_wide", "msg_one"}),
        (Narrowing({"x": 1}, "th1"), {"fact_wide"}),
        (Narrowing(thread="th3"), set()),
        (Narrowing(thread="th4"), set()),
    ],
    ids=["all", "metadata", "run", "thread", "both", "thread of others", "no thread"],
)
def test_a_narrowing_chooses_before_the_nearest_are_taken(
    river: Searching, narrowing: Narrowing, names: set[str]
) -> None:
    assert set(ids(river, narrowing=narrowing)) == names
    if names:
        assert set(ids(river, "calm", narrowing=narrowing, limit=len(names))) == names


def test_a_vector_is_compared_instead_of_the_text(river: Searching) -> None:
    embedder: Any = river.engine.embedder
    (vector,) = embedder.embed(["wide river"]).tolist()
    found, answer = nearest(river, "calm", vector=[3 * x for x in vector])
    assert [row["id"] for row, _ in found][:2] == ["fact_wide", "msg_one"]
    assert found[0][1] == pytest.approx(1.0)
    assert answer.pending_vectors == 0
    assert ids(river, "calm", vector=vector, limit=1) == ["fact_wide"]
    assert ids(river, vector=vector, narrowing=Narrowing(thread="th2")) == ["fact_calm", "msg_two"]


def test_a_vector_of_another_length_is_compared_with_given_ones_only(river: Searching) -> None:
    with pytest.raises(InvalidRequest):
        nearest(river, vector=[1.0, 0.0])
    river.fact("given", "Tea.", **OWN, vector=given_vector.as_kept([1.0, 0.0]))
    river.fact("other", "Tea!", **OWN, vector=given_vector.as_kept([0.0, 1.0]))
    assert ids(river, vector=[1.0, 0.0], least=0.9) == ["fact_given"]


def test_more_than_ten_items_are_found_if_asked_for(searching: Searching) -> None:
    for number in range(12):
        searching.fact(f"{number:02}", f"wide river {number}", **OWN)
    assert [len(ids(searching, limit=limit)) for limit in (10, 12, 20)] == [10, 12, 12]


def test_equally_near_items_come_by_their_ids(searching: Searching) -> None:
    for name in "cab":
        searching.fact(name, "wide river", **OWN)
    assert ids(searching) == ["fact_a", "fact_b", "fact_c"]


# Counting


def counted(searching: Searching, space: str | None = "agent:w", now: int | None = None) -> Counts:
    bench = searching.bench
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        return count_items(searching.engine, reading, space, bench.now if now is None else now)


def test_a_wallet_without_items_has_counts_of_zero(searching: Searching) -> None:
    searching.fact("other", "Tea.", space=Owner("v").space)
    assert counted(searching) == Counts()


def test_all_spaces_of_a_wallet_are_counted(river: Searching) -> None:
    river.fact("skill", "Mend it.", space="agent:w", category="skill")
    for name, columns in HIDDEN.items():
        river.fact(name, name, **{**OWN, **columns})
    river.fact("masked", "x", **OWN, content_hash=REDACTED_HASH)
    river.fact("shared", "x", space=None)
    river.fact("like", "x", space="agent:wx")
    say(river.bench, "again", "the wide river", "conv_1", session_id="s1")
    say(river.bench, "gone", "x", "conv_2", session_id="s2", content_hash=REDACTED_HASH)
    before = counted(river)
    assert (before.by_category, before.messages) == ({None: 4, "skill": 1}, 4)
    assert before.transcripts == 5
    assert (before.vectors, before.oldest, before.newest) == (0, 0, 0)
    river("river")
    river("river", kinds=(MESSAGE.table,))
    after = counted(river)
    assert after.vectors == 9
    assert (after.oldest, after.newest) == (1_001, _written(river, "msg_again"))
    assert counted(river, None).by_category == {None: 1}
    assert counted(river, ANN.space).messages == 3


def _written(searching: Searching, row_id: str) -> int:
    with searching.bench.store.reading(Ref(branch=MAIN)) as reading:
        return int(reading.get(MESSAGE, [row_id])[row_id]["created_at"] or 0)


def test_a_given_vector_counts_without_the_index(searching: Searching) -> None:
    searching.fact("given", "Tea.", **OWN, vector=given_vector.as_kept([1.0, 0.0]))
    searching.fact("later", "Milk.", **OWN)
    assert counted(searching).vectors == 1
    searching("tea")
    assert counted(searching).vectors == 2
    searching.engine = replace(searching.engine, embedder=None)
    found = counted(searching)
    assert (found.vectors, found.oldest, found.newest) == (1, 1_001, 1_001)


def test_the_decay_is_the_mean_of_all_items_since_they_were_used(searching: Searching) -> None:
    searching.fact("a", "Tea.", **OWN)
    searching.fact("b", "Milk.", **OWN)
    now = searching.bench.now + 60 * DAY
    written = [decay_score(at, now) for at in (1_001, 1_002)]
    assert counted(searching, now=now).decay == pytest.approx(sum(written) / 2)
    used: Any = SimpleNamespace(of=lambda ids: {"fact_a": SimpleNamespace(last=now), "fact_b": SimpleNamespace(last=5)})  # fmt: skip
    searching.engine = replace(searching.engine, uses=used)
    assert counted(searching, now=now).decay == pytest.approx((1 + written[1]) / 2)


# Storing with a vector


def index(bench: Bench, text: str, vector: Any = None, given: Any = (), **more: Any) -> Remembered:
    bench.now += 1
    fact = NewFact(text, more.pop("category", None), space=more.pop("space", ANN.space))
    new = ToRemember(fact, detail_of(ANN, **more), frozenset(given))
    return index_text(bench.repo, bench.branch(), ToIndex(new, vector), ADA)


def test_a_text_is_kept_once_with_its_newest_vector(bench: Bench) -> None:
    first = index(bench, "Tea.", [1.0, 0.0])
    assert (first.pending, first.outcome) == (1, "written")
    assert first.row == bench.present(str(first.row["id"]))
    assert given_vector.from_kept(str(first.row["vector"])) == [1.0, 0.0]
    same = index(bench, "Tea.", [1.0, 0.0])
    assert (same.row, same.pending, same.outcome) == (first.row, 1, "known")
    assert index(bench, "Tea.").row == first.row
    other = index(bench, "Tea.", [0.0, 1.0])
    assert (other.row["id"], other.pending, other.outcome) == (first.row["id"], 0, "written")
    assert other.row == bench.present(str(first.row["id"]))
    assert given_vector.from_kept(str(other.row["vector"])) == [0.0, 1.0]
    assert other.commit == bench.store.history.branches()[MAIN]
    commit = bench.store.commits[str(other.commit)]
    assert (commit.op, commit.line) == ("change", f"index fact {first.row['id']}: fact_text")


def test_only_what_the_caller_named_changes_in_a_known_text(bench: Bench) -> None:
    first = index(bench, "Tea.", category="a", metadata={"x": 1})
    assert index(bench, "Tea.", category="b").row == first.row
    named = index(bench, "Tea.", None, ("category", "metadata"), category="b", metadata={"y": 2})
    assert named.row["category"] == "b"
    assert named.row["detail"] == detail_of(ANN, metadata={"x": 1, "y": 2})
    assert named.row["vector"] is None


def test_the_same_text_of_another_space_is_another_fact(bench: Bench) -> None:
    ids = {index(bench, "Tea.", space=space).row["id"] for space in (ANN.space, "agent:w", None)}
    assert len(ids) == 3
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        assert len(reading.find(FACT, Query())) == 3
