"""Importing the history of a foreign source: each of its events becomes a commit."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from day1.model.branches.branch import Branch
from day1.model.rows.change import Message, Query, Ref
from day1.model.rows.kind import EDIT, FACT, Row
from day1.model.rows.origin import Origin
from day1.model.values.ids import NewId, derived_id
from day1.model.values.instant import show
from day1.ports.source import EventDraft
from day1.ports.store import Work
from day1.services.branches.lookup import find_open_again
from day1.services.exchange.foreign_rows import (
    Comparison,
    ImportEdits,
    add_edits,
    claimed,
    compare,
    give,
    held_among,
    part_ids,
    remove,
    rows_of,
    why_left,
)
from day1.services.exchange.imported import Imported
from day1.services.repository.repository import Repository
from day1.services.rows.bulk_writes import LeftReason, LeftRow, edits_of
from day1.services.rows.recording import EditedCells, changed_groups

_TEXT = "fact_text"


def new_events(repo: Repository, branch: Branch, events: Sequence[EventDraft]) -> list[EventDraft]:
    """Return the events of a unit that the branch does not have yet.

    The branch has a change or a removal if it has its edit. It has an `add` if it has the fact
    or any edit of it: a fact that was removed since, at the source or here, does not come back.
    """
    added_ids = [event.fact.id for event in events if event.name == "add"]
    with repo.store.reading(Ref(branch=branch.name)) as reading:
        present_ids = {
            *reading.get(EDIT, [event.id for event in events]),
            *reading.get(FACT, added_ids),
        }
        edits = reading.find(EDIT, Query(among={"row_id": added_ids})) if added_ids else ()
        present_ids |= {str(edit["row_id"]) for edit in edits}
    return [
        event
        for event in events
        if (event.fact.id if event.name == "add" else event.id) not in present_ids
    ]


def put_event(repo: Repository, branch: Branch, event: EventDraft, origin: Origin) -> Imported:
    """Commit one event; leave a fact that was edited, removed, redacted or held here."""
    imported, fact_id = Imported(), event.fact.id
    with repo.store.changing(find_open_again(repo, branch).name) as work:
        _, row_by_id = rows_of(event.fact, origin, work.now)
        comparison = compare(repo, work, FACT, row_by_id)
        present_fact = comparison.present.get(fact_id)
        if event.name == "remove" and present_fact is None:
            return Imported(unchanged=1)
        if left_reason := _why_left(work, event, comparison, row_by_id):
            return Imported(left=[LeftRow(fact_id, branch.name, left_reason)])
        import_edits = ImportEdits(_ids_of(event), _reason(event), (_TEXT,))
        if event.name == "remove" and present_fact is not None:
            fact_ids = dict.fromkeys((fact_id, *part_ids(FACT, present_fact)))
            remove(work, FACT, list(work.get(FACT, list(fact_ids)).values()), import_edits)
            imported.changed = 1
        elif present_fact is not None:
            # The edit of the text marks the event as imported, even if the text is unchanged.
            give(work, FACT, present_fact, claimed(FACT, row_by_id.pop(fact_id)), import_edits)
            _put_other_parts(work, comparison, row_by_id, replace(import_edits, always=()))
            imported.changed = 1
        else:
            work.add(FACT, list(row_by_id.values()))
            if event.name == "change":  # the source no longer has the `add` event
                edited_cells = EditedCells(FACT, row_by_id[fact_id], [_TEXT], import_edits.reason)
                add_edits(work, edited_cells, import_edits.new_id)
            imported.added = 1
        work.commit(Message("import", _reason(event)))
    return imported


def _put_other_parts(
    work: Work, comparison: Comparison, rows: Mapping[str, Row], edits: ImportEdits
) -> None:
    """Write the later parts of a long text, and remove parts that the text no longer has."""
    work.add(FACT, [row for row_id, row in rows.items() if row_id not in comparison.present])
    for row_id, row in rows.items():
        if row_id in comparison.present and row_id in comparison.differing:
            give(work, FACT, comparison.present[row_id], claimed(FACT, row), edits)
    remove(work, FACT, [comparison.present[row_id] for row_id in comparison.surplus], edits)


def _why_left(
    work: Work, event: EventDraft, comparison: Comparison, rows: Mapping[str, Row]
) -> LeftReason | None:
    fact_id = event.fact.id
    if comparison.why:
        return next(iter(comparison.why.values()))
    present_fact = comparison.present.get(fact_id)
    changed_cells = (
        ()
        if present_fact is None
        else changed_groups(FACT, present_fact, claimed(FACT, rows[fact_id]))
    )
    left_reason = why_left(
        FACT, present_fact, changed_cells, edits_of(work, [fact_id]).get(fact_id, ())
    )
    return left_reason or ("held" if held_among(work, [fact_id]) else None)


def _reason(event: EventDraft) -> str:
    """Return what happened, when, and by whom: the reason of the commit and of its edits."""
    event_time = event.fact.happened_at
    time_phrase = "" if event_time is None else f" of {show(event_time)}"
    return f"{event.said}{time_phrase}{f' by {event.by}' if event.by else ''}"


def _ids_of(event: EventDraft) -> NewId:
    """Return a maker of ids for an event's edits; the first edit gets the event's own id."""
    id_count = 0

    def make(prefix: str, _now: int) -> str:
        nonlocal id_count
        id_count += 1
        return event.id if id_count == 1 else derived_id(prefix, None, event.id, str(id_count))

    return make
