"""Held items: list the open ones of a branch, and decide one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from day1.errors import Advice, InvalidRequest, NotFound
from day1.model.branches.branch import Branch
from day1.model.merge.held import (
    HeldItem,
    Resolution,
    keeps_out,
    open_items,
    same_value,
    value_json,
    value_of,
)
from day1.model.merge.row_merge import (
    successor_of,
    taken_along,
    valid_time_cells,
    without_successor,
)
from day1.model.redaction.derived import veils
from day1.model.redaction.veil import mark_of, whole_veil
from day1.model.rows.change import CommitId, Message, Query, Ref
from day1.model.rows.kind import (
    EDIT,
    FACT,
    HELD,
    WHOLE,
    Cell,
    Kind,
    Row,
    canonical,
    complete,
    kind_of,
)
from day1.model.rows.origin import Origin
from day1.ports.reading import Reading
from day1.ports.store import Work
from day1.services.repository.repository import Repository
from day1.services.rows.recording import (
    EditedCells,
    changed_groups,
    close_items,
    edit_rows,
    in_order,
)


@dataclass(frozen=True, slots=True)
class Offer:
    """Open held items that offer the same value, with the row's present value on the branch."""

    items: tuple[HeldItem, ...]
    """The items, oldest first. A decision of one decides all."""
    present: Row | None
    offered: Row | None
    source: str | None
    """The source branch's name; None if that branch is gone."""
    veil: Row = field(default_factory=dict)
    """Placeholders by column, for columns that may not be shown."""

    @property
    def item(self) -> HeldItem:
        """The oldest item; the offer is listed under its id."""
        return self.items[0]


def offers(repo: Repository, branch: Branch) -> list[Offer]:
    """List the open items of a branch that offer a value which it lacks, oldest first."""
    with repo.store.reading(Ref(branch=branch.name)) as reading:
        return offers_on(repo, reading)


def offers_on(repo: Repository, reading: Reading) -> list[Offer]:
    """List the offers of a branch, as `offers` does, from a reading that is open already."""
    return offers_of(repo, reading, open_items(reading.find(HELD, Query())), {})


def offers_of(
    repo: Repository,
    reading: Reading,
    items: Sequence[HeldItem],
    opened: Mapping[str, Reading],
) -> list[Offer]:
    """List the offers of `items`, as `offers` does; `opened` has open readings by branch id."""
    if not items:
        return []
    name_by_branch = {b.id: b.name for b in repo.ledger.branches() if b.retired_tip is None}
    rows_by_source: dict[str, dict[str, Row]] = {}
    for source in {item.source_branch for item in items} & name_by_branch.keys():
        source_items = [item for item in items if item.source_branch == source]
        if source in opened:
            rows_by_source[source] = _rows(opened[source], source_items)
            continue
        with repo.store.reading(Ref(branch=name_by_branch[source])) as other:
            rows_by_source[source] = _rows(other, source_items)
    present_rows = _rows(reading, items)
    source_rows = (row for rows in rows_by_source.values() for row in rows.values())
    veil_by_row = _veils(reading, [*source_rows, *present_rows.values()], repo.clock())
    open_offers = []
    for item in items:
        row = present_rows.get(item.row_id)
        value = item.theirs
        if item.source_branch in rows_by_source:
            source_row = rows_by_source[item.source_branch].get(item.row_id)
            value = _present_or(item, source_row)
        if same_value(item.kind, row, item.cell, value) or (row is not None and keeps_out(item)):
            continue
        present_value = value_of(item.kind, item.cell, value_json(item.kind, row, item.cell))
        offered_value = value_of(item.kind, item.cell, value)
        source_name = name_by_branch.get(item.source_branch)
        whole_values = (present_value, offered_value) if item.cell == WHOLE else ()
        source_version = rows_by_source.get(item.source_branch, {}).get(item.row_id)
        veil = whole_veil(item.kind, mark_of(repo.clock(), row, source_version, *whole_values))
        veil |= veil_by_row.get(item.row_id, {})
        open_offers.append(Offer((item,), present_value, offered_value, source_name, veil))
    return _merged_offers(open_offers)


def _veils(reading: Reading, rows: Iterable[Row], at: int) -> dict[str, Row]:
    """Find the placeholders for words that derived rows have from hidden sources."""
    veil_by_row: dict[str, Row] = {}
    by_kind: dict[Kind, list[Row]] = {}
    for row in rows:
        kind = kind_of(str(row["id"]))
        if kind is not None:
            by_kind.setdefault(kind, []).append(row)
    for kind, kind_rows in by_kind.items():
        veil_by_row |= veils(reading, kind, kind_rows, at)
    return veil_by_row


