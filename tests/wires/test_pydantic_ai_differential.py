"""`Day1ConversationStore` does what the framework's own store does, for the same random calls."""

import asyncio
import itertools
from collections.abc import Iterator
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

import pytest

pytest.importorskip("pydantic_ai.conversation_store", reason="the extra is not installed")

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic_ai import Conversation
from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationEntry,
    ConversationRecord,
    ConversationStore,
    InMemoryConversationStore,
)
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RunUsage

import day1
from day1.integrations.pydantic_ai import Day1ConversationStore
from tests.wires.python_places import QUIET

THEN = datetime(2026, 1, 1, tzinfo=UTC)
IDS = ["a", "A", "a/b", " ", "ä\n'; DROP TABLE x;--", "x" * 1_024, "漢🐦"]
SCOPES = [None, "ann", "Ann", "ann/x", "", "漢" * 100]
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
MESSAGE: st.SearchStrategy[ModelMessage] = st.one_of(
    TEXT.map(lambda text: ModelRequest(parts=[UserPromptPart(text, timestamp=THEN)])),
    TEXT.map(lambda text: ModelResponse(parts=[TextPart(text)], timestamp=THEN)),
    TEXT.map(
        lambda text: ModelRequest(
            parts=[ToolReturnPart("t", {text: [1, None]}, tool_call_id="c", timestamp=THEN)]
        )
    ),
    TEXT.map(
        lambda text: ModelResponse(
            parts=[ToolCallPart("t", {"a": text}, tool_call_id="c")], timestamp=THEN
        )
    ),
)
SOME = st.lists(MESSAGE, min_size=1, max_size=3)
ID, NUMBER = st.sampled_from(IDS[:2]), st.integers(-1, 6)
SCOPE = st.one_of(st.none(), st.none(), st.sampled_from(SCOPES))
AT = st.one_of(
    st.tuples(st.integers(0, 4), st.none()), st.tuples(st.none(), NUMBER), st.just((None, None)),
    st.just((0, 0)),
)  # fmt: skip
STEP = st.one_of(
    st.tuples(st.just("new"), ID, SOME, SCOPE),
    st.tuples(st.just("extend"), ID, SOME | st.just([]), SCOPE),
    st.tuples(st.just("again"), ID, SOME),
    st.tuples(st.just("window"), ID, NUMBER, SOME),
    st.tuples(st.just("rewrite"), ID, NUMBER, SOME),
    st.tuples(st.just("branch"), ID, AT, st.sampled_from([True, True, True, False]), SCOPE),
    st.tuples(st.just("fork"), ID, st.sampled_from(IDS), AT, SCOPE, SCOPE),
    st.tuples(st.just("delete"), ID, SCOPE),
    st.tuples(st.just("load"), ID, st.none() | NUMBER, SCOPE),
    st.tuples(st.just("list"), SCOPE, st.none() | NUMBER),
    st.tuples(st.just("entry"), NUMBER),
)
BEGIN = st.tuples(st.just("new"), st.just(IDS[0]), SOME, SCOPE)
_numbers = itertools.count(1)


