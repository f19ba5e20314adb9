"""The rows of a foreign source: built from drafts and compared with the branch's rows.

An import changes rows that an earlier import added. It leaves rows that were edited, removed,
redacted or held here since.
"""

from collections.abc import Iterator, Mapping, Sequence
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
from day1.model.values.ids import NewId, content_hash
from day1.model.values.parts import MAX_TEXT, part_of, parts_of
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
"""The agent of edits that a later run of a foreign import makes to imported rows."""

_MAX_NAME: Final = 255
"""Characters kept of a foreign name or category; the rest is cut off."""


@dataclass(frozen=True, slots=True)
class ImportEdits:
    """How an import records the edits of a change."""

    new_id: NewId
    reason: str | None = None
    always: tuple[str, ...] = ()
    """Cells that get an edit even if their value does not change."""


def put_rows(repo: Repository, branch: Branch, drafts: Sequence[Draft], origin: Origin) -> Imported:
    """Write one unit of drafts to a branch, as a commit if anything in it is new."""
    imported = Imported()
    with repo.store.changing(find_open_again(repo, branch).name) as work:
        for kind, row_by_id in built(drafts, origin, work.now).items():
            comparison = compare(repo, work, kind, row_by_id)
            imported.left += [
                LeftRow(left_id, branch.name, reason) for left_id, reason in comparison.why.items()
            ]
            new_rows: list[Row] = []
            for row_id in comparison.differing:
                if row_id in comparison.why:
                    continue
                if row_id not in comparison.present:
                    new_rows.append(row_by_id[row_id])
                    continue
                claimed_columns = claimed(kind, row_by_id[row_id])
                give(
                    work,
                    kind,
                    comparison.present[row_id],
                    claimed_columns,
                    ImportEdits(repo.new_id),
                )
                imported.changed += 1
            work.add(kind, new_rows)
            surplus_ids = [row_id for row_id in comparison.surplus if row_id not in comparison.why]
            remove(
                work,
                kind,
                [comparison.present[row_id] for row_id in surplus_ids],
                ImportEdits(repo.new_id),
            )
            imported.added += len(new_rows)
            imported.changed += len(surplus_ids)
            imported.unchanged += len(row_by_id) - len(comparison.differing)
        commit_unit(work, imported)
    return imported


@dataclass(frozen=True, slots=True)
class Comparison:
    """How the rows of a source differ from those of the branch."""

    present: Mapping[str, Row]
    differing: Sequence[str]
    """Ids of the source's rows that the branch lacks or has with other content."""
    surplus: Sequence[str]
    """Ids of the branch's parts that the source no longer has: its text has become shorter."""
    why: Mapping[str, LeftReason]
    """Why the import leaves differing and surplus rows, by id: all parts of a text or none."""


def compare(repo: Repository, work: Work, kind: Kind, rows: Mapping[str, Row]) -> Comparison:
    """Compare the rows of a source with the branch's rows of the same ids."""
    row_by_id = work.get(kind, list(rows))
    text_id_by_row = (
        {row_id: _whole(kind, row) for row_id, row in rows.items()} if kind.text else {}
    )
    text_id_by_part = {
        part_id: row_id for row_id, row in row_by_id.items() for part_id in part_ids(kind, row)
    }
    surplus_row_by_id = (
        work.get(kind, [part_id for part_id in text_id_by_part if part_id not in rows])
        if text_id_by_part
        else {}
    )
    text_id_by_row |= {row_id: text_id_by_part[row_id] for row_id in surplus_row_by_id}
    row_by_id |= surplus_row_by_id
    cells_by_row: dict[str, Sequence[str]] = {
        row_id: changed_groups(kind, present_row, claimed(kind, rows[row_id]))
        for row_id, present_row in row_by_id.items()
        if row_id in rows
    }
    cells_by_row |= dict.fromkeys(surplus_row_by_id, (kind.text or WHOLE,))
    differing_ids = [row_id for row_id in rows if cells_by_row.get(row_id, (WHOLE,))]
    doubtful_ids = [*differing_ids, *surplus_row_by_id]
    edits_by_row = edits_of(work, doubtful_ids)
    held_ids = held_among(work, [row_id for row_id in doubtful_ids if row_id in row_by_id])
    redacted_text_ids = redacted_among(repo, kind, row_by_id, text_id_by_row)
    reason_by_text: dict[str, LeftReason] = {}
    for row_id in doubtful_ids:
        text_id = text_id_by_row.get(row_id, row_id)
        row_edits: Sequence[Row] = edits_by_row.get(row_id, ())
        row_edits = _since_removed(row_edits) if text_id != row_id else row_edits
        left_reason = why_left(kind, row_by_id.get(row_id), cells_by_row.get(row_id, ()), row_edits)
        if left_reason or row_id in held_ids or text_id in redacted_text_ids:
            reason_by_text.setdefault(
                text_id, left_reason or ("held" if row_id in held_ids else "redacted")
            )
    reason_by_id = {
        row_id: reason_by_text[doubtful_text_id]
        for row_id in doubtful_ids
        if (doubtful_text_id := text_id_by_row.get(row_id, row_id)) in reason_by_text
    }
    return Comparison(row_by_id, differing_ids, list(surplus_row_by_id), reason_by_id)


