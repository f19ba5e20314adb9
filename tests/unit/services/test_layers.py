"""What the layers have for a query: whose rows, which of them, and under which conditions."""

from dataclasses import replace
from typing import Any

import pytest

from day1.model.layers.budget import budget_of
from day1.model.layers.layer import Layer
from day1.model.layers.row_detail import detail_of
from day1.model.rows.kind import RELATION
from day1.model.values.wallet_space import Owner
from day1.services.items.finding import Narrowing
from day1.services.layers.assembling import assemble
from day1.services.layers.evaluating import Case, evaluate
from day1.services.layers.layers import FoundLayers, LayersQuery, find_layers
from day1.services.layers.reranking import rerank_texts
from tests.unit.services.searched import Searching
from tests.unit.services.searched import searching as searching  # noqa: PLC0414 - a fixture

ANN = Owner("w", "ann")
OWN = {"space": ANN.space}


def found(searching: Searching, query: str = "river", **more: Any) -> FoundLayers:
    asked = LayersQuery(ANN, query, **more)
    bench = searching.bench
    return find_layers(bench.repo, searching.engine, bench.branch(), asked)


def names(searching: Searching, layer: Layer = "graph", **more: Any) -> set[str]:
    return {str(item.id) for item in found(searching, **more).items[layer]}


@pytest.fixture(params=["vectors", "words"])
def either(request: pytest.FixtureRequest, searching: Searching) -> Searching:
    if request.param == "words":
        searching.engine = replace(searching.engine, embedder=None)
    return searching


def test_rows_that_nobody_may_find_are_in_no_layer(either: Searching) -> None:
    hidden: dict[str, dict[str, Any]] = {
        "secret": {"sensitivity": "secret"},
        "expired": {"expires_at": 500},
        "ended": {"valid_until": 500},
        "superseded": {"status": "superseded"},
        "archived": {"status": "archived"},
        "invalid": {"verification": "invalidated"},
        "bo": {"space": Owner("w", "bo").space},
        "device": {"space": Owner("w", "ann", "phone").space},
        "other": {"space": Owner("v").space},
    }
    shown: dict[str, dict[str, Any]] = {"ann": {}, "wallet": {"space": Owner("w").space}, "shared": {"space": None}}  # fmt: skip
    for name, columns in {**hidden, **shown}.items():
        either.fact(name, f"The river of {name}.", **{**OWN, **columns})
    assert names(either) == {"fact_ann", "fact_wallet", "fact_shared"}
    bench = either.bench
    packed = assemble(bench.repo, either.engine, bench.branch(), LayersQuery(ANN, "river"), budget_of(None))  # fmt: skip
    assert {each.item.id for each in packed.packed.items} == names(either)


def test_conditions_choose_before_the_best_are_taken(either: Searching) -> None:
    for number in range(150):
        either.fact(f"near_{number:03}", f"The river, number {number}.", **OWN)
    detail = detail_of(ANN, metadata={"of": {"id": 1}, "x": 2}, runId="r1")
    either.fact("far", "A mill by the river, far away from the sea and the hills.", **OWN, detail=detail)  # fmt: skip
    either.fact("bare", "The river.", **OWN, detail=detail_of(ANN))
    either.conversation("conv_1", ANN.space)
    either.message("one", "The river?", "conv_1")
    for narrowing in (Narrowing({"of": {"id": 1}}), Narrowing(run="r1")):
        answer = found(either, narrowing=narrowing)
        assert {item.id for item in answer.all} == {"fact_far"}
    assert found(either, narrowing=Narrowing({"of": {"id": True}})).all == []
    assert found(either, narrowing=Narrowing({"x": 2}, run="r2")).all == []
    assert names(either, "vectors") == {"msg_one"}


def test_each_layer_has_its_limit(either: Searching) -> None:
    for number in range(40):
        for category in (None, "skill", "archive"):
            text = f"The river, number {number}, {category}."
            either.fact(f"{category}_{number}", text, **OWN, category=category)
    counts = {layer: len(items) for layer, items in found(either, limit=5).items.items()}
    assert counts == {"working": 0, "scene": 0, "graph": 5, "patterns": 5, "archives": 5, "vectors": 0}  # fmt: skip