class Driven:
    """A store, what its user holds, and its ids and revisions as numbers."""

    def __init__(self, store: ConversationStore) -> None:
        self.store = store
        self.loaded: dict[str, Conversation] = {}
        self.ids: list[str] = []

    async def outcome(self, step: tuple[Any, ...]) -> Any:
        """What a step answers, or how it is refused, without ids that the store's user makes."""
        name, *arguments = step
        try:
            return self.shown(await getattr(self, f"_{name}")(*arguments))
        except (UserError, KeyError) as exc:
            text = str(exc)
            for number, each in enumerate(self.ids):
                text = text.replace(each, f"<{number}>")
            return type(exc), text

    def shown(self, value: Any) -> Any:
        """A value of the store with numbers in place of ids."""
        match value:
            case Conversation():
                return value.conversation_id, value.messages, value.usage, value.new_message_index
            case ConversationEntry():
                return self._number(value.id), self._number(value.parent_id), value.message
            case ConversationRecord():
                places = (value.head_id, value.forked_at, *value.branches)
                return (
                    value.conversation_id, value.scope, value.usage, value.forked_from,
                    [self._number(each) for each in places],
                )  # fmt: skip
            case list():
                return [self.shown(each) for each in value]
        return value

    def _number(self, entry_id: str | None) -> int | None:
        return None if entry_id is None else self.ids.index(entry_id)

    def _entry_id(self, number: int) -> str:
        return self.ids[number] if 0 <= number < len(self.ids) else "nowhere"

    def _from(self, at: tuple[int | None, int | None]) -> dict[str, Any]:
        keep, entry = at
        return {"at": keep, "from_entry": None if entry is None else self._entry_id(entry)}

    async def _save(self, conversation: Conversation, scope: str | None = None) -> Any:
        entries = await self.store.save(conversation, scope=scope)
        self.ids += [entry.id for entry in entries]
        self.loaded[conversation.conversation_id] = conversation
        return entries

    async def _new(self, of: str, messages: list[ModelMessage], scope: str | None) -> Any:
        return await self._save(Conversation(messages=messages, conversation_id=of), scope)

    async def _extend(self, of: str, messages: list[ModelMessage], scope: str | None) -> Any:
        conversation = await self.store.load(of, scope=scope) or Conversation(conversation_id=of)
        conversation.messages += messages
        conversation.usage.incr(RunUsage(requests=1, input_tokens=len(messages)))
        return await self._save(conversation, scope)

    async def _again(self, of: str, messages: list[ModelMessage]) -> Any:
        """Save what was loaded before, whatever happened since."""
        conversation = deepcopy(self.loaded.get(of, Conversation(conversation_id=of)))
        conversation.messages += messages
        return await self._save(conversation)

    async def _window(self, of: str, limit: int, messages: list[ModelMessage]) -> Any:
        conversation = await self.store.load(of, limit=limit)
        if conversation is None:
            return None
        conversation.messages += messages
        return await self._save(conversation)

    async def _rewrite(self, of: str, keep: int, messages: list[ModelMessage]) -> Any:
        conversation = await self.store.load(of)
        if conversation is None:
            return None
        conversation.messages = [*conversation.messages[: max(keep, 0)], *messages]
        conversation.new_message_index = None
        return await self._save(conversation)

    async def _branch(self, of: str, at: Any, is_current: bool, scope: str | None) -> Any:
        record = await self.store.read_record(of)
        revision = record.revision if record is not None and is_current else "stale"
        conversation = await self.store.branch(
            of, **self._from(at), expected_revision=revision, scope=scope
        )
        self.loaded[of] = conversation
        return conversation

    async def _fork(self, of: str, to: str, at: Any, scope: str | None, source: str | None) -> Any:
        return await self.store.fork(
            of, **self._from(at), new_conversation_id=to, scope=scope, source_scope=source
        )

    async def _delete(self, of: str, scope: str | None) -> Any:
        return await self.store.delete(of, scope=scope)

    async def _load(self, of: str, limit: int | None, scope: str | None) -> Any:
        entries = await self.store.load_entries(of, limit=limit, scope=scope)
        conversation = await self.store.load(of, limit=limit, scope=scope)
        return self.shown(entries), self.shown(conversation)

    async def _list(self, scope: str | None, limit: int | None) -> Any:
        return await self.store.list_conversations(scope=scope, limit=limit)

    async def _entry(self, number: int) -> Any:
        return await self.store.read_entry(self._entry_id(number))


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[day1.Memory]:
    with day1.connect(tmp_path_factory.mktemp("tried") / "store", settings=QUIET) as memory:
        yield memory


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(BEGIN, st.lists(STEP, min_size=4, max_size=12))
def test_the_same_calls_have_the_same_results(
    tried: day1.Memory, begin: tuple[Any, ...], steps: list[tuple[Any, ...]]
) -> None:
    ours = Driven(Day1ConversationStore(tried, name=f"n{next(_numbers)}"))
    theirs = Driven(InMemoryConversationStore())
    last: list[tuple[Any, ...]] = [("list", None, None), *(("load", of, None, None) for of in IDS)]
    last += [("entry", number) for number in range(8)]

    async def compare() -> None:
        for step in (begin, *steps, *last):
            assert await ours.outcome(deepcopy(step)) == await theirs.outcome(deepcopy(step)), step

    asyncio.run(compare())


