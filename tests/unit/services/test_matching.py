"""Finding memories of a space by text, by vector or both; and making vectors before a search."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from day1.errors import EmbedderUnavailable, InvalidRequest
from day1.model.branches.branch import MAIN
from day1.model.contexts.keyed import memory_id, passage_id
from day1.model.rows.change import Pending, Ref
from day1.model.rows.kind import FACT, OBSERVATION
from day1.model.search.passages import FoundText
from day1.model.search.ranking import Weights
from day1.ports.index import IndexBehind
from day1.services.contexts import matching, warming
from day1.services.contexts.contexts import NewContext, save
from day1.services.contexts.matching import Wanted, Where
from day1.services.contexts.memories import NewMemory, upsert
from day1.services.contexts.promoting import Promotion, promote
from day1.services.contexts.vectors import foreign, text_vectors, unit
from day1.services.search.request import Hit, SearchAnswer, SearchRequest
from tests.unit.services.conftest import ADA, Bench

SPACE = "project:metal"
OURS = {"left": (1.0, 0.0), "right": (0.0, 1.0), "up": (0.6, 0.8)}


class Two:
    """An embedder of two dimensions that knows three words; each word is a passage."""

    name, dimension, stride = "two", 2, 1

    def __init__(self, *, works: bool = True) -> None:
        self.works = works

    def passages(self, text: str) -> list[str]:
        return text.split()

    def embed(self, texts: Sequence[str]) -> Any:
        if not self.works:
            raise EmbedderUnavailable("no model")
        return np.array([OURS[text] for text in texts], np.float32)


class Searches:
    """Stands for `search`: remembers each request, and answers rows with given scores."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.scores: dict[str, tuple[float, float | None]] = {}
        """Row -> its keyword score and its cosine."""
        self.requests: list[SearchRequest] = []

    def __call__(
        self, ports: Any, ref: Ref, branch_id: str, request: SearchRequest
    ) -> SearchAnswer:
        assert ports.store is self.bench.store
        assert (ref, branch_id) == (Ref(branch=MAIN), self.bench.branch().id)
        self.requests.append(request)
        with self.bench.store.reading(ref) as reading:
            rows = {
                **reading.get(FACT, list(self.scores)),
                **reading.get(OBSERVATION, list(self.scores)),
            }
            hits = [
                Hit(
                    rows[i],
                    FACT if "fact_text" in rows[i] else OBSERVATION,
                    word,
                    cosine,
                    word,
                    FoundText(i),
                )
                for i, (word, cosine) in self.scores.items()
                if request.only is None or i in request.only
            ]
            return SearchAnswer(hits, request.mode, 0, [], reading.tip, Pending())


