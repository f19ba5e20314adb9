"""Turns, transcripts and working sessions on the in-memory ports."""

import threading
from typing import Any

import pytest

from day1.errors import Conflict, RequestReused
from day1.model.layers.thread import Thread
from day1.model.layers.working import WorkingMemory
from day1.model.records.desk import Desk
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import CONVERSATION, EDIT, MESSAGE, OBSERVATION
from day1.model.rows.origin import Origin
from day1.model.values.instant import DAY
from day1.model.values.wallet_space import Owner
from day1.services.conversations.messages import NewMessage
from day1.services.conversations.order import messages_of
from day1.services.merges.merging import merge
from day1.services.merges.planning import MergeRequest
from day1.services.rows.editing import Removal, remove
from day1.services.turns.recording import RecordedTurn, SessionRecord, Turn, record_turn
from day1.services.turns.transcripts import NewTranscript, store_transcript
from day1.services.turns.working import (
    drop_ended,
    find_working,
    remember_messages,
    write_working,
)
from tests.unit.services.conftest import Bench

THREAD = Thread(Owner("w"), "th1", "s1")
W = Origin("w", "s1")


def said(*texts: str) -> list[NewMessage]:
    return [NewMessage(("user", "assistant")[n % 2], text) for n, text in enumerate(texts)]


def turn(name: str, *texts: str, record: SessionRecord | None = None) -> Turn:
    return Turn(THREAD, name, said(*texts), record or SessionRecord())


def record(bench: Bench, new: Turn, branch: str = "main") -> RecordedTurn:
    bench.now += 1
    return record_turn(bench.repo, bench.branch(branch), new, W)


def stored(bench: Bench, *texts: str) -> list[str]:
    bench.now += 1
    transcript = NewTranscript(THREAD, said(*texts), SessionRecord())
    return list(store_transcript(bench.repo, bench.branch(), transcript, W).message_ids)


def texts(bench: Bench, branch: str = "main") -> list[str]:
    with bench.store.reading(Ref(branch=branch)) as reading:
        rows = messages_of(bench.repo, reading, THREAD.conversation_id)
        return [str(row["content"]) for _, row in rows]


def count(bench: Bench, kind: Any) -> int:
    with bench.store.reading(Ref(branch="main")) as reading:
        return len(reading.find(kind, Query()))


def take_away(bench: Bench, row_id: str) -> None:
    remove(bench.repo, bench.branch(), Removal([row_id], "wrong"), W)


def test_a_turn_adds_its_messages_in_one_unit() -> None:
    bench = Bench()
    assert record(bench, turn("t1", "a", "b")).after.pending == 3
    assert record(bench, turn("t2", "c", "d", "e")).after.pending == 6
    assert texts(bench) == ["a", "b", "c", "d", "e"]
    with bench.store.reading(Ref(branch="main")) as reading:
        rows = reading.find(MESSAGE, Query())
        (conversation,) = reading.find(CONVERSATION, Query())
    assert len({row["created_at"] for row in rows}) == 2
    assert {(row["agent_id"], row["session_id"]) for row in rows} == {("w", "s1")}
    assert (conversation["space"], conversation["title"]) == ("agent:w", None)


def test_a_turn_follows_an_empty_conversation() -> None:
    bench = Bench()
    record(bench, turn("t1", "a"))
    take_away(bench, turn("t1", "a").message_ids[0])
    record(bench, turn("t2", "b"))
    assert texts(bench) == ["b"]


def test_a_turn_of_which_some_messages_are_left_is_no_other_turn() -> None:
    bench = Bench()
    first = turn("t1", "a", "b")
    record(bench, first)
    take_away(bench, first.message_ids[1])
    for again in (first, turn("t1", "a", "b", "c")):
        with pytest.raises(RequestReused, match="removed since"):
            record(bench, again)
    assert texts(bench) == ["a"]


def test_a_record_that_changes_makes_the_turn_a_commit() -> None:
    bench = Bench()
    first = record(bench, turn("t1", "a", record=SessionRecord("One.", 1, {"k": 1})))
    same = record(bench, turn("t2", "b", record=SessionRecord("One.", None, {"k": 1})))
    assert (first.after.pending, same.after.pending) == (3, 4)
    other = record(bench, turn("t3", "c", record=SessionRecord("Two.")))
    assert (other.after.pending, texts(bench)) == (0, ["a", "b", "c"])
    assert other.after.tip != same.after.tip
    with bench.store.reading(Ref(branch="main")) as reading:
        (row,) = reading.find(OBSERVATION, Query())
        edits = reading.find(EDIT, Query())
    assert (row["summary"], row["observation_type"], row["space"]) == ("Two.", "session", "agent:w")
    assert [edit["cell"] for edit in edits] == ["summary"]


def test_turns_of_two_branches_follow_one_another_after_a_merge() -> None:
    bench = Bench()
    record(bench, turn("t1", "a"))
    bench.fork("side")
    record(bench, turn("t2", "b"), "side")
    record(bench, turn("t2", "b"))
    record(bench, turn("t3", "c"), "side")
    request = MergeRequest(bench.branch("side"), bench.branch(), "auto")
    merge(bench.repo, request, W, bench.now)
    assert texts(bench) == ["a", "b", "c"]
    record(bench, turn("t4", "d"))
    assert texts(bench) == ["a", "b", "c", "d"]


