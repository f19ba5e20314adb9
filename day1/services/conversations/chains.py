"""Messages under keys of a log: each follows another by its key, also one of another conversation.

A chain is a message, the one that it follows, and so on to the first one. So conversations share
the messages that they have in common, and one conversation may have several ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from day1.errors import NotFound
from day1.model.redaction.mask import REDACTED_HASH
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import EDIT, MESSAGE, WHOLE, Cell, Row, text_of
from day1.model.values.ids import derived_id
from day1.ports.reading import Reading
from day1.services.conversations.keyed import ALL, MessagePage, no_message_before
from day1.services.repository.repository import Repository
from day1.services.rows.value_sizes import refuse_large_rows

_UUID7: Final = re.compile(
    r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
)
_MILLISECOND: Final = 1_000
_COLUMNS: Final = ("previous_id", "content_hash", "conversation_id")


@dataclass(frozen=True, slots=True)
class LogKey:
    """The key of a message in a log; the log is named by a space (None: no space)."""

    space: str | None
    key: str

    @property
    def row_id(self) -> str:
        """The id of the message, on all branches; it has the time of a key that is a UUID 7."""
        uuid_match = _UUID7.fullmatch(self.key)
        uuid_time = (
            None if uuid_match is None else int("".join(uuid_match.groups()), 16) * _MILLISECOND
        )
        return derived_id(MESSAGE.prefix, uuid_time, "log", self.space or "", self.key)


@dataclass(frozen=True, slots=True)
class Link:
    """A message of a chain, and the one that it follows."""

    id: str
    previous_id: str | None
    is_there: bool = True
    """Whether the branch has the message; else it was removed, and only its place is known."""
    is_shown: bool = True
    """Whether the message's words may be read: it is neither removed nor redacted."""


class Chains:
    """The chains of a state; the messages of a conversation are looked up together."""

    def __init__(self, repo: Repository, reading: Reading) -> None:
        """Prepare to follow chains of a state; messages are looked up when they are needed."""
        self._repo, self._reading = repo, reading
        self._links: dict[str, Link] = {}
        self._looked_up: set[Cell] = set()
        """The conversations whose newest messages were looked up."""

    def messages(self, end: str, page: MessagePage = ALL) -> list[Row]:
        """Return the messages of a chain in sequence, without removed and redacted ones.

        Args:
            end: the id of the last message.
            page: which of the messages.

        Raises:
            NotFound: the last message is not there, one before it is nowhere, or the chain has no
                message with the id `page.before`.
            AnswerTooLarge: the values of the messages have too many bytes.
        """
        expected = page.limit if page.before is None else None
        if not self._link(end, expected).is_there:
            raise _missing(end)
        is_in_front, shown_ids = page.before is None, list[str]()
        for link in self.links(end, expected):
            shown_ids += [link.id] if is_in_front and link.is_shown else []
            if len(shown_ids) == page.limit:
                break
            is_in_front = is_in_front or link.id == page.before
        if not is_in_front:
            raise no_message_before(str(page.before))
        refuse_large_rows(self._reading, MESSAGE, shown_ids, page.most_bytes)
        row_by_id = self._reading.get(MESSAGE, shown_ids)
        return [row_by_id[row_id] for row_id in reversed(shown_ids)]

    def links(self, end: str, expected: int | None = None) -> Iterator[Link]:
        """Yield the messages of a chain from its end to its beginning.

        Args:
            end: the id of the last message.
            expected: how many the caller wants to see; None: all.

        Raises:
            NotFound: a message is nowhere.
        """
        row_id: str | None = end
        visited_ids: set[str] = set()  # a damaged file may hold a circle
        while row_id is not None and row_id not in visited_ids:
            visited_ids.add(row_id)
            link = self._link(row_id, expected)
            yield link
            row_id = link.previous_id

    def _link(self, row_id: str, expected: int | None) -> Link:
        if row_id not in self._links:
            row = self._reading.get(MESSAGE, [row_id], _COLUMNS).get(row_id)
            if row is None:
                self._look_up_removed(row_id)
            else:
                conversation_id = row["conversation_id"]
                # What is not among the newest messages may be anywhere: the next time all are read.
                self._look_up(
                    self._reading,
                    conversation_id,
                    None if conversation_id in self._looked_up else expected,
                )
                self._looked_up.add(conversation_id)
                self._links[row_id] = _link((row_id, row["previous_id"], row["content_hash"]))
        return self._links[row_id]

    def _look_up(self, reading: Reading, conversation_id: Cell, newest: int | None = None) -> None:
        """Look up the messages of a conversation in a state: the newest ones, or all."""
        equal = {"conversation_id": conversation_id}
        query = Query(equal=equal)
        if newest is not None:
            query = Query(equal=equal, order="created_at", descending=True, limit=newest)
        is_past = reading is not self._reading
        for cells in reading.scan(MESSAGE, ("id", *_COLUMNS), query):
            link = _link(cells)
            if is_past:
                link = Link(link.id, link.previous_id, is_there=False, is_shown=False)
            self._links.setdefault(link.id, link)

    def _look_up_removed(self, row_id: str) -> None:
        """Find in the past the message that a removed message followed.

        Raises:
            NotFound: no past of the branch has the message.
        """
        removal_edits = self._reading.find(EDIT, Query(equal={"row_id": row_id, "cell": WHOLE}))
        removed_at = max((int(edit["created_at"] or 0) for edit in removal_edits), default=None)
        commits = self._reading.log() if removed_at is not None else ()
        commit_before = next(
            (commit.id for commit in commits if commit.ts < (removed_at or 0)), None
        )
        if commit_before is None:
            raise _missing(row_id)
        with self._repo.store.reading(Ref(commit=commit_before)) as past_reading:
            row = past_reading.get(MESSAGE, [row_id], _COLUMNS).get(row_id)
            if row is None:
                raise _missing(row_id)
            earlier_ids = set(self._links)
            self._look_up(past_reading, row["conversation_id"])
            # Of the past only what is not there any more: the present is looked up when needed.
            past_ids = [link_id for link_id in self._links if link_id not in earlier_ids]
            for present_id in self._reading.get(MESSAGE, past_ids, ("previous_id",)):
                del self._links[present_id]


def _link(values: tuple[Cell, ...]) -> Link:
    row_id, previous_id, text_hash = values[:3]
    return Link(str(row_id), text_of(previous_id), is_shown=text_hash != REDACTED_HASH)


def _missing(row_id: str) -> NotFound:
    return NotFound(
        "The log has no message with this key on this branch: check the key and the branch.",
        id=row_id,
    )