ENTRIES = ["e", "E", "e/1", " ", "ä\n'", "y" * 1_024, "01890a5d-ac96-774b-bcce-b302099a8057"]
HEAD = st.none() | st.integers(0, len(ENTRIES) - 1)
PRIMITIVE = st.one_of(
    st.tuples(st.just("write"), ID, HEAD, st.booleans(), SCOPE, st.integers(0, 2)),
    st.tuples(st.just("write"), ID, st.just(-1), st.just(value=True), SCOPE, st.integers(0, 2)),
    st.tuples(st.just("delete"), ID, st.booleans()),
    st.tuples(st.just("history"), HEAD, st.none() | NUMBER),
    st.tuples(st.just("records"), SCOPE, st.none() | st.integers(0, 3)),
)
"""A call of a primitive: numbers stand for entries, -1 for the newest one, and a truth value for
whether the caller knows the present revision."""


class Primitives:
    """A store whose primitives are called with ids of the test's own."""

    def __init__(self, store: ConversationStore) -> None:
        self.store = store
        self.added = self.revision = 0
        self.has_deleted = False

    async def outcome(self, step: tuple[Any, ...]) -> Any:
        """What a call answers, or how it is refused."""
        name, *arguments = step
        try:
            return await getattr(self, f"_{name}")(*arguments)
        except (ConversationConflict, KeyError) as exc:
            return type(exc), exc.args

    async def _present(self, of: str, is_known: bool) -> str | None:
        record = await self.store.read_record(of)
        present = None if record is None else record.revision
        return present if is_known else "stale"

    async def _write(
        self, of: str, head: int | None, is_known: bool, scope: str | None, count: int
    ) -> Any:
        """Put a record with the next entries of a line, of which each is new once."""
        self.revision += 1
        numbers = range(self.added, min(self.added + count, len(ENTRIES)))
        new = [
            ConversationEntry(
                id=ENTRIES[number],
                parent_id=ENTRIES[number - 1] if number else None,
                message=ModelResponse(parts=[TextPart(str(number))], timestamp=THEN),
            )
            for number in numbers
        ]
        last = max(numbers, default=self.added - 1)
        has_last = last >= 0 and not self.has_deleted
        earlier = await self.store.read_record(of)
        # No entry is left without a record: such entries stay, as the page says.
        kept = [] if earlier is None else list(earlier.branches)
        record = ConversationRecord(
            conversation_id=of,
            head_id=None if head is None or (head == -1 and not has_last)
            else ENTRIES[last if head == -1 else head],
            branches=[ENTRIES[last]] if has_last else kept,
            scope=scope,
            revision=str(self.revision),
            updated_at=THEN,
        )  # fmt: skip
        expected = await self._present(of, is_known)
        await self.store.write_record(record, new_entries=new, expected_revision=expected)
        self.added = last + 1
        return await self.store.read_record(of)

    async def _delete(self, of: str, is_known: bool) -> Any:
        await self.store.delete_record(
            of, expected_revision=await self._present(of, is_known) or "none"
        )
        # Of entries that are gone no other one follows, and no record names them.
        self.added, self.has_deleted = len(ENTRIES), True
        return await self.store.read_record(of)

    async def _history(self, head: int | None, limit: int | None) -> Any:
        of = None if head is None else ENTRIES[head]
        return await self.store.read_history(of, limit=limit)

    async def _records(self, scope: str | None, limit: int | None) -> Any:
        return list(await self.store.read_records(scope=scope, limit=limit))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(PRIMITIVE, min_size=4, max_size=14))
@example(
    [
        ("write", "a", None, True, None, 1),
        ("write", "A", -1, True, None, 0),
        ("delete", "a", True),
        ("write", "A", -1, True, None, 0),
        ("delete", "A", True),
    ]
)
def test_the_same_primitives_have_the_same_results(
    tried: day1.Memory, steps: list[tuple[Any, ...]]
) -> None:
    ours = Primitives(Day1ConversationStore(tried, name=f"p{next(_numbers)}"))
    theirs = Primitives(InMemoryConversationStore())
    last: list[tuple[Any, ...]] = [
        ("records", None, None),
        *(("history", n, None) for n in range(len(ENTRIES))),
    ]

    async def compare() -> None:
        for step in (*steps, *last):
            assert await ours.outcome(step) == await theirs.outcome(step), step

    asyncio.run(compare())