def _whole(kind: Kind, row: Row) -> str:
    place_in_text = part_of(row, row[kind.text or ""])
    return str(row["id"]) if place_in_text is None else place_in_text.whole


def part_ids(kind: Kind, row: Row) -> list[str]:
    """Return the ids of all parts of the text that a row begins; empty for a text of one row."""
    place_in_text = part_of(row, row[kind.text]) if kind.text else None
    return [] if place_in_text is None or place_in_text.number > 1 else place_in_text.ids


def redacted_among(
    repo: Repository, kind: Kind, present: Mapping[str, Row], text_ids: Mapping[str, str]
) -> set[str]:
    """Find texts of which a part is redacted: the source's words could show redacted ones."""
    mask = repo.ledger.mask()
    return {
        text_ids.get(row_id, row_id) for row_id, row in present.items() if mask.hides(kind, row)
    }


def _since_removed(edits: Sequence[Row]) -> Sequence[Row]:
    """Return the edits of a part after import last removed it (its text was shorter for a time)."""
    removal_positions = [
        position
        for position, edit in enumerate(edits)
        if edit["cell"] == WHOLE and edit["agent_id"] == AGENT
    ]
    return edits[removal_positions[-1] + 1 :] if removal_positions else edits


def built(drafts: Sequence[Draft], origin: Origin, now: int) -> dict[Kind, dict[str, Row]]:
    """Build the rows of drafts, by kind and id; of two drafts with one id the first counts."""
    rows_by_kind: dict[Kind, dict[str, Row]] = {}
    for draft in drafts:
        kind, row_by_id = rows_of(draft, origin, now)
        built_row_by_id = rows_by_kind.setdefault(kind, {})
        if draft.id not in built_row_by_id:
            built_row_by_id |= row_by_id
    return rows_by_kind


def rows_of(draft: Draft, origin: Origin, now: int) -> tuple[Kind, dict[str, Row]]:
    """Build the kind and the rows of a draft, by id: one, or a long text's parts in order."""
    kind, draft_row = _row_of(draft, origin, now)
    if kind.text is None or len(str(draft_row[kind.text])) <= MAX_TEXT:
        return kind, {draft.id: draft_row}
    row_by_id: dict[str, Row] = {}
    for part_id, part_text in parts_of(draft.id, str(draft_row[kind.text])):
        row_by_id[part_id] = {
            **draft_row,
            "id": part_id,
            kind.text: part_text,
            "content_hash": content_hash(part_text),
        }
        draft_row = {**draft_row, "raw_input": None} if kind is OBSERVATION else draft_row
    return kind, row_by_id


def _row_of(draft: Draft, origin: Origin, now: int) -> tuple[Kind, Row]:
    """Build the row of a draft; its text may be too long for one row."""
    happened_at = draft.happened_at
    match draft:
        case FactDraft():
            cleaned_text, category = cleaned(draft.text), draft.category
            category = None if category is None else cleaned(category)[:_MAX_NAME]
            new_fact = NewFact(cleaned_text, category, happened_at=happened_at, space=draft.space)
            row = fact_row(draft.id, new_fact, origin, now)
            if draft.superseded_by is not None:
                row |= {"status": "superseded", "superseded_by": draft.superseded_by}
            return FACT, row
        case ObservationDraft():
            new_observation = NewObservation(
                draft.observation_type,
                cleaned(draft.summary),
                draft.tool_name,
                draft.raw_input,
                happened_at=happened_at,
            )
            return OBSERVATION, observation_row(draft.id, new_observation, origin, now)
        case RelationDraft():
            names = (draft.source_entity, draft.relation_type, draft.target_entity)
            source_entity, relation_type, target_entity = (
                cleaned(name)[:_MAX_NAME] for name in names
            )
            new_relation = NewRelation(
                source_entity, relation_type, target_entity, happened_at=happened_at
            )
            return RELATION, relation_row(draft.id, new_relation, origin, now)


