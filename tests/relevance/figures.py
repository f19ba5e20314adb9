"""How well search answers the written questions, in figures.

`python -m tests.relevance.figures` measures them and writes `figures.json`, which is committed.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Self

from typing_extensions import override

from day1.app.open import open_store
from day1.interfaces.open_store import OpenStore
from day1.model.lessons.rating import Votes
from day1.model.rows.change import Ref
from day1.model.search.usefulness import RowVotes, Vote, asked_words
from day1.ports.embedder import Embedder
from day1.services.branches.lookup import find
from day1.services.search.candidates import QueryVectorCache
from day1.services.search.request import Hit, SearchRequest
from day1.services.search.search_engine import SearchEngine
from day1.services.search.searching import search
from day1.settings import EmbedderSettings, Settings
from tests.relevance.written import HERE, STORES, Question, fill, questions, written_id

COMMITTED = HERE / "figures.json"
KINDS = ("facts", "observations", "messages")
WAYS = {
    "fresh": "hybrid, right after writing: each search makes one vector",
    "waiting": "hybrid, while half of the memories have no vector",
    "hybrid": "by meaning and by words",
    "short": "hybrid, with so few candidates that most are on one list only",
    "vector": "by meaning",
    "keyword": "by words",
}
HALVES = {"fresh": 0, "waiting": 1}
"""Of the memories that have a vector, where not all have."""
SHORT = 15
"""Candidates of each list in "short": as rare among 100 memories as 200 are in a large branch."""


class Figures(NamedTuple):
    """Means over questions, 0..1; the reciprocal rank is 0 beyond the tenth hit."""

    recall_at_5: float
    recall_at_10: float
    mrr: float


PortsByBranch = Mapping[str, SearchEngine]
"""What a search of each branch needs."""
Groups = dict[str, Figures]
"""The figures of all questions, of those of each type, and of those to each branch."""


class Remembered(QueryVectorCache):
    """Keeps the vectors of all questions, which are asked in one way after the other."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: dict[str, Any] = {}

    @override
    def vectors(self, embedder: Embedder, texts: Sequence[str]) -> dict[str, Any]:
        new = [text for text in texts if text not in self._kept]
        if new:
            self._kept |= zip(new, embedder.embed(new), strict=True)
        return {text: self._kept[text] for text in texts}


class Measuring:
    """The stores with the written memories, which are asked the questions."""

    def __init__(self, stores: Mapping[str, OpenStore]) -> None:
        """Take the store of each branch."""
        asked = Remembered()
        self._branches = {name: find(opened.repo, name) for name, opened in stores.items()}
        self._ports = {
            branch: replace(opened.search, query_vectors=asked, embedded_at_once=0)
            for branch, opened in stores.items()
        }
        self._kept: dict[tuple[str, Question], list[Hit]] = {}

    def groups(self, way: str) -> Groups:
        """The figures of searching in one way."""
        search_engine, mode = self._ports, way if way in ("vector", "keyword") else "hybrid"
        if way == "fresh":
            search_engine = {
                branch: replace(each, embedded_at_once=1) for branch, each in search_engine.items()
            }
        if way == "short":
            search_engine = {
                branch: replace(each, limits=replace(each.limits, candidates=SHORT))
                for branch, each in search_engine.items()
            }
        return _means([(asked, self._answer(search_engine, mode, asked)) for asked in questions()])

    def weighed(self, votes: Votes) -> Self:
        """The same stores, searched with these votes on rows."""
        other = copy(self)
        other._kept = {}
        other._ports = {
            branch: replace(search_engine, votes=lambda: votes)
            for branch, search_engine in self._ports.items()
        }
        return other

    def recall(self, mode: Any, asked: Sequence[Question]) -> float:
        """The mean recall in the first ten hits of questions."""
        answers = [self._answer(self._ports, mode, one).recall_at_10 for one in asked]
        return sum(answers) / len(answers)

    def found(self, mode: Any, asked: Question) -> list[tuple[str, bool]]:
        """The rows that a question finds, and whether each answers it."""
        hits = self._hits(self._ports, mode, asked)
        return [(str(hit.row["id"]), written_id(hit.row) in asked.relevant) for hit in hits]

    def _hits(self, search_engine: PortsByBranch, mode: Any, asked: Question) -> list[Hit]:
        """Search once: searches with the stores' own ports embed nothing, so a repeat is equal."""
        if search_engine is not self._ports:
            return self._search(search_engine, mode, asked)
        if (mode, asked) not in self._kept:
            self._kept[mode, asked] = self._search(search_engine, mode, asked)
        return self._kept[mode, asked]

    def _search(self, search_engine: PortsByBranch, mode: Any, asked: Question) -> list[Hit]:
        request = SearchRequest(query=asked.question, mode=mode, kinds=KINDS)
        branch = self._branches[asked.branch]
        return search(search_engine[branch.name], Ref(branch=branch.name), branch.id, request).hits

    def _answer(self, search_engine: PortsByBranch, mode: Any, asked: Question) -> Figures:
        ids = [written_id(hit.row) for hit in self._hits(search_engine, mode, asked)]
        places = [place for place, row_id in enumerate(ids, 1) if row_id in asked.relevant]
        count = len(asked.relevant)
        return Figures(
            sum(place <= 5 for place in places) / count,
            len(places) / count,
            1 / places[0] if places else 0.0,
        )


