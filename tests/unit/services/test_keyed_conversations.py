"""Conversations under keys: appended together, read from the end, and removed from the end."""

from dataclasses import replace

import pytest

from day1.errors import NotFound, RequestReused
from day1.model.branches.branch import MAIN
from day1.model.redaction.mask import REDACTED_HASH
from day1.model.rows.change import Message, Query, Ref
from day1.model.rows.kind import CONVERSATION, MESSAGE
from day1.model.values.ids import ids_of_request
from day1.services.conversations import keyed, order
from day1.services.conversations.keyed import Batch, ConversationKey, Cut, MessagePage
from day1.services.conversations.messages import NewMessage
from day1.services.repository.repository import Repository
from day1.services.rows.transplanting import commit_copy, put
from tests.unit.services.conftest import ADA, Bench

ANN = ConversationKey("app:users", "Ann")


def new(*texts: str) -> list[NewMessage]:
    return [NewMessage("user", text, structure=f'{{"said": "{text}"}}') for text in texts]


def say(bench: Bench, *texts: str, at: ConversationKey = ANN, branch: str = MAIN) -> list[str]:
    bench.now += 1
    batch = Batch(at, new(*texts), "Ann's")
    return list(keyed.append(bench.repo, bench.branch(branch), batch, ADA).message_ids)


def said(
    bench: Bench,
    limit: int | None = None,
    before: str | None = None,
    at: ConversationKey = ANN,
    branch: str = MAIN,
) -> list[object]:
    with bench.store.reading(Ref(branch=branch)) as reading:
        page = MessagePage(limit, before)
        return [row["content"] for row in keyed.newest(bench.repo, reading, at, page)]


def remove(bench: Bench, branch: str = MAIN, **cut: str) -> list[str]:
    bench.now += 1
    done = keyed.remove(bench.repo, bench.branch(branch), Cut(ANN, **cut), ADA)
    return list(done.message_ids)


def of_request(bench: Bench, request: str) -> Repository:
    return replace(bench.repo, new_id=ids_of_request(request), of_request=True)


def test_messages_are_appended_in_their_order_and_keep_their_structure(bench: Bench) -> None:
    first = say(bench, "one", "two")
    second = say(bench, "three")
    assert said(bench) == ["one", "two", "three"]
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        rows = reading.get(MESSAGE, [*first, *second])
        (conversation,) = reading.get(CONVERSATION, [ANN.conversation_id]).values()
    assert [rows[i]["structure"] for i in first] == ['{"said": "one"}', '{"said": "two"}']
    assert [rows[i]["previous_id"] for i in (*first, *second)] == [None, *first]
    assert (conversation["title"], conversation["space"]) == ("Ann's", "app:users")
    assert conversation["detail"] == '{"key":"Ann"}'


def test_keys_and_spaces_tell_conversations_apart(bench: Bench) -> None:
    others = [ConversationKey("app:users", "ann"), ConversationKey(None, "Ann")]
    say(bench, "one")
    for other in others:
        assert said(bench, at=other) == []
        say(bench, "other", at=other)
    assert said(bench) == ["one"]


def test_a_limit_takes_the_newest_in_sequence(bench: Bench) -> None:
    say(bench, "one", "two")
    say(bench, "three", "four")
    for limit in range(1, 6):
        assert said(bench, limit) == ["one", "two", "three", "four"][-limit:]


def test_a_limit_is_right_after_a_merge_brought_older_messages(bench: Bench) -> None:
    say(bench, "one")
    bench.store.commit_pending(MAIN)
    bench.fork("side")
    say(bench, "aside", branch="side")
    say(bench, "two", "three")
    with bench.store.reading(Ref(branch="side")) as side:
        brought = side.find(MESSAGE, Query(equal={"content": "aside"}))
    bench.now += 1
    with bench.store.changing(MAIN) as work:
        commit_copy(work, put(work, MAIN, {MESSAGE: brought}), "merge", "bring it")
    assert said(bench) == ["one", "two", "three", "aside"]
    assert said(bench, 2) == ["three", "aside"]
    say(bench, "four")
    assert said(bench, 2) == ["aside", "four"]
    assert said(bench, 1) == ["four"]
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        (four,) = keyed.newest(bench.repo, reading, ANN, MessagePage(1))
    remove(bench, last=str(four["id"]))
    assert said(bench, 1) == ["aside"]
    assert said(bench, 3) == ["two", "three", "aside"]
    say(bench, "five")
    assert said(bench, 3) == ["three", "aside", "five"]


