"""Types that the operations of Compose share, under the names of its contract.

A field may be called by its second spelling, or in snake_case: `agentWallet` is also `agent_id` and
`agent_wallet`. Two spellings that disagree are refused.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, JsonValue, model_validator
from typing_extensions import TypeAliasType, override

from day1.call.fields import JsonObject, LooseRequest, Response
from day1.errors import InvalidRequest
from day1.model.rows.origin import MAX_LABEL
from day1.model.rows.validation import MAX_INTEGER, filled, one_memory, sound
from day1.model.values.instant import in_range
from day1.toolsets.shared.fields import Maybe, absent

VERSION: Final[Literal["compose.agent_memory_loop.v1"]] = "compose.agent_memory_loop.v1"
"""Version of Compose's agent loop; each answer of the loop names it."""
MILLISECOND: Final = 1_000
"""Microseconds in a millisecond, the unit of times in Compose."""
MOST_MESSAGES: Final = 1_000
"""Maximum number of messages in one request."""
MOST_ANSWERED: Final = 200
"""Maximum number of memories in one answer."""
_SECOND_SPELLINGS: Final[Mapping[str, str]] = {
    "agentWallet": "agent_id",
    "userAddress": "user_id",
    "modelUsed": "model",
    "totalTokens": "tokenCount",
    "timeRange": "dateRange",
}
"""Field -> a second name of the same argument, besides its snake_case spelling."""
_CAPITAL: Final = re.compile("[A-Z]")


def _short(name: str) -> str:
    if len(filled(name)) > MAX_LABEL or not name.isprintable():
        raise ValueError(f"must be at most {MAX_LABEL} printable characters")
    return name


def _few(number: int) -> int:
    if not 1 <= number <= MOST_ANSWERED:
        raise ValueError(f"must be from 1 to {MOST_ANSWERED}")
    return number


def _within_years(milliseconds: int) -> int:
    in_range(milliseconds * MILLISECOND)
    return milliseconds


def _countable(count: int) -> int:
    if not 0 <= count <= MAX_INTEGER:
        raise ValueError("must be at least 0 and at most 2^53")
    return count


def _finite(number: float) -> float:
    if not abs(number) < float("inf"):  # nor NaN
        raise ValueError("must be a finite number")
    return number


def _part(number: float) -> float:
    if not 0 <= number <= 1:  # nor NaN
        raise ValueError("must be from 0 to 1")
    return number


Name = Annotated[str, AfterValidator(_short)]
"""The name of a wallet, user, device, thread, session or turn; its schema is a plain string."""
Content = Annotated[str, AfterValidator(one_memory)]
"""A text that becomes a memory: not blank, no NUL, at most 32,768 characters."""
Timestamp = Annotated[int, AfterValidator(_within_years)]
"""Milliseconds since 1970 UTC, in the years 1 to 9999."""
Number = Annotated[float, AfterValidator(_finite)]
Part = Annotated[float, AfterValidator(_part)]
"""A number from 0 to 1; its schema has no limits."""
Count = Annotated[int, AfterValidator(_countable)]
"""A number of tokens and the like, not negative; its schema states no bound."""
Few = Annotated[int, AfterValidator(_few)]
"""How many memories to answer: from 1 to 200; its schema has no limits."""
Metadata = Maybe[JsonObject]
"""An open JSON object; its schema has no limits."""
RowScope = Literal["global", "local"]
Role = Literal["user", "assistant", "system", "tool"]
AgentMemoryLayer = TypeAliasType(
    "AgentMemoryLayer",
    Literal["working", "scene", "graph", "patterns", "archives", "vectors"],
)
AgentMemoryLoopStep = TypeAliasType(
    "AgentMemoryLoopStep", Literal["pre_turn", "post_turn", "remember"]
)
Source = Literal["session", "knowledge", "pattern", "archive", "fact"]
"""The kind of a found text, in the words of Compose's vector search."""


