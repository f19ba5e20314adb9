"""Messages under keys: chains across conversations, and the removal of what nothing leads to."""

import pytest

from day1.errors import Conflict, NotFound, RequestReused
from day1.model.branches.branch import MAIN
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import CONVERSATION, MESSAGE
from day1.services.batches.applying import Change, EntryChange, Numbered, apply
from day1.services.contexts.entries import EntryKey, NewEntry
from day1.services.conversations import order
from day1.services.conversations.chains import Chains, LogKey
from day1.services.conversations.keyed import Batch, ConversationKey, MessagePage
from day1.services.conversations.log_changes import SaidMessages, UnsaidMessages
from day1.services.conversations.messages import NewMessage
from day1.services.rows import editing
from day1.services.rows.editing import Removal
from tests.unit.services.conftest import ADA, Bench

LOG = "app:log"
ANN, BOB = ConversationKey("app:log/ann", "Ann"), ConversationKey("app:log/bob", "Bob")


def key(name: str) -> LogKey:
    return LogKey(LOG, name)


def said(*names: str, at: ConversationKey = ANN, after: str | None = None) -> SaidMessages:
    messages = [NewMessage("user", f"text {name}") for name in names]
    keys = [key(name) for name in names]
    return SaidMessages(Batch(at, messages), keys, None if after is None else key(after))


def record(name: str, *ends: str) -> EntryChange:
    at = EntryKey(LOG, name)
    return EntryChange(at, NewEntry(at, {"end": ends[0], "others": list(ends[1:])}))


def unsaid(*ends: str, at: ConversationKey = ANN) -> UnsaidMessages:
    keys = [key(name) for name in ends]
    return UnsaidMessages(at.conversation_id, keys, LOG, ["end", "others"])


def do(bench: Bench, *changes: Change, branch: str = MAIN) -> None:
    bench.now += 1
    numbered = [Numbered(change, bench.repo) for change in changes]
    apply(bench.repo, bench.branch(branch), numbered, ADA)


def chain(
    bench: Bench,
    end: str,
    limit: int | None = None,
    branch: str = MAIN,
    before: str | None = None,
) -> str:
    page = MessagePage(limit, None if before is None else key(before).row_id)
    with bench.store.reading(Ref(branch=branch)) as reading:
        rows = Chains(bench.repo, reading).messages(key(end).row_id, page)
    return " ".join(str(row["content"]).removeprefix("text ") for row in rows)


def conversations(bench: Bench) -> dict[str, list[str]]:
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        ids = [str(row_id) for (row_id,) in reading.scan(CONVERSATION, ("id",), Query())]
        contents = {row["id"]: str(row["content"]) for row in reading.find(MESSAGE, Query())}
        return {
            of: [contents[row_id] for row_id in order.order_of(bench.repo, reading, of)]
            for of in ids
        }


def retract(bench: Bench, name: str, branch: str = MAIN) -> None:
    bench.now += 1
    editing.remove(bench.repo, bench.branch(branch), Removal([key(name).row_id]), ADA)


def test_a_chain_goes_on_in_another_conversation(bench: Bench) -> None:
    do(bench, said("z", "a", "m"), record("Ann", "m"))
    do(bench, said("f", "e", at=BOB, after="a"), record("Bob", "e"))
    assert (chain(bench, "m"), chain(bench, "e")) == ("z a m", "z a f e")
    assert [chain(bench, "e", limit) for limit in (1, 2, 3, 9)] == ["e", "f e", "a f e", "z a f e"]
    assert conversations(bench) == {
        ANN.conversation_id: ["text z", "text a", "text m"],
        BOB.conversation_id: ["text f", "text e"],
    }


def test_older_messages_of_a_chain_are_read_in_pages(bench: Bench) -> None:
    do(bench, said("z", "a", "m"), record("Ann", "m"))
    do(bench, said("f", "e", at=BOB, after="a"), record("Bob", "e"))
    assert chain(bench, "e", before="z") == ""
    assert chain(bench, "e", before="e") == "z a f"
    assert [chain(bench, "e", limit, before="f") for limit in (1, 2, 3)] == ["a", "z a", "z a"]
    retract(bench, "f")
    assert chain(bench, "e", 1, before="f") == "a"
    with pytest.raises(NotFound, match="without `before`"):
        chain(bench, "e", 1, before="m")


