"""`Day1History` holds the sessions of real agents, in process and over HTTP."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

pytest.importorskip("agent_framework", reason="the extra `agent-framework` is not installed")

from agent_framework import Agent, AgentSession, Content, HistoryProvider, Message

import day1
from day1 import errors
from day1.integrations.agent_framework import Day1History
from tests.wires.agent_framework_talk import StandIn, dicts, numbers, oil, run, say, texts
from tests.wires.python_places import QUIET, Connect

SPACE = "agent-framework"
MESSAGES = [
    say("Zürich 漢 🐦 \0 e\u0301"),
    Message(
        "assistant",
        [
            Content.from_text_reasoning(text="Hm.", protected_data="x" * 40_000),
            "Yes.",
            Content.from_function_call("1", "look", arguments='{"n": 1.50}'),
        ],
        author_name="helper",
        message_id="m1",
        additional_properties={"z": 1, "a": [None, 1.5]},
    ),
    Message("tool", [Content.from_function_result("1", result={"b": [1, {"c": None}]})]),
    Message("user", ["See", Content.from_data(b"\xff\0", "image/png")]),
    Message("developer", ["Be brief."]),
    Message("assistant", [Content.from_usage({"input_token_count": 3})]),
    Message("assistant", []),
]


@pytest.fixture
def history(memory: day1.Memory) -> Day1History:
    return Day1History(memory, name=f"s{next(numbers)}")


def helper(*providers: Any, **more: Any) -> Agent:
    return Agent(StandIn(), name="helper", tools=[oil], context_providers=providers, **more)


def rows(memory: day1.Branch) -> list[dict[str, Any]]:
    (conversation,) = memory.conversations()
    return [dict(row) for row in memory.messages(conversation.conversation_id)]


def test_an_agent_goes_on_with_its_session(history: Day1History, memory: day1.Memory) -> None:
    async def work() -> list[str]:
        session = AgentSession(session_id="ann")
        first = await helper(history).run("Oil the lathe.", session=session)
        again = await helper(history).run("When?", session=AgentSession(session_id="ann"))
        return [first.text, again.text]

    assert run(work()) == ["I was told 3 messages.", "I was told 5 messages."]
    saved = rows(memory)
    assert [row["role"] for row in saved] == [
        "user", "assistant", "tool", "assistant", "user", "assistant"
    ]  # fmt: skip
    assert [row["content"] for row in saved][:3] == [
        "Oil the lathe.", 'oil: {"machine": "lathe"}', "Oiled the lathe."
    ]  # fmt: skip
    assert {(row["agent_id"], row["session_id"]) for row in saved} == {("helper", "ann")}
    (conversation,) = memory.conversations()
    assert (conversation.title, conversation.message_count) == ("ann", 6)
    hit = memory.search_messages("oil lathe")[0]
    assert hit.content in {"Oil the lathe.", "Oiled the lathe."}


def test_a_streamed_run_and_one_saved_at_each_call_are_whole(history: Day1History) -> None:
    async def work() -> None:
        agent = helper(history, require_per_service_call_history_persistence=True)
        session = AgentSession(session_id="s")
        async for _ in agent.run("Oil it.", session=session, stream=True):
            pass
        await agent.run("Thanks.", session=session)

    run(work())
    roles = [message.role for message in run(history.get_messages("s"))]
    assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant"]


def test_messages_come_back_to_the_byte_and_are_readable(
    history: Day1History, memory: day1.Memory
) -> None:
    run(history.save_messages("s", MESSAGES))
    run(history.save_messages("s", [MESSAGES[0]]))
    loaded = run(history.get_messages("s"))
    assert json.dumps(dicts(loaded)) == json.dumps(dicts([*MESSAGES, MESSAGES[0]]))
    saved = rows(memory)
    assert [row["role"] for row in saved][:7] == [
        "user", "assistant", "tool", "user", "system", "assistant", "assistant"
    ]  # fmt: skip
    assert [row["content"] for row in saved][:7] == [
        "Zürich 漢 🐦 \ufffd e\u0301", 'Yes.\nlook: {"n": 1.50}', '{"b": [1, {"c": null}]}', "See",
        "Be brief.", "usage", "message",
    ]  # fmt: skip
    assert {row["created_at"] for row in saved[:7]} == {saved[0]["created_at"]}
    assert memory.search_messages("Zürich")


def test_a_transcript_that_is_given_again_is_not_saved_again(history: Day1History) -> None:
    async def work() -> None:
        spoken_messages = [say("a"), say("b", "assistant"), say("c")]
        await history.save_messages("s", spoken_messages)
        await history.save_messages("s", [*spoken_messages, say("d", "assistant")])
        await history.save_messages("s", [say("c"), say("d", "assistant"), say("e")])
        await history.save_messages("s", [say("e")])  # asked twice
        await history.save_messages("s", [say("f", message_id="1")])
        await history.save_messages("s", [say("f again", message_id="1")])
        await history.save_messages("s", [])

    run(work())
    assert "".join(texts(run(history.get_messages("s")))) == "abcdeef"


def test_sessions_and_names_share_nothing(history: Day1History, memory: day1.Memory) -> None:
    other = Day1History(memory, name=f"s{next(numbers)}")
    ids = ["a", "A", " ", "ä/..\n'; DROP TABLE x;--", "x" * 1_024, "漢🐦", None]
    for number, each in enumerate(ids):
        run(history.save_messages(each, [say(f"{number}")]))
        run(other.save_messages(each, [say(f"other {number}")]))
    for number, each in enumerate(ids):
        assert texts(run(history.get_messages(each))) == [f"{number}"]
        assert texts(run(other.get_messages(each))) == [f"other {number}"]
    assert texts(run(history.get_messages("default"))) == ["6"]  # as in the framework's files
    assert run(history.get_messages("missing")) == []


def test_what_does_not_fit_is_refused_with_all_that_came_with_it(history: Day1History) -> None:
    deep: Any = []
    for _ in range(70):
        deep = [deep]
    circle: dict[str, Any] = {}
    circle["me"] = circle
    for wrong, error in (
        (say("x" * 8_388_608), errors.ValueTooLarge),
        (say("\ud83d"), errors.InvalidRequest),
        (say("a", additional_properties={"n": float("nan")}), errors.InvalidRequest),
        (say("a", additional_properties={"n": deep}), errors.InvalidRequest),
        (say("a", additional_properties=circle), errors.InvalidRequest),
    ):
        with pytest.raises(error):
            run(history.save_messages("s", [say("b"), wrong]))
    for wrong_id in ("x" * 1_025, "a\0", "\ud83d"):
        with pytest.raises(errors.InvalidRequest):
            run(history.save_messages(wrong_id, [say("b")]))
    assert run(history.get_messages("s")) == []
    long = [say("x" * 500_000), *(say(str(number)) for number in range(1_500))]
    run(history.save_messages("s", long))
    assert texts(run(history.get_messages("s"))) == texts(long)


def test_a_redacted_or_removed_message_never_comes_back(
    history: Day1History, memory: day1.Memory
) -> None:
    run(history.save_messages("s", [say("a"), say("secret"), say("c"), say("d", "assistant")]))
    ids = [row["id"] for row in rows(memory)]
    memory.redact(ids[1], confirm=ids[1])
    memory.retract(ids[2])
    assert texts(run(history.get_messages("s"))) == ["a", "d"]
    run(history.save_messages("s", [say("d", "assistant"), say("e")]))
    assert texts(run(history.get_messages("s"))) == ["a", "d", "e"]


def test_a_message_that_day1_logged_is_one_of_the_session(
    history: Day1History, memory: day1.Memory
) -> None:
    run(history.save_messages("s", [say("a")]))
    (conversation,) = memory.conversations()
    for role in ("assistant", "tool", "system"):
        memory.say(conversation.conversation_id, role, f"by {role}")
    loaded = run(history.get_messages("s"))[1:]
    assert [(message.role, message.text) for message in loaded] == [
        ("assistant", "by assistant"), ("assistant", "by tool"), ("system", "by system")
    ]  # fmt: skip
    run(history.save_messages("s", [say("by system", "system"), say("b")]))
    assert texts(run(history.get_messages("s")))[-2:] == ["by system", "b"]


def test_threads_and_tasks_that_save_at_once_lose_and_double_nothing(
    history: Day1History,
) -> None:
    def work(thread: int) -> None:
        async def tasks() -> None:
            await asyncio.gather(
                *(
                    history.save_messages("s", [say(f"{thread}{task}q"), say(f"{thread}{task}a")])
                    for task in range(4)
                )
            )

        run(tasks())

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    saved = texts(run(history.get_messages("s")))
    assert sorted(saved) == sorted(
        f"{n}{task}{x}" for n in range(8) for task in range(4) for x in "qa"
    )
    assert all(q[:-1] == a[:-1] for q, a in zip(saved[::2], saved[1::2], strict=True))


def test_threads_that_save_one_transcript_save_it_once(history: Day1History) -> None:
    spoken_messages = [say("a"), say("b", "assistant")]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: run(history.save_messages("s", spoken_messages)), range(8)))
    assert texts(run(history.get_messages("s"))) == ["a", "b"]


def test_a_cancelled_write_is_done_when_the_cancellation_comes(history: Day1History) -> None:
    async def work() -> None:
        task = asyncio.create_task(history.save_messages("s", [say("a"), say("b")]))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert texts(await history.get_messages("s")) == ["a", "b"]

    run(work())


def test_runs_on_a_branch_are_merged(memory: day1.Memory) -> None:
    name = f"s{next(numbers)}"
    base = Day1History(memory, name=name)
    side = Day1History(memory, name=name, branch=lambda: f"{memory.name}/run")
    run(base.save_messages("s", [say("a")]))
    run(side.save_messages("s", [say("b")]))
    run(side.save_messages("new", [say("c")]))
    assert texts(run(side.get_messages("s"))) == ["a", "b"]
    assert (texts(run(base.get_messages("s"))), run(base.get_messages("new"))) == (["a"], [])
    assert side.memory_branch.name == f"{memory.name}/run"
    assert {"b", "c"} <= {row["text"] for row in side.memory_branch.preview().rows}
    run(base.save_messages("s", [say("d")]))
    side.memory_branch.merge()
    assert sorted(texts(run(base.get_messages("s")))) == ["a", "b", "d"]
    assert texts(run(base.get_messages("new"))) == ["c"]
    assert not memory.held()
    with pytest.raises(errors.UnknownBranch):
        run(Day1History(memory.branch("nowhere"), name=name).get_messages("s"))


def test_a_closed_provider_refuses_each_call_and_closes_its_own_memory(
    memory: day1.Memory, history: Day1History, tmp_path: Any
) -> None:
    history.close()
    for call in (history.get_messages("s"), history.save_messages("s", [])):
        with pytest.raises(errors.HandleClosed):
            run(call)
    assert memory.log(limit=1)
    with Day1History(tmp_path / "memory") as own:
        run(own.save_messages("s", [say("a")]))
    with day1.connect(tmp_path / "memory", settings=QUIET) as again:
        assert texts(run(Day1History(again).get_messages("s"))) == ["a"]
    assert isinstance(own, HistoryProvider)


@pytest.mark.parametrize("name", [None, "", " ", "a\nb", "x" * 300])
def test_an_agent_without_a_fit_name_writes_as_the_memory_does(
    history: Day1History, memory: day1.Memory, name: str | None, connect: Connect
) -> None:
    agent = Agent(StandIn(), name=name, context_providers=[history])
    run(agent.run("Hello.", session=AgentSession(session_id="a\nb")))
    (agent_id,) = {row["agent_id"] for row in rows(memory)}
    assert agent_id == ("x" * 255 if name and name.startswith("x") else "writer")
    assert {row["session_id"] for row in rows(memory)} == {None}


def test_a_session_that_is_too_large_for_one_answer_is_read_and_saved(
    limited: day1.Memory,
) -> None:
    history = Day1History(limited)
    for letter in "abc":
        run(history.save_messages("s", [say(letter * 3_000_000)]))
    run(history.save_messages("s", [say(letter) for letter in "defg"]))
    whole = run(history.get_messages("s"))
    assert [message.text[0] for message in whole] == list("abcdefg")
    run(history.save_messages("s", whole))  # all of them are there already
    assert len(run(history.get_messages("s"))) == 7