def test_facts_are_not_searched_for_layers_without_facts(searching: Searching) -> None:
    searching.fact("a", "The river.", **OWN)
    embedder: Any = searching.engine.embedder
    assert found(searching, layers=("working", "scene")).all == []
    assert embedder.embedded == 0


def test_the_query_is_embedded_once(searching: Searching) -> None:
    searching.fact("a", "The river.", **OWN)
    searching.conversation("conv_1", ANN.space)
    searching.message("one", "The river?", "conv_1")
    assert len(found(searching).all) == 2
    embedder: Any = searching.engine.embedder
    before = embedder.embedded
    found(searching, query="wide river")
    assert embedder.embedded == before + 1


def test_a_text_that_is_nearly_said_counts_half(searching: Searching) -> None:
    searching.fact("a", "Ada lives near the wide river in old Lisbon town.", **OWN)
    searching.fact("b", "Ada lives near the wide river in old Lisbon town now.", **OWN)
    searching.fact("c", "Ada lives near the wide river in old Lisbon town, house 7.", **OWN)
    searching.fact("d", "Ada lives near the wide river in old Lisbon town, house 9.", **OWN)
    bench = searching.bench
    asked = LayersQuery(ANN, "Ada lives near the river")
    alone = {item.id: item.score for item in find_layers(bench.repo, searching.engine, bench.branch(), asked).all}  # fmt: skip
    packed = assemble(bench.repo, searching.engine, bench.branch(), asked, budget_of(None)).packed
    shares = {each.item.id: each.item.score / alone[each.item.id] for each in packed.items}
    best = max(alone, key=lambda row_id: (alone[row_id], str(row_id)))
    assert shares[best] == 1
    assert sorted(shares.values()).count(0.5) >= 2
    assert set(shares.values()) == {0.5, 1.0}


def test_relations_of_the_owner_that_touch_a_name_come_with_a_fact(searching: Searching) -> None:
    searching.fact("a", "Ada Lind lives near the river.", **OWN)
    ends = [
        ("Ada Lind", "Acme", OWN["space"]),
        ("Bo", "river", None),
        ("Ada Lind", "Dee", Owner("w", "bo").space),
        ("Bo", "Cy", OWN["space"]),
        ("Ada Lind", "Acme", OWN["space"]),
        ("river", "sea", OWN["space"]),
        ("river", "lake", OWN["space"]),
    ]
    with searching.bench.store.adding("main") as work:
        for number, (source, target, space) in enumerate(ends):
            row = dict.fromkeys(RELATION.columns)
            row |= {"id": f"rel_{number}", "source_entity": source, "target_entity": target}
            row |= {"relation_type": "knows", "space": space, "created_at": work.now + number}
            work.add(RELATION, [row])
    (item,) = found(searching).items["graph"]
    assert item.relations == ("Ada Lind knows Acme", "river knows lake", "river knows sea")


def test_texts_are_ranked_by_meaning_or_by_words(either: Searching) -> None:
    texts = ["a train", "the wide river", "a river"]
    ranking = rerank_texts(either.engine, "the wide river", texts)
    assert [place for place, _ in ranking.best] == [1, 2, 0]
    assert ranking.best[0][1] == pytest.approx(1.0)
    assert (ranking.notes == []) is (either.engine.embedder is not None)


def test_a_search_that_misses_scores_nothing(either: Searching) -> None:
    either.fact("a", "The river is wide.", **OWN)
    bench = either.bench
    cases = [Case("river", "wide"), Case("river", "narrow"), Case("river", expected_id="fact_a")]
    done = evaluate(bench.repo, either.engine, bench.branch(), LayersQuery(ANN, ""), cases)
    assert [result.hit for result in done.results] == [True, False, True]
    assert done.scores.recall == pytest.approx(2 / 3, abs=1e-6)
    assert done.scores.precision == pytest.approx(2 / 3, abs=1e-6)
    assert bench.repo.ledger.records(type(done.run)) == [done.run]
