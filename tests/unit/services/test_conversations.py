"""Conversations: in sequence on every branch, and copied without any bond to the original."""

import pytest

from day1.errors import InvalidRequest, NotFound, RequestReused
from day1.model.branches.branch import MAIN
from day1.model.rows.change import Ref
from day1.model.rows.kind import CONVERSATION, MESSAGE
from day1.model.rows.origin import Origin
from day1.services.conversations import excerpts, listing, messages, order
from day1.services.conversations.excerpts import Pick
from day1.services.conversations.messages import MessageRequest, NewMessage
from tests.unit.services.conftest import ADA, Bench

TWO = NewMessage("user", "two")


def say(bench: Bench, text: str, talk: str | None = None, branch: str = MAIN) -> str:
    """Log a message; gives the id of its conversation."""
    bench.now += 1
    with bench.store.adding(branch) as work:
        request = MessageRequest(NewMessage("user", text), talk)
        logged = messages.add_message(bench.repo, work, request, ADA)
    assert logged is not None
    return logged.conversation_id


def told(bench: Bench, talk: str, branch: str = MAIN) -> list[tuple[int, object]]:
    with bench.store.reading(Ref(branch=branch)) as reading:
        found = order.messages_of(bench.repo, reading, talk)
    return [(place, row["content"]) for place, row in found]


def test_messages_are_in_the_sequence_in_which_they_were_logged(bench: Bench) -> None:
    talk = say(bench, "one")
    say(bench, "two", talk)
    say(bench, "two", talk)
    assert told(bench, talk) == [(1, "one"), (2, "two"), (3, "two")]


def test_a_message_to_a_conversation_of_another_branch_names_that_branch(bench: Bench) -> None:
    bench.fork("spike")
    talk, main = say(bench, "one", branch="spike"), bench.branch()
    with pytest.raises(NotFound, match="It is on spike"):
        messages.log_message(bench.repo, main, MessageRequest(TWO, talk), ADA)
    with pytest.raises(NotFound, match="No branch has it"):
        messages.log_message(bench.repo, main, MessageRequest(TWO, "conv_none"), ADA)
    assert MAIN not in bench.repo.history.dirty_branches()


def test_the_first_message_of_a_conversation_adds_two_rows_and_later_ones_add_one(
    bench: Bench,
) -> None:
    talk, places, pending = None, [], []
    for text in ("one", "two", "three"):
        asked = MessageRequest(NewMessage("user", text), talk)
        logged, after = messages.log_message(bench.repo, bench.branch(), asked, ADA)
        talk = logged.conversation_id
        places.append(logged.sequence)
        pending.append(after.pending)
    assert (places, pending) == ([1, 2, 3], [2, 3, 4])


@pytest.mark.parametrize(
    ("first", "last", "texts"),
    [(None, None, ["one", "two", "three"]), (2, None, ["two", "three"]), (2, 2, ["two"])],
)
def test_a_pick_takes_the_messages_between_two_places_as_they_are(
    bench: Bench, first: int | None, last: int | None, texts: list[str]
) -> None:
    target, talk = bench.fork("spike"), say(bench, "one")
    for text in ("two", "three"):
        say(bench, text, talk)
    pick = Pick(talk, first, last)
    picked = excerpts.pick_conversation(bench.repo, target, pick, "spike")
    assert [text for _, text in told(bench, talk, "spike")] == texts
    assert bench.store.tips["spike"] == picked.commit
    again = excerpts.pick_conversation(bench.repo, target, pick, MAIN)
    assert (again.rows.total, again.commit) == (0, picked.commit)


def test_a_request_that_is_sent_again_adds_no_message(bench: Bench) -> None:
    talk = say(bench, "one")
    made = bench.repo.new_id("msg", 0)
    repo = bench.repo.__class__(
        bench.store,
        bench.store.history,
        bench.repo.ledger,
        lambda _prefix, _now: made,
        bench.repo.clock,
    )

    def log(text: str) -> messages.LoggedMessage | None:
        with bench.store.adding(MAIN) as work:
            request = MessageRequest(NewMessage("user", text), talk, request_id="again")
            return messages.add_message(repo, work, request, ADA)

    first, second = log("two"), log("two")
    assert first
    assert second
    assert (first.added, second.added) == (1, 0)
    assert first.sequence == 2
    assert (second.message_id, second.sequence) == (first.message_id, 2)
    with pytest.raises(RequestReused):
        log("three")


def test_an_excerpt_is_copied_under_new_ids_in_the_same_order(bench: Bench) -> None:
    talk = say(bench, "one")
    for text in ("two", "three"):
        say(bench, text, talk)
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        second = order.order_of(bench.repo, reading, talk)[1]
    excerpt = excerpts.up_to(bench.repo, talk, second, (MAIN,))
    copied = excerpts.copy_conversation(bench.repo, bench.branch(), excerpt, Origin("eve"))
    copy = copied.conversation_id
    assert (copied.added, copied.after.pending) == (3, 7)
    assert told(bench, copy) == [(1, "one"), (2, "two")]
    say(bench, "four", copy)
    assert len(told(bench, talk)) == 3
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        assert reading.get(CONVERSATION, [copy])[copy]["agent_id"] == "eve"


def test_an_excerpt_ends_at_a_message_of_its_conversation(bench: Bench) -> None:
    talk, other = say(bench, "one"), say(bench, "else")
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        (foreign,) = order.order_of(bench.repo, reading, other)
    with pytest.raises(NotFound, match="memory_search_messages"):
        excerpts.up_to(bench.repo, talk, foreign, (MAIN,))


def test_a_part_names_the_branches_that_have_the_conversation(bench: Bench) -> None:
    bench.fork("side")
    talk = say(bench, "one", branch="side")
    with (
        bench.store.reading(Ref(branch=MAIN)) as reading,
        pytest.raises(NotFound, match="It is on side"),
    ):
        excerpts.part_of(bench.repo, reading, talk)
    with bench.store.reading(Ref(branch="side")) as reading:
        part = excerpts.part_of(bench.repo, reading, talk)
        assert [row["content"] for row in part[MESSAGE]] == ["one"]
        with pytest.raises(InvalidRequest, match="has 1 messages"):
            excerpts.part_of(bench.repo, reading, talk, 2)


def test_the_list_begins_with_the_newest_message_and_takes_a_title_from_the_first(
    bench: Bench,
) -> None:
    first, second = say(bench, "about tea " * 20), say(bench, "about milk")
    say(bench, "more tea", first)
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        shown = listing.recent_conversations(reading, {}, 2)
        last = listing.recent_conversations(reading, {}, 1)
    assert [one.row["id"] for one in shown] == [first, second]
    assert [one.message_count for one in shown] == [2, 1]
    title = shown[0].title or ""
    assert title.startswith("about tea")
    assert title.endswith("…")
    assert [one.row["id"] for one in last] == [first]
