"""Branches of a `Day1Session`: they have the SDK's names, share rows, and are merged."""

import asyncio
import itertools
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

pytest.importorskip("agents.memory", reason="the extra `openai-agents` is not installed")

from agents.extensions.memory import AdvancedSQLiteSession

import day1
from day1 import errors
from day1.integrations.openai_agents import Day1Session

T = TypeVar("T")
_numbers = itertools.count(1)


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(coroutine)


def say(text: str, role: str = "user") -> Any:
    return {"role": role, "content": text}


async def talk(session: Any, *turns: str) -> None:
    for text in turns:
        await session.add_items([say(text)])
        await session.add_items([say(f"to {text}", "assistant")])


def said(session: Any, **of: Any) -> list[Any]:
    return [item["content"] for item in run(session.get_items(**of))]


@pytest.fixture
def session(memory: day1.Memory) -> Day1Session:
    return Day1Session(f"talk-{next(_numbers)}", memory)


def without_times(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {key: value for key, value in each.items() if key not in {"created_at", "timestamp"}}
        for each in found
    ]


def test_the_same_steps_as_in_the_sdks_own_class_have_the_same_results(
    session: Day1Session,
) -> None:
    async def steps(of: Any) -> list[Any]:
        seen: list[Any] = []

        async def look() -> None:
            seen.append(await of.get_items())
            branches = without_times(await of.list_branches())
            seen.append(sorted(branches, key=lambda each: each["branch_id"]))
            seen.append(without_times(await of.get_conversation_turns()))

        await talk(of, "One", "two", "x" * 120)
        await look()
        seen.append(await of.create_branch_from_turn(2, "b"))
        await talk(of, "else")
        await look()
        seen.append(await of.get_items(branch_id="main"))
        seen.append(await of.get_items(1, branch_id="main"))
        seen.append(without_times(await of.find_turns_by_content("ONE")))
        seen.append(without_times(await of.find_turns_by_content("two", "main")))
        seen.append(await of.create_branch_from_content("else", "c"))
        await talk(of, "third")
        seen.append(await of.pop_item())
        await look()
        await of.switch_to_branch("main")
        await look()
        await of.delete_branch("b")
        await of.switch_to_branch("c")
        await of.delete_branch("c", force=True)
        await look()
        return seen

    theirs = AdvancedSQLiteSession(session_id="t", create_tables=True)
    try:
        for our, their in zip(run(steps(session)), run(steps(theirs)), strict=True):
            assert our == their
    finally:
        theirs.close()


def test_the_errors_are_those_of_the_sdk(session: Day1Session) -> None:
    async def refused(of: Any) -> list[str]:
        calls = [
            lambda: of.create_branch_from_turn(9, "x"),
            lambda: of.create_branch_from_turn(0),
            lambda: of.create_branch_from_turn(1, " "),
            lambda: of.create_branch_from_turn(1, "main"),
            lambda: of.create_branch_from_turn(1, "b"),
            lambda: of.create_branch_from_content("nowhere"),
            lambda: of.switch_to_branch("nowhere"),
            lambda: of.delete_branch("nowhere"),
            lambda: of.delete_branch("main"),
            lambda: of.delete_branch("b"),
        ]
        await talk(of, "one", "two")
        await of.create_branch_from_turn(2, "b")
        found = []
        for call in calls:
            with pytest.raises(ValueError, match=r".") as caught:
                await call()
            found.append(type(caught.value).__name__)
        return found

    theirs = AdvancedSQLiteSession(session_id="t", create_tables=True)
    assert run(refused(session)) == run(refused(theirs))
    theirs.close()
    with pytest.raises(ValueError, match="ASCII"):
        run(session.create_branch_from_turn(1, "no name!"))
    assert said(session) == ["one", "to one"]


@pytest.mark.parametrize("branch_id", ["nowhere", "", "no name!"])
def test_reading_a_branch_that_the_session_does_not_have_is_a_value_error(
    session: Day1Session, branch_id: str
) -> None:
    run(talk(session, "one"))
    for call in (session.get_items(branch_id=branch_id), session.get_items(0, branch_id),
                 session.get_conversation_turns(branch_id),
                 session.find_turns_by_content("one", branch_id)):  # fmt: skip
        with pytest.raises(ValueError, match="does not exist"):
            run(call)