def veils_of(reading: Reading, items: Sequence[HeldItem], at: int) -> dict[str, Row]:
    """Find the placeholders for hidden columns of held items at an instant, by row id."""
    row_by_id = _rows(reading, items)
    veil_by_row = _veils(reading, row_by_id.values(), at)
    for item in items:
        whole_rows = (value_of(item.kind, WHOLE, side) for side in _row_sides(item))
        mark = mark_of(at, row_by_id.get(item.row_id), *whole_rows)
        veil_by_row[item.row_id] = whole_veil(item.kind, mark) | veil_by_row.get(item.row_id, {})
    return veil_by_row


def _row_sides(item: HeldItem) -> tuple[str | None, ...]:
    """Return the two sides of an item about a whole row; nothing for an item about a cell."""
    return (item.ours, item.theirs) if item.cell == WHOLE else ()


def _merged_offers(offers: Iterable[Offer]) -> list[Offer]:
    """Join the offers of equal values of a cell under the oldest one."""
    offer_by_key: dict[tuple[str, str, str | None], Offer] = {}
    for offer in offers:
        item = offer.item
        columns = item.kind.group(item.cell)
        value_key = (
            None if offer.offered is None else canonical([offer.offered.get(c) for c in columns])
        )
        key = (item.row_id, item.cell, value_key)
        same_offer = offer_by_key.get(key)
        offer_by_key[key] = (
            replace(same_offer, items=(*same_offer.items, item)) if same_offer else offer
        )
    return list(offer_by_key.values())


def _rows(reading: Reading, items: Sequence[HeldItem]) -> dict[str, Row]:
    """Read the rows that the items are about, by id; rows that are gone are left out."""
    return {
        row_id: row
        for kind in {item.kind for item in items}
        for row_id, row in reading.get(kind, [i.row_id for i in items if i.kind is kind]).items()
    }


def _present_or(item: HeldItem, source_row: Row | None) -> str | None:
    """Return the source's present value of a cell; the stored value if the source lost the row."""
    if source_row is None and item.cell != WHOLE:
        return item.theirs
    return value_json(item.kind, source_row, item.cell)


@dataclass(frozen=True, slots=True)
class Decided:
    """The outcome of a decision: the item, how it was decided, and the commit."""

    item: HeldItem
    decision: Resolution
    commit: CommitId
    at: int


@dataclass(frozen=True, slots=True)
class HeldDecision:
    """A request to decide a held item."""

    item_id: str
    decision: Resolution
    value: Mapping[str, Cell] | None = None
    """The new values of the cell's columns, for the decision `edited`."""


def decide(repo: Repository, branch: Branch, decision: HeldDecision, origin: Origin) -> Decided:
    """Take, edit or dismiss an open item in a commit of its own.

    Raises:
        NotFound: the item is not listed on this branch.
        InvalidRequest: `value` is missing, names columns that are not of the cell, or the
            decision ends the valid time before it begins.
    """
    with repo.store.changing(branch.name) as work:
        offer_by_item = {item.id: offer for offer in offers_on(repo, work) for item in offer.items}
        offer = offer_by_item.get(decision.item_id)
        if offer is None:
            raise NotFound(
                f"{decision.item_id} is not an open held item of {branch.name!r}.",
                Advice("{memory_held} lists the open ones."),
                id=decision.item_id,
                branch=branch.name,
            )
        if decision.decision != "edited":
            offer = _with_valid_time(offer, offer_by_item.values())
        if decision.decision != "dismissed":
            _write_decision(repo, work, offer, decision, origin)
        close_items(work, offer.items, decision.decision, origin, repo.new_id)
        line = f"held item {decision.decision}: {offer.item.kind.name} {offer.item.row_id}"
        commit = work.commit(Message("change", line, decision.item_id))
        return Decided(offer.item, decision.decision, commit, work.now)


