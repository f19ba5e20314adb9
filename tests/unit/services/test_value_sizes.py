"""Values that are large together are refused, or are read a few at a time."""

from collections.abc import Callable

import pytest

from day1.errors import AnswerTooLarge
from day1.model.branches.branch import MAIN
from day1.model.rows.change import Ref
from day1.ports.reading import Reading
from day1.services.contexts import entries, entry_writes
from day1.services.contexts.entries import EntryKey, EntryQuery, NewEntry
from day1.services.conversations import keyed
from day1.services.conversations.chains import Chains
from day1.services.conversations.keyed import Batch, ConversationKey
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
    return len(keyed.newest(bench.repo, reading, TALK, None, most_bytes))


def last_messages(bench: Bench, reading: Reading, most_bytes: int) -> int:
    return len(keyed.newest(bench.repo, reading, TALK, 20, most_bytes))


def chained_messages(bench: Bench, reading: Reading, most_bytes: int) -> int:
    (last,) = keyed.newest(bench.repo, reading, TALK, 1)
    return len(Chains(bench.repo, reading).messages(str(last["id"]), None, most_bytes))


@pytest.mark.parametrize("ask", [get, find, all_messages, last_messages, chained_messages])
def test_values_above_the_limit_are_refused(bench: Bench, reading: Reading, ask: Asked) -> None:
    assert ask(bench, reading, SIZE) == 20
    with pytest.raises(AnswerTooLarge, match="ask for fewer") as refused:
        ask(bench, reading, SIZE - 1)
    assert refused.value.details == {"size": SIZE, "limit": SIZE - 1}


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
