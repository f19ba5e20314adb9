"""Importing from other sources: git, Markdown, knowledge graphs.

An import writes units of at most 5,000 rows; each is a commit that is durable before the next unit
begins. Ids tell which rows the branch has already, so an interrupted import can be started again
and adds the missing ones.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from day1.errors import Day1Error
from day1.model.branches.branch import Branch
from day1.model.rows.origin import Origin
from day1.model.values.callbacks import ReportProgress
from day1.ports.source import Draft, EventDraft, Item, Source
from day1.services.branches.lookup import refuse_protected
from day1.services.exchange.event_import import new_events, put_event
from day1.services.exchange.foreign_rows import losses, put_rows
from day1.services.exchange.imported import Imported
from day1.services.repository.repository import Repository

UNIT_ROWS: Final = 5_000
"""Rows in one unit: half a second under the lock. Larger units keep history smaller, since each
commit stores its own version of nearly the whole index by `content_hash`."""

EVENTS: Final = 250
"""Events between two progress reports: each event is a commit, so a whole unit takes a minute."""

T = TypeVar("T")


def import_foreign(
    repo: Repository, branch: Branch, source: Source, origin: Origin, report: ReportProgress
) -> Imported:
    """Import a foreign source into a branch; a second run adds what is new at the source.

    A row whose content changed at the source is changed by agent `import`. If the row was edited,
    removed or redacted here since, or has an open held item, it is left and listed. Rows that are
    gone from the source stay.

    Raises:
        UnknownBranch, BranchClosed: rows cannot be written to the branch.
        Day1Error: what the source raises; the units before are stored, `details` counts them.
    """
    refuse_protected(branch)
    origin = replace(origin, source="import")
    imported, total_items, items_done = Imported(), source.total(), 0

    def drafts() -> Iterator[Item]:
        nonlocal items_done
        for item_drafts in source.items():
            for draft in item_drafts:
                if not isinstance(draft, EventDraft):
                    for reason in losses(draft):
                        imported.leave_out(reason, draft.id)
                yield draft
            items_done += 1

    try:
        for unit in in_units(drafts(), UNIT_ROWS):
            for part_number, written_part in enumerate(_put(repo, branch, unit, origin), start=1):
                imported.take(written_part)
                if part_number % EVENTS == 0:
                    report(imported.rows, total_items)
            repo.point("import.after_unit")
            report(items_done, total_items)
    except Day1Error as failed:
        failed.details.update(imported.counts())
        raise
    imported.left_out.update({reason: list(places) for reason, places in source.left_out.items()})
    report(items_done, total_items)
    return imported


def in_units(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Group items into lists. If reading fails, the items read so far come first."""
    unit: list[T] = []
    try:
        for item in items:
            unit.append(item)
            if len(unit) == size:
                yield unit
                unit = []
    except Day1Error:
        if unit:
            yield unit
        raise
    if unit:
        yield unit


def _put(
    repo: Repository, branch: Branch, unit: Sequence[Item], origin: Origin
) -> Iterator[Imported]:
    """Write a unit: all its rows as one commit, then each of its events as a commit."""
    events = [item for item in unit if isinstance(item, EventDraft)]
    drafts: list[Draft] = [item for item in unit if not isinstance(item, EventDraft)]
    if drafts:
        yield put_rows(repo, branch, drafts, origin)
    missing_events = new_events(repo, branch, events) if events else []
    yield Imported(unchanged=len(events) - len(missing_events))
    for event in missing_events:
        yield put_event(repo, branch, event, origin)
