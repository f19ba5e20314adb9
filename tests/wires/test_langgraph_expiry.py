"""Items of `Day1Store` expire, are renewed by reads, and are swept."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

pytest.importorskip("langgraph.store.base", reason="the extra `langgraph` is not installed")

from langgraph.store.base import GetOp, PutOp

import day1
from day1.integrations.langgraph import Day1Store

ANN = ("users", "Ann")


def test_items_expire(memory: day1.Memory) -> None:
    store = Day1Store(memory, ttl={"default_ttl": 0.00001})
    store.put(ANN, "short", {"n": 1})
    store.put(ANN, "long", {"n": 1}, ttl=10)
    store.put(ANN, "ever", {"n": 1}, ttl=None)
    assert store.get(ANN, "short") is None
    assert sorted(item.key for item in store.search(())) == ["ever", "long"]
    assert Day1Store(memory, name="other").sweep_ttl() == 0
    assert store.sweep_ttl() == 1
    assert memory.log()[0].line == "remove 1 expired keyed rows"
    assert store.sweep_ttl() == 0
    assert sorted(item.key for item in store.search(())) == ["ever", "long"]
    assert store.start_ttl_sweeper().done()
    assert store.stop_ttl_sweeper()


def expires_after(memory: day1.Memory, key: str) -> float:
    """The minutes from now to the end of an item of ANN's."""
    entry = memory.get(key, space=("langgraph", "store", *ANN))
    assert entry is not None
    assert entry.expires_at is not None
    ends = datetime.fromisoformat(entry.expires_at)
    return (ends - datetime.now(UTC)).total_seconds() / 60


def test_a_read_renews_the_time_to_live(
    memory: day1.Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    from day1.integrations.langgraph import store as module

    class Later(datetime):
        minutes = 0

        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) + timedelta(minutes=cls.minutes)

    monkeypatch.setattr(module, "datetime", Later)
    store = Day1Store(memory, ttl={"default_ttl": 10, "refresh_on_read": True})
    for key in "abc":
        store.put(ANN, key, {"text": f"{key} one"}, index=["text"])
    store.put(ANN, "ever", {"n": 1}, ttl=None)
    commits = len(memory.log())
    assert store.get(ANN, "a") is not None
    assert len(memory.log()) == commits  # a tenth of it has not passed
    Later.minutes = 5
    assert store.get(ANN, "a", refresh_ttl=False) is not None
    assert store.as_of("9999-01-01").get(ANN, "ever") is not None
    assert len(memory.log()) == commits
    store.batch([GetOp(ANN, "a"), GetOp(ANN, "a"), GetOp(ANN, "ever"), PutOp(ANN, "b", None)])
    assert [round(expires_after(memory, key)) for key in "ac"] == [15, 10]
    assert [item.key for item in store.search(ANN, query="c one")][:1] == ["c"]
    assert round(expires_after(memory, "c")) == 15
    assert [item.key for item in store.search(ANN, query="a")] == ["a"]  # its text is the same
    Later.minutes = 14
    for plain in (Day1Store(memory), Day1Store(memory, ttl={"refresh_on_read": False})):
        assert plain.get(ANN, "c") is not None
    assert round(expires_after(memory, "c")) == 15