class ComposeRequest(LooseRequest):
    """Arguments that may be spelled in two ways; unknown ones are ignored."""

    @model_validator(mode="before")
    @classmethod
    def _spelled_once(cls, arguments: Any) -> Any:
        if not isinstance(arguments, dict):
            return arguments
        renamed_arguments = dict(arguments)
        for field in cls.model_fields:
            for other_spelling in cls.other_spellings(field):
                if renamed_arguments.get(other_spelling) is not None:
                    _move(renamed_arguments, other_spelling, field)
        return renamed_arguments

    @override
    @classmethod
    def other_spellings(cls, field: str) -> tuple[str, ...]:
        return _other_spellings(field)


@cache
def _other_spellings(field: str) -> tuple[str, ...]:
    snake_case = _CAPITAL.sub(lambda letter: f"_{letter[0].lower()}", field)
    second_spelling = _SECOND_SPELLINGS.get(field)
    return tuple(
        spelling
        for spelling in (snake_case, second_spelling)
        if spelling is not None and spelling != field
    )


def _move(arguments: dict[str, Any], spelling: str, field: str) -> None:
    """Move an argument from another spelling to its field.

    Raises:
        InvalidRequest: both are given and disagree.
    """
    value = arguments.pop(spelling)
    if arguments.get(field) is None:
        arguments[field] = value
    elif arguments[field] != value:
        problem = f"disagrees with `{spelling}`, which means the same: give one of them"
        raise InvalidRequest(
            f"{field}: {problem}.", problems=[{"argument": field, "problem": problem}]
        )


class Whose(ComposeRequest):
    """Whose rows a call is about.

    Attributes:
        agentWallet: The agent: any name that tells agents apart. It sees its rows and the shared
            ones, which have no space. Default: the agent that the token is bound to, else the call
            is about shared rows only.
        userAddress: The user of that agent. Default: no user, and no user's rows are seen.
        scope: `local` is about one device of the agent or user, named by `haiId`. Default: global.
        haiId: The device; it counts with `scope: local` only.
    """

    agentWallet: Maybe[Name] = None
    userAddress: Maybe[Name] = None
    scope: Maybe[RowScope] = None
    haiId: Maybe[Name] = None

    @model_validator(mode="after")
    def _complete(self) -> "Whose":
        if self.scope == "local" and self.haiId is None:
            raise missing("haiId", "is needed with `scope: local`: name the device")
        return self


class WalletRequired(Whose):
    """Whose rows a call is about; the agent must be named.

    Attributes:
        agentWallet: The agent: any name that tells agents apart. It sees its rows and the shared
            ones, which have no space.
    """

    agentWallet: Name


class AgentMemoryScope(WalletRequired):
    """Whose rows a step of the loop is about, and in which thread.

    Attributes:
        threadId: The thread: a conversation over any number of sessions.
        filters: Only rows whose metadata has each of these keys with an equal value.
        metadata: What you note of a new row: a JSON object, by which `filters` can choose.
    """

    threadId: Maybe[Name] = None
    filters: Metadata = None
    metadata: Metadata = None


class RepeatableRequest(ComposeRequest):
    """The arguments of a call that a client may repeat under the same name.

    Attributes:
        request_id: A name for this call, used for no other: calling again with it writes nothing
            more. Over HTTP it is the header `Idempotency-Key`.
    """

    request_id: Maybe[Name] = None


class TwiceNamed(Whose):
    """Whose rows a call is about, under either of two names.

    Attributes:
        agent_id: The same as `agentWallet`.
        user_id: The same as `userAddress`.
    """

    agent_id: Maybe[Name] = None
    user_id: Maybe[Name] = None


class MemorySearchRequest(TwiceNamed):
    """A search over what an agent and its user stored.

    Attributes:
        query: What to look for, as a question or as words.
        threadId: Without memories of other threads. Default: of all threads. In a search by layers,
            it is the thread of `working` and `scene`, and the other layers are not restricted.
        runId: Only memories of this run. Default: of all runs.
        limit: How many memories to answer, from 1 to 200. Default: 50, for layers 6 of each.
        layers: The layers to search. Default: all.
        filters: Only memories whose metadata has each of these keys with an equal value.
        rerank: Whether to rank once more; day1's order is final already, so it changes nothing.
    """

    query: Content
    threadId: Maybe[Name] = None
    runId: Maybe[Name] = None
    limit: Maybe[Few] = None
    layers: Maybe[list[AgentMemoryLayer]] = None
    filters: Metadata = None
    rerank: Maybe[bool] = None


