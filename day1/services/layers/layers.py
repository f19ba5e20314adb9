"""Finding the items of the six layers of memory for a query.

    working   lines of the session's working desk
    scene     the last messages of the thread
    graph     facts, with relations that touch a name in them
    patterns  facts of the category `skill` or `pattern`
    archives  facts of the category `archive`
    vectors   messages of other threads; facts of the category `session` or `knowledge`

Facts and messages are searched together; the layer of a fact follows from its category. The first
two layers are not searched: their items count by their age.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from day1.model.branches.branch import Branch
from day1.model.layers.layer import (
    LAYERS,
    Layer,
    LayerItem,
    categories_of,
    layer_of,
    recent_scores,
)
from day1.model.layers.thread import conversation_id
from day1.model.redaction.mask import REDACTED_HASH
from day1.model.rows.change import CommitId, Pending, Query, Ref
from day1.model.rows.kind import FACT, MESSAGE, Row, kind_of
from day1.model.search.passages import FoundText
from day1.model.values.wallet_space import Owner
from day1.ports.reading import Reading
from day1.services.items.finding import Narrowing, meant_facts, relations_named
from day1.services.repository.repository import Repository
from day1.services.rows.spaces import newest_messages
from day1.services.search.request import Hit, SearchAnswer, SearchRequest
from day1.services.search.search_engine import SearchEngine
from day1.services.search.searching import search
from day1.services.turns.working import WorkingSession, find_working

LIMIT: Final = 6
"""Number of items of a layer, by default."""
_SEARCHED: Final = 10
"""Rows to search for per item of a layer, since one ranking has the rows of all layers."""
_RELATIONS: Final = 3
"""Maximum number of relations of a fact."""
_ENDS: Final = ("source_entity", "relation_type", "target_entity")
_NOT_SEARCHED: Final[tuple[Layer, ...]] = ("working", "scene")
_READ_AHEAD: Final = 4
"""Messages to read per message of a scene, since redacted ones are left out."""


@dataclass(frozen=True, slots=True)
class LayersQuery:
    """A query to the layers of an owner."""

    owner: Owner
    query: str
    thread: str | None = None
    """The thread that the query comes from; None: there is no scene."""
    session: str | None = None
    """The session that the query comes from; None: the layer `working` is empty."""
    layers: Sequence[Layer] = LAYERS
    limit: int = LIMIT
    """Items of each layer, at most."""
    narrowing: Narrowing = field(default_factory=Narrowing)
    """Conditions on facts. With conditions, messages and the desk are left out: they have no
    metadata and no run."""


@dataclass(frozen=True, slots=True)
class FoundLayers:
    """The items of the layers, and the state that they were read from."""

    items: dict[Layer, list[LayerItem]]
    """By requested layer, best first."""
    texts: Mapping[str, FoundText]
    """The texts of searched items, with the nearest passage, by the id of the row."""
    commit: CommitId
    pending: Pending
    notes: list[str]

    @property
    def all(self) -> list[LayerItem]:
        """The items of all layers."""
        return [item for items in self.items.values() for item in items]


@dataclass(frozen=True, slots=True)
class _BeforeSearch:
    """What is read before the search: unsearched layers, and ids of rows that may be found."""

    recent: dict[Layer, list[LayerItem]]
    """The items of the layers that are not searched."""
    facts: frozenset[str] | None
    """Ids of the facts that meet the query's conditions; None: all do."""
    messages: frozenset[str]
    """Ids of the messages of other threads."""
    commit: CommitId
    pending: Pending


def find_layers(
    repo: Repository, engine: SearchEngine, branch: Branch, layers_query: LayersQuery
) -> FoundLayers:
    """Find the best items of each layer.

    Raises:
        UnknownBranch: the branch was deleted meanwhile.
    """
    with repo.store.reading(Ref(branch=branch.name)) as reading:
        working_desk = _desk(repo, branch, layers_query)
        before_search = _read(reading, layers_query, working_desk, repo.clock())
    answer = _search(engine, branch, layers_query, before_search)
    hits = () if answer is None else answer.hits
    items_by_layer = _by_layer(hits, layers_query)
    items_by_layer |= {
        layer: before_search.recent.get(layer, [])
        for layer in _NOT_SEARCHED
        if layer in items_by_layer
    }
    if items_by_layer.get("graph"):
        with repo.store.reading(Ref(branch=branch.name)) as reading:
            items_by_layer["graph"] = _with_relations(
                reading, items_by_layer["graph"], layers_query.owner, repo.clock()
            )
    state_source = answer or before_search
    return FoundLayers(
        items=items_by_layer,
        texts={str(hit.row["id"]): hit.text for hit in hits},
        commit=state_source.commit,
        pending=state_source.pending,
        notes=[] if answer is None else _notes(answer),
    )


def _desk(repo: Repository, branch: Branch, layers_query: LayersQuery) -> WorkingSession | None:
    """Find the working desk of the query's session; None if another owner has it or it ended."""
    if (
        layers_query.session is None
        or "working" not in layers_query.layers
        or not layers_query.narrowing.is_empty
    ):
        return None
    desk = find_working(repo, branch, layers_query.owner, layers_query.session, repo.clock())
    return desk if desk is not None and desk.memory.is_of(layers_query.owner) else None