def test_a_branch_without_items_is_read_and_listed(session: Day1Session) -> None:
    run(talk(session, "one"))
    run(session.create_branch_from_turn(1, "b"))
    assert said(session, branch_id="b") == said(session, limit=0, branch_id="b") == []
    assert said(session, branch_id="main") == ["one", "to one"]
    assert len(run(session.list_branches())) == 2
    run(session.switch_to_branch("main"))
    with pytest.raises(ValueError, match="already been used"):
        run(session.create_branch_from_turn(1, "B"))


def test_a_branch_shares_rows_and_has_the_memory_of_its_turn_and_is_merged(
    memory: day1.Memory, session: Day1Session
) -> None:
    memory.add("The lathe is green.")
    run(talk(session, "one", "two"))
    memory.add("The lathe is blue.")
    run(session.create_branch_from_turn(2, "again"))
    run(talk(session, "else"))
    fork = session.branch
    assert fork.name == f"session/sessions/{session.session_id}/again"
    assert [row["fact_text"] for row in fork.rows()] == ["The lathe is green."]
    assert [row["text"] for row in fork.preview().rows] == ["else", "to else"]
    fork.merge()
    run(session.switch_to_branch("main"))
    assert said(session) == ["one", "to one", "two", "to two", "else", "to else"]
    assert said(session, limit=3) == ["to two", "else", "to else"]
    assert len(memory.rows()) == 2
    run(session.create_branch_from_turn(3, "later"))
    assert said(session) == ["one", "to one", "two", "to two"]


def test_a_branch_from_the_middle_of_one_call_loses_the_later_messages(
    session: Day1Session,
) -> None:
    run(session.add_items([say("one"), say("two"), say("three")]))
    run(session.create_branch_from_turn(3, "b"))
    assert said(session) == ["one", "two"]
    run(session.create_branch_from_turn(1, "c"))
    assert said(session) == []
    assert said(session, branch_id="main") == ["one", "two", "three"]
    assert [each["message_count"] for each in run(session.list_branches())] == [3, 2, 0]


def test_branches_of_two_sessions_are_apart(memory: day1.Memory, session: Day1Session) -> None:
    others = [Day1Session(f"{session.session_id} Ä", memory)]
    others.append(Day1Session(session.session_id, memory, name="Other set"))
    for each in (session, *others):
        run(talk(each, "one"))
        run(each.create_branch_from_turn(1, "b"))
        assert len(run(each.list_branches())) == 2
    assert len({each.branch.name for each in (session, *others)}) == 3
    again = Day1Session(session.session_id, memory)
    assert [each["is_current"] for each in run(again.list_branches())] == [True, False]
    run(again.switch_to_branch("b"))
    run(again.add_items([say("x")]))
    assert said(session) == ["x"]


def test_a_branch_that_is_gone_says_so(memory: day1.Memory, session: Day1Session) -> None:
    run(talk(session, "one"))
    run(session.create_branch_from_turn(1, "b"))
    session.branch.drop(force=True)
    with pytest.raises(errors.UnknownBranch):
        run(session.add_items([say("x")]))
    with pytest.raises(errors.UnknownBranch):
        run(session.get_items())
    session.close()
    for call in (session.list_branches(), session.switch_to_branch("main"),
                 session.create_branch_from_turn(1), session.delete_branch("b")):  # fmt: skip
        with pytest.raises(errors.HandleClosed):
            run(call)


def test_an_error_of_an_existing_branch_is_not_called_its_absence(
    session: Day1Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise errors.AnswerTooLarge("The values are too large.")

    with pytest.raises(ValueError, match="does not exist"):
        run(session.switch_to_branch("no name: .."))
    monkeypatch.setattr(day1.Branch, "call", refuse)
    with pytest.raises(errors.AnswerTooLarge):
        run(session.switch_to_branch("side"))


def test_a_conversation_that_is_too_large_for_one_answer_is_read_whole(
    limited: day1.Memory,
) -> None:
    session = Day1Session("long", limited)
    for letter in "abc":
        run(session.add_items([say(letter * 3_000_000)]))
    assert [content[0] for content in said(session)] == ["a", "b", "c"]
    assert [content[0] for content in said(session, limit=3)] == ["a", "b", "c"]
    turns = run(session.get_conversation_turns())
    assert [turn["content"][0] for turn in turns] == ["a", "b", "c"]
    run(session.create_branch_from_turn(3, "trial"))
    assert [content[0] for content in said(session)] == ["a", "b"]
    branches = run(session.list_branches())
    assert [branch["message_count"] for branch in branches] == [3, 2]
