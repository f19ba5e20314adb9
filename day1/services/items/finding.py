"""Finding items: the facts and messages that an owner sees, and relations that they name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from day1.errors import NotFound
from day1.model.contexts.keyed import fits
from day1.model.redaction.mask import REDACTED_HASH
from day1.model.rows.change import Query
from day1.model.rows.json_columns import read_detail
from day1.model.rows.kind import CONVERSATION, FACT, MESSAGE, RELATION, Cell, Kind, Row, kind_of
from day1.ports.reading import Reading

DELETED: Final = "deleted"
"""The `status` in the detail of an item that its owner deleted."""
_MAX_RELATIONS: Final = 5_000
"""Maximum number of relations that are compared with texts: the newest ones."""
_MAX_PER_TEXT: Final = 20
"""Maximum number of relations returned for one text."""
_MAX_NAME_WORDS: Final = 6
"""Maximum number of words of an entity's name that is looked for in texts."""
_WORD: Final = re.compile(r"\w+")

Spaces = Sequence[str | None]
"""The spaces that an owner sees; None among them stands for the rows without a space."""


@dataclass(frozen=True, slots=True)
class Narrowing:
    """Conditions on the metadata, thread and run of an owner's items."""

    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Values that the metadata of an item must have."""
    thread: str | None = None
    """Items of other threads are left out; items without a thread are not."""
    run: str | None = None
    """Only items of this run."""

    @property
    def is_empty(self) -> bool:
        """Whether there is no condition, so that every item meets it."""
        return not self.metadata and self.thread is None and self.run is None

    def admits(self, detail: Mapping[str, Any]) -> bool:
        """Whether an item with this detail meets the conditions."""
        metadata = detail.get("metadata")
        return (
            (self.thread is None or detail.get("threadId") in {None, self.thread})
            and (self.run is None or detail.get("runId") == self.run)
            and fits(self.metadata, metadata if isinstance(metadata, Mapping) else None)
        )


@dataclass(frozen=True, slots=True)
class Item:
    """A fact or message, and the detail that says whose it is."""

    kind: Kind
    row: Row
    detail: dict[str, Any]
    """The detail of a fact, or for a message the detail of its conversation."""


def item_of(
    reading: Reading, spaces: Spaces, item_id: str, now: int, *, deleted: bool = False
) -> Item:
    """Find a fact or message by its id, if one of these spaces has it.

    Args:
        reading: the state to read.
        spaces: the spaces that the caller sees.
        item_id: the id of the fact or message.
        now: the instant at which it must not have expired.
        deleted: whether an item that its owner deleted is found too.

    Raises:
        NotFound: no such item is in these spaces; the error does not say whether other spaces
            have it.
    """
    item = _item(reading, item_id, now)
    if item is not None and _space(reading, item) in spaces:
        is_deleted = item.kind is FACT and item.detail.get("status") == DELETED
        if deleted or not is_deleted:
            return item
    raise unknown_item(item_id)


def unknown_item(item_id: str) -> NotFound:
    """Build the error of an id that names no item of the caller."""
    return NotFound(
        "You have no memory with this id: search or list your memories to see their ids.",
        id=item_id[:80],
    )


def _item(reading: Reading, item_id: str, now: int) -> Item | None:
    kind = kind_of(item_id)
    if kind is None or kind not in {FACT, MESSAGE}:
        return None
    query = Query(equal={"id": item_id}, alive_at=now)  # also leaves out what its sources hide
    row = next(iter(reading.find(kind, query)), None)
    if row is None or row["content_hash"] == REDACTED_HASH:
        return None
    detail_row = row if kind is FACT else _conversation(reading, row)
    return Item(kind, row, read_detail(detail_row.get("detail")))


def _conversation(reading: Reading, message: Row) -> Row:
    conversation_id = str(message["conversation_id"])
    return reading.get(CONVERSATION, [conversation_id]).get(conversation_id, {})


def _space(reading: Reading, item: Item) -> Cell:
    """Return the space of an item; a message is in that of its conversation."""
    space_row = item.row if item.kind is FACT else _conversation(reading, item.row)
    return space_row.get("space")


def facts_of(spaces: Spaces, now: int) -> Query:
    """Build the query for the facts of spaces that may be listed at an instant."""
    return Query(
        equal={"status": "active"},
        among={"space": list(spaces)},
        without={"verification": ("invalidated",)},
        alive_at=now,
        present_at=now,
        public=True,
    )


def newest_facts(reading: Reading, spaces: Spaces, now: int, limit: int) -> list[Row]:
    """List the facts of spaces, newest first, without redacted ones."""
    scan_limit = limit
    while True:
        query = replace(
            facts_of(spaces, now), order="created_at", descending=True, limit=scan_limit
        )
        ids_and_hashes = reading.scan(FACT, ("id", "content_hash"), query)
        fact_ids = [
            str(row_id) for row_id, content_hash in ids_and_hashes if content_hash != REDACTED_HASH
        ]
        if len(fact_ids) >= limit or len(ids_and_hashes) < scan_limit:
            fact_by_id = reading.get(FACT, fact_ids[:limit])
            return [fact_by_id[row_id] for row_id in fact_ids[:limit]]
        scan_limit *= 4


def meant_facts(
    reading: Reading, spaces: Spaces, now: int, narrowing: Narrowing
) -> frozenset[str] | None:
    """Return the ids of the facts that meet the conditions; None without conditions."""
    if narrowing.is_empty:
        return None
    ids_and_details = reading.scan(FACT, ("id", "detail"), facts_of(spaces, now))
    return frozenset(
        str(row_id) for row_id, detail in ids_and_details if narrowing.admits(read_detail(detail))
    )


def relations_named(
    reading: Reading, spaces: Spaces, now: int, texts: Iterable[str]
) -> list[list[Row]]:
    """Find for each text the relations whose source or target it names, newest first."""
    query = Query(
        among={"space": list(spaces)},
        present_at=now,
        order="created_at",
        descending=True,
        limit=_MAX_RELATIONS,
    )
    entity_columns = ("id", "source_entity", "target_entity")
    ids_by_name: dict[tuple[str, ...], dict[str, None]] = {}
    for row_id, *entity_names in reading.scan(RELATION, entity_columns, query):
        for entity_name in entity_names:
            ids_by_name.setdefault(_words(str(entity_name)), {})[str(row_id)] = None
    ids_by_name.pop((), None)
    relation_ids_of_texts = (
        [_named(text, ids_by_name) for text in texts] if ids_by_name else [[] for _ in texts]
    )
    relation_by_id = reading.get(
        RELATION, [row_id for relation_ids in relation_ids_of_texts for row_id in relation_ids]
    )
    return [
        [relation_by_id[row_id] for row_id in relation_ids if row_id in relation_by_id]
        for relation_ids in relation_ids_of_texts
    ]


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.casefold() for word in _WORD.findall(text))


def _named(text: str, ids_by_name: Mapping[tuple[str, ...], Mapping[str, None]]) -> list[str]:
    words = _words(text)
    relation_ids: dict[str, None] = {}
    for start_index in range(len(words)):
        for word_count in range(1, _MAX_NAME_WORDS + 1):
            relation_ids |= ids_by_name.get(words[start_index : start_index + word_count], {})
    return list(relation_ids)[:_MAX_PER_TEXT]
