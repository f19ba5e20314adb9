"""`Day1Session` does what the SDK's own session on SQLite does, in process and over HTTP."""

import asyncio
import itertools
import json
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

import pytest

pytest.importorskip("agents.memory", reason="the extra `openai-agents` is not installed")

from agents import Agent, Runner, function_tool
from agents.memory import Session, SessionSettings, SQLiteSession
from agents.testing import ScriptedModel, assistant_message, function_call
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import day1
from day1 import errors
from day1.integrations.openai_agents import Day1Session
from tests.wires.python_places import QUIET, Connect

T = TypeVar("T")
HELLO: Any = {"role": "user", "content": "Hello, lathe"}
ITEMS: list[Any] = [
    HELLO,
    {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "x" * 40_000},
    {"type": "function_call", "call_id": "c1", "name": "oil", "arguments": '{"n": 1}', "own": None},
    {"type": "function_call_output", "call_id": "c1", "output": "Zürich 漢 🐦 \0 e\u0301"},
    {"z": 1, "a": 1.50, "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
]
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
PART = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUE = st.recursive(PART | TEXT, lambda v: st.lists(v, max_size=3) | st.dictionaries(TEXT, v))
ITEM = st.builds(
    lambda role, content, more: {**more, "role": role, "content": content},
    st.sampled_from(["user", "assistant", "developer", "tool?"]),
    TEXT,
    st.dictionaries(TEXT, VALUE, max_size=2),
) | st.dictionaries(TEXT, VALUE, max_size=3)
STEP = (
    st.tuples(st.just("add"), st.lists(ITEM, max_size=4))
    | st.tuples(st.just("pop"), st.none())
    | st.tuples(st.just("get"), st.none() | st.integers(-1, 6))
    | st.tuples(st.sampled_from(["clear", "get"]), st.none())
)
_numbers = itertools.count(1)


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(coroutine)


def contents(items: list[Any]) -> list[Any]:
    return [item.get("content") for item in items]


def say(text: str, role: str = "user") -> Any:
    return {"role": role, "content": text}


@pytest.fixture
def session(memory: day1.Memory) -> Day1Session:
    return Day1Session(f"talk-{next(_numbers)}", memory)


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[day1.Memory]:
    with day1.connect(tmp_path_factory.mktemp("tried") / "store", settings=QUIET) as memory:
        yield memory


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(STEP, min_size=1, max_size=8), st.none() | st.integers(0, 4))
def test_the_same_calls_have_the_same_results(
    tried: day1.Memory, steps: list[tuple[str, Any]], limit: int | None
) -> None:
    name = f"n{next(_numbers)}"
    ours = Day1Session(name, tried, session_settings=SessionSettings(limit=limit))
    theirs = SQLiteSession(name, session_settings=SessionSettings(limit=limit))

    async def done(session: Session, step: str, given: Any) -> Any:
        match step:
            case "add":
                return await session.add_items(given)
            case "pop":
                return await session.pop_item()
            case "clear":
                return await session.clear_session()
        return await session.get_items(given)

    async def compare() -> None:
        for step, value in (*steps, ("get", 1_000)):
            our, their = await done(ours, step, value), await done(theirs, step, value)
            assert json.dumps(our) == json.dumps(their), step  # their keys too are in one order

    run(compare())
    theirs.close()


def test_items_come_back_to_the_byte_in_their_order(session: Day1Session) -> None:
    run(session.add_items([*ITEMS, HELLO]))
    assert json.dumps(run(session.get_items())) == json.dumps([*ITEMS, HELLO])
    assert run(session.get_items(2)) == [ITEMS[-1], HELLO]
    assert run(session.get_items(0)) == []
    assert run(session.pop_item()) == HELLO
    assert run(session.get_items()) == ITEMS
    assert isinstance(session, Session)


