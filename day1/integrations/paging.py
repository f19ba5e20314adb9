"""Read in several calls what has more bytes than one answer may have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, Final

from day1 import errors

MOST_ENTRIES: Final = 1_000
"""Maximum number of entries that one call reads."""
_MESSAGES: Final = 256
"""Maximum number of messages that one call reads if one answer cannot hold all."""

Row = dict[str, Any]
"""An entry or a message as an operation answers it."""


def entries_in_pages(read: Callable[[int, int], list[Row]]) -> Iterator[Row]:
    """Yield the entries of a space; a page that is too large for one answer is halved.

    Args:
        read: calls `entry_find` with these `limit` and `offset`.

    Raises:
        AnswerTooLarge: one entry alone is too large.
    """
    limit, offset = MOST_ENTRIES, 0
    while True:
        try:
            page = read(limit, offset)
        except errors.AnswerTooLarge:
            if limit == 1:
                raise
            limit //= 2
            continue
        yield from page
        if len(page) < limit:
            return
        offset += limit


def newest_messages(read: Callable[..., list[Row]], limit: int | None = None) -> list[Row]:
    """Read the newest messages of a conversation, oldest first, in several calls if need be.

    Args:
        read: calls `message_list` with these named arguments: `limit`, and for a page `before`.
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
