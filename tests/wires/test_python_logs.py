"""Messages under keys of a log, in process and over HTTP: `say`, `unsay` and `message_chain`."""

from typing import Any

import pytest

import day1
from day1 import errors

LOG = ["app", "Log"]


def say(
    memory: day1.Branch, *keys: str, after: str | None = None, of: str = "talk", **more: Any
) -> Any:
    entry = memory.get(of, space=LOG)
    expected = more.pop("expect", "none" if entry is None else entry.revision)
    messages = [
        {"key": key, "role": "user", "content": f"said {key}", "structure": f'{{"k":"{key}"}}'}
        for key in keys
    ]
    changes: list[dict[str, Any]] = [
        {"action": "say", "key": of, "space": [*LOG, "Ann"], "log": LOG, "after": after,
         "messages": messages},
        {"action": "set", "key": of, "space": LOG, "expect_revision": expected,
         "value": {"end": keys[-1] if keys else after}},
    ]  # fmt: skip
    return memory.call("rows_apply", changes=changes, **more)


def unsay(memory: day1.Branch, *ends: str, of: str = "talk", **more: Any) -> Any:
    changes: list[dict[str, Any]] = [
        {"action": "delete", "key": of, "space": LOG},
        {"action": "unsay", "key": of, "space": [*LOG, "Ann"], "log": LOG, "ends": ends,
         "named_at": ["end"]},
    ]  # fmt: skip
    return memory.call("rows_apply", changes=changes, **more)


def chain(memory: day1.Branch, key: str, **more: Any) -> list[str]:
    answer = memory.call("message_chain", key=key, space=LOG, **more)
    return [each["structure"][6:-2] for each in answer["messages"]]


def test_messages_are_said_and_unsaid_with_an_entry_in_one_commit(memory: day1.Memory) -> None:
    commits = len(memory.log())
    say(memory, "a", "b", "c")
    assert len(memory.log()) == commits + 1
    say(memory, "f", after="b", of="fork")
    assert (chain(memory, "f"), chain(memory, "f", limit=2)) == (["a", "b", "f"], ["b", "f"])
    assert {hit.content for hit in memory.search_messages("said", space="app:%4cog/%41nn")} == {
        "said a", "said b", "said c", "said f"
    }  # fmt: skip
    unsay(memory, "c")
    assert chain(memory, "f") == ["a", "b", "f"]
    with pytest.raises(errors.NotFound):
        chain(memory, "c")
    (message,) = memory.call("message_chain", key="f", space=LOG, limit=1)["messages"]
    assert chain(memory, "f", at=message["created_at"]) == ["a", "b", "f"]
    unsay(memory, "f", of="fork")
    assert list(memory.conversations()) == []


def test_a_batch_that_is_repeated_takes_effect_once(memory: day1.Memory) -> None:
    first = say(memory, "a", "b", request_id="one")
    say(memory, "c", after="b", request_id="two")
    assert say(memory, "a", "b", request_id="one", expect="none")["ids"] == first["ids"]
    assert memory.get("talk", space=LOG).value == {"end": "c"}  # type: ignore[union-attr]  # it is there
    for _ in range(2):
        unsay(memory, "c", request_id="three")
    assert list(memory.conversations()) == []


def test_one_change_that_does_not_fit_leaves_nothing_of_the_batch(memory: day1.Memory) -> None:
    say(memory, "a", "b")
    for wrong in ({"after": "nowhere"}, {"after": "a"}):
        with pytest.raises((errors.NotFound, errors.Conflict)):
            say(memory, "new", "b", **wrong)
        with pytest.raises(errors.NotFound):
            chain(memory, "new")
    assert memory.get("talk", space=LOG).value == {"end": "b"}  # type: ignore[union-attr]  # it is there
    with pytest.raises(errors.ValueTooLarge):
        memory.call("rows_apply", changes=[{
            "action": "say", "key": "k", "space": LOG, "messages": [
                {"key": "x", "role": "user", "content": "x",
                 "structure": '{"x":"' + "x" * 8_388_601 + '"}'}],
        }])  # fmt: skip


def test_a_redacted_message_is_left_out_and_others_go_on_from_it(memory: day1.Memory) -> None:
    say(memory, "a", "secret")
    (b,) = memory.call("message_chain", key="secret", space=LOG, limit=1)["messages"]
    memory.redact(b["id"], confirm=b["id"])  # and each other message of these words
    say(memory, "c", after="secret")
    assert (chain(memory, "c"), chain(memory, "c", limit=2)) == (["a", "c"], ["a", "c"])


def test_branches_go_on_with_one_chain_and_a_merge_keeps_both(memory: day1.Memory) -> None:
    say(memory, "a")
    with memory.branch(f"{memory.name}/side") as side:
        say(side, "s", after="a", of="side")
        say(memory, "b", after="a")
        side.merge()
    assert (chain(memory, "b"), chain(memory, "s")) == (["a", "b"], ["a", "s"])
    assert sorted(each.message_count for each in memory.conversations()) == [1, 2]
