"""What is no JSON is refused alike in a folder and over HTTP, and nothing is written."""

from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

import day1
from day1 import errors
from day1.integrations.langgraph import Day1Store
from tests.wires.python_places import QUIET, Connect

REFUSED: dict[str, Callable[[day1.Memory, Any], object]] = {
    "put": lambda memory, value: Day1Store(memory).put(("users",), "ann", value),
    "relate": lambda memory, value: memory.relate("a", "has", "b", properties=value),
    "say": lambda memory, value: memory.say(None, "assistant", "x", tool_calls=[value]),
    "call": lambda memory, value: memory.call("entry_put", entries=[{"key": "a", "value": value}]),
    "where": lambda memory, value: memory.entries(where=value),
    "batch": lambda memory, value: batch_of(memory, value),
}
"""Calls that take a JSON object."""


def batch_of(memory: day1.Memory, value: Any) -> None:
    with memory.batch() as batch:
        batch.relate("a", "has", "b", properties=value)


@pytest.mark.parametrize(
    "value",
    [{1: "a", "1": "b"}, {"a": {None: 1, "null": 2}}, {"a": (1, 2)}, {"a": {1}}, {"a": b"x"}],
    ids=repr,
)
@pytest.mark.parametrize("call", REFUSED)
def test_what_is_no_json_is_refused(memory: day1.Memory, call: str, value: Any) -> None:
    with pytest.raises(errors.InvalidRequest):
        REFUSED[call](memory, value)
    assert not memory.entries()
    assert not memory.rows("relation")
    assert not memory.conversations()


@pytest.mark.parametrize(
    "call",
    [
        lambda memory: memory.add(b"x"),
        lambda memory: memory.add("x", category=bytearray(b"x")),
        lambda memory: memory.search(b"x"),
        lambda memory: memory.set(b"a", {}),
        lambda memory: memory.get(b"a"),
        lambda memory: memory.get("a", space=("app", b"x")),
        lambda memory: memory.batch().add(b"x"),
        lambda memory: memory.call("memory_write_fact", fact_text=b"x"),
        lambda memory: memory.call("rows_apply", changes=[{"action": "add", "fact_text": b"x"}]),
    ],
)  # fmt: skip
def test_bytes_are_no_text(memory: day1.Memory, call: Callable[[Any], object]) -> None:
    with pytest.raises(errors.InvalidRequest, match=r"^\w+: bytes are no JSON: decode them"):
        call(memory)
    assert not memory.rows("fact")
    assert not memory.entries()


def test_the_error_of_an_argument_is_that_of_a_folder(
    connect: Connect, memory: day1.Memory, tmp_path_factory: pytest.TempPathFactory
) -> None:
    def refused(other: day1.Memory) -> list[str]:
        calls: list[Callable[[Any], object]] = [
            lambda memory: memory.add("\ud800"),
            lambda memory: memory.add("x", confidence=float("nan")),
            lambda memory: memory.timeline(after=date(2026, 1, 1)),
            lambda memory: memory.relate("a", "b", "c", properties={1: "a", "1": "b"}),
            lambda memory: memory.call("kompanion.save_context", namespace="n", colour=5),
        ]
        messages = []
        for call in calls:
            with pytest.raises(errors.InvalidRequest) as error:
                call(other)
            messages.append(str(error.value))
        return messages

    folder = tmp_path_factory.mktemp("other") / "store"
    with day1.connect(folder, settings=QUIET) as local:
        assert refused(memory) == refused(local)


@pytest.mark.parametrize("loop_id", [".", "..", "./.", "a/b"])
def test_an_argument_in_a_path_leads_to_no_other_operation(
    memory: day1.Memory, loop_id: str
) -> None:
    with pytest.raises((errors.NotFound, errors.InvalidRequest), match=r"loop"):
        memory.call("compose.loops_get", loopId=loop_id)


def test_labels_may_be_a_tuple_inside_of_a_list(memory: day1.Memory) -> None:
    memory.call("entry_put", entries=[{"key": "a", "space": ("app", "x"), "value": {"n": 1}}])
    assert memory.get("a", space=("app", "x")) is not None


def test_a_value_that_contains_itself_is_refused(memory: day1.Memory) -> None:
    value: dict[str, Any] = {}
    value["itself"] = [value, value]
    with pytest.raises(errors.InvalidRequest):
        memory.relate("a", "b", "c", properties=value)
