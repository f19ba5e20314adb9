"""Where the time of a search goes: a search engine whose parts count their calls."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from day1.services.search.search_engine import SearchEngine

Spent = dict[str, float]
"""Seconds by part."""


class _Timed:
    """A port whose calls are timed under one name; what a call of it does inside is in it."""

    def __init__(self, port: Any, part: str, spent: Spent) -> None:
        self._port, self._part, self._spent = port, part, spent

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._port, name)
        if not callable(value):
            return value

        def call(*arguments: Any, **named: Any) -> Any:
            started = time.perf_counter()
            try:
                return value(*arguments, **named)
            finally:
                self._spent[self._part] += time.perf_counter() - started

        return call


class _TimedStore(_Timed):
    """A store whose readings are timed too."""

    @contextmanager
    def reading(self, ref: Any) -> Iterator[Any]:
        started = time.perf_counter()
        with self._port.reading(ref) as reading:
            self._spent[self._part] += time.perf_counter() - started
            yield _Timed(reading, self._part, self._spent)


class _TimedIndex(_Timed):
    """An index whose two sides are two parts."""

    def __init__(self, index: Any, spent: Spent) -> None:
        super().__init__(index, "the index's own", spent)
        self.words = _Timed(index.words, "words", spent)
        self.vectors = _Timed(index.vectors, "vectors compared", spent)


def timed(engine: SearchEngine) -> tuple[SearchEngine, Spent]:
    """The same engine with parts that note what they spend, and where they note it."""
    spent: Spent = defaultdict(float)
    wrapped: dict[str, Any] = {
        "store": _TimedStore(engine.store, "rows visible", spent),
        "history": _Timed(engine.history, "rows visible", spent),
        "index": _TimedIndex(engine.index, spent),
        "embedder": _Timed(engine.embedder, "question embedded", spent),
    }
    if engine.embedder is None:
        wrapped["embedder"] = None
    return replace(engine, **wrapped), spent