def _read(
    reading: Reading, layers_query: LayersQuery, desk: WorkingSession | None, now: int
) -> _BeforeSearch:
    """Read what is not searched, and the ids of the rows that may be found."""
    thread_conversation_id = (
        None
        if layers_query.thread is None
        else conversation_id(layers_query.owner.space, layers_query.thread)
    )
    recent_by_layer: dict[Layer, list[LayerItem]] = {}
    if desk is not None:
        recent_by_layer["working"] = _working(reading, desk, layers_query.limit)
    if (
        thread_conversation_id is not None
        and "scene" in layers_query.layers
        and layers_query.narrowing.is_empty
    ):
        recent_by_layer["scene"] = _scene(reading, thread_conversation_id, layers_query.limit)
    message_ids: frozenset[str] = frozenset()
    if "vectors" in layers_query.layers and layers_query.narrowing.is_empty:
        message_ids = newest_messages(reading, layers_query.owner.spaces)
        if thread_conversation_id is not None:
            query = Query(equal={"conversation_id": thread_conversation_id})
            message_ids -= {str(row_id) for (row_id,) in reading.scan(MESSAGE, ("id",), query)}
    fact_ids = meant_facts(reading, layers_query.owner.spaces, now, layers_query.narrowing)
    return _BeforeSearch(recent_by_layer, fact_ids, message_ids, reading.tip, reading.pending)


def _working(reading: Reading, desk: WorkingSession, limit: int) -> list[LayerItem]:
    """Read the newest lines of a desk; the client's own lines count as newer than messages."""
    row_by_id = reading.get(MESSAGE, desk.memory.messages)
    message_rows = (
        row_by_id[row_id] for row_id in reversed(desk.memory.messages) if row_id in row_by_id
    )
    shown_rows = (row for row in message_rows if row["content_hash"] != REDACTED_HASH)
    client_lines = [
        LayerItem("working", line, 0.0, desk.changed_at)
        for line in desk.memory.lines(reading.mask.hashes)
    ]
    return _scored(
        [*reversed(client_lines), *(_item("working", row) for row in shown_rows)][:limit]
    )


def _scene(reading: Reading, thread: str, limit: int) -> list[LayerItem]:
    """Read the last messages of a thread, newest first, without redacted ones."""
    equal_columns = {"conversation_id": thread}
    query = Query(
        equal=equal_columns, order="created_at", descending=True, limit=_READ_AHEAD * limit
    )
    message_ids = [str(row_id) for (row_id,) in reading.scan(MESSAGE, ("id",), query)]
    row_by_id = reading.get(MESSAGE, message_ids)
    shown_rows = [
        row_by_id[message_id]
        for message_id in message_ids
        if message_id in row_by_id and row_by_id[message_id]["content_hash"] != REDACTED_HASH
    ]
    return _scored([_item("scene", row) for row in shown_rows[:limit]])


def _scored(newest_first: Sequence[LayerItem]) -> list[LayerItem]:
    """Score items that are not searched, by their age."""
    scores = recent_scores(len(newest_first))
    return [replace(item, score=score) for item, score in zip(newest_first, scores, strict=True)]


def _search(
    engine: SearchEngine, branch: Branch, layers_query: LayersQuery, before: _BeforeSearch
) -> SearchAnswer | None:
    """Search facts and messages in one ranking; None if the layers have no facts.

    Then no layer has messages either: `vectors`, the only layer with messages, has facts too.
    """
    categories = categories_of(layers_query.layers)
    if categories == ():
        return None
    request = SearchRequest(
        layers_query.query,
        kinds=(FACT.table, MESSAGE.table),
        limit=_SEARCHED * layers_query.limit,
        spaces=layers_query.owner.spaces,
        among={} if categories is None else {"category": categories},
        only=before.facts,
        messages=before.messages or None,
    )
    return search(engine, Ref(branch=branch.name), branch.id, request)


def _by_layer(hits: Iterable[Hit], layers_query: LayersQuery) -> dict[Layer, list[LayerItem]]:
    """Divide hits among the requested layers: the best of each, up to its limit."""
    items_by_layer: dict[Layer, list[LayerItem]] = {
        layer: [] for layer in LAYERS if layer in layers_query.layers
    }
    for hit in hits:
        layer = layer_of(hit.row["category"]) if hit.kind is FACT else "vectors"
        if layer in items_by_layer:
            items_by_layer[layer].append(_item(layer, hit.row, hit.score))
    for items in items_by_layer.values():
        items.sort(key=lambda item: (-item.score, item.place))
        del items[layers_query.limit :]
    return items_by_layer


def _with_relations(
    reading: Reading, facts: Sequence[LayerItem], owner: Owner, now: int
) -> list[LayerItem]:
    """Add to each fact the relations in the owner's spaces that touch a name in its text."""
    relations_of_facts = relations_named(reading, owner.spaces, now, [fact.text for fact in facts])
    relation_lines_of_facts = [
        dict.fromkeys(" ".join(str(row[column]) for column in _ENDS) for row in relation_rows)
        for relation_rows in relations_of_facts
    ]
    return [
        replace(fact, relations=tuple(relation_lines)[:_RELATIONS])
        for fact, relation_lines in zip(facts, relation_lines_of_facts, strict=True)
    ]


def _item(layer: Layer, row: Row, score: float = 0.0) -> LayerItem:
    text = str(row["content" if kind_of(str(row["id"])) is MESSAGE else "fact_text"])
    return LayerItem(layer, text, score, int(row["created_at"] or 0), row)


def _notes(answer: SearchAnswer) -> list[str]:
    pending_vectors = answer.pending_vectors
    return [*answer.notes, *([f"pending_vectors: {pending_vectors}"] if pending_vectors else [])]
