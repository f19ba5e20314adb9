"""A review: a source, a target, and the decisions so far about the rows to merge."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, cast

from day1.errors import Json
from day1.model.merge.plan import MergePlan
from day1.model.merge.row_merge import Choice, PlanRow, Take
from day1.model.records.codec import from_json, to_json
from day1.model.records.merge_record import MergeRecord
from day1.model.rows.kind import WHOLE, Cell, canonical, content_of
from day1.model.values.ids import short_hash
from day1.model.values.record_kind import RecordKind

ReviewStatus = Literal["open", "merged", "closed"]


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision about one cell of a row, or with cell `*` about the whole row."""

    row_id: str
    cell: str
    take: Take
    value: Json
    by: str | None
    at: int
    seen: str
    """The fingerprint of the values that the decision is about."""
    token_id: str | None = None
    """The token of the person who decided: whoever gives a value is an author."""

    @property
    def choice(self) -> Choice:
        """The decision in the form that a merge plan takes."""
        value = cast("Mapping[str, Cell] | None", self.value)
        return Choice(self.row_id, self.take, self.cell, value)

    def replaces(self, other: "Decision") -> bool:
        """Whether this decision replaces another: one about the same cell, or the whole row."""
        return self.row_id == other.row_id and (
            self.cell == other.cell or WHOLE in {self.cell, other.cell}
        )

    def holds(self, rows: Mapping[str, PlanRow]) -> bool:
        """Whether the values that the decision is about are unchanged."""
        row = rows.get(self.row_id)
        return row is not None and fingerprint(row, self.cell) == self.seen


@dataclass(frozen=True, slots=True)
class Approval:
    """A person's agreement to the plan of a review."""

    digest: str
    """The digest of the approved plan; the approval counts for that plan only."""
    by: str | None
    at: int
    token_id: str | None = None
    """The token of the person; None on this machine's command line or pages."""


@dataclass(frozen=True, slots=True)
class Review:
    """The ledger's record of a review."""

    KIND: ClassVar = RecordKind(
        "reviews",
        ("source_id", "target_id", "status"),
        branch_ids=("source_id", "target_id"),
    )

    id: str
    source_id: str
    target_id: str
    title: str | None
    description: str | None
    status: ReviewStatus
    opened_by: str | None
    opened_token: str | None
    created_at: int
    decisions: tuple[Mapping[str, Json], ...] = ()
    merge_id: str | None = None
    closed_by: str | None = None
    closed_at: int | None = None
    reason: str | None = None
    approvals: tuple[Mapping[str, Json], ...] = ()

    @property
    def approved(self) -> list[Approval]:
        """The approvals, oldest first; at most one for each token."""
        return [from_json(Approval, approval) for approval in self.approvals]

    def with_approval(self, token_id: str | None, approval: Approval | None) -> "Review":
        """Return the review with a token's approval replaced, or removed."""
        approvals = [
            approval_to_keep
            for approval_to_keep in self.approved
            if approval_to_keep.token_id != token_id
        ]
        approvals += [] if approval is None else [approval]
        return replace(
            self, approvals=tuple(to_json(approval_to_keep) for approval_to_keep in approvals)
        )

    @property
    def decided(self) -> list[Decision]:
        """The decisions, oldest first."""
        return [from_json(Decision, decision) for decision in self.decisions]

    def with_decisions(
        self, new_decisions: Sequence[Decision], cleared: Sequence[tuple[str, str]] = ()
    ) -> "Review":
        """Return the review with new decisions, and without those of `cleared` rows and cells."""
        cleared_cells = {*cleared}
        decisions = [
            decision
            for decision in self.decided
            if cleared_cells.isdisjoint(
                {(decision.row_id, decision.cell), (decision.row_id, WHOLE)}
            )
        ]
        for new_decision in new_decisions:
            decisions = [
                *(decision for decision in decisions if not new_decision.replaces(decision)),
                new_decision,
            ]
        return replace(self, decisions=tuple(to_json(decision) for decision in decisions))

    def cleaned(self, rows: Collection[str], clean: Callable[[str], str]) -> "Review":
        """Return the review without values for redacted rows, each of its texts cleaned."""
        decisions: list[Mapping[str, Json]] = []
        for decision in self.decided:
            value = decision.value
            if isinstance(value, Mapping):
                value = {
                    column: clean(cell) if isinstance(cell, str) else cell
                    for column, cell in value.items()
                }
            if value is None or decision.row_id not in rows:
                decisions.append(to_json(replace(decision, value=value)))
        texts = (self.title, self.description, self.reason)
        title, description, reason = (text and clean(text) for text in texts)
        return replace(
            self, title=title, description=description, reason=reason, decisions=tuple(decisions)
        )

    def merged(self, record: MergeRecord) -> "Review":
        """Return the review as it is after its merge."""
        return replace(
            self,
            status="merged",
            merge_id=record.id,
            closed_by=record.decided_by,
            closed_at=record.created_at,
        )


def fingerprint(row: PlanRow, cell: str) -> str:
    """Hash the values that a decision is about: base, source and target of a cell or a row."""
    columns = row.kind.group(cell)
    row_versions = (row.base, row.source, row.target)
    return short_hash(
        canonical([version and content_of(row.kind, version, columns) for version in row_versions])
    )


def undecided(plan: MergePlan, choices: Sequence[Choice]) -> list[tuple[PlanRow, str]]:
    """List the conflicts, as row and cell, that a merge would hold and nobody decided to hold.

    What is held because of another row goes with that, and what was held before stays held.
    """
    skipped_cells = {(choice.row_id, choice.cell) for choice in choices if choice.take == "skip"}
    return [
        (row, cell)
        for row, cell in plan.holds
        if row.held[cell] != "belongs_to"
        and skipped_cells.isdisjoint({(row.id, cell), (row.id, WHOLE)})
    ]