def test_items_of_one_call_are_one_unit_and_day1_finds_them(
    memory: day1.Memory, session: Day1Session
) -> None:
    run(session.add_items(ITEMS))
    (conversation,) = memory.conversations()
    assert (conversation.message_count, conversation.title) == (5, session.session_id)
    messages = memory.messages(conversation.conversation_id)
    assert [message["role"] for message in messages] == [
        "user", "tool", "tool", "tool", "assistant"
    ]  # fmt: skip
    assert [message["content"] for message in messages][2:] == [
        'name: oil\narguments: {"n": 1}', "output: Zürich 漢 🐦 \ufffd e\u0301", "Done."
    ]  # fmt: skip
    assert {message["created_at"] for message in messages} == {messages[0]["created_at"]}
    (hit,) = memory.search_messages("lathe")
    assert hit.content == "Hello, lathe"
    assert memory.search_messages("Zürich")


@pytest.mark.parametrize(
    "item",
    [
        {"n": float("nan")}, {"n": float("inf")}, {"n": b"x"}, {"n": {1}}, {"n": {1: 2}}, [1], "x",
        None, {"content": "\ud83d"}, json.loads('{"x":' * 70 + "1" + "}" * 70),
    ],
    ids=lambda item: repr(item)[:20],
)  # fmt: skip
def test_what_is_no_json_object_is_refused_with_all_that_came_with_it(
    session: Day1Session, item: Any
) -> None:
    with pytest.raises(errors.InvalidRequest):
        run(session.add_items([HELLO, item]))
    assert run(session.get_items()) == []


def test_a_circle_and_what_is_too_long_are_refused(session: Day1Session) -> None:
    circle: Any = {}
    circle["me"] = circle
    with pytest.raises(errors.InvalidRequest):
        run(session.add_items([HELLO, circle]))
    with pytest.raises(errors.ValueTooLarge):
        run(session.add_items([HELLO, say("x" * 8_388_608)]))
    assert run(session.get_items()) == []
    long = [say("x" * 500_000), *(say(str(n)) for n in range(1_500))]
    run(session.add_items(long))
    assert run(session.get_items()) == long


@pytest.mark.parametrize("name", ["a", "A", " ", "ä/..\n'; DROP TABLE x;--", "x" * 1_024, "漢🐦"])
def test_any_text_is_a_session_id_and_no_two_share_items(memory: day1.Memory, name: str) -> None:
    sessions = [Day1Session(name, memory), Day1Session(name, memory, name="other")]
    sessions.append(Day1Session(f"{name[:1_000]}x", memory))
    for number, session in enumerate(sessions):
        run(session.add_items([say(str(number))]))
    for number, session in enumerate(sessions):
        assert run(session.get_items()) == [say(str(number))]
        run(session.clear_session())
        assert run(session.get_items()) == []


@pytest.mark.parametrize("name", ["", "x" * 10_000])
def test_what_is_no_session_id_is_refused(memory: day1.Memory, name: str) -> None:
    with pytest.raises(errors.InvalidRequest, match="1 to 1,024 characters"):
        Day1Session(name, memory)


def test_a_redacted_or_removed_item_never_comes_back(
    memory: day1.Memory, session: Day1Session
) -> None:
    run(session.add_items([say("a"), say(f"secret {session.session_id}"), say("c"), say("d")]))
    (conversation,) = memory.conversations()
    ids = [message["id"] for message in memory.messages(conversation.conversation_id)]
    memory.redact(ids[1], confirm=ids[1])
    memory.retract(ids[2])
    assert contents(run(session.get_items())) == ["a", "d"]
    assert contents(run(session.get_items(2))) == ["a", "d"]
    assert contents([run(session.pop_item()), run(session.pop_item())]) == ["d", "a"]
    assert run(session.pop_item()) is None


