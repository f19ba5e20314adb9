"""`Day1History` does what the framework's own providers do, for the same random calls and runs."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agent_framework", reason="the extra `agent-framework` is not installed")

from agent_framework import (
    Agent,
    AgentSession,
    Content,
    FileHistoryProvider,
    HistoryProvider,
    InMemoryHistoryProvider,
    Message,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import day1
from day1.integrations.agent_framework import Day1History
from tests.wires.agent_framework_talk import StandIn, dicts, numbers, oil
from tests.wires.python_places import QUIET

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda part: st.lists(part, max_size=2) | st.dictionaries(TEXT, part, max_size=2),
    max_leaves=4,
)
CONTENT = st.one_of(
    TEXT.map(Content.from_text),
    TEXT.map(lambda text: Content.from_text_reasoning(text=text, protected_data="p" * 20)),
    TEXT.map(lambda text: Content.from_function_call("c", "t", arguments={"a": text})),
    TEXT.map(lambda text: Content.from_function_call("c", "t", arguments=text)),
    JSON.map(lambda value: Content.from_function_result("c", result=value)),
    st.just(Content.from_data(b"\xff\0", "image/png")),
    st.just(Content.from_uri("https://example.com/a.png", media_type="image/png")),
    TEXT.map(lambda text: Content.from_error(message=text, error_code="e")),
    st.just(Content.from_usage({"input_token_count": 3, "output_token_count": None})),
)
MESSAGE = st.one_of(
    st.builds(
        lambda role, text: Message(role, [text]),
        st.sampled_from(["user", "assistant"]),
        st.sampled_from("ab"),
    ),
    st.builds(
        lambda role, contents, message_id, more: Message(
            role,
            contents,
            message_id=message_id,
            author_name=message_id,
            additional_properties=more,
        ),
        st.sampled_from(["user", "assistant", "system", "tool", "developer", "x"]),
        st.lists(CONTENT, max_size=3),
        st.none() | st.sampled_from(["1", "2"]),
        st.dictionaries(st.sampled_from(["k", "_excluded", "ü"]), JSON, max_size=2),
    ),
)
SESSION = st.sampled_from([None, "", "a", "A", "ä/../b\n", "x" * 90])
STEP = st.one_of(
    st.tuples(st.just("save"), SESSION, st.lists(MESSAGE, max_size=4)),
    st.tuples(st.just("again"), SESSION, st.lists(MESSAGE, max_size=2), st.integers(0, 4)),
    st.tuples(st.just("end"), SESSION, st.lists(MESSAGE, max_size=2), st.integers(0, 4)),
    st.tuples(st.just("get"), SESSION),
)
FLAGS = st.fixed_dictionaries(
    {},
    optional={
        "load_messages": st.booleans(),
        "store_inputs": st.booleans(),
        "store_outputs": st.booleans(),
        "store_context_messages": st.booleans(),
        "store_context_from": st.sampled_from([{"other"}, {"none"}]),
    },
)


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[day1.Memory]:
    with day1.connect(tmp_path_factory.mktemp("tried") / "store", settings=QUIET) as memory:
        yield memory


class Driven:
    """A provider of history, with the state that the framework gives it."""

    def __init__(self, provider: HistoryProvider) -> None:
        self.provider = provider
        self.states: dict[str, dict[str, Any]] = {}

    def _state(self, session: str | None) -> dict[str, Any]:
        return self.states.setdefault(session or "default", {})

    async def saved(self, session: str | None) -> list[Message]:
        return await self.provider.get_messages(session, state=self._state(session))

    async def done(self, step: tuple[Any, ...]) -> list[dict[str, Any]]:
        """Take a step; what the session has then."""
        name, session, *rest = step
        saved = await self.saved(session)
        if name != "get":
            messages, count = rest[0], rest[1] if rest[1:] else 0
            if name == "again":  # the whole transcript, after some that came before it
                messages = [*messages[:1], *saved, *messages[1:], *saved[:count]]
            elif name == "end":  # the last messages of the transcript
                messages = [*saved[len(saved) - count :], *messages]
            await self.provider.save_messages(session, messages, state=self._state(session))
        return dicts(await self.saved(session))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(STEP, min_size=2, max_size=8), st.booleans())
def test_the_same_calls_have_the_same_results(
    tried: day1.Memory,
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[tuple[Any, ...]],
    skip_excluded: bool,
) -> None:
    name = f"n{next(numbers)}"
    folder = tmp_path_factory.mktemp("files")
    ours = Driven(Day1History(tried, name=name, skip_excluded=skip_excluded))
    kept = Driven(InMemoryHistoryProvider(skip_excluded=skip_excluded))
    files = Driven(FileHistoryProvider(folder, skip_excluded=skip_excluded))

    async def compare() -> None:
        for step in steps:
            our, their = await ours.done(step), await kept.done(step)
            assert json.dumps(our) == json.dumps(their), step
            assert our == await files.done(step), step

    asyncio.run(compare())


RUN = st.sampled_from(["Hello.", "Oil it.", "And now?"])


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(RUN, st.booleans()), min_size=1, max_size=4), FLAGS, st.booleans())
def test_an_agent_is_told_the_same_in_the_same_runs(
    tried: day1.Memory,
    tmp_path_factory: pytest.TempPathFactory,
    runs: list[tuple[str, bool]],
    flags: dict[str, Any],
    each_call: bool,
) -> None:
    name = f"n{next(numbers)}"
    providers: list[HistoryProvider] = [
        Day1History(tried, name=name, source_id="history", **flags),
        InMemoryHistoryProvider("history", **flags),
        FileHistoryProvider(tmp_path_factory.mktemp("files"), source_id="history", **flags),
    ]
    ours, kept, files = (asyncio.run(_told(each, runs, each_call)) for each in providers)
    assert ours == files
    if each_call:  # the framework names the author later, in the objects that memory keeps
        ours, kept = _without_authors(ours), _without_authors(kept)
    assert ours == kept


async def _told(
    provider: HistoryProvider, runs: list[tuple[str, bool]], each_call: bool
) -> list[Any]:
    """What the model is told in each call, and what is saved at the end."""
    client = StandIn()
    agent = Agent(
        client,
        name="helper",
        tools=[oil],
        context_providers=[provider],
        require_per_service_call_history_persistence=each_call,
    )
    session = AgentSession(session_id="s")
    for text, is_streamed in runs:
        if is_streamed:
            async for _ in agent.run(text, session=session, stream=True):
                pass
        else:
            await agent.run(text, session=session)
    state = session.state.setdefault(provider.source_id, {})
    saved = await provider.get_messages("s", state=state)
    return [*(_plain(call) for call in client.calls), _plain(saved)]


def _plain(messages: list[Message]) -> list[Any]:
    """Messages without the ids that the framework draws and the class that loaded them."""
    shown = [{**each, "additional_properties": {}} for each in dicts(messages)]
    for message in shown:
        for content in message["contents"]:
            content.pop("id", None)
    return shown


def _without_authors(told: list[list[dict[str, Any]]]) -> list[Any]:
    return [[{**each, "author_name": None} for each in call] for call in told]


def test_the_file_of_a_provider_has_the_messages_that_day1_has(
    tried: day1.Memory, tmp_path: Path
) -> None:
    """The JSON that day1 keeps is that of the framework's own file."""
    name = f"n{next(numbers)}"
    message = Message("assistant", [Content.from_function_call("c", "t", arguments={"n": 1.50})])
    for provider in (Day1History(tried, name=name), FileHistoryProvider(tmp_path)):
        asyncio.run(provider.save_messages("s", [message]))
    (line,) = (tmp_path / "s.jsonl").read_text("utf-8").splitlines()
    found = tried.call("message_list", key="s", space=["agent-framework", name])
    assert [each["structure"] for each in found["messages"]] == [line]
