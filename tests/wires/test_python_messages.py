"""Conversations under keys, in process and over HTTP: `message_append`, `_list` and `_remove`."""

import json
from typing import Any

import pytest

import day1
from day1 import errors

TALK = {"key": "Ann's talk", "space": ["app", "Users"]}
STRUCTURE = '{"b": 1.50,"a":[null,true,"é\\u0000",1e3]}'


def given(text: str, structure: str | None = STRUCTURE, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": text, "structure": structure}


def append(memory: day1.Branch, *messages: dict[str, Any], **more: Any) -> list[str]:
    ids: list[str] = memory.call("message_append", messages=list(messages), **TALK, **more)["ids"]
    return ids


def listed(memory: day1.Branch, **more: Any) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = memory.call("message_list", **TALK, **more)["messages"]
    return messages


def test_messages_come_back_to_the_letter_and_are_found_as_any(memory: day1.Memory) -> None:
    ids = append(memory, given("The lathe needs oil."), given("Sand, then.", None, "tool"))
    one, two = listed(memory)
    assert [one["id"], two["id"]] == ids
    assert (one["structure"], "content" in one) == (STRUCTURE, False)
    assert (two["role"], two["content"], "structure" in two) == ("tool", "Sand, then.", False)
    (hit,) = memory.search_messages("lathe")
    assert hit.message_id == ids[0]
    (conversation,) = memory.conversations()
    assert conversation.message_count == 2
    assert listed(memory, limit=1) == [two]
    assert listed(memory, at=one["created_at"]) == [one, two]


def test_a_call_that_is_repeated_takes_effect_once(memory: day1.Memory) -> None:
    one = append(memory, given("one"), request_id="first")
    two = append(memory, given("two"))
    assert append(memory, given("one"), request_id="first") == one
    for _ in range(2):
        done = memory.call("message_remove", **TALK, last=two[0], request_id="pop")
        assert done["ids"] == two
    assert [each["id"] for each in listed(memory)] == one
    assert memory.call("message_remove", **TALK, last=two[0])["ids"] == []
    for _ in range(2):
        assert memory.call("message_remove", **TALK, request_id="clear")["ids"] == one
    assert listed(memory) == []


def test_two_branches_go_on_with_one_conversation_and_a_merge_keeps_both(
    memory: day1.Memory,
) -> None:
    append(memory, given("one"))
    with memory.branch(f"{memory.name}/side") as side:
        append(side, given("aside"))
        append(memory, given("two"))
        brought = side.preview().rows
        assert [row["text"] for row in brought] == ["aside"]
        side.merge()
    texts = [memory.row(each["id"]).row["content"] for each in listed(memory)]
    assert texts == ["one", "two", "aside"]


def test_a_redacted_message_never_comes_back(memory: day1.Memory) -> None:
    (first, _) = append(memory, given("my secret"), given("two"))
    (before, _) = listed(memory)
    memory.redact(first, confirm=first)
    (two,) = listed(memory)
    assert (two["structure"], listed(memory, limit=5)) == (STRUCTURE, [two])
    assert listed(memory, at=before["created_at"]) == [two]


@pytest.mark.parametrize(
    "structure",
    [
        "",
        "{",
        "[1]",
        '"x"',
        '{"n": NaN}',
        '{"n": 1e999}',
        '{"n": -Infinity}',
        '{"x": "\0"}',
        '{"x": "\\ud83d"}',
    ],
)
def test_what_is_no_json_object_is_refused_and_nothing_is_written(
    memory: day1.Memory, structure: str
) -> None:
    with pytest.raises(errors.InvalidRequest):
        append(memory, given("one"), given("two", structure))
    assert listed(memory) == []


def test_what_is_too_deep_long_or_many_is_refused(memory: day1.Memory) -> None:
    deep = '{"x":' * 65 + "1" + "}" * 65
    with pytest.raises(errors.InvalidRequest):
        append(memory, given("one", deep))
    with pytest.raises(errors.InvalidRequest):
        append(memory, given("one", "{" + '"x":[' * 100_000))
    with pytest.raises(errors.ValueTooLarge):
        append(memory, given("one"), given("two", json.dumps({"x": "x" * 8_388_601})))
    with pytest.raises(errors.InvalidRequest):
        append(memory)
    with pytest.raises(errors.InvalidRequest):
        memory.call("message_list", key="x" * 1_025)
    assert listed(memory) == []
    long = json.dumps({"x": "x" * 1_000_000})
    append(memory, given("one", long))
    assert listed(memory)[0]["structure"] == long
