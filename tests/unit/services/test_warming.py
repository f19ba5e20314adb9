"""Vectors of texts, and making them before a search."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from day1.errors import EmbedderUnavailable
from day1.model.branches.branch import MAIN
from day1.ports.index import EmbedFirst, IndexBehind
from day1.services.contexts import warming
from day1.services.contexts.contexts import NewContext, save
from day1.services.contexts.vectors import foreign, text_vectors, unit
from tests.unit.services.conftest import ADA, Bench
from tests.unit.services.matched import OURS, SPACE, Two, memory

# Vectors of texts


def test_a_text_of_several_passages_has_their_mean_as_its_vector() -> None:
    made = text_vectors(Two(), ["left right", "up"])
    assert made.long == 1
    assert np.allclose(made.vectors[0], [0.5**0.5, 0.5**0.5])
    assert np.allclose(made.vectors[1], OURS["up"])
    assert np.allclose(unit([3.0, 4.0]), [0.6, 0.8])


@pytest.mark.parametrize(
    ("embedder", "text", "vector", "expected"),
    [
        (Two(), "left", (1.0, 0.0), False),
        (Two(), "left", (5.0, 0.0), False),
        (Two(), "left", (0.97, 0.243), True),
        (Two(), "left", (0.99, 0.141), False),
        (Two(), "left", (0.0, 1.0), True),
        (Two(), "left", (1.0, 0.0, 0.0), True),
        (None, "left", (1.0, 0.0), True),
        (Two(works=False), "left", (1.0, 0.0), True),
    ],
    ids=["equal", "longer", "below 0.98", "above 0.98", "another", "dimension", "none", "broken"],
)
def test_which_vectors_are_of_another_model(
    embedder: Any, text: str, vector: tuple[float, ...], expected: bool
) -> None:
    assert foreign(embedder, [(text, vector)]) == [expected]


def test_each_vector_is_compared_with_its_own_text() -> None:
    given = [("left", (0.0, 1.0)), ("right", (0.0, 1.0)), ("up", (1.0,))]
    assert foreign(Two(), given) == [True, False, True]


# Making vectors before a search


class Waiting:
    """An index with texts that wait for their vectors; a turn embeds so many."""

    def __init__(self, texts: Sequence[int], a_turn: int = 1) -> None:
        self.left, self.a_turn = list(texts), a_turn
        self.turns = 0
        self.vectors = self

    def waiting(self, _: object, texts: Sequence[int]) -> list[int]:
        return [text for text in texts if text in self.left]

    def embed_pending(
        self, index: object, embedder: object, batch: int, first: EmbedFirst, _: object
    ) -> None:
        assert index is self
        assert isinstance(embedder, Two)
        assert batch > 0
        assert self.left[0] in first.texts
        self.turns += 1
        del self.left[: self.a_turn]


@pytest.mark.parametrize(
    ("a_turn", "turns", "left"), [(1, 3, []), (2, 2, []), (0, 1, [1, 2, 3])], ids=str
)
def test_texts_are_embedded_until_none_waits_or_another_process_is_at_it(
    monkeypatch: pytest.MonkeyPatch, a_turn: int, turns: int, left: list[int]
) -> None:
    index = Waiting([1, 2, 3], a_turn)
    monkeypatch.setattr(warming, "embed_pending", index.embed_pending)
    monkeypatch.setattr(warming, "TimeBudget", lambda _s: lambda: False)
    ports: Any = SimpleNamespace(index=index, embedding_s=None)
    warming.embed_first(ports, Two(), [1, 2, 3])
    assert (index.turns, index.left) == (turns, left)


@pytest.mark.parametrize(
    ("embedding_s", "expected"), [(None, 20.0), (0.5, 0.5), (0.0, 20.0)], ids=str
)
def test_how_long_texts_are_embedded_at_most(
    monkeypatch: pytest.MonkeyPatch, embedding_s: float | None, expected: float
) -> None:
    """Some seconds where no worker goes on, else a moment."""
    budgets: list[float] = []

    def budget(seconds: float) -> Any:
        budgets.append(seconds)
        return lambda: True

    index = Waiting([1])
    monkeypatch.setattr(warming, "embed_pending", index.embed_pending)
    monkeypatch.setattr(warming, "TimeBudget", budget)
    ports: Any = SimpleNamespace(index=index, embedding_s=embedding_s)
    warming.embed_first(ports, Two(), [1])
    assert (budgets, index.turns) == ([expected], 0)


def test_without_a_model_nothing_can_be_warmed() -> None:
    ports: Any = SimpleNamespace(embedder=None)
    with pytest.raises(EmbedderUnavailable, match="start day1 anew"):
        warming.the_embedder(ports)


def test_the_texts_of_a_space_are_queued_unless_they_are_hidden(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    queued: list[set[str]] = []
    index: Any = SimpleNamespace(
        words=SimpleNamespace(known=lambda _kind, hashes: {one: one for one in hashes}),
        vectors=SimpleNamespace(waiting=lambda _embedder, texts: sorted(texts)),
    )
    monkeypatch.setattr(warming, "catch_up", lambda *_: None)
    monkeypatch.setattr(warming, "embed_first", lambda _p, _e, texts: queued.append(set(texts)))
    ports: Any = SimpleNamespace(
        store=bench.store, history=None, index=index, words_wait_s=0, embedder=Two()
    )
    bench.now = 2_000
    memory(bench, "old")
    bench.now = 3_000
    memory(bench, "new")
    memory(bench, "secret", sensitivity="secret")
    save(bench.repo, bench.branch(), NewContext(SPACE, "c", "context"), ADA)
    save(bench.repo, bench.branch(), NewContext(SPACE, "e", "over", expires_at=3_500), ADA)
    bench.add("fact_a", "of no space")
    here = (MAIN, bench.branch().id)
    assert warming.warm(ports, here, SPACE, None, 4_000) == 3
    assert warming.warm(ports, here, SPACE, 3_000, 4_000) == 2
    assert warming.warm(ports, here, None, None, 4_000) == 1
    assert len(queued[0] - queued[1]) == 1


@pytest.mark.parametrize(
    ("hashes", "fails", "notes"), [([], True, 0), (["h"], False, 0), (["h"], True, 1)], ids=str
)
def test_facts_that_cannot_be_embedded_now_follow_later(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, hashes: list[str], fails: bool, notes: int
) -> None:
    def catch_up(*_: object) -> None:
        if fails:
            raise IndexBehind("busy")

    monkeypatch.setattr(warming, "catch_up", catch_up)
    embedded: list[tuple[Any, ...]] = []
    monkeypatch.setattr(warming, "embed_first", lambda *given: embedded.append(given))
    known = {"h": 7}
    index = SimpleNamespace(words=SimpleNamespace(known=lambda _kind, _hashes: known))
    ports: Any = SimpleNamespace(store=bench.store, history=None, index=index, words_wait_s=0)
    here, embedder = (MAIN, bench.branch().id), Two()
    assert len(warming.embed_soon(ports, embedder, here, hashes)) == notes
    assert embedded == ([(ports, embedder, [7])] if hashes and not fails else [])
