"""The merge gate: counts the verdicts of the facts that a merge would bring."""

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
    """Verdict of each fact after the merge, by the fact's id."""

    @property
    def counts(self) -> Counter[Verdict]:
        """The number of facts for each verdict."""
        return Counter(self.facts.values())

    @property
    def held(self) -> int:
        """The number of rows with conflicts, which the merge would hold."""
        return self.seen.plan.rejected_count


def gate(repo: Repository, source: Branch, target: Branch) -> Gate:
    """Preview a merge and collect the verdicts of its facts; the cost grows with the changes.

    Raises:
        as `preview`.
    """
    merge_preview = preview(repo, MergeRequest(source, target, "auto"))
    return Gate(merge_preview, verdicts(merge_preview.plan))


def verdicts(plan: MergePlan) -> dict[str, Verdict]:
    """Collect the verdicts of the active facts that a plan would bring or change, by fact id."""
    verdict_by_fact = {row.id: _verdict(row) for row in plan.rows if row.kind is FACT}
    return {row_id: verdict for row_id, verdict in verdict_by_fact.items() if verdict}


def _verdict(row: PlanRow) -> Verdict | None:
    """Return a fact's verdict after the merge; in a conflict, the worse one of both sides."""
    possible_rows = (row.result, row.source) if row.held else (row.result,)
    verdicts = {
        cast("Verdict", possible_row["verification"])
        for possible_row in possible_rows
        if possible_row is not None and possible_row["status"] == "active"
    }
    worst_first: tuple[Verdict, ...] = ("invalidated", "unverified", "verified")
    return next((verdict for verdict in worst_first if verdict in verdicts), None)
