"""Items as a caller sees them: which rows are visible, how they are linked, and finding them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from day1.errors import NotFound
from day1.model.collection.records import Source
from day1.model.redaction.mask import REDACTED_HASH
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT, OBSERVATION, RELATION, Kind, Row, kind_of, text_of
from day1.model.workspace.item import LINKED, Item, kind_of_type, label_of_type
from day1.ports.reading import Reading
from day1.services.access.calls import Call, branch_of, spaces_of
from day1.services.search.filters import active_rows
from day1.services.search.request import SearchAnswer, SearchRequest
from day1.services.search.search_engine import SearchEngine
from day1.services.search.searching import search

KINDS: Final = (FACT, OBSERVATION)
"""The kinds of rows that are items."""

Spaces = Sequence[str | None]
"""The spaces whose rows a caller sees; empty: all spaces. None stands for rows without a space."""


def present_items(spaces: Spaces, now: int, query: Query | None = None) -> dict[str, Query]:
    """Build for each table the query for items that may be shown at an instant.

    Facts must be active and true; secret and expired rows are left out.

    Args:
        spaces: the spaces that the caller sees.
        now: the instant: microseconds UTC.
        query: further conditions.
    """
    query = Query() if query is None else query
    queries = {}
    for kind in KINDS:
        active = active_rows(kind, inactive=False)
        among = {**query.among, **({"space": list(spaces)} if spaces else {})}
        queries[kind.table] = replace(
            query,
            equal={**active.equal, **query.equal},
            among=among,
            without={**active.without, **query.without},
            alive_at=now,
            present_at=now,
            public=True,
        )
    return queries


def visible_items(
    reading: Reading,
    ids: Iterable[str],
    spaces: Spaces,
    now: int,
    columns: Mapping[Kind, Sequence[str]] | None = None,
) -> dict[str, Item]:
    """Read the rows of these ids that may be shown; ids of all other rows are left out.

    `columns`, by kind, are those that the rows have; None: all. `id`, `content_hash` and `space`
    are among them.
    """
    items: dict[str, Item] = {}
    wanted = list(dict.fromkeys(ids))
    for kind in KINDS:
        mine = [row_id for row_id in wanted if kind_of(row_id) is kind]
        if not mine:
            continue
        names = kind.columns if columns is None else columns[kind]
        query = present_items((), now, Query(among={"id": mine}))[kind.table]
        for cells in reading.scan(kind, names, query):
            row: Row = dict(zip(names, cells, strict=True))
            if row["content_hash"] != REDACTED_HASH and (not spaces or row["space"] in spaces):
                items[str(row["id"])] = Item(kind, row)
    return {row_id: items[row_id] for row_id in wanted if row_id in items}


def record_source(item: Item) -> Source:
    """Return the row that the records of an item are read from."""
    return Source(item.id, item.text, text_of(item.row["structure"]))


def checked_items(
    reading: Reading, ids: Iterable[str], spaces: Spaces, now: int
) -> dict[str, Item]:
    """Read rows that must all be visible.

    Raises:
        NotFound: a row is missing, or the caller may not see it; the error does not say which.
    """
    ids = list(ids)
    items = visible_items(reading, ids, spaces, now)
    missing = next((row_id for row_id in ids if row_id not in items), None)
    if missing is not None:
        raise NotFound(
            f"There is no memory {missing[:80]!r} on branch {reading.branch!r}: "
            "it may be on another branch, or was removed.",
            id=missing[:80],
        )
    return items


@dataclass(frozen=True, slots=True)
class Links:
    """The links of some rows with visible ones."""

    ids: dict[str, tuple[str, ...]]
    """By id of a row, the ids of the rows that it is linked with, the oldest link first."""
    items: dict[str, Item]
    """The linked rows that were read to find the links, by id."""


def links_of(
    reading: Reading, ids: Iterable[str], spaces: Spaces, now: int, known: Collection[str] = ()
) -> Links:
    """Find the visible rows that each of these rows is linked with.

    The rows of the ids `known` are visible, and not read again.
    """
    row_ids = dict.fromkeys(ids)
    linked_by_id: dict[str, dict[str, None]] = {row_id: {} for row_id in row_ids}
    equal = {"relation_type": LINKED}
    rows: dict[str, Row] = {}
    for side in ("source_entity", "target_entity") if row_ids else ():
        query = Query(equal=equal, among={side: list(row_ids)}, present_at=now)
        rows |= {str(row["id"]): row for row in reading.find(RELATION, query)}
    for row in sorted(rows.values(), key=lambda row: (int(row["created_at"] or 0), str(row["id"]))):
        one, other = str(row["source_entity"]), str(row["target_entity"])
        for end, linked_id in ((one, other), (other, one)):
            if end in linked_by_id and linked_id != end:
                linked_by_id[end][linked_id] = None
    others = {linked_id for ends in linked_by_id.values() for linked_id in ends}
    linked_items = visible_items(reading, others.difference(known), spaces, now)
    visible = {*known, *linked_items}
    ids_by_row = {
        row_id: tuple(f for f in ends if f in visible) for row_id, ends in linked_by_id.items()
    }
    return Links(ids_by_row, linked_items)


@dataclass(frozen=True, slots=True)
class FoundItems:
    """Items that a search found, best first."""

    items: list[Item]
    answer: SearchAnswer
    """The answer of the search, with the state that it read."""

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the items."""
        return tuple(item.id for item in self.items)


def find_items(
    call: Call, engine: SearchEngine, query: str, limit: int, memory_type: str | None = None
) -> FoundItems:
    """Find facts and observations of the branch of a call, by meaning and words.

    With a memory type, only items of it.
    """
    branch, spaces = branch_of(call), spaces_of(call, None)
    kind = None if memory_type is None else kind_of_type(memory_type)
    label = None if memory_type is None else label_of_type(memory_type)
    request = SearchRequest(
        query, kinds=tuple(k.table for k in KINDS if kind in {None, k}), spaces=spaces, limit=limit
    )
    if label is not None and memory_type != "episodic":
        column = "category" if kind is FACT else "observation_type"
        request = replace(request, equal={column: label})
    ref = Ref(branch=branch.name)
    while True:
        answer = search(engine, ref, branch.id, request)
        items = [Item(hit.kind, hit.row) for hit in answer.hits]
        fitting_items = [item for item in items if memory_type in {None, item.memory_type}][:limit]
        if len(fitting_items) >= limit or len(items) < request.limit:
            break
        request = replace(request, limit=request.limit * 4)
    return FoundItems(fitting_items, answer)


def links_on_branch(call: Call, ids: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Find the rows that each of these rows is linked with, on the branch of a call."""
    with call.repo.store.reading(Ref(branch=branch_of(call).name)) as reading:
        return links_of(reading, ids, spaces_of(call, None), call.clock()).ids
