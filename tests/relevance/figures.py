"""How well search answers the written questions, in figures.

`python -m tests.relevance.figures` measures them and writes `figures.json`, which is committed.
"""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from day1.app.open import open_store
from day1.interfaces.open_store import OpenStore
from day1.model.rows.change import Ref
from day1.services.branches.lookup import find
from day1.services.search.request import SearchPorts, SearchRequest
from day1.services.search.searching import search
from day1.settings import EmbedderSettings, Settings
from tests.relevance.written import HERE, Question, filled, questions, written_id

COMMITTED = HERE / "figures.json"
KINDS = ("facts", "observations", "messages")
SHORT = 15
"""Candidates of each list in "short", so that rows are on one list only, as in a large branch."""


class Figures(NamedTuple):
    """Means over questions, 0..1; the reciprocal rank is 0 beyond the tenth hit."""

    recall_at_5: float
    recall_at_10: float
    mrr: float


Table = dict[str, dict[str, Figures]]
"""The figures of each way of searching, for all questions, each type and each branch."""


def ways(opened: OpenStore) -> dict[str, tuple[SearchPorts, str]]:
    """What a search works with and its mode, in each way that needs all vectors."""
    ports = opened.search
    if ports.embedder is None:
        return {"keyword": (ports, "keyword")}
    reach = replace(ports.reach, candidates=SHORT)
    return {
        "hybrid": (ports, "hybrid"),
        "vector": (ports, "vector"),
        "keyword": (ports, "keyword"),
        "short": (replace(ports, reach=reach), "hybrid"),
    }


def answered(opened: OpenStore, ports: SearchPorts, mode: Any, asked: Question) -> Figures:
    request = SearchRequest(query=asked.question, mode=mode, kinds=KINDS)
    branch_id = find(opened.repo, asked.branch).id
    found = search(ports, Ref(branch=asked.branch), branch_id, request)
    ids = [written_id(hit.row) for hit in found.hits]
    places = [place for place, row_id in enumerate(ids, 1) if row_id in asked.relevant]
    count = len(asked.relevant)
    return Figures(
        sum(place <= 5 for place in places) / count,
        len(places) / count,
        1 / places[0] if places else 0.0,
    )


def _means(answers: Sequence[tuple[Question, Figures]]) -> dict[str, Figures]:
    groups: dict[str, list[Figures]] = {"all": []}
    for asked, figures in answers:
        for group in ("all", asked.type, asked.branch):
            groups.setdefault(group, []).append(figures)
    return {
        group: Figures(*(round(sum(each) / len(some), 4) for each in zip(*some, strict=True)))
        for group, some in groups.items()
    }


@contextmanager
def opened_in(folder: Path) -> Iterator[OpenStore]:
    model = Settings().embedder.model_dir
    kind: Any = "minilm" if model else "none"
    settings = Settings(embedder=EmbedderSettings(kind=kind, model_dir=model))
    opened = open_store(settings, create=True, folder=folder)
    try:
        yield opened
    finally:
        opened.close()


def answers(
    opened: OpenStore, changed: Callable[[SearchPorts], SearchPorts] = lambda ports: ports
) -> dict[str, list[tuple[Question, Figures]]]:
    """The answer to every question in each way; `changed` may give the ports other settings."""
    found: dict[str, list[tuple[Question, Figures]]] = {}
    for state in filled(opened):
        if state == "waiting":
            ports = changed(replace(opened.search, embedded_at_once=0))
            found[state] = [(q, answered(opened, ports, "hybrid", q)) for q in questions()]
        else:
            each = {way: (changed(ports), mode) for way, (ports, mode) in ways(opened).items()}
            for asked in questions():  # way after way, so that its vector is made once
                for way, (ports, mode) in each.items():
                    result = answered(opened, ports, mode, asked)
                    found.setdefault(way, []).append((asked, result))
    return found


def measured(folder: Path) -> Table:
    """The figures of a new store in `folder`."""
    with opened_in(folder) as opened:
        return {way: _means(some) for way, some in answers(opened).items()}


def committed() -> Table:
    table = json.loads(COMMITTED.read_text("utf-8"))
    return {
        way: {group: Figures(*each) for group, each in groups.items()}
        for way, groups in table.items()
    }


def written(table: Table) -> str:
    """JSON with a line for each group."""
    ways = []
    for way, groups in table.items():
        lines = [f"    {json.dumps(group)}: {json.dumps(each)}" for group, each in groups.items()]
        ways.append(f"  {json.dumps(way)}: {{\n" + ",\n".join(lines) + "\n  }")
    return "{\n" + ",\n".join(ways) + "\n}\n"


def main() -> None:
    with TemporaryDirectory() as folder:
        table = measured(Path(folder))
    COMMITTED.write_text(written(table), "utf-8")
    for way, groups in table.items():
        sys.stdout.write(f"{way}: {groups['all']}\n")


if __name__ == "__main__":
    main()
