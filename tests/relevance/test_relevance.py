"""The relevance fixture through the real search: it fails when ranking gets worse.

A hundred written memories and as many questions, a third of which share no content word with
their answer. The committed figures are those of the real model; two points less fails.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from day1.app.open import open_store
from day1.interfaces.open_store import OpenStore
from day1.model.rows.change import Ref
from day1.model.rows.kind import FACT
from day1.model.rows.origin import Origin
from day1.model.values.instant import parse
from day1.services.branches.lookup import find
from day1.services.rows.recording import NewFact, fact_row
from day1.services.search.request import SearchRequest
from day1.services.search.searching import search
from day1.settings import EmbedderSettings, Settings

HERE = Path(__file__).parent
COMMITTED = {"hybrid": (0.960, 0.805), "vector": (0.960, 0.827), "keyword": (0.665, 0.547)}
"""Mode -> recall@10, MRR."""
SLACK = 0.02


def lines(name: str) -> list[dict]:
    return [json.loads(line) for line in (HERE / name).read_text("utf-8").splitlines() if line]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    model = Settings().embedder.model_dir
    kind = "minilm" if model else "none"
    settings = Settings(embedder=EmbedderSettings(kind=kind, model_dir=model))
    opened = open_store(settings, create=True, folder=tmp_path_factory.mktemp("relevance"))
    with opened.repo.store.adding("main") as work:
        rows = [
            fact_row(
                f"fact_{line['id']}",
                NewFact(
                    line["text"],
                    category=line["category"],
                    happened_at=None if line["happened_at"] is None else parse(line["happened_at"]),
                ),
                Origin("fixture"),
                work.now,
            )
            for line in lines("memories.jsonl")
        ]
        work.add(FACT, rows)
    yield opened
    opened.close()


def measure(store: OpenStore, mode: Any) -> tuple[float, float]:
    branch_id = find(store.repo, "main").id
    recalls, reciprocal = [], []
    for line in lines("questions.jsonl"):
        wanted = {f"fact_{one}" for one in line["relevant"]}
        request = SearchRequest(query=line["question"], mode=mode, limit=10, wait=True)
        found = search(store.search, Ref(branch="main"), branch_id, request)
        ids = [str(hit.row["id"]) for hit in found.hits]
        recalls.append(len(wanted & set(ids)) / len(wanted))
        ranks = [n for n, row_id in enumerate(ids, 1) if row_id in wanted]
        reciprocal.append(1 / ranks[0] if ranks else 0.0)
    return sum(recalls) / len(recalls), sum(reciprocal) / len(reciprocal)


@pytest.mark.parametrize("mode", ["hybrid", "vector", "keyword"])
def test_search_is_no_less_relevant_than_committed(
    store: OpenStore, mode: str, record_property, capsys
) -> None:
    if mode != "keyword" and store.search.embedder is None:
        pytest.skip("no embedding model: set DAY1_EMBEDDER__MODEL_DIR")
    recall, mrr = measure(store, mode)
    with capsys.disabled():
        print(f"\nrelevance {mode}: recall@10 {recall:.3f}, MRR {mrr:.3f}")
    committed = COMMITTED[mode]
    assert recall >= committed[0] - SLACK
    assert mrr >= committed[1] - SLACK
