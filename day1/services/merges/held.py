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
    name_by_branch_id = {
        branch.id: branch.name for branch in repo.ledger.branches() if branch.retired_tip is None
    }
    rows_by_source: dict[str, dict[str, Row]] = {}
    for source_id in {item.source_branch for item in items} & name_by_branch_id.keys():
        source_items = [item for item in items if item.source_branch == source_id]
        if source_id in opened:
            rows_by_source[source_id] = _rows(opened[source_id], source_items)
            continue
        with repo.store.reading(Ref(branch=name_by_branch_id[source_id])) as source_reading:
            rows_by_source[source_id] = _rows(source_reading, source_items)
    present_row_by_id = _rows(reading, items)
    source_rows = (present_row for rows in rows_by_source.values() for present_row in rows.values())
    veil_by_row = _veils(reading, [*source_rows, *present_row_by_id.values()], repo.clock())
    open_offers = []
    for item in items:
        present_row = present_row_by_id.get(item.row_id)
        offered_json = item.theirs
        if item.source_branch in rows_by_source:
            source_row = rows_by_source[item.source_branch].get(item.row_id)
            offered_json = _present_or(item, source_row)
        if same_value(item.kind, present_row, item.cell, offered_json) or (
            present_row is not None and keeps_out(item)
        ):
            continue
        present_value = value_of(
            item.kind, item.cell, value_json(item.kind, present_row, item.cell)
        )
        offered_value = value_of(item.kind, item.cell, offered_json)
        source_name = name_by_branch_id.get(item.source_branch)
        whole_row_values = (present_value, offered_value) if item.cell == WHOLE else ()
        source_version = rows_by_source.get(item.source_branch, {}).get(item.row_id)
        veil = whole_veil(
            item.kind, mark_of(repo.clock(), present_row, source_version, *whole_row_values)
        )
        veil |= veil_by_row.get(item.row_id, {})
        open_offers.append(Offer((item,), present_value, offered_value, source_name, veil))
    return _merged_offers(open_offers)


def _veils(reading: Reading, rows: Iterable[Row], at: int) -> dict[str, Row]:
    """Find the placeholders for words that derived rows have from hidden sources."""
    veil_by_row: dict[str, Row] = {}
    rows_by_kind: dict[Kind, list[Row]] = {}
    for row in rows:
        kind = kind_of(str(row["id"]))
        if kind is not None:
            rows_by_kind.setdefault(kind, []).append(row)
    for kind, kind_rows in rows_by_kind.items():
        veil_by_row |= veils(reading, kind, kind_rows, at)
    return veil_by_row


