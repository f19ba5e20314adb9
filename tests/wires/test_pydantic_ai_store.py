"""`Day1ConversationStore` holds conversations of real agents, in process and over HTTP."""

from typing import Any

import pytest

pytest.importorskip("pydantic_ai.conversation_store", reason="the extra is not installed")

from pydantic_ai import Agent, Conversation, DeferredToolRequests
from pydantic_ai.conversation_store import ConversationConflict, ConversationEntry
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.test import TestModel

import day1
from day1.integrations.pydantic_ai import Day1ConversationStore
from tests.wires.pydantic_ai_talk import add, numbers, run, said, say, texts, turn


@pytest.fixture
def store(memory: day1.Memory) -> Day1ConversationStore:
    return Day1ConversationStore(memory, name=f"s{next(numbers)}")


def test_an_agent_goes_on_with_its_conversation(
    store: Day1ConversationStore, memory: day1.Memory
) -> None:
    commits = len(memory.log())
    assert run(turn(store, "lathe", "Oil the lathe on Friday.")) == "I was told 1 messages."
    assert run(turn(store, "lathe", "When?")) == "I was told 3 messages."
    assert len(memory.log()) == commits + 2
    conversation = run(store.load("lathe"))
    assert conversation is not None
    assert (conversation.usage.requests, len(conversation.messages)) == (2, 4)
    (hit,) = memory.search_messages("lathe Friday")
    assert hit.content == "Oil the lathe on Friday."
    (row,) = [row for row in memory.conversations() if row.conversation_id == hit.conversation_id]
    assert (row.message_count, row.title) == (4, "Oil the lathe on Friday.")
    roles = [each["role"] for each in memory.messages(row.conversation_id)]
    assert roles == ["user", "assistant"] * 2