def _with_valid_time(offer: Offer, listed: Iterable[Offer]) -> Offer:
    """Join the offers of the two ends of a row's valid time, which are decided together."""
    first, cells = offer.item, valid_time_cells(offer.item.kind)
    for other in listed:
        item = other.item
        are_both_ends = first.cell != item.cell and {first.cell, item.cell} <= set(cells)
        are_of_one_row = (item.row_id, item.source_branch) == (first.row_id, first.source_branch)
        if are_both_ends and are_of_one_row:
            offered = {**(offer.offered or {}), **(other.offered or {})}
            return replace(offer, items=(*offer.items, *other.items), offered=offered)
    return offer


def _write_decision(
    repo: Repository, work: Work, offer: Offer, decision: HeldDecision, origin: Origin
) -> None:
    kind, row_id = offer.item.kind, offer.item.row_id
    row_before = work.get(kind, [row_id]).get(row_id)
    row_after = _after(offer, row_before, decision)
    successor_by_id: dict[str, Row] = {}
    if kind is FACT and row_after is not None:
        row_after, successor_by_id = _with_successors(repo, work, offer, row_before, row_after)
    writes: dict[str, Row | None] = {row_id: row_after, **successor_by_id}
    for row in successor_by_id.values():
        work.not_before(int(row["created_at"] or 0))
    work.apply({kind.table: writes})
    if successor_by_id:
        items = open_items(work.find(HELD, Query(among={"row_id": list(successor_by_id)})))
        close_items(work, filter(keeps_out, items), "taken", origin, repo.new_id)
    if row_before is not None and row_after is not None:
        edited = EditedCells(kind, row_after, changed_groups(kind, row_before, row_after))
        edits = edit_rows(edited, origin, work.now, repo.new_id)
        work.apply({EDIT.table: {str(edit["id"]): edit for edit in edits}})


def _with_successors(
    repo: Repository, work: Work, offer: Offer, before: Row | None, after: Row
) -> tuple[Row, dict[str, Row]]:
    """Return, by id, the decided fact and the facts that supersede it, which are written too."""
    fact_by_id: dict[str, Row] = {str(after["id"]): after}
    fact, present = after, before
    while (successor := successor_of(fact)) is not None and successor != successor_of(present):
        target_ids = {*work.get(FACT, [successor]), *fact_by_id}
        source = {} if successor in target_ids else _of_source(repo, work, offer.source, successor)
        new_id = taken_along(fact, present, source, target_ids)
        if new_id is not None:
            fact_by_id[new_id] = source[new_id]
            fact, present = source[new_id], None
            continue
        if successor not in target_ids:
            fact_by_id[str(fact["id"])] = without_successor(fact)
        break
    return fact_by_id.pop(str(after["id"])), fact_by_id


def _of_source(repo: Repository, work: Work, source: str | None, fact_id: str) -> Mapping[str, Row]:
    """Read a fact of the source; if that branch is gone, from an open item that withholds it."""
    if source is not None:
        with repo.store.reading(Ref(branch=source)) as reading:
            return reading.get(FACT, [fact_id])
    for item in open_items(work.find(HELD, Query(equal={"row_id": fact_id}))):
        row = value_of(FACT, WHOLE, item.theirs) if keeps_out(item) else None
        if row is not None:
            return {fact_id: row}
    return {}


def _after(offer: Offer, before: Row | None, decision: HeldDecision) -> Row | None:
    kind, cell = offer.item.kind, offer.item.cell
    columns: Mapping[str, Cell] | None = offer.offered
    if decision.decision == "edited":
        value = decision.value
        if not value or not set(value) <= set(kind.group(cell)):
            raise InvalidRequest(
                f"`value` must set one or more of: {', '.join(kind.group(cell))}.", cell=cell
            )
        unchanged_offer = offer.offered or {} if before is None else {}
        columns = {**unchanged_offer, **complete(kind, dict(value))}
    if columns is None:
        return None
    start = before if before is not None else offer.offered
    if before is None and cell != WHOLE:
        raise NotFound(
            f"{offer.item.row_id} is not on this branch any more; dismiss the item or restore "
            "the row.",
            id=offer.item.row_id,
        )
    kept_columns = {c: before[c] for c in before if c not in kind.group(WHOLE)} if before else {}
    row: Row = {**(start or {}), **columns, **kept_columns}
    if decision.decision == "edited" or cell != WHOLE:
        in_order(row, columns)
    has_new_text = kind is FACT and start is not None and row["fact_text"] != start["fact_text"]
    if has_new_text and (cell != WHOLE or decision.decision == "edited"):
        # A row that is taken whole keeps the verdict on its own text.
        row |= {"verification": "unverified", "scores": None}
    return row
