"""The rows of a foreign source: built from drafts, and put beside what is here.

A source changes what it brought itself. What was edited, removed or held here since is left.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from day1.model.branches.branch import Branch
from day1.model.merge.held import open_items
from day1.model.rows.change import Query
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
from day1.model.values.ids import NewId
from day1.ports.source import Draft, FactDraft, ObservationDraft, RelationDraft
from day1.ports.store import Work
from day1.services.branches.lookup import find_open_again
from day1.services.exchange.imported import Imported, commit_unit
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

AGENT: Final = "import"
"""The agent of the changes that a later run of a foreign import makes."""

MAX_TEXT: Final = 32_768
"""Characters of a foreign text that are kept."""
_MAX_NAME: Final = 255
"""Characters of a foreign name or category that are kept."""


@dataclass(frozen=True, slots=True)
class Noting:
    """How the edits of a change are noted."""

    new_id: NewId
    reason: str | None = None
    always: tuple[str, ...] = ()
    """Cells that are noted even if they stay as they are."""


def put_rows(repo: Repository, branch: Branch, drafts: Sequence[Draft], origin: Origin) -> Imported:
    """Make one unit durable, if anything in it is new."""
    unit = Imported()
    with repo.store.changing(find_open_again(repo, branch).name) as work:
        for kind, rows in built(drafts, origin, work.now).items():
            present = work.get(kind, list(rows))
            groups = {
                row_id: changed_groups(kind, before, claimed(kind, rows[row_id]))
                for row_id, before in present.items()
            }
            open_to_doubt = [row_id for row_id in rows if groups.get(row_id, (WHOLE,))]
            edits = edits_of(work, open_to_doubt)
            held = held_among(work, [row_id for row_id in open_to_doubt if row_id in present])
            fresh: list[Row] = []
            for row_id in open_to_doubt:
                before = present.get(row_id)
                why = why_left(kind, before, groups.get(row_id, ()), edits.get(row_id, ()))
                if why or row_id in held:
                    unit.left.append(LeftRow(row_id, branch.name, why or "held"))
                elif before is None:
                    fresh.append(rows[row_id])
                else:
                    give(work, kind, before, claimed(kind, rows[row_id]), Noting(repo.new_id))
                    unit.changed += 1
            work.add(kind, fresh)
            unit.added += len(fresh)
            unit.unchanged += len(rows) - len(open_to_doubt)
        commit_unit(work, unit)
    return unit


def built(drafts: Sequence[Draft], origin: Origin, now: int) -> dict[Kind, dict[str, Row]]:
    """The rows of drafts by kind and id; of two with one id the first counts."""
    built: dict[Kind, dict[str, Row]] = {}
    for draft in drafts:
        kind, row = row_of(draft, origin, now)
        built.setdefault(kind, {}).setdefault(draft.id, row)
    return built


def row_of(draft: Draft, origin: Origin, now: int) -> tuple[Kind, Row]:
    """The row of a draft, with its kind."""
    at = draft.happened_at
    match draft:
        case FactDraft():
            text, category = _clean(draft.text, MAX_TEXT), draft.category
            category = None if category is None else _clean(category, _MAX_NAME)
            fact = NewFact(text, category, happened_at=at, space=draft.space)
            row = fact_row(draft.id, fact, origin, now)
            if draft.superseded_by is not None:
                row |= {"status": "superseded", "superseded_by": draft.superseded_by}
            return FACT, row
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


def losses(draft: Draft) -> Iterator[str]:
    """Say what of a draft its row has not, as `row_of` makes it."""
    text, names = "", tuple[str, ...]()
    match draft:
        case FactDraft():
            text, names = draft.text, (draft.category or "",)
        case ObservationDraft():
            text = draft.summary
        case RelationDraft():
            names = (draft.source_entity, draft.relation_type, draft.target_entity)
    if len(text.replace("\0", "")) > MAX_TEXT:
        yield f"what comes after the first {MAX_TEXT:,} characters of a text"
    if any(len(name.replace("\0", "")) > _MAX_NAME for name in names):
        yield f"what comes after the first {_MAX_NAME} characters of a name"
    if any("\0" in part for part in (text, *names)):
        yield "NUL characters"


def _clean(text: str, most: int) -> str:
    """What every engine keeps: no NUL, no half of a surrogate pair, not longer than `most`."""
    return text.replace("\0", "").encode(errors="replace").decode()[:most]


def claimed(kind: Kind, row: Row) -> Row:
    """What a source has a say in; a verdict or a confidence given here is no part of it.

    Of the status it says only that the row was superseded.
    """
    cells = (*kind.claimed, "status") if row.get("superseded_by") else kind.claimed
    return {column: row[column] for cell in cells for column in kind.group(cell)}


def held_among(work: Work, row_ids: Sequence[str]) -> set[str]:
    """Those of the rows that have an open held item: it is decided first."""
    rows = work.find(HELD, Query(among={"row_id": row_ids})) if row_ids else ()
    return {item.row_id for item in open_items(rows)}


def why_left(
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


def give(work: Work, kind: Kind, before: Row, values: Row, noting: Noting) -> None:
    """Give a row what its source has now; a new text is not verified yet."""
    if kind is FACT and values["fact_text"] != before["fact_text"]:
        values = {**values, "verification": "unverified", "scores": None}
    groups = dict.fromkeys((*noting.always, *changed_groups(kind, before, values)))
    edited = EditedCells(kind, {**before, **values}, list(groups), noting.reason)
    work.change(kind, str(before["id"]), values)
    note(work, edited, noting.new_id)


def note(work: Work, edited: EditedCells, new_id: NewId) -> None:
    """Note that the source, and nobody here, edited cells."""
    origin = Origin(agent_id=AGENT, source="import")
    work.add(EDIT, edit_rows(edited, origin, work.now, new_id))
