"""The views that searches of this process keep, so that the next search reads only what changed."""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from day1.model.rows.change import Ref
from day1.model.rows.kind import Kind
from day1.ports.history import History
from day1.ports.index import Index
from day1.ports.reading import Reading
from day1.services.search.views import (
    _ROWS_KEPT,
    _VIEWS_KEPT,
    SAMPLE,
    CachedView,
    Filter,
    LiveQuery,
    ViewKey,
    _common,
)


class ViewCache:
    """The cached views of the states that a process searched; threads may share it."""

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._guard = threading.Lock()
        self._generation = ""
        self._views: OrderedDict[ViewKey, CachedView] = OrderedDict()
        self._common: dict[ViewKey, tuple[int, frozenset[str]]] = {}
        self._rows: dict[ViewKey, tuple[object, int]] = {}

    @contextmanager
    def at(
        self, reading: Reading, ref: Ref, wanted: Filter, history: History, index: Index
    ) -> Iterator[CachedView]:
        """Lend the view of an open state; `ref` is the state that was asked for."""
        with self._guard:
            generation = index.generation()
            if generation != self._generation:  # the numbers of texts mean nothing any more
                self._views.clear()
                self._generation = generation
            key = (*state_of(reading, ref), *wanted.view)
            view = self._views.pop(key, None)
            view = self._views[key] = CachedView(wanted) if view is None else view
            while len(self._views) > 1 and self._full():
                self._views.popitem(last=False)
        with view.lock:
            read = view.readers and not view.is_at(reading, index)
            moved = view.copy() if read else view
            moved.advance(reading, history, index)
            moved.readers += 1
            if read:
                with self._guard:
                    if generation == self._generation:
                        self._views[key] = moved
        try:
            yield moved
        finally:
            with moved.lock:
                moved.readers -= 1

    def _full(self) -> bool:
        rows = sum(map(len, self._views.values()))
        return rows > _ROWS_KEPT or len(self._views) > _VIEWS_KEPT

    def rows(self, reading: Reading, ref: Ref, kind: Kind) -> int:
        """How many rows of a kind are visible; counted when the state has moved."""
        key = (*state_of(reading, ref), kind.table)
        moved = (reading.tip, reading.pending)
        known = self._rows.get(key)
        if known is None or known[0] != moved:
            if len(self._rows) > SAMPLE:
                self._rows.clear()
            known = self._rows[key] = moved, reading.count(kind)
        return known[1]

    def common(
        self, state: ViewKey, visible: CachedView | LiveQuery, rows: int, index: Index
    ) -> frozenset[str]:
        """The words in more than a quarter of the visible memories, judged by a sample.

        The sample is taken anew when there are a tenth more or fewer `rows` than then.
        """
        key = (*state, *visible.key)
        known = self._common.get(key)
        if known is None or abs(known[0] - rows) * 10 > known[0]:
            if len(self._common) > SAMPLE:
                self._common.clear()
            texts = index.words.texts(visible.kind, visible.sample(SAMPLE))
            known = self._common[key] = rows, _common(list(texts.values()))
        return known[1]


def state_of(reading: Reading, ref: Ref) -> ViewKey:
    """What the views of a state are stored under: a branch keeps its key while it moves.

    A redaction changes the key, since rows of the cached view may be masked now.
    """
    live = ref.branch is not None and ref.until is None
    return (ref.branch, reading.mask) if live else (reading.tip, ref.until, reading.mask)