@pytest.fixture
def searches(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Searches:
    made = Searches(bench)
    monkeypatch.setattr(matching, "search", made)
    return made


def where(bench: Bench, embedder: Any = None) -> Where:
    ports: Any = SimpleNamespace(
        store=bench.store, embedder=embedder, weights=Weights(vector=0.7, keyword=0.3)
    )
    return Where(ports, MAIN, bench.branch().id)


def memory(bench: Bench, name: str, vector: Sequence[float] | None = None, **more: Any) -> str:
    bench.now += 1
    item = NewMemory(name, name, more.pop("metadata", None), vector, **more)
    upsert(bench.repo, bench.branch(), SPACE, [item], ADA)
    return memory_id(SPACE, name)


def found(bench: Bench, wanted: Wanted, embedder: Any = None) -> list[tuple[str, float]]:
    matches, _ = matching.matching(where(bench, embedder), wanted)
    names = [match.row.get("fact_text") or match.row["summary"] for match in matches]
    return [(str(n), round(m.score, 3)) for n, m in zip(names, matches, strict=True)]


def test_a_text_asks_a_search_of_facts_and_contexts_of_the_space(
    bench: Bench, searches: Searches
) -> None:
    found(bench, Wanted(SPACE, bench.now, "left", k=3))
    (request,) = searches.requests
    assert (request.query, request.kinds) == ("left", ("facts", "observations"))
    assert (request.limit, request.spaces, request.only) == (6, (SPACE,), None)


def test_at_most_k_memories_are_answered(bench: Bench, searches: Searches) -> None:
    searches.scores = {memory(bench, f"m{n}"): (0.5, None) for n in range(3)}
    assert len(found(bench, Wanted(SPACE, bench.now, "m", k=2))) == 2


def test_metadata_limits_a_search_to_facts_that_have_it(bench: Bench, searches: Searches) -> None:
    topic = memory(bench, "with", metadata={"topic": "a", "n": 1})
    memory(bench, "other", metadata={"topic": "b"})
    memory(bench, "none")
    memory(bench, "secret", metadata={"topic": "a"}, sensitivity="secret")
    found(bench, Wanted(SPACE, bench.now, "left", metadata={"topic": "a"}))
    assert searches.requests[0].kinds == ("facts",)
    assert searches.requests[0].only == {topic}


@pytest.mark.parametrize(
    ("embedder", "given", "expected"),
    [
        (None, [], "no model, and the namespace no vectors"),
        (Two(), [], "the model of this store gives 2"),
        (None, [(1.0,) * 4, (1.0,) * 5], "given in this namespace have 4, 5"),
    ],
    ids=["nothing", "a model", "other vectors"],
)
def test_a_vector_as_long_as_no_other_is_refused(
    bench: Bench,
    searches: Searches,
    embedder: Any,
    given: list[tuple[float, ...]],
    expected: str,
) -> None:
    for number, vector in enumerate(given):
        memory(bench, f"m{number}", vector)
    with pytest.raises(InvalidRequest, match=expected) as caught:
        found(bench, Wanted(SPACE, bench.now, vector=(1.0, 0.0, 0.0)), embedder)
    assert searches.requests == []
    lengths = [len(vector) for vector in given]
    own = None if embedder is None else embedder.dimension
    assert caught.value.details == {"given": 3, "model": own, "there": lengths}


def test_a_vector_as_long_as_the_models_is_searched_by_its_direction(
    bench: Bench, searches: Searches
) -> None:
    found(bench, Wanted(SPACE, bench.now, vector=(3.0, 0.0)), Two())
    found(bench, Wanted(SPACE, bench.now, "left", (3.0, 0.0)), Two())
    modes = [request.mode for request in searches.requests]
    assert modes == ["vector", "hybrid"]
    assert [list(r.vector) for r in searches.requests if r.vector is not None] == [[1.0, 0.0]] * 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, [("near", 1.0), ("side", 0.6), ("far", 0.0)]),
        # 0.7 of the cosine and 0.3 of the words, of those that a search by words found
        ("left", [("near", 0.7), ("side", 0.42), ("words", 0.3), ("far", 0.15)]),
    ],
    ids=["a vector alone", "with a text"],
)
def test_vectors_of_another_model_are_compared_with_one_another(
    bench: Bench, searches: Searches, text: str | None, expected: list[tuple[str, float]]
) -> None:
    memory(bench, "near", (2.0, 0.0, 0.0))
    memory(bench, "side", (3.0, 4.0, 0.0))
    far = memory(bench, "far", (-1.0, 0.0, 0.0))
    searches.scores = {far: (0.5, None), memory(bench, "words"): (1.0, None)}
    wanted = Wanted(SPACE, bench.now, text, (1.0, 0.0, 0.0))
    assert found(bench, wanted) == expected
    assert [(r.mode, r.limit) for r in searches.requests] == [("keyword", 200)] * (text is not None)
    _, answer = matching.matching(where(bench), wanted)
    assert answer.mode_used == ("vector" if text is None else "hybrid")
    assert answer.notes[0].startswith("compared with 3 vectors")
    assert "; 1 memories of the namespace have none" in answer.notes[0]


def test_a_memory_found_by_its_given_vector_comes_with_its_scores(
    bench: Bench, searches: Searches
) -> None:
    near = memory(bench, "near", (1.0, 0.0, 0.0))
    both = memory(bench, "both", (3.0, 4.0, 0.0))
    context, _ = save(bench.repo, bench.branch(), NewContext(SPACE, "state", "words"), ADA)
    searches.scores = {both: (0.5, None), str(context["id"]): (1.0, None)}
    wanted = Wanted(SPACE, bench.now, "left", (2.0, 0.0, 0.0))
    _, answer = matching.matching(where(bench), wanted)
    hits = [
        (hit.row["id"], hit.kind, round(hit.score, 3), hit.cosine, hit.keyword, hit.text)
        for hit in answer.hits
    ]
    assert hits == [
        (near, FACT, 0.7, 1.0, 0.0, FoundText("near")),
        (both, FACT, 0.57, 0.6, 0.5, FoundText("both")),
        (context["id"], OBSERVATION, 0.3, None, 1.0, FoundText("words")),
    ]
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        assert (answer.commit, answer.pending) == (reading.tip, reading.pending)
    assert answer.pending_vectors == 0


