"""`Day1Store` and `stamped` against LangGraph's own classes on SQLite, by turns in one process."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import day1
from benchmarks.bench import Bench
from benchmarks.report import Row, quotient, skipped

_BATCH: Final = 100
_BATCHES: Final = 10
_MOST: Final = 100
"""Calls of each kind: each change is a commit, which the disk waits for."""
_WHAT: Final = "SqliteStore's"

Turn = Callable[[Any, int], object]
"""A call on a store of LangGraph; the number makes it another one each time."""


def _value(number: int, text: str = "first") -> dict[str, Any]:
    return {"text": f"{text} note {number}", "number": number, "by": {"name": "Ann"}}


def _batch(store: Any, number: int) -> None:
    from langgraph.store.base import PutOp  # noqa: PLC0415 - the extra may be missing

    store.batch([PutOp(("batch", str(number)), f"k{n}", _value(n)) for n in range(_BATCH)])


_TURNS: Final[dict[str, tuple[Turn, float]]] = {
    "put, new key": (lambda store, n: store.put(("new",), f"k{n}", _value(n)), 1.0),
    "put, changed value": (lambda store, n: store.put(("held",), f"k{n}", _value(n, "next")), 1.5),
    f"{_BATCH} new items in a batch": (_batch, 2.0),
    "get": (lambda store, n: store.get(("held",), f"k{n}"), 6.0),
    "search below a prefix": (lambda store, n: store.search(("users", str(n % 50))), 10.0),
    "delete": (lambda store, n: store.delete(("held",), f"k{n}"), 1.5),
}
"""The call, and the most of its time by the time of the same call of SQLite."""


def rows(bench: Bench, memory: day1.Memory) -> Iterator[Row]:
    """A row for each call, on two stores with the same items, then one for a stamped saver."""
    try:
        sqlite = importlib.import_module("langgraph.store.sqlite")
        adapter = importlib.import_module("day1.integrations.langgraph")
        sqlite_savers = importlib.import_module("langgraph.checkpoint.sqlite")
    except ImportError as exc:
        yield skipped("LangGraph's store", "stated", f"{exc.name} is not installed")
        return
    folder = bench.folder / "langgraph"
    folder.mkdir(exist_ok=True)
    for old_file in folder.iterdir():
        old_file.unlink()
    with sqlite.SqliteStore.from_conn_string(str(folder / "store")) as theirs:
        theirs.setup()
        our_store = adapter.Day1Store(memory, name="bench")
        for store in (our_store, theirs):
            _fill(store, bench.sizes.small)
        for name, (turn, limit) in _TURNS.items():
            count = _BATCHES if turn is _batch else min(_MOST, bench.sizes.calls)
            works = partial(turn, our_store), partial(turn, theirs)
            above, below = bench.few_by_turns(count, *works)
            yield quotient(f"LangGraph {name}", above, below, limit, _WHAT)
    yield _stamping(bench, memory, adapter.stamped, sqlite_savers.SqliteSaver)


def _fill(store: Any, count: int) -> None:
    """Put items: a tenth under one namespace, the others under those of 50 users."""
    from langgraph.store.base import PutOp  # noqa: PLC0415 - the extra may be missing

    items = [PutOp(("users", str(n % 50), "notes"), f"k{n}", _value(n)) for n in range(count)]
    store.batch([*items, *(PutOp(("held",), f"k{n}", _value(n)) for n in range(_MOST + 1))])


def _stamping(bench: Bench, memory: day1.Memory, stamped: Any, kind: Any) -> Row:
    """A checkpoint that is stamped against one that is not, each in a file of its own."""
    from langgraph.checkpoint.base import empty_checkpoint  # noqa: PLC0415 - it may be missing

    folder = bench.folder / "langgraph"

    def put(saver: Any, number: int) -> None:
        config = {"configurable": {"thread_id": "bench", "checkpoint_ns": ""}}
        saver.put(config, empty_checkpoint(), {"source": "loop", "step": number}, {})

    with (
        stamped(kind, memory).from_conn_string(str(folder / "stamped")) as ours,
        kind.from_conn_string(str(folder / "plain")) as theirs,
    ):
        above, below = bench.few_by_turns(_MOST, partial(put, ours), partial(put, theirs))
    return quotient("LangGraph checkpoint, stamped", above, below, 1.1, "SqliteSaver's")