def veils_of(reading: Reading, items: Sequence[HeldItem], at: int) -> dict[str, Row]:
    """Find the placeholders for hidden columns of held items at an instant, by row id."""
    row_by_id = _rows(reading, items)
    veil_by_row = _veils(reading, row_by_id.values(), at)
    for item in items:
        whole_rows = (value_of(item.kind, WHOLE, side_json) for side_json in _row_sides(item))
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
        value_json_or_none = (
            None
            if offer.offered is None
            else canonical([offer.offered.get(column) for column in columns])
        )
        cell_and_value = (item.row_id, item.cell, value_json_or_none)
        equal_offer = offer_by_key.get(cell_and_value)
        offer_by_key[cell_and_value] = (
            replace(equal_offer, items=(*equal_offer.items, item)) if equal_offer else offer
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
    with repo.store.changing(branch.name) as unit_of_work:
        offer_by_item = {
            item.id: offer for offer in offers_on(repo, unit_of_work) for item in offer.items
        }
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
            _write_decision(repo, unit_of_work, offer, decision, origin)
        close_items(unit_of_work, offer.items, decision.decision, origin, repo.new_id)
        commit_title = f"held item {decision.decision}: {offer.item.kind.name} {offer.item.row_id}"
        commit_id = unit_of_work.commit(Message("change", commit_title, decision.item_id))
        return Decided(offer.item, decision.decision, commit_id, unit_of_work.now)


def _with_valid_time(offer: Offer, listed: Iterable[Offer]) -> Offer:
    """Join the offers of the two ends of a row's valid time, which are decided together."""
    first_item, end_cells = offer.item, valid_time_cells(offer.item.kind)
    for other_offer in listed:
        other_item = other_offer.item
        are_both_ends = first_item.cell != other_item.cell and {
            first_item.cell,
            other_item.cell,
        } <= set(end_cells)
        are_of_one_row = (other_item.row_id, other_item.source_branch) == (
            first_item.row_id,
            first_item.source_branch,
        )
        if are_both_ends and are_of_one_row:
            offered_values = {**(offer.offered or {}), **(other_offer.offered or {})}
            return replace(offer, items=(*offer.items, *other_offer.items), offered=offered_values)
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
    written_row_by_id: dict[str, Row | None] = {row_id: row_after, **successor_by_id}
    for row in successor_by_id.values():
        work.not_before(int(row["created_at"] or 0))
    work.apply({kind.table: written_row_by_id})
    if successor_by_id:
        successor_items = open_items(
            work.find(HELD, Query(among={"row_id": list(successor_by_id)}))
        )
        close_items(work, filter(keeps_out, successor_items), "taken", origin, repo.new_id)
    if row_before is not None and row_after is not None:
        edited_cells = EditedCells(kind, row_after, changed_groups(kind, row_before, row_after))
        edits = edit_rows(edited_cells, origin, work.now, repo.new_id)
        work.apply({EDIT.table: {str(edit["id"]): edit for edit in edits}})


def _with_successors(
    repo: Repository, work: Work, offer: Offer, before: Row | None, after: Row
) -> tuple[Row, dict[str, Row]]:
    """Return, by id, the decided fact and the facts that supersede it, which are written too."""
    fact_by_id: dict[str, Row] = {str(after["id"]): after}
    fact, present_fact = after, before
    while (successor_id := successor_of(fact)) is not None and successor_id != successor_of(
        present_fact
    ):
        target_ids = {*work.get(FACT, [successor_id]), *fact_by_id}
        source_fact_by_id = (
            {} if successor_id in target_ids else _of_source(repo, work, offer.source, successor_id)
        )
        added_id = taken_along(fact, present_fact, source_fact_by_id, target_ids)
        if added_id is not None:
            fact_by_id[added_id] = source_fact_by_id[added_id]
            fact, present_fact = source_fact_by_id[added_id], None
            continue
        if successor_id not in target_ids:
            fact_by_id[str(fact["id"])] = without_successor(fact)
        break
    return fact_by_id.pop(str(after["id"])), fact_by_id


def _of_source(repo: Repository, work: Work, source: str | None, fact_id: str) -> Mapping[str, Row]:
    """Read a fact of the source; if that branch is gone, from an open item that withholds it."""
    if source is not None:
        with repo.store.reading(Ref(branch=source)) as reading:
            return reading.get(FACT, [fact_id])
    for item in open_items(work.find(HELD, Query(equal={"row_id": fact_id}))):
        fact = value_of(FACT, WHOLE, item.theirs) if keeps_out(item) else None
        if fact is not None:
            return {fact_id: fact}
    return {}


def _after(offer: Offer, before: Row | None, decision: HeldDecision) -> Row | None:
    kind, cell = offer.item.kind, offer.item.cell
    new_values: Mapping[str, Cell] | None = offer.offered
    if decision.decision == "edited":
        edited_values = decision.value
        if not edited_values or not set(edited_values) <= set(kind.group(cell)):
            raise InvalidRequest(
                f"`value` must set one or more of: {', '.join(kind.group(cell))}.", cell=cell
            )
        offered_defaults = offer.offered or {} if before is None else {}
        new_values = {**offered_defaults, **complete(kind, dict(edited_values))}
    if new_values is None:
        return None
    start_row = before if before is not None else offer.offered
    if before is None and cell != WHOLE:
        raise NotFound(
            f"{offer.item.row_id} is not on this branch any more; dismiss the item or restore "
            "the row.",
            id=offer.item.row_id,
        )
    kept_values = (
        {column: before[column] for column in before if column not in kind.group(WHOLE)}
        if before
        else {}
    )
    row: Row = {**(start_row or {}), **new_values, **kept_values}
    if decision.decision == "edited" or cell != WHOLE:
        in_order(row, new_values)
    has_new_text = (
        kind is FACT and start_row is not None and row["fact_text"] != start_row["fact_text"]
    )
    if has_new_text and (cell != WHOLE or decision.decision == "edited"):
        # A row that is taken whole keeps the verdict on its own text.
        row |= {"verification": "unverified", "scores": None}
    return row
