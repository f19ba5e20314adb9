"""engram's tools: against a fact with its vector, a smaller store, a store without ratings.

And its rule of duplicates: against vectors alone, on pairs that differ in what matters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any

from benchmarks.bench import Bench, Work
from benchmarks.report import Row, quotient, skipped
from benchmarks.texts import facts, questions
from day1.call.toolset import Tool
from day1.interfaces.open_store import OpenStore
from day1.model.lessons.experience import Experience
from day1.model.lessons.rating import rating_of
from day1.model.lessons.rewording import ALIKE
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT
from day1.services.access.caller import Caller
from day1.toolsets.day1.core import CORE
from day1.toolsets.engram import ENGRAM
from tests.lesson_pairs import DIFFERENT, REPHRASED
from tests.relevance.figures import half_judged, measuring

_STORE, _LARGE, _RATED, _WRONG = 1.5, 1.3, 1.1, 0.05
_RATINGS = 10_000


def rows(bench: Bench) -> Iterator[Row]:
    """One row for each of engram's promises."""
    if bench.model_dir is None or bench.server is not None:
        yield skipped("engram", "its ratios", "no model, or a server's row")
        return
    yield _stores(bench)
    yield _stores_in_a_large_store(bench)
    yield _searches(bench)
    yield from _merges(bench)
    yield _relevance(bench)


def _lessons(bench: Bench, seed: str) -> list[dict[str, Any]]:
    count = bench.sizes.warm + bench.sizes.calls
    texts = [text for text, _ in facts(2 * count, seed)]
    pairs = zip(texts[::2], texts[1::2], strict=True)
    return [{"context": one, "action": other, "result": "it holds"} for one, other in pairs]


def _called(store: OpenStore, tool: Tool, arguments: Sequence[dict[str, Any]]) -> Work:
    return lambda number: tool.call(store.context(Caller()), arguments[number])


def _stores(bench: Bench) -> Row:
    lessons = _lessons(bench, "lessons")
    plain_facts = [{"fact_text": " ".join(one.values())} for one in _lessons(bench, "plain")]
    with ExitStack() as entered:
        store = bench.open_copy(entered, bench.sizes.small)
        embedder = store.search.embedder
        assert embedder is not None  # noqa: S101 - there is a model
        write = _called(store, CORE.tools["memory_write_fact"], plain_facts)
        above, below = bench.by_turns(
            _called(store, ENGRAM.tools["memory_store"], lessons),
            lambda number: (write(number), embedder.embed([plain_facts[number]["fact_text"]])),
        )
    return quotient("memory_store", above, below, _STORE, "memory_write_fact's and one embedding's")


def _stores_in_a_large_store(bench: Bench) -> Row:
    lessons = _lessons(bench, "lessons")
    sizes = bench.sizes
    with ExitStack() as entered:
        stores = [bench.open_copy(entered, size) for size in (sizes.large, sizes.small)]
        works = [_called(store, ENGRAM.tools["memory_store"], lessons) for store in stores]
        above, below = bench.by_turns(*works)
    name = f"memory_store, {sizes.large:,} facts beside it"
    return quotient(name, above, below, _LARGE, f"with {sizes.small:,}")


def _searches(bench: Bench) -> Row:
    queries = [{"query": one} for one in questions(bench.sizes.warm + bench.sizes.calls, "rated")]
    with ExitStack() as entered:
        stores = [bench.open_copy(entered, bench.sizes.small)]
        rated = bench.open(bench.copy(bench.sizes.small, "copy-rated"))
        entered.callback(rated.close)
        with rated.repo.store.reading(Ref(branch="main")) as reading:
            ids = [str(row["id"]) for row in reading.find(FACT, Query())]
        rated.repo.ledger.put(
            *(
                rating_of(ids[n % len(ids)], f"agent {n}", "a question of it", n % 10 / 10, n + 1)
                for n in range(_RATINGS)
            )
        )
        works = [_called(one, ENGRAM.tools["memory_search"], queries) for one in (rated, *stores)]
        above, below = bench.by_turns(*works)
    return quotient(f"memory_search with {_RATINGS:,} judgements", above, below, _RATED, "without")


def _merges(bench: Bench) -> Iterator[Row]:
    """How many pairs of lessons become one: wrongly of those that differ, rightly of the others."""
    with ExitStack() as entered:
        store = bench.open_copy(entered, bench.sizes.small)
        embedder = store.search.embedder
        assert embedder is not None  # noqa: S101 - there is a model
        tool = ENGRAM.tools["memory_store"]

        def stored(pair: tuple[Experience, Experience]) -> tuple[bool, bool]:
            """Whether the second one changes the first one's row, and whether it names it."""
            one, other = (tool.call(store.context(Caller()), asdict(lesson)) for lesson in pair)
            return one["id"] == other["id"], one["id"] == other.get("near_duplicate_of")

        def alike(pair: tuple[Experience, Experience]) -> bool:
            one, other = embedder.embed([lesson.text for lesson in pair])
            return float(one @ other) > ALIKE

        wrong, plain = sum(stored(pair)[0] for pair in DIFFERENT), sum(map(alike, DIFFERENT))
        right, named = map(sum, zip(*map(stored, REPHRASED), strict=True))
    yield Row(
        f"lessons wrongly merged, of {len(DIFFERENT)} pairs",
        f"{wrong} / {plain}",
        f"<= {_WRONG:g} x those of the cosine alone",
        wrong / plain,
        _WRONG,
    )
    result_text = f"{right} merged, {named} named as near duplicates"
    yield Row(f"lessons said once more, of {len(REPHRASED)} rephrasings", result_text)


def _relevance(bench: Bench) -> Row:
    """What the votes on half of the written questions cost the other half, which nobody judged."""
    folder = bench.folder / "judged"
    bench.remove(folder)
    with measuring(folder, model=bench.model_dir) as store:
        before, after = half_judged(store, "hybrid").others
    return Row(
        "recall@10 of questions that nobody judged",
        f"{after:.4f} / {before:.4f}",
        ">= 0.999 x without judgements",
        after / before,
        0.999,
        at_least=True,
    )
