"""The choices that decide conflicts, and the conflicts that a merge left held."""

from typing import Annotated, Literal

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import JsonObject, Label, Request
from day1.errors import Advice, InvalidRequest
from day1.model.merge.held import HeldItem, value_of
from day1.model.merge.row_merge import Choice
from day1.model.records.merge_record import MergeRecord
from day1.model.redaction.derived import veiled
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import HELD, MEMORIES, WHOLE, Row, kind_of
from day1.services.branches.lookup import name_of
from day1.services.merges.held import veils_of
from day1.toolsets.shared.given import given_columns
from day1.toolsets.shared.shown import ConflictShown, cell_text


class ChoiceGiven(Request):
    """A decision for one cell of a row, or with cell `*` for all of it.

    Attributes:
        id: The id of the row: a fact, observation, relation, conversation or message.
        take: `ours` keeps the target's side, `theirs` takes the source's, `value` sets what
            `value` gives, `delete` removes the row, `skip` holds it.
        cell: The cell to decide, as conflicts name it; `*` is the whole row.
        value: The columns to set, by name; only with take=value.
    """

    id: Label
    take: Literal["ours", "theirs", "value", "delete", "skip"]
    cell: Label | None = WHOLE
    value: JsonObject | None = None

    def choice(self) -> Choice:
        """Check the decision and convert it to a choice of the plan.

        Raises:
            InvalidRequest: the id is not of a row, the cell not of its kind, or the value unsound.
        """
        kind, cell = kind_of(self.id), self.cell or WHOLE
        if kind not in MEMORIES:
            raise InvalidRequest(
                f"choices: {self.id!r} is not the id of a memory.",
                Advice("{memory_merge_preview} lists the ids."),
                id=self.id,
            )
        cells = [WHOLE, *(group[0] for group in kind.groups)]
        if cell not in cells:
            raise InvalidRequest(
                f"choices: a {kind.name} has no cell {cell!r}; it has: {', '.join(cells)}.",
                id=self.id,
                cell=cell,
            )
        if (self.take == "value") != (self.value is not None):
            raise InvalidRequest(
                "choices: `value` must be given with take=value, and with no other `take`."
            )
        value = None if self.value is None else given_columns(kind, cell, self.value)
        return Choice(self.id, self.take, cell, value)


Choices = Annotated[
    list[ChoiceGiven] | None,
    Field(description="decide conflicts; ours = target's side"),
]


def held_by(ctx: Context, record: MergeRecord) -> list[ConflictShown]:
    """Return the conflicts that a merge held, read from its target."""
    target = Ref(branch=name_of(ctx.repo, record.target_id))
    with ctx.repo.store.reading(target) as reading:
        rows = reading.find(HELD, Query(equal={"merge_id": record.id, "closes": None}))
        items = [HeldItem.of(row) for row in rows]
        veil_by_row = veils_of(reading, items, ctx.clock())
    return [
        ConflictShown(
            id=item.row_id,
            type=item.kind.name,
            cell=item.cell,
            source=_held_text(item, item.theirs, veil_by_row[item.row_id]),
            target=_held_text(item, item.ours, veil_by_row[item.row_id]),
            reason=item.reason,
        )
        for item in items
    ]


def _held_text(item: HeldItem, side: str | None, veil: Row) -> str:
    value = veiled(value_of(item.kind, item.cell, side), veil)
    return cell_text(item.kind, value, item.cell)


def chosen(decisions: list[ChoiceGiven] | None) -> tuple[Choice, ...]:
    """Check the decisions and convert them to choices of the plan.

    Raises:
        InvalidRequest: a decision does not fit its row.
    """
    return tuple(decision.choice() for decision in decisions or ())
