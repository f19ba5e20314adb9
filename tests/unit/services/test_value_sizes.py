"""Values that are large together are refused, or are read a few at a time."""

from collections.abc import Callable, Sequence

import pytest

from day1.errors import AnswerTooLarge
from day1.model.branches.branch import MAIN
from day1.model.redaction.mask import REDACTED_HASH
from day1.model.rows.change import Message, Ref
from day1.model.rows.kind import MESSAGE, OBSERVATION, Kind
from day1.ports.reading import Reading
from day1.services.contexts import entries, entry_writes
from day1.services.contexts.entries import EntryKey, EntryQuery, NewEntry
from day1.services.conversations import keyed
from day1.services.conversations.chains import Chains
from day1.services.conversations.keyed import Batch, ConversationKey, MessagePage
from day1.services.conversations.messages import NewMessage
from day1.services.rows import value_sizes
from tests.unit.services.conftest import ADA, Bench

KEYS = [EntryKey("app", f"key {number:02}") for number in range(20)]
TALK = ConversationKey("app", "talk")
SIZE = 20 * len('{"n":"é"}'.encode())
"""The bytes of all entries' values; the messages' are as long."""


@pytest.fixture(autouse=True)
def few_values_may_be_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(value_sizes, "MOST_VALUE", 10)


@pytest.fixture
def reading(bench: Bench) -> Reading:
    new_entries = [NewEntry(key, {"n": "é"}) for key in KEYS]
    entry_writes.put(bench.repo, bench.branch(), new_entries, ADA)
    messages = [NewMessage("user", "a text", structure='{"n":"é"}')] * 20
    keyed.append(bench.repo, bench.branch(), Batch(TALK, messages), ADA)
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        return reading


Asked = Callable[[Bench, Reading, int], int]


def get(bench: Bench, reading: Reading, most_bytes: int) -> int:
    return len(entries.get(reading, KEYS, bench.now, most_bytes))


def find(bench: Bench, reading: Reading, most_bytes: int) -> int:
    return len(entries.read(reading, entries.find(reading, EntryQuery(bench.now)), most_bytes))


def all_messages(bench: Bench, reading: Reading, most_bytes: int) -> int:
    return len(keyed.newest(bench.repo, reading, TALK, MessagePage(None, None, most_bytes)))


def last_messages(bench: Bench, reading: Reading, most_bytes: int) -> int:
    return len(keyed.newest(bench.repo, reading, TALK, MessagePage(20, None, most_bytes)))


def chained_messages(bench: Bench, reading: Reading, most_bytes: int) -> int:
    (last,) = keyed.newest(bench.repo, reading, TALK, MessagePage(1))
    page = MessagePage(None, None, most_bytes)
    return len(Chains(bench.repo, reading).messages(str(last["id"]), page))


@pytest.mark.parametrize("ask", [get, find, all_messages, last_messages, chained_messages])
def test_values_above_the_limit_are_refused(bench: Bench, reading: Reading, ask: Asked) -> None:
    assert ask(bench, reading, SIZE) == 20
    with pytest.raises(AnswerTooLarge, match="ask for fewer") as refused:
        ask(bench, reading, SIZE - 1)
    assert refused.value.details == {"size": SIZE, "limit": SIZE - 1}


def redact(bench: Bench, kind: Kind, row_ids: Sequence[str]) -> Reading:
    """Let rows read as redacted ones; the fake store masks nothing itself."""
    with bench.store.changing(MAIN) as work:
        for row_id in row_ids:
            work.change(kind, row_id, {"content_hash": REDACTED_HASH})
        work.commit(Message("redact", "by hand"))
    with bench.store.reading(Ref(branch=MAIN)) as later_reading:
        return later_reading


@pytest.mark.parametrize("ask", [all_messages, last_messages, chained_messages])
def test_redacted_messages_do_not_count(bench: Bench, reading: Reading, ask: Asked) -> None:
    ids = [str(row["id"]) for row in keyed.newest(bench.repo, reading, TALK)]
    later_reading = redact(bench, MESSAGE, [*ids[3:5], *ids[-4:-2]])
    assert ask(bench, later_reading, 16 * SIZE // 20) == 16
    with pytest.raises(AnswerTooLarge):
        ask(bench, later_reading, 16 * SIZE // 20 - 1)


def test_a_limit_counts_only_the_messages_that_it_answers(bench: Bench, reading: Reading) -> None:
    ids = [str(row["id"]) for row in keyed.newest(bench.repo, reading, TALK)]
    later_reading = redact(bench, MESSAGE, ids[-2:])
    (last,) = keyed.newest(bench.repo, later_reading, TALK, MessagePage(1, None, SIZE // 20))
    assert last["id"] == ids[-3]


def test_entries_that_are_redacted_or_expired_do_not_count(bench: Bench, reading: Reading) -> None:
    expiring = [NewEntry(key, {"n": "é"}, expires_at=bench.now + 1) for key in KEYS[:3]]
    entry_writes.put(bench.repo, bench.branch(), expiring, ADA)
    later_reading = redact(bench, OBSERVATION, [KEYS[7].row_id])
    bench.now += 1
    found = entries.get(later_reading, KEYS, bench.now, 16 * SIZE // 20)
    assert [index for index, entry in enumerate(found) if entry is None] == [0, 1, 2, 7]
    with pytest.raises(AnswerTooLarge):
        get(bench, later_reading, 16 * SIZE // 20 - 1)


def test_few_values_are_not_summed(
    bench: Bench, reading: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(reading), "size", None)
    assert get(bench, reading, 200) == 20
    with pytest.raises(TypeError):
        get(bench, reading, 199)


@pytest.mark.parametrize("long", [0, SIZE])
def test_conditions_find_the_same_in_long_values(
    bench: Bench, reading: Reading, monkeypatch: pytest.MonkeyPatch, long: int
) -> None:
    monkeypatch.setattr(value_sizes, "_LONG", long)
    entry_writes.put(bench.repo, bench.branch(), [NewEntry(KEYS[3], {"n": "other"})], ADA)
    with bench.store.reading(Ref(branch=MAIN)) as later_reading:
        found_ids = entries.find(later_reading, EntryQuery(bench.now, where={"n": "é"}))
    assert sorted(found_ids) == sorted(key.row_id for key in KEYS if key is not KEYS[3])
