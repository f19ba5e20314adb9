"""Evidence for a question: how each planner looks for it, and the exact answer if there is one.

An answer is a value that stands in a record, or is computed from all records. Without one, the
answer is empty: a text that was found is evidence, and no answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from day1.model.collection.records import Record
from day1.model.rows.change import NO_STATE, ReadState, Ref
from day1.model.workspace.evidence import Exact, computed, looked_up, operation_of, records_in
from day1.model.workspace.item import Item
from day1.services.access.calls import Call, branch_of, spaces_of
from day1.services.search.request import SearchAnswer
from day1.services.search.search_engine import SearchEngine
from day1.services.workspace.collecting import collected
from day1.services.workspace.items import find_items, links_of, record_source, visible_items

_SEEDS: Final = 5
"""Maximum number of memories from which links are followed."""
_STEPS: Final = 3
"""Maximum number of links between a found memory and its evidence."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the number of memories that a search for it may find."""

    text: str
    k: int
    """Memories that a search finds, at most; as many may be linked with them."""
    keywords: tuple[str, ...] = ()

    @property
    def query(self) -> str:
        """The text to search for: the question and its keywords."""
        return "\n".join([self.text, *([" ".join(self.keywords)] if self.keywords else [])])


@dataclass(slots=True)
class Evidence:
    """The memories, records and exact answer found for a question, and how they were found."""

    strategy: str
    """The way in which the evidence was found."""
    exact: Exact | None = None
    items: dict[str, Item] = field(default_factory=dict)
    """The memories that were looked at, the best first, by id."""
    records: tuple[Record, ...] = ()
    """The records of an exact answer that was found among all records."""
    queries: list[str] = field(default_factory=list)
    """The texts of the searches, in order."""
    calls: list[str] = field(default_factory=list)
    """The calls that were made, in order: `search`, `links` or `collection`."""
    state: ReadState = NO_STATE
    """The state of the branch whose records were read."""
    answer: SearchAnswer | None = None
    """The answer of the last search, with the state that it read."""

    def quotes(self, limit: int) -> list[tuple[str, str]]:
        """Return the ids and texts of the evidence, at most `limit`: records first."""
        quotes = [(record.row_id, record.text) for record in self.records]
        record_ids = {row_id for row_id, _ in quotes}
        quotes += [
            (row_id, item.text) for row_id, item in self.items.items() if row_id not in record_ids
        ]
        return quotes[:limit]


@dataclass(slots=True)
class _Looker:
    """Looks for evidence on the branch of a call."""

    call: Call
    engine: SearchEngine
    question: Question

    def search(self, evidence: Evidence, query: str, limit: int) -> list[str]:
        """Search for memories; return the ids that are new in the evidence."""
        found_items = find_items(self.call, self.engine, query, limit)
        evidence.queries.append(query)
        evidence.calls.append("search")
        evidence.answer = found_items.answer
        new_items = [item for item in found_items.items if item.id not in evidence.items]
        evidence.items |= {item.id: item for item in new_items}
        return [item.id for item in new_items]

    def follow_links(self, evidence: Evidence) -> None:
        """Add the memories that are linked with the evidence, the nearest first."""
        branch, spaces = branch_of(self.call), spaces_of(self.call, None)
        now = self.call.clock()
        with self.call.repo.store.reading(Ref(branch=branch.name)) as reading:
            nearest_ids, remaining_links = list(evidence.items)[:_SEEDS], self.question.k
            for _ in range(_STEPS):
                links = links_of(reading, nearest_ids, spaces, now, evidence.items.keys())
                evidence.calls.append("links")
                linked_ids = [
                    linked_id for ids_of_row in links.ids.values() for linked_id in ids_of_row
                ]
                nearest_ids = list(
                    dict.fromkeys(
                        linked_row_id
                        for linked_row_id in linked_ids
                        if linked_row_id not in evidence.items
                    )
                )
                nearest_ids = nearest_ids[:remaining_links]
                if not nearest_ids:
                    break
                remaining_links -= len(nearest_ids)
                evidence.items |= {row_id: links.items[row_id] for row_id in nearest_ids}

    def look_up(self, evidence: Evidence) -> None:
        """Look for an exact answer in the memories of the evidence."""
        evidence.exact = exact_in(self.question.text, evidence.items.values())

    def compute(self, evidence: Evidence) -> None:
        """Look for an exact answer among all records of the branch."""
        collected_records = collected(self.call)
        evidence.calls.append("collection")
        evidence.state = collected_records.state
        question_text, collection = self.question.text, collected_records.collection
        evidence.exact = computed(question_text, collection) or looked_up(question_text, collection)
        if evidence.exact is not None:
            evidence.records = evidence.exact.records
            self.read(evidence, evidence.exact.row_ids[: self.question.k])

    def read(self, evidence: Evidence, ids: Sequence[str]) -> None:
        """Add the memories of these ids to the evidence."""
        spaces, now = spaces_of(self.call, None), self.call.clock()
        with self.call.repo.store.reading(Ref(branch=branch_of(self.call).name)) as reading:
            evidence.items |= visible_items(reading, ids, spaces, now)