def test_a_transcript_counts_equal_messages() -> None:
    bench = Bench()
    record(bench, turn("t1", "ok", "ok"))
    first = stored(bench, "ok", "ok", "ok", "ok")
    assert texts(bench) == ["ok"] * 4
    assert first[:2] == turn("t1", "ok", "ok").message_ids
    assert stored(bench, "ok", "ok", "ok", "ok") == first
    assert stored(bench, "ok") == first[:1]
    assert len(texts(bench)) == 4


def test_a_transcript_leaves_out_what_was_removed() -> None:
    bench = Bench()
    ids = stored(bench, "a", "b", "c")
    take_away(bench, ids[0])
    assert stored(bench, "a", "b", "c", "d")[:2] == ids[1:]
    assert texts(bench) == ["b", "c", "d"]


# Working sessions


def write(bench: Bench, owner: Owner, **parts: Any) -> Any:
    def change(memory: WorkingMemory) -> WorkingMemory:
        return memory.merged(WorkingMemory(**parts))

    return write_working(bench.repo, bench.branch(), (owner, "s1"), change, bench.now)


def test_a_write_that_others_overtake_makes_them_wait_and_is_not_refused(bench: Bench) -> None:
    others: list[threading.Thread] = []

    def change(memory: WorkingMemory) -> WorkingMemory:
        line = f"line {len(others)}"
        others.append(
            threading.Thread(target=write, args=(bench, Owner("w")), kwargs={"context": (line,)})
        )
        others[-1].start()
        others[-1].join(0.2)  # the first one ends; the second would, without the lock
        return memory.merged(WorkingMemory(context=("own",)))

    write_working(bench.repo, bench.branch(), (Owner("w"), "s1"), change, bench.now)
    for other in others:
        other.join()
    found = find_working(bench.repo, bench.branch(), Owner("w"), "s1", bench.now)
    assert found is not None
    assert found.memory.context == ("line 0", "own", "line 1")


def test_a_session_that_begins_anew_while_ended_ones_are_dropped_stays(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(bench, Owner("w"), context=("old",))
    bench.now += DAY
    records, others = bench.repo.ledger.records, list[threading.Thread]()

    def slowly(kind: type[Any], **equal: str) -> Any:
        found = records(kind, **equal)
        if kind is not Desk:
            return found
        again = threading.Thread(
            target=write, args=(bench, Owner("w")), kwargs={"context": ("new",)}
        )
        others.append(again)
        again.start()
        again.join(0.2)  # it would end, if the ledger were not held
        return found

    monkeypatch.setattr(bench.repo.ledger, "records", slowly)
    assert drop_ended(bench.repo, bench.branch(), ["w"], bench.now) == 1
    others[0].join()
    found = find_working(bench.repo, bench.branch(), Owner("w"), "s1", bench.now)
    assert found is not None
    assert found.memory.context == ("new",)


def test_messages_are_not_noted_in_the_session_of_another_user(bench: Bench) -> None:
    write(bench, Owner("w", "ann"), context=("a",))
    assert not remember_messages(bench.repo, bench.branch(), THREAD, ["m1"], bench.now)


def test_noting_the_same_messages_again_writes_nothing() -> None:
    bench = Bench()
    branch = bench.branch()
    assert remember_messages(bench.repo, branch, THREAD, ["m1", "m2"], bench.now)
    (desk,) = bench.repo.ledger.records(Desk)
    bench.now += DAY // 2
    assert remember_messages(bench.repo, branch, THREAD, ["m1", "m2"], bench.now)
    assert bench.repo.ledger.records(Desk) == [desk]
    assert not remember_messages(bench.repo, branch, THREAD, [], bench.now)
    bench.now = desk.changed_at + DAY
    assert find_working(bench.repo, branch, Owner("w"), "s1", bench.now - 1) is not None
    assert find_working(bench.repo, branch, Owner("w"), "s1", bench.now) is None
    assert remember_messages(bench.repo, branch, THREAD, ["m3"], bench.now)
    found = find_working(bench.repo, branch, Owner("w"), "s1", bench.now)
    assert found is not None
    assert (found.memory.messages, found.created_at) == (("m3",), bench.now)


@pytest.mark.parametrize(
    ("writer", "reader", "seen"),
    [
        (Owner("w"), Owner("w"), True),
        (Owner("w", "ann"), Owner("w"), True),
        (Owner("w"), Owner("w", "ann"), True),
        (Owner("w", "ann"), Owner("w", "bo"), False),
        (Owner("w", "ann", "d1"), Owner("w", "ann"), True),
        (Owner("w", "ann", "d1"), Owner("w", "ann", "d2"), False),
        (Owner("w"), Owner("v"), False),
    ],
    ids=["same", "wallet", "above", "user", "anywhere", "device", "other"],
)
def test_who_sees_a_working_session(writer: Owner, reader: Owner, *, seen: bool) -> None:
    bench = Bench()
    write(bench, writer, context=("a",))
    found = find_working(bench.repo, bench.branch(), reader, "s1", bench.now)
    assert (found is not None) == seen
    if writer != reader and reader.wallet == writer.wallet:
        with pytest.raises(Conflict, match="Another user or device"):
            write(bench, reader, context=("b",))
