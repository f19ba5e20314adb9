"""Importing from other sources: git, Markdown, knowledge graphs.

An import writes units of at most 5,000 rows; each is a commit that is durable before the next unit
begins. Ids tell which rows are there already, so an interrupted import is started again and adds
the rest.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from day1.errors import Day1Error, Json
from day1.model.branches.branch import Branch
from day1.model.merge.held import open_items
from day1.model.rows.change import Message, Query
from day1.model.rows.kind import (
    EDIT,
    FACT,
    HELD,
    OBSERVATION,
    RELATION,
    WHOLE,
    Kind,
    Row,
    cell_value,
)
from day1.model.rows.origin import Origin
from day1.model.values.callbacks import ReportProgress
from day1.ports.source import Draft, FactDraft, ObservationDraft, RelationDraft, Source
from day1.ports.store import Work
from day1.services.branches.lookup import find_open_again, refuse_protected
from day1.services.repository.repository import Repository
from day1.services.rows.bulk_writes import LeftReason, LeftRow, edits_of, was_removed
from day1.services.rows.recording import (
    EditedCells,
    NewFact,
    NewObservation,
    NewRelation,
    changed_groups,
    edit_rows,
    fact_row,
    observation_row,
    relation_row,
)

UNIT_ROWS: Final = 5_000
"""Rows in one unit: half a second under the lock. A larger unit keeps history smaller, since each
commit keeps its own version of nearly the whole index by `content_hash`."""

AGENT: Final = "import"
"""The agent of the changes that a later run of a foreign import makes."""

MAX_TEXT: Final = 32_768
"""Characters of a foreign text that are kept."""
_MAX_NAME: Final = 255

T = TypeVar("T")


@dataclass(slots=True)
class Imported:
    """What an import did, in rows. Rows that a unit repeats are counted once."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    left: list[LeftRow] = field(default_factory=list)
    branches: list[str] = field(default_factory=list)
    """The branches that were created."""

    def take(self, unit: "Imported") -> None:
        """Count a unit that has become durable."""
        self.added += unit.added
        self.changed += unit.changed
        self.unchanged += unit.unchanged
        self.left += unit.left

    def counts(self) -> dict[str, Json]:
        """The numbers, as a failure names what was stored before it."""
        return {
            "added": self.added,
            "changed": self.changed,
            "unchanged": self.unchanged,
            "left": len(self.left),
        }


def import_foreign(
    repo: Repository, branch: Branch, source: Source, origin: Origin, report: ReportProgress
) -> Imported:
    """Import a foreign source into a branch; a second run adds what is new since.

    An item whose content changed is a change by agent `import`, except where the row was
    edited here since, or has an open held item: it is left and listed, as is one removed here.
    What is gone from the source stays.

    Raises:
        UnknownBranch, BranchClosed: the branch does not take rows.
        Day1Error: what the source raises; the units before are stored, `details` counts them.
    """
    refuse_protected(branch)
    origin = replace(origin, source="import")
    imported, total, done = Imported(), source.total(), 0

    def drafts() -> Iterator[Draft]:
        nonlocal done
        for item in source.items():
            yield from item
            done += 1

    try:
        for unit in in_units(drafts(), UNIT_ROWS):
            imported.take(_put_foreign(repo, branch, unit, origin))
            repo.point("import.after_unit")
            report(done, total)
    except Day1Error as failed:
        failed.details.update(imported.counts())
        raise
    report(done, total)
    return imported


