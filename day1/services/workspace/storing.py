"""Storing items and linking them. A row is durable before a desk names it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from day1.errors import InvalidRequest
from day1.model.rows.kind import FACT, RELATION, Row, canonical, text_of
from day1.model.rows.origin import Origin
from day1.model.values.instant import show_optional
from day1.model.workspace.item import (
    LINKED,
    Item,
    detail_of,
    kind_of_type,
    label_of_type,
    link_id,
    link_space,
)
from day1.ports.additions import Additions
from day1.ports.reading import Reading
from day1.services.access.calls import Writing
from day1.services.rows.recording import (
    BranchAfter,
    NewFact,
    NewObservation,
    NewRelation,
    fact_row,
    observation_row,
    put_once,
    relation_row,
)
from day1.services.workspace.items import Spaces, checked_items


@dataclass(frozen=True, slots=True)
class NewItem:
    """A new item of a workspace: a memory with a type and tags."""

    text: str
    memory_type: str = "semantic"
    tags: tuple[str, ...] = ()
    source: str | None = None
    """The source that an imported file names."""
    happened_at: int | None = None
    space: str | None = None
    last_accessed: int | None = None
    """When the item was last used, as an imported file says (microseconds UTC)."""
    expires_at: int | None = None
    valid_until: int | None = None
    """Facts only: until when it is true."""

    def row(self, row_id: str, origin: Origin, now: int) -> Row:
        """Build the row of the item."""
        label = label_of_type(self.memory_type)
        if kind_of_type(self.memory_type) is FACT:
            row = fact_row(row_id, NewFact(self.text, label), origin, now)
        else:
            row = observation_row(row_id, NewObservation(str(label), self.text), origin, now)
        last_accessed = show_optional(self.last_accessed)
        end_column: Row = {"valid_until": self.valid_until} if "valid_until" in row else {}
        return row | {
            "tags": canonical(list(self.tags)) if self.tags else None,
            "detail": detail_of(source=self.source, last_accessed=last_accessed),
            "happened_at": self.happened_at,
            "space": self.space,
            "expires_at": self.expires_at,
            **end_column,
        }


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored item, the rows that it is linked with, and the state of the branch."""

    item: Item
    linked: tuple[str, ...]
    after: BranchAfter
    notes: tuple[str, ...] = ()


def store_item(
    write: Writing, new: NewItem, linked: Sequence[str], spaces: Spaces, request_id: str | None
) -> Stored:
    """Store an item and link it, unless the same request or an equal text stored it lately.

    Args:
        write: the branch, the author and the space.
        new: what to store.
        linked: ids of rows to link it with.
        spaces: the spaces that the caller sees.
        request_id: the id that the client gave its request.

    Raises:
        NotFound: a row to link the item with is missing, or the caller does not see it.
        RequestReused: the request id was used for another row, or its row was removed since.
    """
    kind, repo = kind_of_type(new.memory_type), write.repo
    with repo.store.adding(write.branch.name) as unit_of_work:
        row = new.row(repo.new_id(kind.prefix, unit_of_work.now), write.origin, unit_of_work.now)
        put_result = put_once(unit_of_work, kind, row, request_id)
        item, added_count = Item(kind, put_result.row), 0
        linked_ids = tuple(row_id for row_id in dict.fromkeys(linked) if row_id != item.id)
        # A repeated request adds no link that was removed since, and needs no linked row again.
        if put_result.fresh or request_id is None:
            linked_items = checked_items(unit_of_work, linked_ids, spaces, repo.clock())
            pairs = [(item.row, linked_item.row) for linked_item in linked_items.values()]
            added_count = add_links(unit_of_work, pairs, write.origin)
        branch_after = BranchAfter.of(unit_of_work, put_result.fresh + added_count)
    repo.point("gwt.stored")
    return Stored(item, linked_ids, branch_after, put_result.notes)


def link_items(write: Writing, one: str, other: str, spaces: Spaces) -> BranchAfter:
    """Link two rows; a pair that is linked already stays as it is.

    Raises:
        InvalidRequest: both are the same row.
        NotFound: one of them is not here.
    """
    if one == other:
        raise InvalidRequest("`source_id` and `target_id` are the same memory.", id=one[:80])
    repo = write.repo
    with repo.store.adding(write.branch.name) as unit_of_work:
        item_by_id = checked_items(unit_of_work, (one, other), spaces, repo.clock())
        added_count = add_links(
            unit_of_work, [(item_by_id[one].row, item_by_id[other].row)], write.origin
        )
        return BranchAfter.of(unit_of_work, added_count)


def add_links(work: Additions, pairs: Iterable[tuple[Row, Row]], origin: Origin) -> int:
    """Add the links between pairs of rows that are not linked yet; return how many."""
    link_by_id = {
        str(row["id"]): row for row in (_link(*row_pair, origin, work.now) for row_pair in pairs)
    }
    existing_link_by_id = work.get(RELATION, list(link_by_id))
    new_links = [row for row_id, row in link_by_id.items() if row_id not in existing_link_by_id]
    work.add(RELATION, new_links)
    return len(new_links)


def missing_links(reading: Reading, pairs: Iterable[tuple[str, str]]) -> bool:
    """Whether some pairs of rows, by their ids, are not linked yet."""
    link_ids = {link_id(*id_pair) for id_pair in pairs}
    return len(reading.get(RELATION, list(link_ids))) < len(link_ids)


def _link(one: Row, other: Row, origin: Origin, now: int) -> Row:
    source_id, target_id = sorted((str(one["id"]), str(other["id"])))
    space = text_of(link_space(one, other))
    relation = NewRelation(source_id, LINKED, target_id, space=space)
    return relation_row(link_id(source_id, target_id), relation, origin, now)