def test_calls_of_tools_and_what_waits_for_approval_come_back(
    store: Day1ConversationStore, memory: day1.Memory
) -> None:
    agent = Agent(TestModel(call_tools=["oil"]), output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    def oil(machine: str) -> str:
        """Oil a machine."""
        return f"Oiled {machine}."

    async def work() -> None:
        result = await agent.run("Oil it.", conversation=Conversation(conversation_id="c"))
        await store.save(result)
        waiting = await store.load("c")
        assert waiting is not None
        requests = waiting.deferred_tool_requests
        assert requests is not None
        assert [call.tool_name for call in requests.approvals] == ["oil"]
        approved = requests.build_results(approve_all=True)
        done = await agent.run(conversation=waiting, deferred_tool_results=approved)
        await store.save(done)
        loaded = await store.load("c")
        assert loaded is not None
        assert loaded.messages == done.all_messages()
        assert loaded.deferred_tool_requests is None

    run(work())
    (conversation,) = memory.conversations()
    told = memory.messages(conversation.conversation_id)
    assert [each["role"] for each in told] == ["user", "assistant", "tool", "assistant"]
    assert [each["content"] for each in told][1:3] == ['oil: {"machine": "a"}', "oil: Oiled a."]


MESSAGES: list[ModelMessage] = [
    ModelRequest(parts=[SystemPromptPart("Be brief."), UserPromptPart("Zürich 漢 🐦 \0 e\u0301")]),
    ModelResponse(
        parts=[ThinkingPart("Hm.", signature="x" * 40_000), TextPart("Yes."),
               ToolCallPart("look", '{"n": 1.50}', tool_call_id="1")],
        provider_details={"z": 1, "a": [None, 1.5]},
    ),
    ModelRequest(parts=[ToolReturnPart("look", {"b": [1, {"c": None}]}, tool_call_id="1")]),
    ModelRequest(parts=[ToolReturnPart("look", "Again.", "1", outcome="retried")]),
    ModelRequest(parts=[UserPromptPart(["See", BinaryContent(b"\xff\0", media_type="image/png")])]),
    ModelRequest(parts=[SystemPromptPart(" ")]),
    ModelResponse(parts=[]),
]  # fmt: skip


def test_messages_come_back_to_the_byte_and_are_readable(
    store: Day1ConversationStore, memory: day1.Memory
) -> None:
    entries = run(add(store, "c", *MESSAGES, *MESSAGES[:1]))
    loaded = run(store.load_entries("c"))
    assert loaded is not None
    assert [entry.id for entry in loaded] == [entry.id for entry in entries]
    assert [entry.parent_id for entry in loaded] == [None, *(entry.id for entry in entries[:-1])]
    dump = ModelMessagesTypeAdapter.dump_json
    assert [dump([entry.message]) for entry in loaded] == [dump([e.message]) for e in entries]
    assert run(store.read_entry(entries[1].id)).message == MESSAGES[1]
    (conversation,) = memory.conversations()
    rows = memory.messages(conversation.conversation_id)
    assert [row["role"] for row in rows] == [
        "user", "assistant", "tool", "tool", "user", "system", "assistant", "user"
    ]  # fmt: skip
    assert [row["content"] for row in rows][:7] == [
        "Be brief.\nZürich 漢 🐦 \ufffd e\u0301", 'Yes.\nlook: {"n": 1.50}',
        'look: {"b": [1, {"c": null}]}', "look: Again.", "See", "system-prompt", "response",
    ]  # fmt: skip
    structure: Any = memory.row(rows[0]["id"]).row["structure"]
    assert structure["id"] == entries[0].id
    assert memory.search_messages("Zürich")


def test_a_scope_is_a_space_and_its_conversations_are_its_own(
    store: Day1ConversationStore, memory: day1.Memory
) -> None:
    scopes = ["ann", "Ann", "ann/x", "ä\n漢" * 30, "x" * 200, " ", ""]
    for number, scope in enumerate(scopes):
        run(turn(store, f"c{number}", f"word{number} of machines", scope))
    for number, scope in enumerate(scopes):
        (record,) = run(store.list_conversations(scope=scope))
        assert (record.conversation_id, record.scope) == (f"c{number}", scope)
        for other in scopes:
            there = run(store.load(f"c{number}", scope=other))
            assert (there is None) == (other != scope)
    assert [r.conversation_id for r in run(store.list_conversations(limit=2))] == ["c6", "c5"]
    name = store._log._space[1]
    hits = memory.search_messages("machines", space=f"pydantic-ai:{name}/ann")
    assert [hit.content for hit in hits] == ["word0 of machines"]
    with pytest.raises(ConversationConflict):
        run(turn(store, "c0", "not mine", "Ann"))
    run(store.delete("c0", scope="Ann"))
    assert run(said(store, "c0"))[0] == "word0 of machines"


def test_forks_and_branches_share_what_they_have_in_common(
    store: Day1ConversationStore, memory: day1.Memory
) -> None:
    async def work() -> list[ConversationEntry]:
        entries: list[ConversationEntry] = await add(store, "c", *map(say, "abcd"))
        await store.fork("c", at=2, new_conversation_id="fork")
        await add(store, "fork", say("x"))
        loaded = await store.load("c")
        assert loaded is not None
        branched = await store.branch("c", at=3, expected_revision=loaded.revision)
        branched.messages.append(say("y"))
        await store.save(branched)
        assert (await said(store, "c"), await said(store, "fork")) == (list("abcy"), list("abx"))
        record = await store.read_record("c")
        assert record is not None
        assert record.branches == [entries[-1].id]
        assert await said(store, "c", limit=2) == list("cy")
        return entries

    entries = run(work())
    assert sorted(each.message_count for each in memory.conversations()) == [1, 5]
    run(store.delete("c"))
    assert run(said(store, "fork")) == list("abx")
    assert {hit.content for hit in memory.search_messages("a b c d x y")} <= {"a", "b", "x"}
    for number, entry in enumerate(entries):
        if number < 2:
            assert texts([run(store.read_entry(entry.id)).message]) == ["ab"[number]]
        else:
            with pytest.raises(KeyError):
                run(store.read_entry(entry.id))
    run(store.delete("fork"))
    assert list(memory.conversations()) == []


def test_a_fork_of_what_was_deleted_meanwhile_is_a_conflict(store: Day1ConversationStore) -> None:
    async def work() -> None:
        await add(store, "c", say("a"))
        read_history = store.read_history

        async def read_late(*given: Any, **more: Any) -> Any:
            history = await read_history(*given, **more)
            await store.delete("c")
            return history

        store.read_history = read_late
        with pytest.raises(ConversationConflict):
            await store.fork("c", new_conversation_id="fork")
        assert await store.list_conversations() == []

    run(work())


def test_runs_on_two_branches_are_merged(memory: day1.Memory) -> None:
    name = f"s{next(numbers)}"
    base = Day1ConversationStore(memory, name=name)
    run(turn(base, "shared", "One."))
    side = Day1ConversationStore(memory, name=name, branch=lambda: f"{memory.name}/run")
    run(turn(side, "new", "A new one."))
    fork = run(side.fork("shared", new_conversation_id="fork"))
    assert run(turn(side, "fork", "Two on the side.")) == "I was told 3 messages."
    assert run(base.load("new")) is None
    assert len(run(base.list_conversations())) == 1
    assert side.memory_branch.name == f"{memory.name}/run"
    side.memory_branch.merge()
    assert len(run(base.list_conversations())) == 3
    assert run(said(base, "fork"))[:3] == [*texts(fork.messages), "Two on the side."]


def test_two_branches_that_go_on_with_one_conversation_are_held(memory: day1.Memory) -> None:
    name = f"s{next(numbers)}"
    base = Day1ConversationStore(memory, name=name)
    run(add(base, "c", say("a")))
    side = Day1ConversationStore(memory, name=name, branch=f"{memory.name}/side")
    run(add(side, "c", say("x")))
    run(add(base, "c", say("y")))
    side.memory_branch.merge()
    assert run(said(base, "c")) == ["a", "y"]
    (held,) = memory.held()
    held.decide("theirs")
    assert run(said(base, "c")) == ["a", "x"]
    (conversation,) = memory.conversations()
    assert conversation.message_count == 3  # both are still there to be found
    run(add(base, "c", say("z")))
    assert run(said(base, "c")) == ["a", "x", "z"]
    run(base.delete("c"))
    assert list(memory.conversations()) == []
