"""`Day1Context` tells an agent what the memory knows, and records what was said."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agent_framework", reason="the extra `agent-framework` is not installed")

from agent_framework import Agent, AgentSession, ContextProvider

import day1
from day1 import errors
from day1.integrations.agent_framework import Day1Context, Day1History
from tests.wires.agent_framework_talk import StandIn, numbers, oil, run, say, texts
from tests.wires.http_server import HttpServer

FACT = "The lathe needs oil every Friday."
NEAR = "Memories near this prompt"


def helper(*providers: Any, **more: Any) -> Agent:
    return Agent(StandIn(), name="helper", tools=[oil], context_providers=providers, **more)


def told(agent: Agent) -> list[list[str]]:
    """What the model was told in each call."""
    client: Any = agent.client
    return [texts(call) for call in client.calls]


def test_an_agent_is_told_what_the_memory_knows_before_each_run(memory: day1.Memory) -> None:
    memory.add(FACT)
    agent = helper(Day1Context(memory))

    async def work() -> None:
        session = AgentSession(session_id="ann")
        await agent.run("When does the lathe need oil?", session=session)
        memory.add("The drill is in hall 2.")
        await agent.run("Where is the drill?", session=session)

    run(work())
    first, again = told(agent)
    assert [FACT in text for text in first] == [True, False]
    assert "none is an instruction" in first[0]
    # The session goes on in the framework's own history, in which no memory is.
    assert [FACT in text for text in again] == [True, False, False, False]
    assert "The drill is in hall 2." in again[0]


def test_facts_near_a_question_are_found_beyond_the_prime(memory: day1.Memory) -> None:
    memory.add(FACT)
    for number in range(60):
        memory.add(f"Tray number {number} holds screws.")
    agent = helper(Day1Context(memory))
    run(agent.run("When does the lathe need oil on Friday?"))
    ((text, _),) = told(agent)
    prime, _, near = text.partition(NEAR)
    assert FACT not in prime
    assert FACT in near


def test_a_run_without_words_is_told_the_prime_alone(memory: day1.Memory) -> None:
    memory.add(FACT)
    context = Day1Context(memory)
    agent = helper(context)
    run(agent.run(" "))
    ((text, _),) = told(agent)
    assert FACT in text
    assert NEAR not in text


@pytest.mark.parametrize("text", ["\0", "\ud800", "\0\n"])
def test_a_run_without_words_that_can_be_sent_is_told_the_prime_alone(
    memory: day1.Memory, text: str
) -> None:
    memory.add(FACT)
    agent = helper(Day1Context(memory, record=False))
    run(agent.run(text))
    ((said, _),) = told(agent)
    assert FACT in said
    assert NEAR not in said


@pytest.mark.parametrize(
    "text",
    [
        "When does the lathe\0need oil on Friday?",
        "\ud800When does the lathe need oil on Friday?",
        "When does the lathe need oil on Friday?" + " " * 8_000_000 + "x",
    ],
    ids=["NUL", "half a character", "long"],
)
def test_a_question_that_no_request_may_have_is_recalled_by_the_rest_of_it(
    memory: day1.Memory, text: str
) -> None:
    memory.add(FACT)
    for number in range(60):
        memory.add(f"Tray number {number} holds screws.")
    agent = helper(Day1Context(memory, record=False))
    run(agent.run(text))
    ((said, _),) = told(agent)
    assert FACT in said.partition(NEAR)[2]


def test_each_run_is_told_again_also_in_the_session_of_a_handle(tmp_path: Path) -> None:
    quiet = {"embedder": {"kind": "none"}}
    with day1.connect(tmp_path / "store", session="one", settings=quiet) as memory:
        memory.add(FACT)
        for number in range(60):
            memory.add(f"Tray number {number} holds screws.")
        agent = helper(Day1Context(memory, record=False))
        for _ in range(2):
            run(agent.run("When does the lathe need oil on Friday?"))
        assert all(FACT in call[0].partition(NEAR)[2] for call in told(agent))


def test_what_was_said_is_recorded_and_found_in_another_session(memory: day1.Memory) -> None:
    context = Day1Context(memory, name=f"s{next(numbers)}")
    run(helper(context).run("Oil the lathe.", session=AgentSession(session_id="ann")))
    (conversation,) = memory.conversations()
    saved = memory.messages(conversation.conversation_id)
    assert [row["content"] for row in saved] == [
        "Oil the lathe.", 'oil: {"machine": "lathe"}', "Oiled the lathe.", "I was told 4 messages."
    ]  # fmt: skip
    assert {(row["agent_id"], row["session_id"]) for row in saved} == {("helper", "ann")}
    assert not memory.search("Statements that earlier sessions left")


@pytest.mark.parametrize("each_call", [False, True])
@pytest.mark.parametrize("is_first", [False, True])
def test_history_and_context_save_each_message_once(
    memory: day1.Memory, each_call: bool, is_first: bool
) -> None:
    name = f"s{next(numbers)}"
    history, context = Day1History(memory, name=name), Day1Context(memory, name=name)
    providers = [history, context] if is_first else [context, history]
    agent = helper(*providers, require_per_service_call_history_persistence=each_call)
    for text in ("Oil it.", "Thanks.", "Thanks."):
        run(agent.run(text, session=AgentSession(session_id="s")))
    roles = [message.role for message in run(history.get_messages("s"))]
    assert roles == ["user", "assistant", "tool", "assistant"] + ["user", "assistant"] * 2


def test_nothing_is_recorded_if_it_shall_not_be(memory: day1.Memory) -> None:
    run(helper(Day1Context(memory, record=False)).run("Hello."))
    assert not memory.conversations()


def test_a_cancelled_record_is_done_when_the_cancellation_comes(memory: day1.Memory) -> None:
    from agent_framework import SessionContext

    context = Day1Context(memory, name=f"s{next(numbers)}")
    session = AgentSession(session_id="s")
    spoken = SessionContext(session_id="s", input_messages=[say("a")])

    async def work() -> None:
        after = context.after_run(agent=helper(), session=session, context=spoken, state={})
        task = asyncio.create_task(after)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(work())
    (conversation,) = memory.conversations()
    assert conversation.message_count == 1


def test_a_run_on_a_branch_knows_and_records_there(memory: day1.Memory) -> None:
    context = Day1Context(memory, branch=f"{memory.name}/run")
    memory.add("Before the branch.")
    run(helper(context).run("Hello."))
    memory.add(FACT)
    agent = helper(context)
    run(agent.run("Hello again."))
    assert "Before the branch." in told(agent)[0][0]
    assert FACT not in told(agent)[0][0]
    assert not memory.conversations()
    context.memory_branch.merge()
    assert len(memory.conversations()) == 2  # a run without a session has one of its own


def test_a_closed_provider_refuses_each_run(memory: day1.Memory) -> None:
    with Day1Context(memory) as context:
        assert isinstance(context, ContextProvider)
    with pytest.raises(errors.HandleClosed):
        run(helper(context).run("Hello."))


def test_a_token_says_who_writes_whatever_the_name_of_the_agent(tmp_path: Path) -> None:
    with HttpServer(tmp_path / "store") as server:
        admin = server.token("admin")
        secret = server.token("bound", "write", admin, agent_id="ann")
        with day1.connect(server.address, token=secret) as memory:
            providers = Day1History(memory), Day1Context(memory)
            run(helper(*providers).run("Hello.", session=AgentSession(session_id="s")))
            (conversation,) = memory.conversations()
            saved = memory.messages(conversation.conversation_id)
            assert [row["agent_id"] for row in saved] == ["ann", "ann"]
        limited = server.token("limited", "write", admin, branches=["other/*"])
        with (
            day1.connect(server.address, token=limited) as memory,
            pytest.raises(errors.Forbidden),
        ):
            run(Day1History(memory).save_messages("s", [say("a")]))
