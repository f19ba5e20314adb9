"""The rows of a review as a reviewer sees them: base, both sides, authors, decisions."""

from collections.abc import Mapping, Sequence
from typing import Any

from day1.call.fields import Response
from day1.model.merge.row_merge import PlanRow
from day1.model.merge.word_diff import changed_words
from day1.model.records.review import Decision, fingerprint
from day1.model.rows.change import Ref
from day1.model.rows.kind import WHOLE, Row, cell_value
from day1.model.values.instant import show
from day1.services.merges.duplicates import Twin
from day1.services.merges.protection import tiers_of
from day1.services.merges.reviews import Examined
from day1.services.repository.repository import Repository
from day1.services.rows.deriving import shown_edits
from day1.toolsets.shared.fields import absent
from day1.toolsets.shared.shown import row_shown, shown_columns

_WORDS_ROOM = 20_000_000
"""Maximum cost of comparing texts on a page: the sum of the products of two texts' lengths."""


class WrittenBy(Response):
    """Who wrote or removed one side's value: its newest edit in force, else its origin."""

    agent_id: str | None
    session_id: str | None
    task_id: str | None
    branch: str
    at: str
    reason: str | None = None


class DecisionShown(Response):
    """A decision; a stale one is about cells that changed since, and does not apply."""

    id: str
    cell: str
    take: str
    value: dict[str, Any] | None
    by: str | None
    at: str
    stale: bool


class HeldCell(Response):
    """An open held item of the target that came from the source."""

    id: str
    cell: str
    reason: str
    merge_id: str
    held_at: str


class TwinShown(Response):
    """A new text of the target that is nearly the same, or the opposite."""

    id: str
    text: str
    cosine: float


class ReviewRow(Response):
    """One row: `ours` is the target's side, `theirs` the source's, null where there is none."""

    id: str
    type: str
    group: str
    effect: str
    """What merging would do to it now: new, changed, removed, kept."""
    seen: str
    """Pass it with a decision, to have it refused if the row changed."""
    base: dict[str, Any] | None
    ours: dict[str, Any] | None
    theirs: dict[str, Any] | None
    merged: dict[str, Any] | None = absent()
    """What merging makes of both sides, if it merges them by lines; `theirs` is the source's side.
    """
    clashes: dict[str, str]
    """Cell -> why it would be held."""
    belongs_to: str | None
    """The row that this one belongs to, and is held with."""
    words: list[tuple[str, str]] | None
    """How our text (else the base's) becomes theirs, or the merged one: same, removed, added, each
    with its words."""
    ours_by: WrittenBy | None
    theirs_by: WrittenBy | None
    decisions: list[DecisionShown]
    held: list[HeldCell]
    twins: list[TwinShown]
    tier: str | None
    """Approvals needed to merge it: none, one or two; null if the target has no tiers."""
    why: str | None
    """The rule behind `tier`, or the default."""