class Judged(NamedTuple):
    """Mean recall in the first ten hits, before and after half of the questions were judged."""

    others: tuple[float, float]
    """Of the half that nobody judged."""
    judged: tuple[float, float]


def half_judged(store: Measuring, way: str) -> Judged:
    """Vote on all that every other question finds, and ask all of them again."""
    asked = questions()
    judged, others = asked[::2], asked[1::2]
    before = store.recall(way, others), store.recall(way, judged)
    votes: dict[str, dict[str, Vote]] = {}
    for number, question in enumerate(judged):
        words = asked_words(question.question)
        for row_id, useful in store.found(way, question):
            votes.setdefault(row_id, {})[str(number)] = Vote(0.9 if useful else 0.2, words)
    rated = store.weighed({row_id: RowVotes(of_row) for row_id, of_row in votes.items()})
    return Judged((before[0], rated.recall(way, others)), (before[1], rated.recall(way, judged)))


def _means(answers: Sequence[tuple[Question, Figures]]) -> Groups:
    groups: dict[str, list[Figures]] = {"all": []}
    for asked, figures in answers:
        for group in ("all", asked.type, asked.branch):
            groups.setdefault(group, []).append(figures)
    return {
        group: Figures(*(round(sum(each) / len(some), 4) for each in zip(*some, strict=True)))
        for group, some in groups.items()
    }


@contextmanager
def measuring(folder: Path, *, halves: int = 2, model: Path | None = None) -> Iterator[Measuring]:
    """Make the stores in an empty folder, with the vectors of so many halves of the memories.

    Without a model they have no vectors.
    """
    model = model or Settings().embedder.model_dir
    kind: Any = "minilm" if model else "none"
    settings = Settings(embedder=EmbedderSettings(kind=kind, model_dir=model))
    stores: dict[str, OpenStore] = {}
    with ExitStack() as closing:
        for branches in STORES:
            opened = open_store(settings, create=True, folder=folder / branches[0])
            closing.callback(opened.close)
            fill(opened, branches, halves=halves)
            stores |= dict.fromkeys(branches, opened)
        yield Measuring(stores)


def committed() -> dict[str, Groups]:
    table = json.loads(COMMITTED.read_text("utf-8"))
    return {way: {group: Figures(*each) for group, each in table[way].items()} for way in WAYS}


def written(table: Mapping[str, Mapping[str, Any]]) -> str:
    """The text of `figures.json`: a line for each group of a way."""
    ways = []
    for way, groups in table.items():
        lines = [f"    {json.dumps(g)}: {json.dumps(f)}" for g, f in groups.items()]
        ways.append(f"  {json.dumps(way)}: {{\n" + ",\n".join(lines) + "\n  }")
    return "{\n" + ",\n".join(ways) + "\n}\n"


def main() -> None:
    table = json.loads(COMMITTED.read_text("utf-8"))
    for halves in range(3):
        with (
            TemporaryDirectory() as folder,
            measuring(Path(folder), halves=halves) as store,
        ):
            for way in WAYS:
                if HALVES.get(way, 2) == halves:
                    table[way] = store.groups(way)
                    sys.stdout.write(f"{way}: {table[way]['all']}\n")
    COMMITTED.write_text(written(table), "utf-8")


if __name__ == "__main__":
    main()