def missing(argument: str, problem: str) -> InvalidRequest:
    """Build the error of one argument that is missing or does not fit."""
    return InvalidRequest(
        f"{argument}: {problem}.", problems=[{"argument": argument, "problem": problem}]
    )


class ToolCall(ComposeRequest):
    """A call of a tool.

    Attributes:
        name: The tool's name.
        args: Its arguments.
        status: How it ended, such as ok or error.
    """

    name: Name
    args: JsonObject
    status: Maybe[Name] = absent()


def _one_text(calls: list[ToolCall]) -> list[ToolCall]:
    call_objects: list[JsonValue] = [call.model_dump(mode="json") for call in calls]
    sound(call_objects)
    return calls


ToolCalls = Annotated[list[ToolCall], AfterValidator(_one_text)]
"""Calls of tools; at most 32,768 characters as JSON."""


class AgentMemoryTurnMessage(ComposeRequest):
    """A message of a turn or transcript.

    Attributes:
        role: Who says it.
        content: What it says; at most 32,768 characters.
        timestamp: When it was said, in milliseconds since 1970. Default: when it is stored.
        toolCalls: The tools that it calls.
    """

    role: Role
    content: Content
    timestamp: Maybe[Timestamp] = absent()
    toolCalls: Maybe[ToolCalls] = absent()


def few(messages: list[Any]) -> list[Any]:
    """Check that a list has at most 1,000 items.

    Raises:
        ValueError: it has more.
    """
    if len(messages) > MOST_MESSAGES:
        raise ValueError(f"must have at most {MOST_MESSAGES} items")
    return messages


Messages = Annotated[list[AgentMemoryTurnMessage], AfterValidator(few)]
"""At most 1,000 messages; the schema states no limit, because the contract does not."""


Objects = Annotated[list[dict[str, JsonValue]], AfterValidator(few)]
"""At most 1,000 open objects; the schema states no limit."""


class AgentMemoryLoopEnvelope(Response):
    """The step of the loop that was answered, and those that may follow."""

    v: Literal["compose.agent_memory_loop.v1"]
    step: AgentMemoryLoopStep
    next: list[AgentMemoryLoopStep]


def envelope(step: AgentMemoryLoopStep, *following: AgentMemoryLoopStep) -> AgentMemoryLoopEnvelope:
    """Build the part of an answer that names the answered step and those that may follow."""
    return AgentMemoryLoopEnvelope(v=VERSION, step=step, next=list(following))


class SearchResult(Response):
    """A found text, in the words of vector search."""

    id: str
    vectorId: Maybe[str] = absent()
    content: str
    score: float
    source: Source
    agentWallet: str
    userAddress: Maybe[str] = absent()
    threadId: Maybe[str] = absent()
    scope: Maybe[RowScope] = absent()
    haiId: Maybe[str] = absent()
    decayScore: float
    accessCount: int
    createdAt: int


class MemoryVectorItem(SearchResult):
    """A stored text with all that is known of it; its type, retention and status are day1's."""

    embedding: Maybe[list[float]] = absent()
    metadata: Metadata = absent()
    lastAccessedAt: Maybe[int] = absent()
    updatedAt: Maybe[int] = absent()
    type: Maybe[str] = absent()
    retention: Maybe[str] = absent()
    confidence: Maybe[float] = absent()
    status: Maybe[str] = absent()


class GraphMemoryItem(Response):
    """A fact in the form of graph memory; its times are ISO 8601, and searches add its score."""

    id: Maybe[str] = absent()
    memory: Maybe[str] = absent()
    user_id: Maybe[str] = absent()
    agent_id: Maybe[str] = absent()
    run_id: Maybe[str] = absent()
    metadata: Metadata = absent()
    created_at: Maybe[str] = absent()
    updated_at: Maybe[str] = absent()
    relations: Maybe[list[dict[str, JsonValue]]] = absent()
    score: Maybe[float] = absent()


GraphMemoryItemsResponse = TypeAliasType("GraphMemoryItemsResponse", list[GraphMemoryItem])


def milliseconds(instant: int) -> int:
    """Convert microseconds to milliseconds."""
    return instant // MILLISECOND
