"""Finding memories of a space by text, by vector or both."""

from types import SimpleNamespace
from typing import Any

import pytest

from day1.errors import InvalidRequest
from day1.model.branches.branch import MAIN
from day1.model.contexts.keyed import passage_id
from day1.model.rows.change import Pending, Ref
from day1.model.rows.kind import FACT, OBSERVATION
from day1.model.search.passages import FoundText
from day1.model.search.ranking import Weights
from day1.services.contexts import matching
from day1.services.contexts.contexts import NewContext, save
from day1.services.contexts.matching import Wanted, Where
from day1.services.contexts.memories import NewMemory, upsert
from day1.services.contexts.promoting import Promotion, promote
from day1.services.search.request import Hit, SearchAnswer, SearchRequest
from tests.unit.services.conftest import ADA, Bench
from tests.unit.services.matched import SPACE, Two, memory


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


def found(bench: Bench, wanted: Wanted, embedder: Any = None) -> list[tuple[str, float]]:
    matches, _ = matching.matching(where(bench, embedder), wanted)
    names = [match.row.get("fact_text") or match.row["summary"] for match in matches]
    return [(str(n), round(m.score, 3)) for n, m in zip(names, matches, strict=True)]


def test_a_text_asks_a_search_of_facts_and_contexts_of_the_space(
    bench: Bench, searches: Searches
) -> None:
    found(bench, Wanted((SPACE,), bench.now, "left", k=3))
    (request,) = searches.requests
    assert (request.query, request.kinds) == ("left", ("facts", "observations"))
    assert (request.limit, request.spaces, request.only) == (6, (SPACE,), None)


def test_at_most_k_memories_are_answered(bench: Bench, searches: Searches) -> None:
    searches.scores = {memory(bench, f"m{n}"): (0.5, None) for n in range(3)}
    assert len(found(bench, Wanted((SPACE,), bench.now, "m", k=2))) == 2


def test_metadata_limits_a_search_to_facts_that_have_it(bench: Bench, searches: Searches) -> None:
    topic = memory(bench, "with", metadata={"topic": "a", "n": 1})
    memory(bench, "other", metadata={"topic": "b"})
    memory(bench, "none")
    memory(bench, "secret", metadata={"topic": "a"}, sensitivity="secret")
    found(bench, Wanted((SPACE,), bench.now, "left", metadata={"topic": "a"}))
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
        found(bench, Wanted((SPACE,), bench.now, vector=(1.0, 0.0, 0.0)), embedder)
    assert searches.requests == []
    lengths = [len(vector) for vector in given]
    own = None if embedder is None else embedder.dimension
    assert caught.value.details == {"given": 3, "model": own, "there": lengths}


def test_a_vector_as_long_as_the_models_is_searched_by_its_direction(
    bench: Bench, searches: Searches
) -> None:
    found(bench, Wanted((SPACE,), bench.now, vector=(3.0, 0.0)), Two())
    found(bench, Wanted((SPACE,), bench.now, "left", (3.0, 0.0)), Two())
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
    wanted = Wanted((SPACE,), bench.now, text, (1.0, 0.0, 0.0))
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
    wanted = Wanted((SPACE,), bench.now, "left", (2.0, 0.0, 0.0))
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
    wanted = Wanted((SPACE,), bench.now, vector=(1.0, 0.0, 0.0), k=2)
    matches, answer = matching.matching(where(bench), wanted)
    assert [match.row["id"] for match in matches] == sorted(equal)
    assert [hit.row["id"] for hit in answer.hits] == [*sorted(equal), ids[1], ids[2]]
    assert searches.requests == []


def test_metadata_limits_which_given_vectors_are_compared(bench: Bench, searches: Searches) -> None:
    topic = {"topic": "a"}
    memory(bench, "in", (0.0, 1.0, 0.0), metadata=topic)
    memory(bench, "in, without a vector", metadata=topic)
    memory(bench, "out", (1.0, 0.0, 0.0), metadata={"topic": "b"})
    wanted = Wanted((SPACE,), bench.now, vector=(1.0, 0.0, 0.0), metadata=topic)
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
    names = [name for name, _ in found(bench, Wanted((SPACE,), bench.now, text, vector), Two())]
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
        found(bench, Wanted((SPACE,), bench.now, vector=(1.0, 0.0, 0.0)))


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
    assert [name for name, _ in found(bench, Wanted((SPACE,), bench.now, "left"))] == expected