def row_count(draft: Draft) -> int:
    """Count the rows that a draft becomes: more than one if its text is long."""
    match draft:
        case FactDraft(text=text) | ObservationDraft(summary=text):
            return sum(1 for _ in parts_of(draft.id, cleaned(text)))
        case _:
            return 1


def losses(draft: Draft) -> Iterator[str]:
    """Yield what `rows_of` drops from a draft: ends of long names, NUL characters."""
    text, names = "", tuple[str, ...]()
    match draft:
        case FactDraft():
            text, names = draft.text, (draft.category or "",)
        case ObservationDraft():
            text = draft.summary
        case RelationDraft():
            names = (draft.source_entity, draft.relation_type, draft.target_entity)
    if any(len(name.replace("\0", "")) > _MAX_NAME for name in names):
        yield f"what comes after the first {_MAX_NAME} characters of a name"
    if any("\0" in field_text for field_text in (text, *names)):
        yield "NUL characters"


def cleaned(text: str) -> str:
    """Remove NUL characters and replace lone surrogates, which not every engine can store."""
    return text.replace("\0", "").encode(errors="replace").decode()


def claimed(kind: Kind, row: Row) -> Row:
    """Return the columns that a source decides; verdicts and confidences set here stay.

    The source decides the status only if it says that the row was superseded.
    """
    claimed_cells = (*kind.claimed, "status") if row.get("superseded_by") else kind.claimed
    return {column: row[column] for cell in claimed_cells for column in kind.group(cell)}


def held_among(work: Work, row_ids: Sequence[str]) -> set[str]:
    """Find the rows that have an open held item; the item must be decided first."""
    held_rows = work.find(HELD, Query(among={"row_id": row_ids})) if row_ids else ()
    return {item.row_id for item in open_items(held_rows)}


def why_left(
    kind: Kind, before: Row | None, groups: Sequence[str], edits: Sequence[Row]
) -> LeftReason | None:
    """Return why the import leaves a row that is missing or differs; None if it may write it.

    A row was edited here if somebody other than import edited a claimed cell or the status, or
    if a cell no longer has the value of import's last edit (a restore leaves no edit).
    """
    if before is None:
        return "removed" if was_removed(edits) else None
    watched_cells = {*kind.claimed, "status"}
    imported_value_by_cell = {
        edit["cell"]: edit["value"] for edit in edits if edit["agent_id"] == AGENT
    }
    was_edited_by_others = any(
        edit["agent_id"] != AGENT and edit["cell"] in watched_cells for edit in edits
    )
    is_restored = any(
        cell in imported_value_by_cell
        and imported_value_by_cell[cell] != cell_value(kind, before, cell)
        for cell in groups
    )
    return "edited" if was_edited_by_others or is_restored else None


def give(work: Work, kind: Kind, before: Row, values: Row, edits: ImportEdits) -> None:
    """Set a row to the values that its source has now; a fact with a new text is unverified."""
    if kind is FACT and values["fact_text"] != before["fact_text"]:
        values = {**values, "verification": "unverified", "scores": None}
    edited_names = dict.fromkeys((*edits.always, *changed_groups(kind, before, values)))
    edited_cells = EditedCells(kind, {**before, **values}, list(edited_names), edits.reason)
    work.change(kind, str(before["id"]), values)
    add_edits(work, edited_cells, edits.new_id)


def remove(work: Work, kind: Kind, rows: Sequence[Row], edits: ImportEdits) -> None:
    """Remove rows that their source no longer has."""
    work.apply({kind.table: {str(row["id"]): None for row in rows}})
    for row in rows:
        add_edits(work, EditedCells(kind, row, [WHOLE], edits.reason), edits.new_id)


def add_edits(work: Work, edited: EditedCells, new_id: NewId) -> None:
    """Add edits which say that the source of the import changed these cells."""
    origin = Origin(agent_id=AGENT, source="import")
    work.add(EDIT, edit_rows(edited, origin, work.now, new_id))