def exact_in(question: str, items: Iterable[Item]) -> Exact | None:
    """Find the exact answer to a question in the records of some memories."""
    return looked_up(question, records_in(map(record_source, items)))


def resolve(call: Call, engine: SearchEngine, question: Question, planner: str) -> Evidence:
    """Look for evidence for a question, as a planner does.

    Args:
        call: the call, whose branch and spaces are searched.
        engine: the search engine.
        question: the question.
        planner: a name of `PLANNERS`.

    Raises:
        UnknownBranch: the branch of the call is gone.
    """
    return PLANNERS[planner](_Looker(call, engine, question))


def look_further(
    call: Call, engine: SearchEngine, question: Question, evidence: Evidence
) -> list[str]:
    """Search for the text of the best memory not yet searched for; return the ids that are new.

    What a question does not name may be near to what it found. If there are new ones, the exact
    answer is looked for again.
    """
    looker = _Looker(call, engine, question)
    searched_texts = set(evidence.queries)
    query = next(
        (item.text for item in evidence.items.values() if item.text not in searched_texts), None
    )
    if query is None:
        return []
    new_ids = looker.search(evidence, query, question.k)
    if evidence.exact is None and new_ids and evidence.strategy != "generic":
        looker.look_up(evidence)
    return new_ids


def _generic(looker: _Looker) -> Evidence:
    """Search once, and look for no exact answer."""
    evidence = Evidence("generic")
    looker.search(evidence, looker.question.query, looker.question.k)
    return evidence


def _semantic(looker: _Looker) -> Evidence:
    """Search, and look for an exact answer in what is found."""
    evidence = Evidence("semantic")
    looker.search(evidence, looker.question.query, looker.question.k)
    looker.look_up(evidence)
    return evidence


def _structured(looker: _Looker) -> Evidence:
    """Look at all records, and search for nothing."""
    evidence = Evidence("structured")
    looker.compute(evidence)
    return evidence


def _graph(looker: _Looker) -> Evidence:
    """Follow the links of the few memories that fit best."""
    evidence = Evidence("graph")
    looker.search(evidence, looker.question.query, min(_SEEDS, looker.question.k))
    looker.follow_links(evidence)
    looker.look_up(evidence)
    return evidence


def _hybrid(looker: _Looker) -> Evidence:
    """Look at all records, search, and follow links."""
    evidence = Evidence("hybrid")
    looker.compute(evidence)
    looker.search(evidence, looker.question.query, looker.question.k)
    looker.follow_links(evidence)
    if evidence.exact is None:
        looker.look_up(evidence)
    return evidence


def _auto(looker: _Looker) -> Evidence:
    """Compute what a question asks to compute; without an answer, search and follow links."""
    evidence = Evidence("structured")
    if operation_of(looker.question.text) is not None:
        looker.compute(evidence)
        if evidence.exact is not None:
            return evidence
    evidence.strategy = "semantic"
    found_ids = looker.search(evidence, looker.question.query, looker.question.k)
    looker.follow_links(evidence)
    if len(evidence.items) > len(found_ids):
        evidence.strategy = "graph"
    looker.look_up(evidence)
    return evidence


PLANNERS: Final[Mapping[str, Callable[[_Looker], Evidence]]] = {
    "auto": _auto,
    "generic": _generic,
    "semantic": _semantic,
    "structured": _structured,
    "graph": _graph,
    "hybrid": _hybrid,
}
"""The ways of looking for evidence, by name."""
