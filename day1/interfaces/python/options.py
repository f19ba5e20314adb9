"""Arguments that calls share: keywords of methods, each with its meaning.

A method takes what it always needs by name, and the rest by one of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Required, TypedDict

When = datetime | str
"""A time: a `datetime` with a zone, or ISO 8601 as text."""
Kind = Literal["fact", "observation", "relation", "conversation", "message"]
"""A type of memory."""
Role = Literal["user", "assistant", "system", "tool"]
"""Who speaks in a conversation."""
Strategy = Literal["auto", "cherry_pick", "squash"]
"""How to merge: what has no conflict, chosen rows, or all as one commit that closes the source."""


SpaceName = str | Sequence[str]
"""A space: a name such as `project:metal`, or labels such as `("app", "Users", "Ann")`, which are
kept to the letter."""


class Connection(TypedDict, total=False):
    """Further arguments of `day1.connect`.

    Attributes:
        session: the session of the writes; default: DAY1_SESSION_ID, else none.
        create: whether to make a store that is not there. Default: only at a place that is named,
            and only in a new or an empty folder.
        settings: values of `day1.settings`, by name, such as `{"embedder": {"kind": "none"}}`;
            they go before the environment.
    """

    session: str | None
    create: bool | None
    settings: Mapping[str, Any] | None


class Repeatable(TypedDict, total=False):
    """An argument of every call that writes.

    Attributes:
        request_id: a name for this call, used for no other: calling again with it writes nothing
            more, and is answered with what was written.
    """

    request_id: str | None


class Signed(Repeatable, total=False):
    """The writer, if it is not the one of the handle.

    Attributes:
        agent_id: the agent that writes.
        session_id: the session that it is written in.
        task_id: the task that it is written for.
    """

    agent_id: str | None
    session_id: str | None
    task_id: str | None


class RelationOptions(Signed, total=False):
    """Further arguments of `relate`.

    Attributes:
        happened_at: when it became true.
        valid_until: when it ceased to be true, or `never`.
        space: the space that it belongs to, such as `project:metal`; `shared`: none.
    """

    happened_at: When | None
    valid_until: When | None
    space: str | None


class FactOptions(RelationOptions, total=False):
    """Further arguments of `add`, and of `update`.

    Attributes:
        expires_at: when answers stop showing it, or `never`; history keeps it.
        sensitivity: `secret` keeps it out of indexes, searches, exports and bundles.
    """

    expires_at: When | None
    sensitivity: Literal["secret", "public"] | None


class FactChanges(FactOptions, total=False):
    """Further arguments of `update`: what is left out stays as it is.

    Attributes:
        expect_revision: the `revision` that was read: if the row was changed since, nothing is
            done.
    """

    expect_revision: str | None


class ObservationOptions(Signed, total=False):
    """Further arguments of `observe`.

    Attributes:
        happened_at: when it happened.
        space: the space that it belongs to; `shared`: none.
        expires_at: when answers stop showing it, or `never`; history keeps it.
        sensitivity: `secret` keeps it out of indexes, searches, exports and bundles.
    """

    happened_at: When | None
    space: str | None
    expires_at: When | None
    sensitivity: Literal["secret", "public"] | None


class ReplacementOptions(Signed, total=False):
    """Further arguments of `supersede`.

    Attributes:
        happened_at: when the new fact became true; the old one's valid time ends then, or now.
        valid_until: when the new fact ceases to be true, or `never`.
        keep_valid_time: whether the old fact's valid time stays, because it was never true.
    """

    happened_at: When | None
    valid_until: When | None
    keep_valid_time: bool | None


class MessageOptions(Signed, total=False):
    """Further arguments of `say`.

    Attributes:
        thinking: what was thought and not said; never searched nor shown.
        tool_calls: the tool calls of the message, as a JSON list.
        model: the model that wrote it.
        happened_at: when it was said.
        space: the space of a new conversation.
    """

    thinking: str | None
    tool_calls: Sequence[Any] | None
    model: str | None
    happened_at: When | None
    space: str | None


class EntryOptions(Signed, total=False):
    """Further arguments of `set`.

    Attributes:
        text: the text that search finds the entry by; default: all of its value.
        sensitivity: `secret` keeps it out of indexes, searches, lists, exports and bundles; only
            who names its space and key reads it.
        vectors: vectors of its parts by a model of the program, all of one length; `entries`
            compares its `vector` with them.
        expect_revision: the `revision` that was read, or `none`: the entry must not be there.
    """

    expect_revision: str | None
    vectors: Sequence[Sequence[float]] | None
    text: str | None
    sensitivity: Literal["secret", "public"] | None


class EntryFindOptions(TypedDict, total=False):
    """Further arguments of `entries`.

    Attributes:
        wait: whether a query waits until every text has its vector.
        vector: a vector by a model of the program, in place of a query: the entries with the
            nearest `vectors` come first, and their score is the cosine.
    """

    wait: bool | None
    vector: Sequence[float] | None


class EventOptions(TypedDict, total=False):
    """Which memories a reading is about, by space and by when they were true.

    Attributes:
        space: only this space; `shared`: only those of none; `*`: all.
        as_of_event: what was true at this time, superseded or not since then.
    """

    space: str | None
    as_of_event: When | None


class SearchOptions(EventOptions, total=False):
    """Further arguments of `search`.

    Attributes:
        after: only what happened at this time or later.
        before: only what happened at this time or earlier.
        include_inactive: whether superseded, archived and invalidated facts are found too.
        wait: whether to wait until every text has its vector.
        full: whether long texts are answered whole, not as the passage that fits best.
    """

    after: When | None
    before: When | None
    include_inactive: bool | None
    wait: bool | None
    full: bool | None


class TimelineOptions(EventOptions, total=False):
    """Further arguments of `timeline`.

    Attributes:
        session_id: only what was written in this session.
    """

    session_id: str | None


class MessageSearchOptions(TypedDict, total=False):
    """Further arguments of `search_messages`.

    Attributes:
        space: only this space; `shared`: only those of none; `*`: all.
        search_type: `vector` goes by meaning, `keyword` by words, `hybrid` by both.
        neighbours: whether each hit has the messages before and after it.
        full: whether long texts are answered whole.
    """

    space: str | None
    search_type: Literal["hybrid", "vector", "keyword"] | None
    neighbours: bool | None
    full: bool | None


class Choice(TypedDict, total=False):
    """A decision about one cell of a row in a merge, or about all of the row.

    Attributes:
        id: the row.
        take: `ours` keeps the target's side, `theirs` takes the source's, `value` sets `value`,
            `delete` removes the row, `skip` holds it.
        cell: the cell, as conflicts name it; default: `*`, the whole row.
        value: the columns to set, by name; only with `value`.
    """

    id: Required[str]
    take: Required[Literal["ours", "theirs", "value", "delete", "skip"]]
    cell: str | None
    value: Mapping[str, Any] | None


class Decision(TypedDict, total=False):
    """A decision in a review.

    Attributes:
        id: the row.
        take: as in `Choice`; `clear` takes an earlier decision back.
        cell: the cell; default: `*`, the whole row.
        value: the columns to set, by name; only with `value`.
        seen: the row's `seen` from `review.show`: refused if the row changed since.
    """

    id: Required[str]
    take: Required[Literal["ours", "theirs", "value", "delete", "skip", "clear"]]
    cell: str | None
    value: Mapping[str, Any] | None
    seen: str | None


class BatchRelation(TypedDict, total=False):
    """Further arguments of `relate` in a batch: those of `RelationOptions` that a row has.

    Attributes:
        happened_at: when it became true.
        valid_until: when it ceased to be true, or `never`.
        space: the space that it belongs to; `shared`: none.
    """

    happened_at: When | None
    valid_until: When | None
    space: str | None


class BatchFact(BatchRelation, total=False):
    """Further arguments of `add` in a batch.

    Attributes:
        expires_at: when answers stop showing it, or `never`.
        sensitivity: `secret` keeps it out of indexes, searches, exports and bundles.
    """

    expires_at: When | None
    sensitivity: Literal["secret", "public"] | None


class BatchChanges(BatchFact, total=False):
    """Further arguments of `update` in a batch.

    Attributes:
        expect_revision: the `revision` that was read: if the row was changed since, nothing of
            the batch is done.
    """

    expect_revision: str | None


class BatchEntry(TypedDict, total=False):
    """Further arguments of `set` in a batch.

    Attributes:
        text: the text that search finds the entry by; default: all of its value.
        sensitivity: `secret` keeps it out of indexes, searches, lists, exports and bundles.
        vectors: vectors of its parts by a model of the program, all of one length.
        expect_revision: the `revision` that was read, or `none`: the entry must not be there.
    """

    text: str | None
    sensitivity: Literal["secret", "public"] | None
    vectors: Sequence[Sequence[float]] | None
    expect_revision: str | None


class BatchObservation(TypedDict, total=False):
    """Further arguments of `observe` in a batch.

    Attributes:
        raw_input: what the tool was given; not searched.
        raw_output: what the tool answered; not searched.
        happened_at: when it happened.
        space: the space that it belongs to; `shared`: none.
        expires_at: when answers stop showing it, or `never`.
        sensitivity: `secret` keeps it out of indexes, searches, exports and bundles.
    """

    raw_input: str | None
    raw_output: str | None
    happened_at: When | None
    space: str | None
    expires_at: When | None
    sensitivity: Literal["secret", "public"] | None