def test_twice_as_many_memories_as_wanted_are_scored_by_their_given_vectors(
    bench: Bench, searches: Searches
) -> None:
    """Some of them may be passages of one context; equal scores are in the order of their ids."""
    ids = [memory(bench, f"m{n}", (1.0, n, 0.0)) for n in (3, 1, 2, 5, 4)]
    equal = [memory(bench, name, (1.0, 0.0, 0.0)) for name in ("x", "y")]
    wanted = Wanted(SPACE, bench.now, vector=(1.0, 0.0, 0.0), k=2)
    matches, answer = matching.matching(where(bench), wanted)
    assert [match.row["id"] for match in matches] == sorted(equal)
    assert [hit.row["id"] for hit in answer.hits] == [*sorted(equal), ids[1], ids[2]]
    assert searches.requests == []


def test_metadata_limits_which_given_vectors_are_compared(bench: Bench, searches: Searches) -> None:
    topic = {"topic": "a"}
    memory(bench, "in", (0.0, 1.0, 0.0), metadata=topic)
    memory(bench, "in, without a vector", metadata=topic)
    memory(bench, "out", (1.0, 0.0, 0.0), metadata={"topic": "b"})
    wanted = Wanted(SPACE, bench.now, vector=(1.0, 0.0, 0.0), metadata=topic)
    assert found(bench, wanted) == [("in", 0.0)]
    _, answer = matching.matching(where(bench), wanted)
    assert answer.notes == [
        "compared with 1 vectors that were given with their texts; "
        "1 memories of the namespace have none of this length"
    ]


@pytest.mark.parametrize(
    ("text", "vector", "cosine", "is_ours"),
    [
        ("left", (1.0, 0.0), 0.1, True),
        ("left", (0.0, 1.0), 1.0, False),
        (None, (1.0, 0.0), 0.9, True),
        (None, (1.0, 0.0), 0.7, False),
        (None, (1.0, 0.0), 0.8, True),
    ],
    ids=["its text's vector", "not its text's", "nearer to ours", "nearer to given", "as near"],
)
def test_of_which_model_a_vector_is_where_both_are_as_long(
    bench: Bench,
    searches: Searches,
    text: str | None,
    vector: tuple[float, float],
    cosine: float,
    is_ours: bool,
) -> None:
    given = memory(bench, "given", (0.8, 0.6))
    ours = memory(bench, "ours")
    searches.scores = {ours: (0.0, cosine)}
    names = [name for name, _ in found(bench, Wanted(SPACE, bench.now, text, vector), Two())]
    assert (names[0] == "ours") is is_ours
    assert given != ours


@pytest.mark.parametrize(
    "hidden",
    [{"sensitivity": "secret"}, {"space": "project:mill"}],
    ids=["secret", "of another space"],
)
def test_a_hidden_memory_is_not_compared(
    bench: Bench, searches: Searches, hidden: dict[str, Any]
) -> None:
    item = NewMemory("a", "a", None, (1.0, 0.0, 0.0), hidden.get("sensitivity"))
    upsert(bench.repo, bench.branch(), hidden.get("space", SPACE), [item], ADA)
    with pytest.raises(InvalidRequest):
        found(bench, Wanted(SPACE, bench.now, vector=(1.0, 0.0, 0.0)))


def promoted(bench: Bench, text: str) -> str:
    """A context that was promoted to a fact of each word."""
    bench.now += 1
    row, _ = save(bench.repo, bench.branch(), NewContext(SPACE, "state", text), ADA)
    promote(bench.repo, Two(), Promotion(bench.branch(), SPACE, ADA, bench.now))
    return str(row["id"])


@pytest.mark.parametrize(
    ("later", "expected"),
    [(None, ["left"]), ("up", ["up"])],
    ids=["promoted", "changed since"],
)
def test_of_a_context_and_its_passages_one_is_answered(
    bench: Bench, searches: Searches, later: str | None, expected: list[str]
) -> None:
    """Its passages, unless they are of an older version."""
    row_id = promoted(bench, "left")
    if later is not None:
        bench.now += 1
        save(bench.repo, bench.branch(), NewContext(SPACE, "state", later), ADA)
    searches.scores = {row_id: (0.9, None), passage_id(row_id, 0): (0.5, None)}
    assert [name for name, _ in found(bench, Wanted(SPACE, bench.now, "left"))] == expected


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

    def embed_pending(self, *_: object) -> None:
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
    monkeypatch.setattr(warming, "embed_first", lambda *_: None)
    index = SimpleNamespace(words=SimpleNamespace(known=lambda _kind, _hashes: {}))
    ports: Any = SimpleNamespace(store=bench.store, history=None, index=index, words_wait_s=0)
    here = (MAIN, bench.branch().id)
    assert len(warming.embed_soon(ports, Two(), here, hashes)) == notes