def test_an_end_far_behind_the_newest_messages_is_read_in_few_lookups(bench: Bench) -> None:
    names = [f"{n:03}" for n in range(200)]
    do(bench, said(*names))
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        scans: list[Query] = []
        scan = reading.scan
        reading.scan = lambda kind, columns, query: (
            scans.append(query) or scan(kind, columns, query)
        )
        rows = Chains(bench.repo, reading).messages(key("100").row_id, MessagePage(20))
    assert [row["content"] for row in rows] == [f"text {name}" for name in names[81:101]]
    assert [query.limit for query in scans] == [20, None]


def test_messages_of_one_unit_stay_in_their_order_whatever_their_keys(bench: Bench) -> None:
    names = [f"{n * 7919 % 100:02}" for n in range(60)]
    do(bench, said(*names))
    assert chain(bench, names[-1]) == " ".join(names)
    assert conversations(bench)[ANN.conversation_id] == [f"text {name}" for name in names]


def test_ids_of_time_ordered_keys_are_in_their_order(bench: Bench) -> None:
    keys = [f"01890a5d-ac{n:02x}-774b-bcce-b302099a8057" for n in range(99)]
    ids = [key(each).row_id for each in keys]
    assert ids == sorted(ids)
    assert ids[0] > key("any text").row_id
    assert len({LogKey(space, "k").row_id for space in (None, "a:b", "a:c")}) == 3


def test_nothing_is_said_after_a_missing_message_or_under_a_used_key(bench: Bench) -> None:
    do(bench, said("a", "b"))
    for change in (said("c", after="nowhere"), said(after="nowhere")):
        with pytest.raises(NotFound):
            do(bench, record("Ann", "b"), change)
    do(bench, said(after="b"))  # nothing to add, and nothing amiss
    do(bench, said("a", "b"))  # the same again
    for change in (said("b"), said("a", after="b"), said("c", "a", after="b")):
        with pytest.raises(Conflict) as refused:
            do(bench, change)
        assert not isinstance(refused.value, RequestReused)
    retract(bench, "b")
    with pytest.raises(Conflict):
        do(bench, said("b", after="a"))
    assert chain(bench, "a") == "a"
    with pytest.raises(NotFound):
        chain(bench, "b")


def test_a_removed_message_is_left_out_of_the_chains_through_it(bench: Bench) -> None:
    do(bench, said("a", "b", "c"))
    do(bench, said("d", after="c"))
    retract(bench, "b")
    assert [chain(bench, "d", limit) for limit in (None, 2, 3)] == ["a c d", "c d", "a c d"]
    retract(bench, "c")
    assert (chain(bench, "d"), chain(bench, "d", 2)) == ("a d", "a d")
    retract(bench, "a")
    assert chain(bench, "d") == "d"


def test_what_no_entry_leads_to_is_unsaid(bench: Bench) -> None:
    do(bench, said("a", "b", "c"), record("Ann", "c"))
    do(bench, said("x", after="a"), record("Ann", "x", "c"))
    do(bench, said("f", at=BOB, after="b"), record("Bob", "f"))
    do(bench, unsaid("x", "c"))
    assert (chain(bench, "c"), chain(bench, "x")) == ("a b c", "a x")  # the entry is still there
    do(bench, EntryChange(EntryKey(LOG, "Ann")), unsaid("x", "c", "nowhere"))
    assert chain(bench, "f") == "a b f"
    for gone in ("c", "x"):
        with pytest.raises(NotFound):
            chain(bench, gone)
    do(bench, EntryChange(EntryKey(LOG, "Bob")), unsaid("f", at=BOB))
    assert conversations(bench) == {}
    commits = len(bench.store.commits)
    do(bench, unsaid("f", at=BOB))
    assert len(bench.store.commits) == commits


def test_a_message_that_a_removed_one_parts_from_its_entry_is_not_unsaid(bench: Bench) -> None:
    do(bench, said("a", "b", "c"), record("Ann", "c"))
    do(bench, said("f", at=BOB, after="c"), record("Bob", "f"))
    retract(bench, "b")
    do(bench, EntryChange(EntryKey(LOG, "Ann")), unsaid("c"))
    assert chain(bench, "f") == "a c f"


def test_messages_of_the_conversation_that_no_chain_has_are_unsaid_too(bench: Bench) -> None:
    do(bench, said("a", "b"), record("Ann", "b"))
    do(bench, said("lost", after="a"))
    do(bench, EntryChange(EntryKey(LOG, "Ann")), unsaid("b"))
    assert conversations(bench) == {}