def in_units(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Group items into lists. If reading fails, the items before are returned first."""
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


def _put_foreign(
    repo: Repository, branch: Branch, drafts: Sequence[Draft], origin: Origin
) -> Imported:
    """Make one unit durable, if anything in it is new."""
    unit = Imported()
    with repo.store.changing(find_open_again(repo, branch).name) as work:
        for kind, rows in _built(drafts, origin, work.now).items():
            present = work.get(kind, list(rows))
            groups = {
                row_id: changed_groups(kind, before, _claimed(kind, rows[row_id]))
                for row_id, before in present.items()
            }
            open_to_doubt = [row_id for row_id in rows if groups.get(row_id, (WHOLE,))]
            edits = edits_of(work, open_to_doubt)
            held = _held(work, [row_id for row_id in open_to_doubt if row_id in present])
            fresh: list[Row] = []
            for row_id in open_to_doubt:
                before = present.get(row_id)
                why = _why_left(kind, before, groups.get(row_id, ()), edits.get(row_id, ()))
                if why or row_id in held:
                    unit.left.append(LeftRow(row_id, branch.name, why or "held"))
                elif before is None:
                    fresh.append(rows[row_id])
                else:
                    _change(repo, work, kind, before, _claimed(kind, rows[row_id]))
                    unit.changed += 1
            work.add(kind, fresh)
            unit.added += len(fresh)
            unit.unchanged += len(rows) - len(open_to_doubt)
        commit_unit(work, unit)
    return unit


def _built(drafts: Sequence[Draft], origin: Origin, now: int) -> dict[Kind, dict[str, Row]]:
    """The rows of drafts by kind and id; of two with one id the first counts."""
    built: dict[Kind, dict[str, Row]] = {}
    for draft in drafts:
        kind, row = _row(draft, origin, now)
        built.setdefault(kind, {}).setdefault(draft.id, row)
    return built


def _row(draft: Draft, origin: Origin, now: int) -> tuple[Kind, Row]:
    at = draft.happened_at
    match draft:
        case FactDraft():
            text, category = _clean(draft.text, MAX_TEXT), draft.category
            category = None if category is None else _clean(category, _MAX_NAME)
            fact = NewFact(text, category, happened_at=at, space=draft.space)
            return FACT, fact_row(draft.id, fact, origin, now)
        case ObservationDraft():
            observation = NewObservation(
                draft.observation_type,
                _clean(draft.summary, MAX_TEXT),
                draft.tool_name,
                draft.raw_input,
                happened_at=at,
            )
            return OBSERVATION, observation_row(draft.id, observation, origin, now)
        case RelationDraft():
            triple = (draft.source_entity, draft.relation_type, draft.target_entity)
            start, relation_type, end = (_clean(name, _MAX_NAME) for name in triple)
            relation = NewRelation(start, relation_type, end, happened_at=at)
            return RELATION, relation_row(draft.id, relation, origin, now)


def _clean(text: str, most: int) -> str:
    """What every engine keeps: no NUL, no half of a surrogate pair, not longer than `most`."""
    return text.replace("\0", "").encode(errors="replace").decode()[:most]


def _claimed(kind: Kind, row: Row) -> Row:
    """What a source has a say in; a verdict or a confidence given here is no part of it."""
    return {column: row[column] for cell in kind.claimed for column in kind.group(cell)}


def _held(work: Work, row_ids: Sequence[str]) -> set[str]:
    """Those of the rows that have an open held item: it is decided first."""
    rows = work.find(HELD, Query(among={"row_id": row_ids})) if row_ids else ()
    return {item.row_id for item in open_items(rows)}


def _why_left(
    kind: Kind, before: Row | None, groups: Sequence[str], edits: Sequence[Row]
) -> LeftReason | None:
    """Say why a row that differs, or is not there, is left so; None if nothing speaks for it.

    It was edited here if an edit of what the source claims, or of the status, is not import's
    own; or if a cell is no longer as import's last edit made it (a restore leaves no edit).
    """
    if before is None:
        return "removed" if was_removed(edits) else None
    watched = {*kind.claimed, "status"}
    given = {edit["cell"]: edit["value"] for edit in edits if edit["agent_id"] == AGENT}
    by_others = any(e["agent_id"] != AGENT and e["cell"] in watched for e in edits)
    restored = any(
        cell in given and given[cell] != cell_value(kind, before, cell) for cell in groups
    )
    return "edited" if by_others or restored else None


def _change(repo: Repository, work: Work, kind: Kind, before: Row, values: Row) -> None:
    """Give a row what its source has now; a new text is not verified yet."""
    if kind is FACT and values["fact_text"] != before["fact_text"]:
        values = {**values, "verification": "unverified", "scores": None}
    edited = EditedCells(kind, {**before, **values}, changed_groups(kind, before, values))
    origin = Origin(agent_id=AGENT, source="import")
    work.change(kind, str(before["id"]), values)
    work.add(EDIT, edit_rows(edited, origin, work.now, repo.new_id))


def commit_unit(work: Work, unit: Imported) -> None:
    """End a unit of work: with a commit if anything in it is new, else without a trace."""
    rows = unit.added + unit.changed
    if rows:
        work.commit(Message("import", f"import {rows} {'row' if rows == 1 else 'rows'}"))