def review_rows(
    repo: Repository,
    examined: Examined,
    page: Sequence[tuple[str, PlanRow]],
    twins: Mapping[str, Sequence[Twin]],
) -> list[ReviewRow]:
    """Build a page of review rows, with one read of each side for all of them."""
    row_ids = [row.id for _, row in page]
    target_edits = _edits(repo, examined.target.name, row_ids)
    source_edits = _edits(repo, examined.source.name, row_ids)
    plan_row_by_id = {row.id: row for row in examined.plan.rows}
    tier_by_row = tiers_of(repo, examined.source, examined.target, examined.plan)
    decisions_by_row: dict[str, list[DecisionShown]] = {}
    for decision in examined.review.decided:
        decisions_by_row.setdefault(decision.row_id, []).append(
            decision_shown(decision, stale=decision in examined.stale)
        )
    comparison_room, shown_rows = _WORDS_ROOM, []
    for group, row in page:
        visible_row = row_shown(row, repo.clock())
        old_text, new_text = _texts(visible_row)
        comparison_room -= len(old_text) * len(new_text)
        shown_rows.append(
            ReviewRow(
                id=row.id,
                type=row.kind.name,
                group=group,
                effect=plan_row_by_id.get(row.id, row).effect,
                seen=fingerprint(row, WHOLE),
                base=_columns(visible_row, visible_row.base),
                ours=_columns(visible_row, visible_row.target),
                theirs=_columns(visible_row, visible_row.source),
                merged=_columns(visible_row, visible_row.brought) if row.joined else None,
                clashes=dict(row.held),
                belongs_to=row.belongs_to,
                words=_words(old_text, new_text) if comparison_room >= 0 else None,
                ours_by=_by(row, row.target, target_edits.get(row.id, ()), examined.target.name),
                theirs_by=_by(row, row.source, source_edits.get(row.id, ()), examined.source.name),
                decisions=decisions_by_row.get(row.id, []),
                held=_held(examined, row.id),
                twins=[
                    TwinShown(id=twin.other_id, text=twin.other_text, cosine=round(twin.cosine, 4))
                    for twin in twins.get(row.id, ())
                ],
                tier=tier_by_row[row.id].tier if row.id in tier_by_row else None,
                why=tier_by_row[row.id].why if row.id in tier_by_row else None,
            )
        )
    return shown_rows


def decision_shown(decision: Decision, *, stale: bool = False) -> DecisionShown:
    """Convert a decision to its shown form."""
    shown_value = shown_columns(decision.value) if isinstance(decision.value, dict) else None
    return DecisionShown.from_record(
        decision, id=decision.row_id, value=shown_value, at=show(decision.at), stale=stale
    )


def _columns(row: PlanRow, side: Row | None) -> dict[str, Any] | None:
    return (
        None
        if side is None
        else shown_columns({column: side[column] for column in row.kind.group(WHOLE)})
    )


def _texts(row: PlanRow) -> tuple[str, str]:
    """Return the two texts to compare; both empty if a side has no text."""
    text_column, old_row = row.kind.text, row.target or row.base
    if text_column is None or old_row is None or row.brought is None:
        return "", ""
    return str(old_row[text_column] or ""), str(row.brought[text_column] or "")


def _words(before: str, after: str) -> list[tuple[str, str]] | None:
    return None if before == after else [*changed_words(before, after)]


def _edits(repo: Repository, branch: str, ids: Sequence[str]) -> dict[str, list[Row]]:
    """Return the edits on a branch by row, oldest first."""
    edits_by_row: dict[str, list[Row]] = {}
    with repo.store.reading(Ref(branch=branch)) as reading:
        for edit in shown_edits(reading, ids, repo.clock()):
            edits_by_row.setdefault(str(edit["row_id"]), []).append(edit)
    return edits_by_row


def _by(row: PlanRow, side: Row | None, edits: Sequence[Row], branch: str) -> WrittenBy | None:
    if side is None:  # who removed it
        edits_of_value = [edit for edit in edits if edit["cell"] == WHOLE and row.base is not None]
    else:
        edits_of_value = [
            value_edit
            for value_edit in edits
            if value_edit["cell"] != WHOLE and _holds(row, side, value_edit)
        ]
    last_change = edits_of_value[-1] if edits_of_value else side
    if last_change is None:
        return None
    return WrittenBy(
        agent_id=_text_or_none(last_change, "agent_id"),
        session_id=_text_or_none(last_change, "session_id"),
        task_id=_text_or_none(last_change, "task_id"),
        branch=branch,
        at=show(int(last_change["created_at"] or 0)),
        reason=_text_or_none(last_change, "reason"),
    )


def _holds(row: PlanRow, side: Row, edit: Row) -> bool:
    return edit["value"] == cell_value(row.kind, side, str(edit["cell"]))


def _text_or_none(row: Row, column: str) -> str | None:
    cell = row.get(column)
    return None if cell is None else str(cell)


def _held(examined: Examined, row_id: str) -> list[HeldCell]:
    return [
        HeldCell.from_record(held_item, held_at=show(held_item.created_at))
        for held_item in examined.held.get(row_id, ())
    ]