def test_a_message_that_day1_logged_is_an_item(memory: day1.Memory, session: Day1Session) -> None:
    run(session.add_items([HELLO]))
    (conversation,) = memory.conversations()
    for role in ("assistant", "tool", "system"):
        memory.say(conversation.conversation_id, role, f"by {role}")
    assert run(session.get_items())[1:] == [
        say("by assistant", "assistant"), say("by tool", "assistant"), say("by system", "system")
    ]  # fmt: skip


def test_a_closed_session_refuses_each_call_and_closes_its_own_memory(
    memory: day1.Memory, session: Day1Session, tmp_path: Any
) -> None:
    session.close()
    for call in (session.add_items([]), session.get_items(0), session.clear_session()):
        with pytest.raises(errors.HandleClosed):
            run(call)
    assert memory.log(limit=1)
    with Day1Session("own", tmp_path / "memory") as own:
        run(own.add_items([HELLO]))
    with day1.connect(tmp_path / "memory", settings=QUIET) as again:
        assert run(Day1Session("own", again).get_items()) == [HELLO]


def test_concurrent_calls_lose_and_double_nothing(session: Day1Session) -> None:
    async def work() -> list[Any]:
        await asyncio.gather(*(session.add_items([say(f"{n}a"), say(f"{n}b")]) for n in range(8)))
        return await asyncio.gather(*(session.pop_item() for _ in range(6)))

    popped = contents(run(work()))
    kept = contents(run(session.get_items()))
    assert sorted(popped + kept) == sorted(f"{n}{x}" for n in range(8) for x in "ab")
    pairs = [[text[:-1] for text in kept[at : at + 2]] for at in range(0, len(kept), 2)]
    assert all(one == two for one, two in pairs)


def test_a_cancelled_write_is_done_when_the_cancellation_comes(session: Day1Session) -> None:
    async def work() -> None:
        task = asyncio.create_task(session.add_items([HELLO]))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await session.get_items() == [HELLO]

    run(work())


@pytest.mark.parametrize("runner", ["run", "run_streamed"])
def test_an_agent_remembers_over_runs(session: Day1Session, runner: str) -> None:
    @function_tool
    def weather(city: str) -> str:
        """Tell the weather."""
        return f"Rain in {city}."

    model = ScriptedModel()
    agent = Agent(name="test", model=model, tools=[weather])

    async def turn(text: str) -> str:
        if runner == "run":
            return str((await Runner.run(agent, text, session=session)).final_output)
        result = Runner.run_streamed(agent, text, session=session)
        async for _ in result.stream_events():
            pass
        return str(result.final_output)

    model.enqueue([function_call("weather", {"city": "Bern"}, call_id="c1")])
    model.enqueue([assistant_message("It rains.")])
    assert run(turn("How is it in Bern?")) == "It rains."
    model.enqueue([assistant_message("As I said.")])
    assert run(turn("And now?")) == "As I said."
    items = run(session.get_items())
    assert [item.get("type", item.get("role")) for item in items] == [
        "user", "function_call", "function_call_output", "message", "user", "message"
    ]  # fmt: skip
    assert model.calls[-1].input == items[:-1]


def test_a_session_may_begin_on_a_branch_of_its_own_and_be_merged(
    memory: day1.Memory, connect: Connect
) -> None:
    name = f"talk-{next(_numbers)}"
    run(Day1Session(name, memory).add_items([say("a")]))
    run_name = f"{memory.name}/run"
    session = Day1Session(name, memory, branch=lambda: run_name)
    run(session.add_items([say("b")]))
    assert contents(run(session.get_items())) == ["a", "b"]
    assert contents(run(Day1Session(name, memory).get_items())) == ["a"]
    assert [row["text"] for row in session.branch.preview().rows] == ["b"]
    review = session.branch.review(title="what the run adds")
    assert review.state.source_branch == run_name
    session.branch.merge()
    assert contents(run(Day1Session(name, memory).get_items())) == ["a", "b"]
    with pytest.raises(errors.UnknownBranch):
        run(Day1Session(name, memory.branch("nowhere")).get_items())
