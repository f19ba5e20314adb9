"""Conversations through the services: past states, what came and went, and what leaves a store."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from day1.model.rows.change import Ref
from day1.model.rows.kind import CONVERSATION, MESSAGE
from day1.services.branches import lookup
from day1.services.conversations import excerpts, messages
from day1.services.conversations.listing import recent_conversations
from day1.services.conversations.messages import MessageRequest, NewMessage
from day1.services.conversations.order import messages_of
from day1.services.exchange.exporting import export_branch, export_store
from day1.services.exchange.imported import Imported
from day1.services.rows.bulk_writes import LeftRow
from tests.flows.imported_memory import ImportedMemory


class TalkingMemory(ImportedMemory):
    """`ImportedMemory` with one conversation, `self.chat`, once something was said."""

    chat = ""

    def say(self, *texts: str, branch: str = "main", **more: Any) -> int:
        """Log messages; gives the time of the last one."""
        for text in texts:
            with self.store.adding(branch) as work:
                self.chat = self.chat or messages.start_conversation(
                    self.repo, work, self.origin, {}
                )
                request = MessageRequest(NewMessage("user", text, **more), self.chat)
                assert messages.add_message(self.repo, work, request, self.origin)
            self.clock.tick()
        return work.now  # type: ignore[possibly-undefined]  # there is a text

    def told(self, branch: str = "main", until: int | None = None, commit: str | None = None):
        ref = Ref(branch=None if commit else branch, until=until, commit=commit)
        with self.store.reading(ref) as reading:
            messages = messages_of(self.repo, reading, self.chat)
        assert [place for place, _ in messages] == list(range(1, len(messages) + 1))
        return "".join(str(row["content"]) for _, row in messages)

    def rows_at(self, at: int) -> list[Any]:
        with self.store.reading(Ref(branch="main", until=at)) as reading:
            return [row for _, row in messages_of(self.repo, reading, self.chat)]

    def thinking(self) -> list[Any]:
        return [row["thinking"] for row in self.rows(MESSAGE)]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[TalkingMemory]:
    memory = TalkingMemory(tmp_path / "store")
    yield memory
    memory.close()


@pytest.fixture
def other(tmp_path: Path) -> Iterator[TalkingMemory]:
    other = TalkingMemory(tmp_path / "other store")
    yield other
    other.close()


# Past states


def test_every_past_state_has_a_whole_sequence(memory):
    expected = {memory.clock.now - 1: ""}
    text = ""
    for letter in "abc":
        text += letter
        expected[memory.say(letter)] = text
    memory.fork("side", "main")
    expected[memory.say("t")] = "abct"
    memory.say("s", branch="side")
    memory.say("u", branch="side")
    expected[memory.merge("side", "main").at] = "abctsu"
    tip = memory.store.history.branches()["main"]
    expected[memory.say("d")] = "abctsud"
    expected[memory.say("e")] = "abctsude"
    memory.commit_pending("main")
    expected[memory.say("f")] = "abctsudef"
    for at, whole in expected.items():
        assert memory.told(until=at) == whole
    assert memory.told(commit=tip) == "abctsu"
    assert memory.told("side") == "abcsu"


def test_the_order_is_found_among_many_later_merges(memory):
    memory.say("a")
    memory.fork("side", "main")
    memory.say("s", branch="side")
    memory.say("t")
    memory.merge("side", "main")
    for number in range(6):
        memory.fork(f"more/{number}", "main")
        memory.say(str(number), branch=f"more/{number}")
        memory.merge(f"more/{number}", "main")
        memory.add_fact("main", f"fact_{number}", fact_text="between")
        memory.update_fact("main", f"fact_{number}", fact_text="changed")
    assert memory.told() == "ats012345"
    memory.say("z")
    assert memory.told() == "ats012345z"


# What leaves a branch and comes back


def test_what_is_said_after_a_restore_comes_before_what_comes_back(memory):
    memory.say("a")
    before = memory.say("b")
    after = memory.say("c", "d")
    memory.restore_branch("main", before)
    assert memory.told() == "ab"
    memory.say("x")
    assert memory.told() == "abx"
    gone = next(r["id"] for r in memory.rows_at(after) if r["content"] == "c")
    memory.restore_row("main", str(gone), after)
    assert memory.told() == "abxc"
    memory.say("y")
    assert memory.told() == "abxcy"


def test_a_message_that_is_removed_leaves_no_hole(memory):
    memory.say("a", "b", "c")
    ids = {row["content"]: str(row["id"]) for row in memory.rows(MESSAGE)}
    memory.remove("main", ids["b"])
    assert memory.told() == "ac"
    memory.remove("main", ids["c"])
    memory.say("d")
    assert memory.told() == "ad"


def test_a_conversation_without_messages_is_listed_by_its_own_time(memory):
    memory.say("a")
    first = memory.chat
    memory.fork("side", "main")
    memory.chat = ""
    memory.say("b", branch="side")
    memory.merge("side", "main", "cherry_pick", items=[memory.chat])
    with memory.store.reading(Ref(branch="main")) as reading:
        empty, begun = recent_conversations(reading, {}, 5)
    assert (empty.row["id"], empty.message_count, empty.title) == (memory.chat, 0, None)
    assert empty.updated_at == empty.row["created_at"]
    assert (begun.row["id"], begun.message_count, begun.title) == (first, 1, "a")
    memory.say("c")
    assert memory.told() == "c"


# Thinking


def test_thinking_leaves_a_store_only_when_asked_for(memory, other):
    memory.say("a", thinking="hippopotamus")
    for ref in (Ref(branch="main"), Ref(commit=memory.store.commit_pending("main"))):
        assert b"hippopotamus" not in b"".join(export_branch(memory.store, ref))
        assert b"hippopotamus" in b"".join(export_branch(memory.store, ref, with_thinking=True))
    assert b"hippopotamus" not in memory.export_all()
    whole = b"".join(export_store(memory.repo, with_thinking=True))
    other.take_own(whole.splitlines(keepends=True))
    assert other.thinking() == ["hippopotamus"]
    assert b"".join(export_store(other.repo, with_thinking=True)) == whole


def test_an_export_without_thinking_comes_back_byte_for_byte_and_is_no_conflict(memory, other):
    memory.say("a", "b", thinking="hippopotamus")
    plain = memory.export()
    imported = other.take_own(plain.splitlines(keepends=True))
    assert (imported.added, imported.left) == (3, [])
    assert other.export() == plain
    assert other.thinking() == [None, None]
    again = memory.take_own(plain.splitlines(keepends=True))
    assert again == Imported(unchanged=3)
    assert memory.thinking() == ["hippopotamus"] * 2, "what is here stays"
    whole = b"".join(export_branch(memory.store, Ref(branch="main"), with_thinking=True))
    differs = other.take_own(whole.splitlines(keepends=True))
    ids = sorted(str(row["id"]) for row in other.rows(MESSAGE))
    assert differs.left == [LeftRow(row_id, "main", "conflict") for row_id in ids]


@pytest.mark.parametrize("way", [("side", "main"), ("main", "side")])
def test_rows_that_came_without_their_thinking_merge_with_those_that_have_it(memory, way):
    memory.fork("side", "main")
    memory.say("a", thinking="hippopotamus")
    memory.take_own(memory.export().splitlines(keepends=True), "side")
    done = memory.merge(*way)
    assert done.rejected == 0
    assert [row["thinking"] for row in memory.rows(MESSAGE, way[1])] == ["hippopotamus"]


# Copies


def test_a_fork_is_in_order_though_all_of_it_is_of_one_time(memory):
    memory.say(*"abcdefgh")
    with memory.store.reading(Ref(branch="main")) as reading:
        part = excerpts.part_of(memory.repo, reading, memory.chat)
    for _ in range(3):
        excerpt = excerpts.Excerpt("main", part[CONVERSATION][0], part[MESSAGE])
        main = lookup.find(memory.repo, "main")
        copied = excerpts.copy_conversation(memory.repo, main, excerpt, memory.origin)
        memory.chat = copied.conversation_id
        assert memory.told() == "abcdefgh"
        memory.say("x")
        assert memory.told() == "abcdefghx"


def test_an_import_brings_a_continuation_after_what_is_here(memory, other):
    memory.say("a", "b")
    other.take_own(memory.export().splitlines(keepends=True))
    other.chat = memory.chat
    memory.say("m")
    memory.clock.tick(10)
    other.clock.now = memory.clock.now
    other.say("o")
    other.take_own(memory.export().splitlines(keepends=True))
    assert other.told() == "abom"
    memory.take_own(other.export().splitlines(keepends=True))
    assert memory.told() == "abmo"
