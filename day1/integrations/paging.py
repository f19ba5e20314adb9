"""Read in several calls what has more bytes than one answer may have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, TypeVar

from day1 import errors

MOST_ENTRIES: Final = 1_000
"""Maximum number of entries that one call reads."""
_MESSAGES: Final = 256
"""Maximum number of messages that one call reads if one answer cannot hold all."""

T = TypeVar("T")
Row = dict[str, Any]
"""An entry or a message as an operation answers it."""


def entries_at(
    read: Callable[[list[T]], Sequence[Row | None]], places: list[T]
) -> Sequence[Row | None]:
    """Read the entries of some places; a call whose answer would be too large is halved.

    Args:
        read: calls `entry_get` for these places.
        places: at most `MOST_ENTRIES`.

    Raises:
        AnswerTooLarge: one entry alone is too large.
    """
    try:
        return read(places)
    except errors.AnswerTooLarge:
        if len(places) == 1:
            raise
    middle = len(places) // 2
    return [*entries_at(read, places[:middle]), *entries_at(read, places[middle:])]


def entries_in_pages(
    read: Callable[[int, int], Mapping[str, Any]], limit: int | None = None, offset: int = 0
) -> Iterator[Row]:
    """Yield the entries that are found, each once; a page too large for one answer is halved.

    Others may write meanwhile. If entries went, the next page begins as many places earlier, so
    that none is left out.

    Args:
        read: calls `entry_find` with these `limit` and `offset`, and returns its answer.
        limit: how many entries at most; None: all.
        offset: how many to leave out first.

    Raises:
        AnswerTooLarge: one entry alone is too large.
    """
    page_limit, first_offset, last_total = MOST_ENTRIES, offset, 0
    read_ids: set[str] = set()
    while limit is None or len(read_ids) < limit:
        if limit is not None:
            page_limit = min(page_limit, limit - len(read_ids))
        try:
            answer = read(page_limit, offset)
        except errors.AnswerTooLarge:
            if page_limit == 1:
                raise
            page_limit //= 2
            continue
        gone_count, last_total = last_total - answer["total"], answer["total"]
        if gone_count > 0 and offset > first_offset:
            offset = max(first_offset, offset - gone_count)
            continue
        page: list[Row] = answer["entries"]
        new_entries = [entry for entry in page if entry["id"] not in read_ids]
        read_ids |= {entry["id"] for entry in new_entries}
        yield from new_entries
        if len(page) < page_limit:
            return
        offset += page_limit


def newest_messages(read: Callable[..., list[Row]], limit: int | None = None) -> list[Row]:
    """Read the newest messages of a conversation, oldest first, in several calls if need be.

    Args:
        read: calls `message_list` or `message_chain` with these named arguments: `limit`, and for
            an older page `before`.
        limit: how many of the newest; None: all.

    Raises:
        AnswerTooLarge: one message alone is too large.
        NotFound: a message was removed while those in front of it were read.
    """
    try:
        return read(limit=limit)
    except errors.AnswerTooLarge:
        if limit == 1:
            raise
    pages = [*_pages(read, limit)]
    return [*chain.from_iterable(reversed(pages))]


def _pages(read: Callable[..., list[Row]], limit: int | None) -> Iterator[list[Row]]:
    """Yield the newest messages in pages, the newest page first; each is oldest first."""
    page_limit, read_count = _MESSAGES, 0
    position: Row = {}
    while limit is None or read_count < limit:
        if limit is not None:
            page_limit = min(page_limit, limit - read_count)
        try:
            page = read(limit=page_limit, **position)
        except errors.AnswerTooLarge:
            if page_limit == 1:
                raise
            page_limit //= 2
            continue
        yield page
        if len(page) < page_limit:
            return
        read_count += len(page)
        position = {"before": page[0]["id"]}
