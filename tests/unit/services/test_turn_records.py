"""Repeated turns, the records of sessions, and reading transcripts back."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from day1.errors import InvalidRequest, RequestReused
from day1.model.branches.branch import MAIN
from day1.model.layers.row_detail import detail_of
from day1.model.layers.thread import Thread
from day1.model.layers.working import WorkingMemory
from day1.model.redaction.mask import REDACTED_HASH
from day1.model.rows.change import Message, Query, Ref
from day1.model.rows.kind import CONVERSATION, MESSAGE, OBSERVATION, Row
from day1.model.rows.origin import Origin
from day1.model.values.ids import content_hash
from day1.model.values.instant import DAY
from day1.model.values.wallet_space import Owner
from day1.services.conversations.messages import NewMessage
from day1.services.rows.editing import Removal, remove
from day1.services.rows.recording import new_row
from day1.services.turns.recording import (
    HIDDEN,
    RecordedTurn,
    SessionRecord,
    ThreadUnit,
    Turn,
    record_turn,
)
from day1.services.turns.transcripts import (
    NewTranscript,
    StoredTranscript,
    Transcript,
    find_transcript,
    store_transcript,
)
from day1.services.turns.working import find_working, lines_of, remember_messages, write_working
from tests.unit.services.conftest import Bench

THREAD = Thread(Owner("w", "ann"), "th1", "s1")
W = Origin("w", "s1")
NOTHING = SessionRecord()
TOLD = SessionRecord("One.", 1, {"k": 1})


def said(*texts: str) -> list[NewMessage]:
    return [NewMessage(("user", "assistant")[n % 2], text) for n, text in enumerate(texts)]


def record(
    bench: Bench, name: str, *texts: str, told: SessionRecord = NOTHING, **more: Any
) -> RecordedTurn:
    bench.now += 1
    thread, origin = more.get("thread", THREAD), more.get("origin", W)
    turn = Turn(thread, name, more.get("messages") or said(*texts), told)
    return record_turn(bench.repo, bench.branch(), turn, origin)


def store(bench: Bench, *texts: str, thread: Thread = THREAD, told: SessionRecord = NOTHING) -> StoredTranscript:  # fmt: skip
    bench.now += 1
    transcript = NewTranscript(thread, said(*texts), told)
    return store_transcript(bench.repo, bench.branch(), transcript, Origin("w", thread.session))


def change(bench: Bench, kind: Any, row_id: str, columns: Row) -> None:
    with bench.store.changing(MAIN) as work:
        work.change(kind, row_id, columns)
        work.commit(Message("change", "a test's"))


def summary(bench: Bench, thread: Thread = THREAD) -> tuple[str, dict[str, Any]]:
    """What the record of a session says, and its detail."""
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        row = reading.get(OBSERVATION, [thread.record_id])[thread.record_id]
    return str(row["summary"]), json.loads(str(row["detail"]))


# A repeated turn


def test_a_turn_that_is_repeated_adds_nothing(bench: Bench) -> None:
    first = record(bench, "t1", "a", "b", told=TOLD)
    again = record(bench, "t1", "a", "b", told=SessionRecord("Other."))
    assert (again.after.pending, again.after.tip, again.notes) == (4, first.after.tip, ())
    assert summary(bench)[0] == "One."


MESSAGE_A = NewMessage("user", "a", "thought", '[{"name":"grep"}]', "model", 5)


@pytest.mark.parametrize(
    "other",
    [
        {"messages": [replace(MESSAGE_A, role="tool")]},
        {"messages": [replace(MESSAGE_A, content="b")]},
        {"messages": [replace(MESSAGE_A, thinking=None)]},
        {"messages": [replace(MESSAGE_A, tool_calls=None)]},
        {"messages": [replace(MESSAGE_A, model="other")]},
        {"messages": [replace(MESSAGE_A, happened_at=6)]},
        {"messages": [MESSAGE_A, MESSAGE_A]},
        {"messages": [MESSAGE_A], "origin": Origin("w", "s2")},
    ],
    ids=["role", "text", "thinking", "calls", "model", "time", "more", "session"],
)
def test_another_turn_of_the_same_id_is_refused(bench: Bench, other: dict[str, Any]) -> None:
    record(bench, "t1", messages=[MESSAGE_A])
    with pytest.raises(RequestReused, match="with other messages") as refused:
        record(bench, "t1", **other)
    assert refused.value.details["turn_id"] == "t1"
    assert record(bench, "t1", messages=[MESSAGE_A]).after.pending == 2


def test_fewer_messages_are_another_turn(bench: Bench) -> None:
    record(bench, "t1", "a", "b")
    with pytest.raises(RequestReused, match="with other messages"):
        record(bench, "t1", "a")


def test_a_redacted_message_is_the_same_whatever_it_said(bench: Bench) -> None:
    record(bench, "t1", "a", "b")
    row_id = Turn(THREAD, "t1", said("a"), SessionRecord()).message_ids[0]
    change(bench, MESSAGE, row_id, {"content": "[redacted]", "content_hash": REDACTED_HASH})
    assert record(bench, "t1", "x", "b").after.pending == 0
    with pytest.raises(RequestReused):
        record(bench, "t1", "x", "c")


def test_a_turn_whose_messages_were_all_removed_is_refused(bench: Bench) -> None:
    record(bench, "t1", "a")
    ids = Turn(THREAD, "t1", said("a"), SessionRecord()).message_ids
    remove(bench.repo, bench.branch(), Removal(ids), W)
    with pytest.raises(RequestReused, match="was removed since") as refused:
        record(bench, "t1", "a")
    assert refused.value.details["turn_id"] == "t1"


# The record of a session


@pytest.mark.parametrize(
    ("records", "text", "noted"),
    [
        ([TOLD], "One.", {"tokenCount": 1, "metadata": {"k": 1}, "summarized": True}),
        ([SessionRecord(tokens=0)], "Session s1 of thread th1.", {"tokenCount": 0}),
        (
            [SessionRecord(metadata={"a": 1}), SessionRecord(metadata={"a": 2, "b": 3})],
            "Session s1 of thread th1.",
            {"metadata": {"a": 2, "b": 3}},
        ),
        (
            [TOLD, SessionRecord(metadata={"l": 2})],
            "One.",
            {"tokenCount": 1, "metadata": {"k": 1, "l": 2}, "summarized": True},
        ),
        (
            [TOLD, SessionRecord("Two.", 7)],
            "Two.",
            {"tokenCount": 7, "metadata": {"k": 1}, "summarized": True},
        ),
        (
            [SessionRecord(tokens=3), SessionRecord("Two.")],
            "Two.",
            {"tokenCount": 3, "summarized": True},
        ),
    ],
    ids=["all", "tokens", "metadata", "more metadata", "other", "a summary later"],
)
def test_a_record_says_the_newest_of_a_session(
    bench: Bench, records: list[SessionRecord], text: str, noted: dict[str, Any]
) -> None:
    for number, told in enumerate(records):
        assert record(bench, f"t{number}", "a", told=told).notes == []
    own = {"via": "compose", "agentWallet": "w", "userAddress": "ann"}
    assert summary(bench) == (text, {**own, "threadId": "th1", "sessionId": "s1", **noted})


def test_a_changed_record_is_a_commit_that_names_it(bench: Bench) -> None:
    record(bench, "t1", "a", told=TOLD)
    done = record(bench, "t2", "b", told=SessionRecord("Two."))
    commit = bench.store.commits[str(done.after.tip)]
    assert (commit.op, commit.line) == ("change", f"describe session {THREAD.record_id}")
    assert done.after.now == bench.now


def test_metadata_that_grow_too_long_are_refused(bench: Bench) -> None:
    record(bench, "t1", "a", told=SessionRecord(metadata={"a": "x" * 20_000}))
    fitting = SessionRecord(metadata={"b": "y" * (32_768 - 20_000 - len('{"a":"","b":""}'))})
    record(bench, "t2", "b", told=fitting)
    with pytest.raises(InvalidRequest, match=r"^metadata: .* more than 32,768") as refused:
        record(bench, "t3", "c", told=SessionRecord(metadata={"c": 1}))
    problems: Any = refused.value.details["problems"]
    (problem,) = problems
    assert problem["argument"] == "metadata"
    assert "32,768 characters" in problem["problem"]


@pytest.mark.parametrize("told", [TOLD, SessionRecord()], ids=["record", "nothing"])
def test_a_record_that_was_redacted_is_not_written_again(bench: Bench, told: SessionRecord) -> None:
    with bench.store.adding(MAIN) as work:
        work.mask = replace(work.mask, rows=frozenset({THREAD.record_id}))
        unit = ThreadUnit(bench.repo, work, THREAD, W)
        after, notes = unit.put([("msg_1", said("a")[0])], told)
    assert notes == ([HIDDEN] if told else [])
    assert after.pending == 2
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        assert reading.find(OBSERVATION, Query()) == []


def test_a_record_without_messages_starts_no_conversation(bench: Bench) -> None:
    stored = store(bench, told=TOLD)
    assert (stored.message_ids, stored.after.pending, stored.notes) == ([], 1, [])
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        assert reading.find(CONVERSATION, Query()) == []


# Reading a transcript


def found(bench: Bench, name: str, kind: Any = None, owner: Owner = THREAD.owner) -> Transcript | None:  # fmt: skip
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        return find_transcript(bench.repo, reading, owner, name, kind)


def texts(transcript: Transcript | None) -> list[str] | None:
    return None if transcript is None else [str(row["content"]) for row in transcript.messages]


@pytest.fixture
def sessions(bench: Bench) -> Bench:
    """A thread with two sessions, and one whose name is that of a session."""
    store(bench, "a", "b", told=TOLD)
    store(bench, "c", thread=replace(THREAD, session="s2"))
    store(bench, "d", thread=Thread(THREAD.owner, "s1", "s3"))
    return bench


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("s1", None, "ab"),
        ("s1", "sessionId", "ab"),
        ("s1", "threadId", "d"),
        ("s2", None, "c"),
        ("th1", None, "abc"),
        ("th1", "threadId", "abc"),
        ("th1", "sessionId", None),
        ("s2", "threadId", None),
        ("none", None, None),
    ],
)
def test_a_name_means_a_session_else_a_thread(
    sessions: Bench, name: str, kind: str | None, expected: str | None
) -> None:
    transcript = found(sessions, name, kind)
    assert texts(transcript) == (None if expected is None else list(expected))


def test_a_transcript_of_one_session_has_its_record(sessions: Bench) -> None:
    one, all_of_it, bare = (found(sessions, name) for name in ("s1", "th1", "s2"))
    assert one is not None
    assert (one.thread, one.record is not None and one.record["summary"]) == (THREAD, "One.")
    assert all_of_it is not None
    assert (all_of_it.thread, all_of_it.record) == (replace(THREAD, session="s2"), None)
    assert bare is not None
    assert (bare.thread.session, bare.record) == ("s2", None)


@pytest.mark.parametrize(
    ("reader", "expected"),
    [
        (THREAD.owner, "ab"),
        (Owner("w"), None),
        (Owner("w", "bo"), None),
        (Owner("w", "ann", "phone"), "ab"),
        (Owner("v"), None),
    ],
    ids=["own", "above", "another user", "a device below", "another wallet"],
)
def test_a_transcript_is_seen_in_its_space_and_below(
    bench: Bench, reader: Owner, expected: str | None
) -> None:
    store(bench, "a", "b")
    for name in ("s1", "th1"):
        assert texts(found(bench, name, owner=reader)) == (None if expected is None else list(expected))  # fmt: skip


@pytest.mark.parametrize("name", ["s1", "th1"])
def test_the_nearest_space_wins(bench: Bench, name: str) -> None:
    store(bench, "near")
    store(bench, "far", thread=replace(THREAD, owner=Owner("w")))
    assert texts(found(bench, name)) == ["near"]
    assert texts(found(bench, name, owner=Owner("w"))) == ["far"]


def test_of_two_threads_of_a_session_the_newest_counts(bench: Bench) -> None:
    store(bench, "old")
    store(bench, "new", thread=replace(THREAD, name="th2"))
    assert texts(found(bench, "s1")) == ["new"]


@pytest.mark.parametrize(
    "detail",
    [None, '{"threadId":"th1"}', detail_of(THREAD.owner), detail_of(Owner(), threadId="th1")],
    ids=["none", "not of Compose", "no thread", "no wallet"],
)
def test_a_conversation_of_another_program_is_no_transcript(
    bench: Bench, detail: str | None
) -> None:
    store(bench, "a")
    change(bench, CONVERSATION, THREAD.conversation_id, {"detail": detail})
    assert found(bench, "s1") is None
    assert found(bench, "th1") is None


def test_messages_without_a_session_are_of_a_session_named_as_the_thread(bench: Bench) -> None:
    with bench.store.adding(MAIN) as work:
        own: Row = {"space": THREAD.owner.space, "detail": detail_of(THREAD.owner, threadId="th1")}
        row = new_row(CONVERSATION, THREAD.conversation_id, own, Origin("w"), 1)
        work.add(CONVERSATION, [row])
    assert found(bench, "th1") is None
    with bench.store.adding(MAIN) as work:
        said: Row = {"content": "a", "role": "user", "conversation_id": THREAD.conversation_id}
        work.add(MESSAGE, [new_row(MESSAGE, "msg_1", said, Origin("w"), 2)])
    transcript = found(bench, "th1")
    assert transcript is not None
    assert (texts(transcript), transcript.thread.session, transcript.record) == (["a"], "th1", None)


def test_a_text_that_was_redacted_is_not_stored(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    adding, hashes = bench.store.adding, frozenset({content_hash("a")})

    @contextmanager
    def masking(branch: str) -> Iterator[Any]:
        with adding(branch) as work:
            work.mask = replace(work.mask, hashes=hashes)
            yield work

    monkeypatch.setattr(bench.store, "adding", masking)
    stored = store(bench, "a", "b")
    assert (len(stored.message_ids), stored.after.pending) == (1, 2)
    assert texts(found(bench, "s1")) == ["b"]


# Working sessions


def test_the_lines_of_a_working_memory_are_its_own_then_its_messages(bench: Bench) -> None:
    ids = store(bench, "a", "b", "c").message_ids
    change(bench, MESSAGE, ids[1], {"content_hash": REDACTED_HASH})
    memory = WorkingMemory(context=("one", "two"), messages=(*ids, "msg_none"))
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        assert lines_of(reading, memory) == ["one", "two", "user: a", "user: c"]
        assert lines_of(reading, WorkingMemory(context=("one",))) == ["one"]


def write(bench: Bench, **parts: Any) -> Any:
    def change(memory: WorkingMemory) -> WorkingMemory:
        return memory.merged(WorkingMemory(**parts))

    return write_working(bench.repo, bench.branch(), (THREAD.owner, "s1"), change, bench.now)


def test_a_working_session_has_its_times(bench: Bench) -> None:
    first = write(bench, context=("a",))
    assert (first.created_at, first.changed_at, first.expires_at) == (1_000, 1_000, 1_000 + DAY)
    assert (first.memory.user, first.memory.device) == ("ann", None)
    bench.now += DAY - 1
    second = write(bench, context=("b",))
    assert (second.created_at, second.changed_at) == (1_000, bench.now)
    assert second.memory.context == ("a", "b")
    bench.now += DAY
    third = write(bench, context=("c",))
    assert (third.created_at, third.memory.context) == (bench.now, ("c",))


def test_a_working_memory_that_grows_too_long_is_refused(bench: Bench) -> None:
    size = len(write(bench, state={"s": ""}).memory.value)
    write(bench, state={"s": "x" * (64 * 1024 - size)})
    with pytest.raises(InvalidRequest, match=r"^state: .*65,537 bytes, and may have 65,536") as refused:  # fmt: skip
        write(bench, state={"s": "x" * (64 * 1024 - size + 1)})
    problems: Any = refused.value.details["problems"]
    (problem,) = problems
    assert problem["argument"] == "state"
    assert "65,537 bytes" in problem["problem"]


def test_noted_messages_name_their_thread(bench: Bench) -> None:
    assert remember_messages(bench.repo, bench.branch(), THREAD, ["m1"], bench.now)
    session = find_working(bench.repo, bench.branch(), THREAD.owner, "s1", bench.now)
    assert session is not None
    assert (session.memory.thread, session.memory.messages) == ("th1", ("m1",))
    assert find_working(bench.repo, bench.branch(), THREAD.owner, "s2", bench.now) is None
