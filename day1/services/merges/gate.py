"""The merge gate: whether what a branch would bring is verified."""

from collections import Counter
from dataclasses import dataclass
from typing import cast

from day1.model.branches.branch import Branch
from day1.model.merge.plan import MergePlan
from day1.model.merge.row_merge import PlanRow
from day1.model.records.judgement import Verdict
from day1.model.rows.kind import FACT
from day1.services.merges.planning import MergeRequest, Preview, preview
from day1.services.repository.repository import Repository


@dataclass(frozen=True, slots=True)
class Gate:
    """The active facts that a merge would bring or change, by verdict."""

    seen: Preview
    facts: dict[str, Verdict]
    """Id -> verdict, as it would be after the merge."""

    @property
    def counts(self) -> Counter[Verdict]:
        """Facts by verdict."""
        return Counter(self.facts.values())

    @property
    def held(self) -> int:
        """Rows of the plan with conflicts: a merge would hold them."""
        return self.seen.plan.rejected_count


def gate(repo: Repository, source: Branch, target: Branch) -> Gate:
    """Look at what merging source into target would bring; costs what the source changed.

    Raises:
        as `preview`.
    """
    seen = preview(repo, MergeRequest(source, target, "auto"))
    return Gate(seen, verdicts(seen.plan))


def verdicts(plan: MergePlan) -> dict[str, Verdict]:
    """The verdicts of the active facts that a plan would bring or change, by id."""
    found = {row.id: _verdict(row) for row in plan.rows if row.kind is FACT}
    return {row_id: verdict for row_id, verdict in found.items() if verdict}


def _verdict(row: PlanRow) -> Verdict | None:
    """The verdict a fact would have; of a conflict, which may be decided either way, the worse."""
    sides = (row.result, row.source) if row.held else (row.result,)
    verdicts = {
        cast("Verdict", side["verification"])
        for side in sides
        if side is not None and side["status"] == "active"
    }
    order: tuple[Verdict, ...] = ("invalidated", "unverified", "verified")
    return next((verdict for verdict in order if verdict in verdicts), None)