def test_a_limit_does_not_read_the_whole_conversation(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(bench, *map(str, range(20)))
    monkeypatch.delattr(order, "messages_of")
    monkeypatch.setattr(keyed, "order_of", lambda *_: pytest.fail("it read all"))
    assert said(bench, 2) == ["18", "19"]
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        ids = [str(row["id"]) for row in keyed.newest(bench.repo, reading, ANN, MessagePage(3))]
    for last in reversed(ids):
        assert remove(bench, last=last) == [last]
    assert said(bench, 2) == ["15", "16"]
    say(bench, "new")
    assert said(bench, 2) == ["16", "new"]


def test_a_redacted_message_is_left_out_and_a_limit_counts_the_others(bench: Bench) -> None:
    say(bench, "one", "two", "three")
    with bench.store.changing(MAIN) as work:
        (row,) = work.find(MESSAGE, Query(equal={"content": "three"}))
        work.change(MESSAGE, str(row["id"]), {"content_hash": REDACTED_HASH})
        work.commit(Message("redact", "by hand"))
    assert said(bench, 2) == ["one", "two"]
    assert said(bench) == ["one", "two"]


def test_messages_in_front_of_another_are_read_in_pages(bench: Bench) -> None:
    ids = say(bench, "one", "two", "three", "four", "five")
    assert said(bench, before=ids[0]) == []
    assert said(bench, before=ids[3]) == ["one", "two", "three"]
    assert said(bench, 2, ids[3]) == ["two", "three"]
    with bench.store.changing(MAIN) as work:
        for redacted_id in (ids[2], ids[3]):
            work.change(MESSAGE, redacted_id, {"content_hash": REDACTED_HASH})
        work.commit(Message("redact", "by hand"))
    assert said(bench, 2, ids[3]) == ["one", "two"]
    assert said(bench, 1, ids[4]) == ["two"]
    for missing_id in ("msg_none", say(bench, "other", at=ConversationKey(None, "Ann"))[0]):
        with pytest.raises(NotFound, match="without `before`"):
            said(bench, 1, missing_id)


def test_the_last_message_is_removed_only_if_it_is_the_last_one(bench: Bench) -> None:
    one, two = say(bench, "one", "two")
    assert remove(bench, last=one) == []
    assert remove(bench, last=two) == [two]
    assert remove(bench, last=two) == []
    assert said(bench) == ["one"]
    say(bench, "three")
    assert said(bench) == ["one", "three"]
    assert said(bench, 1) == ["three"]


def test_what_follows_a_message_is_removed_in_one_commit(bench: Bench) -> None:
    one, two, three = say(bench, "one", "two", "three")
    say(bench, "four")
    commits = len(bench.store.commits)
    assert remove(bench, after="msg_none") == []
    assert remove(bench, after=one)[:2] == [two, three]
    assert said(bench) == ["one"]
    assert len(bench.store.commits) == commits + 2  # the pending rows', and one for the removal


def test_a_conversation_that_was_emptied_goes_on(bench: Bench) -> None:
    say(bench, "one", "two")
    assert len(remove(bench)) == 2
    assert said(bench) == []
    assert remove(bench) == []
    say(bench, "three")
    assert said(bench) == ["three"]


def test_a_request_that_is_sent_again_appends_nothing(bench: Bench) -> None:
    def append(*texts: str) -> list[str]:
        bench.now += 1
        repo = of_request(bench, "again")
        done = keyed.append(repo, bench.branch(), Batch(ANN, new(*texts)), ADA)
        return list(done.message_ids)

    first = append("one", "two", "three")
    assert said(bench) == ["one", "two", "three"]
    say(bench, "four")
    assert append("one", "two", "three") == first
    assert said(bench) == ["one", "two", "three", "four"]
    for others in (
        ("one", "two", "other"),
        ("other", "two", "three"),
        ("one", "two", "three", "4"),
    ):
        with pytest.raises(RequestReused):
            append(*others)
    assert said(bench) == ["one", "two", "three", "four"]


def test_a_removal_that_is_sent_again_removes_nothing_more(bench: Bench) -> None:
    one, two, three = say(bench, "one", "two", "three")

    def again(request: str, **cut: str) -> list[str]:
        bench.now += 1
        repo = of_request(bench, request)
        cut = {**cut, "first_edit": of_request(bench, request).new_id("edit", 0)}
        return list(keyed.remove(repo, bench.branch(), Cut(ANN, **cut), ADA).message_ids)

    assert again("pop", last=three) == [three]
    say(bench, "three")
    assert again("pop", last=three) == [three]
    assert said(bench) == ["one", "two", "three"]
    emptied = again("clear")
    assert {one, two} < set(emptied)
    say(bench, "new")
    assert set(again("clear")) == set(emptied)
    assert said(bench) == ["new"]
