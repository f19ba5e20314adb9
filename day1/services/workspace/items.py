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
    query_by_table = {}
    for kind in KINDS:
        active_query = active_rows(kind, inactive=False)
        among = {**query.among, **({"space": list(spaces)} if spaces else {})}
        query_by_table[kind.table] = replace(
            query,
            equal={**active_query.equal, **query.equal},
            among=among,
            without={**active_query.without, **query.without},
            alive_at=now,
            present_at=now,
            public=True,
        )
    return query_by_table


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
    item_by_id: dict[str, Item] = {}
    wanted_ids = list(dict.fromkeys(ids))
    for kind in KINDS:
        ids_of_kind = [row_id for row_id in wanted_ids if kind_of(row_id) is kind]
        if not ids_of_kind:
            continue
        column_names = kind.columns if columns is None else columns[kind]
        query = present_items((), now, Query(among={"id": ids_of_kind}))[kind.table]
        for row_values in reading.scan(kind, column_names, query):
            row: Row = dict(zip(column_names, row_values, strict=True))
            if row["content_hash"] != REDACTED_HASH and (not spaces or row["space"] in spaces):
                item_by_id[str(row["id"])] = Item(kind, row)
    return {row_id: item_by_id[row_id] for row_id in wanted_ids if row_id in item_by_id}


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
    item_by_id = visible_items(reading, ids, spaces, now)
    missing_id = next((row_id for row_id in ids if row_id not in item_by_id), None)
    if missing_id is not None:
        raise NotFound(
            f"There is no memory {missing_id[:80]!r} on branch {reading.branch!r}: "
            "it may be on another branch, or was removed.",
            id=missing_id[:80],
        )
    return item_by_id


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
    link_condition = {"relation_type": LINKED}
    link_by_id: dict[str, Row] = {}
    for entity_column in ("source_entity", "target_entity") if row_ids else ():
        query = Query(equal=link_condition, among={entity_column: list(row_ids)}, present_at=now)
        link_by_id |= {str(row["id"]): row for row in reading.find(RELATION, query)}
    for row in sorted(
        link_by_id.values(), key=lambda row: (int(row["created_at"] or 0), str(row["id"]))
    ):
        source_id, target_id = str(row["source_entity"]), str(row["target_entity"])
        for end, linked_id in ((source_id, target_id), (target_id, source_id)):
            if end in linked_by_id and linked_id != end:
                linked_by_id[end][linked_id] = None
    linked_ids = {linked_id for row_links in linked_by_id.values() for linked_id in row_links}
    linked_items = visible_items(reading, linked_ids.difference(known), spaces, now)
    visible_ids = {*known, *linked_items}
    linked_ids_by_row = {
        row_id: tuple(linked_row_id for linked_row_id in row_links if linked_row_id in visible_ids)
        for row_id, row_links in linked_by_id.items()
    }
    return Links(linked_ids_by_row, linked_items)


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
        query,
        kinds=tuple(item_kind.table for item_kind in KINDS if kind in {None, item_kind}),
        spaces=spaces,
        limit=limit,
    )
    if label is not None and memory_type != "episodic":
        column = "category" if kind is FACT else "observation_type"
        request = replace(request, equal={column: label})
    ref = Ref(branch=branch.name)
    while True:
        answer = search(engine, ref, branch.id, request)
        found_items = [Item(hit.kind, hit.row) for hit in answer.hits]
        fitting_items = [item for item in found_items if memory_type in {None, item.memory_type}][
            :limit
        ]
        if len(fitting_items) >= limit or len(found_items) < request.limit:
            break
        request = replace(request, limit=request.limit * 4)
    return FoundItems(fitting_items, answer)


def links_on_branch(call: Call, ids: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Find the rows that each of these rows is linked with, on the branch of a call."""
    with call.repo.store.reading(Ref(branch=branch_of(call).name)) as reading:
        return links_of(reading, ids, spaces_of(call, None), call.clock()).ids
