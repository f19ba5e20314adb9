"""From which indexed commit a branch is followed that was never indexed itself."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from day1.errors import NotFound
from day1.model.rows.change import Commit
from day1.ports.history import History
from day1.ports.index import Cursor, Index
from day1.services.search.indexing import _nearest


class Past:
    """Branches that left one line of commits at some places; counts the commits that are walked."""

    def __init__(self, **lines: tuple[str, int, int]) -> None:
        """By tip: the line that it left, where, and how many commits it has since."""
        self._lines = lines
        self.walked: dict[str, int] = {}

    def log(self, start: str) -> Iterator[Commit]:
        if start not in self._lines:
            raise NotFound(start)
        self.walked[start] = 0
        for commit in self._past(start):
            self.walked[start] += 1
            yield cast(Commit, SimpleNamespace(id=commit))

    def _past(self, tip: str) -> Iterator[str]:
        line, left_at, count = self._lines[tip]
        yield from [tip, *(f"{tip}-{number}" for number in range(1, count))]
        yield from (f"{line}-{number}" for number in range(left_at, -1, -1))


def nearest(past: Past, *cursors: str) -> str | None:
    words = SimpleNamespace(cursors=lambda: [Cursor(commit, None) for commit in cursors])
    index: Any = SimpleNamespace(words=words)
    return _nearest("tip", cast(History, past), cast(Index, index))


def test_the_nearest_is_taken_whatever_the_order() -> None:
    past = Past(
        tip=("main", 90, 1), near=("main", 88, 2), far=("main", 50, 2), gone=("other", 3, 1)
    )
    assert nearest(past, "far", "near", "gone") == "near"
    assert nearest(past, "near", "missing", "far") == "near"
    assert nearest(past, "gone") is None


def test_no_cursor_is_walked_further_than_the_nearest_is_away() -> None:
    """On a server each step of a process that just started may be a round trip."""
    lines = {f"far{number}": ("main", 10, 300) for number in range(8)}
    past = Past(tip=("main", 90, 1), near=("main", 88, 2), **lines)
    assert nearest(past, "near", *lines) == "near"
    assert max(past.walked[tip] for tip in lines) <= 5


@pytest.mark.parametrize("count", [900, 1_000])
def test_a_past_of_a_thousand_commits_is_looked_through(count: int) -> None:
    past = Past(tip=("main", 90, 900), long=("main", 90, count))
    assert nearest(past, "long") == ("long" if count < 1_000 else None)
