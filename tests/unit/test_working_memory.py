"""The working memory of a session: merging, its newest messages, and reading it back."""

import json
from dataclasses import fields, replace

import pytest

from day1.model.layers.working import WorkingMemory, working_memory
from day1.model.values.wallet_space import Owner

FULL = WorkingMemory(
    "ann", "phone", "th1", ("a", "b"), ("m1",), {"e": 1}, {"s": [1]}, {"k": None}
)  # fmt: skip


def test_it_is_read_as_it_was_written() -> None:
    assert working_memory(FULL.value) == FULL
    assert working_memory(WorkingMemory().value) == WorkingMemory()


@pytest.mark.parametrize("part", [part.name for part in fields(WorkingMemory)])
def test_a_part_whose_name_was_redacted_is_empty(part: str) -> None:
    written = json.loads(FULL.value)
    value = {"[redacted]" if name == part else name: written[name] for name in written}
    assert working_memory(json.dumps(value)) == replace(
        FULL, **{part: getattr(WorkingMemory(), part)}
    )


def test_merging_adds_what_is_new() -> None:
    new = WorkingMemory(
        context=("b", "c", "c"), state={"t": 2}, entities={"e": 2}, metadata={"l": 3}
    )
    merged = FULL.merged(new)
    assert merged.context == ("a", "b", "c")
    assert (merged.state, merged.entities, merged.metadata) == (
        {"s": [1], "t": 2},
        {"e": 2},
        {"k": None, "l": 3},
    )
    assert (merged.thread, merged.messages, merged.user) == ("th1", ("m1",), "ann")
    assert FULL.merged(WorkingMemory(thread="th2")) == replace(FULL, thread="th2")


def test_the_newest_fifty_messages_stay() -> None:
    memory = WorkingMemory()
    for number in range(60):
        memory = memory.with_messages([f"m{number}"])
    assert memory.messages == tuple(f"m{number}" for number in range(10, 60))
    assert memory.with_messages(["m20", "m59"]) == memory
    many = [f"n{number}" for number in range(80)]
    once = memory.with_messages(many)
    assert once.messages == tuple(many[30:])
    assert once.with_messages(many) == once


def test_it_is_of_one_user_and_device() -> None:
    assert FULL.is_of(Owner("w", "ann", "phone"))
    others = [Owner("w", "ann"), Owner("w", "bo", "phone"), Owner("w", None, "phone"), Owner("w")]
    assert not any(FULL.is_of(owner) for owner in others)


def test_its_longest_part_is_named() -> None:
    assert FULL.merged(WorkingMemory(context=("x" * 50,))).longest == "context"
    assert FULL.merged(WorkingMemory(entities={"x" * 50: 1})).longest == "entities"
