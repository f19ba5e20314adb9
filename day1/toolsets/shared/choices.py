"""The choices that decide conflicts, and the conflicts that a merge left held."""

from typing import Annotated, Literal

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import Label, Request
from day1.errors import Advice, InvalidRequest
from day1.model.merge.held import HeldItem, value_of
from day1.model.merge.row_merge import Choice
from day1.model.records.merge_record import MergeRecord
from day1.model.redaction.derived import veiled
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import HELD, MEMORIES, WHOLE, Row, kind_of
from day1.services.branches.lookup import name_of
from day1.services.merges.held import veils_of
from day1.toolsets.shared.given import Columns, given_columns
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
    value: Columns | None = None

    def choice(self) -> Choice:
        """Check the decision and convert it to a choice of the plan.

        Raises:
            InvalidRequest: the id is not of a row, the cell not of its kind, or the value unsound.
        """
        row_kind, cell = kind_of(self.id), self.cell or WHOLE
        if row_kind not in MEMORIES:
            raise InvalidRequest(
                f"choices: {self.id!r} is not the id of a memory.",
                Advice("{memory_merge_preview} lists the ids."),
                id=self.id,
            )
        cell_names = [WHOLE, *(group[0] for group in row_kind.groups)]
        if cell not in cell_names:
            raise InvalidRequest(
                f"choices: a {row_kind.name} has no cell {cell!r}; it has: "
                f"{', '.join(cell_names)}.",
                id=self.id,
                cell=cell,
            )
        if (self.take == "value") != (self.value is not None):
            raise InvalidRequest(
                "choices: `value` must be given with take=value, and with no other `take`."
            )
        column_values = None if self.value is None else given_columns(row_kind, cell, self.value)
        return Choice(self.id, self.take, cell, column_values)


Choices = Annotated[
    list[ChoiceGiven] | None,
    Field(description="decide conflicts; ours = target's side"),
]


def held_by(ctx: Context, record: MergeRecord) -> list[ConflictShown]:
    """Return the conflicts that a merge held, read from its target."""
    target_ref = Ref(branch=name_of(ctx.repo, record.target_id))
    with ctx.repo.store.reading(target_ref) as reading:
        held_rows = reading.find(HELD, Query(equal={"merge_id": record.id, "closes": None}))
        held_items = [HeldItem.of(row) for row in held_rows]
        veil_by_row = veils_of(reading, held_items, ctx.clock())
    return [
        ConflictShown(
            id=held_item.row_id,
            type=held_item.kind.name,
            cell=held_item.cell,
            source=_held_text(held_item, held_item.theirs, veil_by_row[held_item.row_id]),
            target=_held_text(held_item, held_item.ours, veil_by_row[held_item.row_id]),
            reason=held_item.reason,
        )
        for held_item in held_items
    ]


def _held_text(item: HeldItem, side: str | None, veil: Row) -> str:
    visible_columns = veiled(value_of(item.kind, item.cell, side), veil)
    return cell_text(item.kind, visible_columns, item.cell)


def chosen(decisions: list[ChoiceGiven] | None) -> tuple[Choice, ...]:
    """Check the decisions and convert them to choices of the plan.

    Raises:
        InvalidRequest: a decision does not fit its row.
    """
    return tuple(decision.choice() for decision in decisions or ())
