"""`Day1ConversationStore` loses nothing and refuses what does not fit, also over HTTP."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic_ai.conversation_store", reason="the extra is not installed")

from pydantic_ai import Conversation, DeferredToolRequests
from pydantic_ai.conversation_store import ConversationConflict
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelRequest, ToolCallPart, ToolReturnPart

import day1
from day1 import errors
from day1.integrations.pydantic_ai import Day1ConversationStore
from tests.wires.pydantic_ai_talk import add, insist, numbers, run, said, say
from tests.wires.python_places import QUIET, Connect


@pytest.fixture
def store(memory: day1.Memory) -> Day1ConversationStore:
    return Day1ConversationStore(memory, name=f"s{next(numbers)}")


def test_of_two_who_read_one_conversation_one_saves_it(store: Day1ConversationStore) -> None:
    run(add(store, "c", say("a")))
    one, other = run(store.load("c")), run(store.load("c"))
    assert one is not None
    assert other is not None
    one.messages.append(say("one"))
    other.messages.append(say("other"))
    run(store.save(one))
    with pytest.raises(ConversationConflict):
        run(store.save(other))
    assert run(said(store, "c")) == ["a", "one"]


def test_tasks_and_threads_that_save_at_once_lose_and_double_nothing(
    store: Day1ConversationStore,
) -> None:
    def work(thread: int) -> None:
        async def tasks() -> None:
            await asyncio.gather(
                *(insist(store, "shared", f"{thread}{task}") for task in "ab"),
                add(store, f"own{thread}", say(f"{thread}")),
            )

        run(tasks())

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert sorted(run(said(store, "shared"))) == sorted(f"{n}{x}" for n in range(8) for x in "ab")
    assert len(run(store.list_conversations())) == 9
    assert [run(said(store, f"own{n}")) for n in range(8)] == [[str(n)] for n in range(8)]


def test_a_cancelled_save_is_done_when_the_cancellation_comes(store: Day1ConversationStore) -> None:
    async def work() -> None:
        record_read = asyncio.Event()
        read_record = store.read_record

        async def read(conversation_id: str) -> Any:
            record = await read_record(conversation_id)
            record_read.set()
            return record

        store.read_record = read
        conversation = Conversation(conversation_id="c", messages=[say("a")])
        task = asyncio.create_task(store.save(conversation))
        await record_read.wait()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await said(store, "c") == ["a"]

    run(work())


def test_what_was_redacted_or_removed_is_left_out(
    store: Day1ConversationStore, memory: day1.Memory
) -> None:
    secret = f"secret {next(numbers)}"
    entries = run(add(store, "c", say("a"), say(secret), say("b"), say("c")))
    (conversation,) = memory.conversations()
    ids = [row["id"] for row in memory.messages(conversation.conversation_id)]
    memory.redact(ids[1], confirm=ids[1])
    memory.retract(ids[2])
    assert run(said(store, "c")) == ["a", "c"]
    assert run(said(store, "c", limit=2)) == ["a", "c"]
    for gone in entries[1:3]:
        with pytest.raises(KeyError):
            run(store.read_entry(gone.id))
    run(add(store, "c", say("d")))
    assert run(said(store, "c")) == ["a", "c", "d"]
    loaded = run(store.load("c"))
    assert loaded is not None
    run(store.branch("c", at=1, expected_revision=loaded.revision))
    assert run(said(store, "c")) == ["a"]


@pytest.mark.parametrize("wrong", ["", "x" * 1_025, "a\0", "\ud83d"], ids=repr)
def test_an_id_that_day1_does_not_take_is_never_there_and_cannot_be_saved(
    store: Day1ConversationStore, wrong: str
) -> None:
    assert run(store.load(wrong)) is None
    run(store.delete(wrong))
    with pytest.raises(UserError, match="not in the store"):
        run(store.fork(wrong))
    with pytest.raises(KeyError):
        run(store.read_entry(wrong))
    assert run(store.list_conversations(scope="\0")) == []
    with pytest.raises(errors.InvalidRequest):
        run(add(store, wrong, say("a")))
    with pytest.raises(ConversationConflict):
        run(store.delete_record(wrong, expected_revision="1"))


def test_what_does_not_fit_is_refused_with_all_that_came_with_it(
    store: Day1ConversationStore,
) -> None:
    run(add(store, "c", say("a")))
    deep: Any = []
    for _ in range(70):
        deep = [deep]
    for wrong, error in (
        (say("x" * 8_388_608), errors.ValueTooLarge),
        (say("\ud83d"), errors.InvalidRequest),
        (ModelRequest(parts=[ToolReturnPart("t", object())]), errors.InvalidRequest),
        (ModelRequest(parts=[ToolReturnPart("t", deep)]), errors.InvalidRequest),
    ):
        with pytest.raises(error):
            run(add(store, "c", say("b"), wrong))
    deferred = DeferredToolRequests(approvals=[ToolCallPart("t", {"text": "x" * 8_388_608})])
    with pytest.raises(errors.ValueTooLarge):
        run(store.save(Conversation(conversation_id="d", deferred_tool_requests=deferred)))
    deferred = DeferredToolRequests(metadata={"t": {"bytes": b"\xff"}})
    with pytest.raises(errors.InvalidRequest):
        run(store.save(Conversation(conversation_id="d", deferred_tool_requests=deferred)))
    assert run(said(store, "c")) == ["a"]
    assert len(run(store.list_conversations())) == 1


def test_more_messages_are_saved_at_once_than_one_change_takes(tmp_path: Path) -> None:
    with day1.connect(tmp_path / "store", settings=QUIET) as memory:
        store = Day1ConversationStore(memory)
        run(add(store, "c", say("x" * 1_000_000), *(say(str(number)) for number in range(10_500))))
        assert run(said(store, "c"))[1:] == [str(number) for number in range(10_500)]
        assert run(said(store, "c", limit=2)) == ["10498", "10499"]


def test_a_record_that_somebody_changed_by_hand_says_so(
    store: Day1ConversationStore, memory: day1.Memory
) -> None:
    run(add(store, "c", say("a")))
    memory.set("c", {"text": "mine"}, space=("pydantic-ai", store._log._space[1]))
    with pytest.raises(errors.InvalidRequest, match="no record of a conversation"):
        run(store.load("c"))


def test_what_one_branch_deletes_is_gone_from_the_fork_that_another_made(
    memory: day1.Memory,
) -> None:
    name = f"s{next(numbers)}"
    base = Day1ConversationStore(memory, name=name)
    side = Day1ConversationStore(memory, name=name, branch=f"{memory.name}/side")
    run(add(base, "c", say("a"), say("b")))
    for fork in ("bare", "own"):
        run(side.fork("c", new_conversation_id=fork))
    run(add(side, "own", say("x")))
    run(base.delete("c"))
    deleted = memory.log(limit=1)[0].commit
    side.memory_branch.merge()
    assert run(said(base, "own")) == ["x"]
    with pytest.raises(KeyError):
        run(base.load("bare"))
    memory.revert(deleted)
    assert (run(said(base, "own")), run(said(base, "bare"))) == (["a", "b", "x"], ["a", "b"])


def test_a_deleted_conversation_is_in_the_past_and_comes_back(
    store: Day1ConversationStore, memory: day1.Memory
) -> None:
    run(add(store, "c", say("a"), say("b")))
    run(store.delete("c"))
    assert run(store.load("c")) is None
    memory.revert(memory.log(limit=1)[0].commit)
    assert run(said(store, "c")) == ["a", "b"]


def test_a_closed_store_refuses_each_call_and_closes_its_own_memory(
    memory: day1.Memory, store: Day1ConversationStore, tmp_path: Path, connect: Connect
) -> None:
    store.close()
    for call in (store.load("c"), store.list_conversations(), add(store, "c"), store.delete("c")):
        with pytest.raises(errors.HandleClosed):
            run(call)
    assert memory.log(limit=1)
    with Day1ConversationStore(tmp_path / "memory") as own:
        run(add(own, "c", say("a")))
    with day1.connect(tmp_path / "memory", settings=QUIET) as again:
        assert run(said(Day1ConversationStore(again), "c")) == ["a"]
    with pytest.raises(errors.UnknownBranch):
        run(Day1ConversationStore(memory.branch("nowhere")).load("c"))


def test_a_server_without_the_operations_is_no_missing_entry_and_no_conflict(
    store: Day1ConversationStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(add(store, "c", say("a")))
    conversation = run(store.load("c"))
    assert conversation is not None
    conversation.messages.append(say("b"))
    called = day1.Branch.call

    def lack(self: day1.Branch, operation: str, **arguments: Any) -> Any:
        if operation in {"message_chain", "rows_apply"}:
            raise errors.UnknownTool("The served toolsets have no such operation.")
        return called(self, operation, **arguments)

    monkeypatch.setattr(day1.Branch, "call", lack)
    with pytest.raises(errors.UnknownTool):
        run(store.read_entry("e"))
    with pytest.raises(errors.UnknownTool):
        run(store.save(conversation))


def test_a_history_that_is_too_large_for_one_answer_is_read_whole(limited: day1.Memory) -> None:
    store = Day1ConversationStore(limited)
    for letter in "abc":
        run(add(store, "c", say(letter * 3_000_000)))
    assert [text[0] for text in run(said(store, "c"))] == ["a", "b", "c"]
