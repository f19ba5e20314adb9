"""The authors of what a merge would bring. They may not approve it themselves."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from day1.model.branches.branch import Branch
from day1.model.merge.plan import MergePlan
from day1.model.merge.row_merge import OWN
from day1.model.merge.tiers import Judged
from day1.model.records.merge_record import MergeRecord
from day1.model.records.review import Approval, Review
from day1.model.records.session import Session
from day1.model.records.sharing import Handoff
from day1.model.rows.change import Commit, CommitId, Ref
from day1.model.rows.kind import EDIT
from day1.services.branches.deleting import last_commit_of, recorded_branch
from day1.services.repository.repository import Repository


def writers(repo: Repository, source: Branch, target: Branch) -> list[Session]:
    """List the sessions that wrote rows which the source may bring to the target.

    They wrote on the source, on the branches that it was forked from (after the target or its
    ancestors were forked from them), or on branches that were merged or handed over into these.
    So nobody hides their authorship by a fork.
    """
    branch_ids = _sources(repo, source, target)
    return [
        session
        for branch_id in branch_ids
        for session in repo.ledger.records(Session, branch_id=branch_id)
    ]


def brought(repo: Repository, source: Branch, target: Branch) -> frozenset[str]:
    """Return the ids of imported rows that the source may bring to the target.

    Only the imported file names the author of such a row. Rows that were copied from a branch
    whose last commit is unknown count as imported too.
    """
    tip_by_name = repo.history.branches()
    branch_ids = [*_sources(repo, source, target)]
    tip_by_branch_id = {branch_id: _last(repo, branch_id, tip_by_name) for branch_id in branch_ids}
    commits = _commits_of_source(
        repo,
        [tip for tip in tip_by_branch_id.values() if tip is not None],
        tip_by_name[target.name],
    )
    import_operations = {"import"} if all(tip_by_branch_id.values()) else {"import", *_COPIES}
    import_commits = [
        commit for commit in commits if commit.op in import_operations and not commit.parents[1:]
    ]
    changes_of_imports = (
        repo.history.changes(import_commit.parents[0], Ref(commit=import_commit.id))
        for import_commit in import_commits
    )
    return frozenset(
        change.id
        for changes in changes_of_imports
        for row_changes in changes.values()
        for change in row_changes
    )


_COPIES: Final = frozenset({"pick", "squash"})
"""Operations of commits that copy rows of another branch without having its commits as parents."""


def _last(repo: Repository, branch_id: str, refs: Mapping[str, CommitId]) -> CommitId | None:
    """Find the last commit of a branch, even a retired or deleted one; None if it is unknown."""
    branch = repo.ledger.record(Branch, branch_id)
    if branch is None:
        return last_commit_of(repo, branch_id)
    return branch.retired_tip or refs.get(branch.name)


def _commits_of_source(
    repo: Repository, tips: Iterable[CommitId], target_tip: CommitId
) -> Iterator[Commit]:
    """Yield the commits that are reachable from `tips` and not from the target's tip.

    The cost grows with their number, not with the length of the shared history.
    """
    history, visited_ids = repo.history, set[CommitId]()
    for tip in tips:
        base_commit, start_ids = history.commit(history.merge_base(tip, target_tip)), [tip]
        for start_id in start_ids:
            for commit in history.log(start_id):
                # Times alone do not prove it: a clock may have been set back in between.
                is_shared = (
                    commit.ts <= base_commit.ts
                    and history.merge_base(commit.id, base_commit.id) == commit.id
                )
                if is_shared or commit.id in visited_ids:
                    break
                visited_ids.add(commit.id)
                start_ids += commit.parents[1:]
                yield commit


def _sources(repo: Repository, source: Branch, target: Branch) -> Iterator[str]:
    """Yield the ids of the branches whose rows the source may bring to the target."""
    fork_time_by_branch = _fork_times(repo, target)
    visited_ids = {target.id}
    queue = [(source.id, sys.maxsize)]
    for branch_id, arrived_at in queue:
        fork_time = fork_time_by_branch.get(branch_id, 0)
        if branch_id in visited_ids or arrived_at <= fork_time:
            continue
        visited_ids.add(branch_id)
        yield branch_id
        branch = recorded_branch(repo, branch_id)
        queue += [(branch.parent_id, branch.created_at)] if branch and branch.parent_id else []
        merges_and_handoffs: list[MergeRecord | Handoff] = [
            *repo.ledger.records(MergeRecord, target_id=branch_id),
            *repo.ledger.records(Handoff, target_id=branch_id),
        ]
        queue += [
            (record.source_id, record.created_at)
            for record in merges_and_handoffs
            if record.created_at > fork_time
        ]


def _fork_times(repo: Repository, branch: Branch) -> dict[str, int]:
    """Map each ancestor of a branch (its parent and so on) to the time of the fork from it."""
    fork_time_by_branch: dict[str, int] = {}
    while (parent := recorded_branch(repo, branch.parent_id or "")) is not None:
        fork_time_by_branch[parent.id] = branch.created_at
        branch = parent
    return fork_time_by_branch


@dataclass(frozen=True, slots=True)
class Authors:
    """The authors of what a review would merge; their approvals do not count."""

    tokens: frozenset[str]
    agents: frozenset[str]
    person: bool
    """Whether somebody without a token wrote rows that need an approval; all such people count as
    one person."""

    def wrote(self, by: Approval) -> bool:
        """Whether the approver is an author, by token, by agent or as a person without a token."""
        if by.token_id is None:
            return self.person or by.by in self.agents
        return by.token_id in self.tokens or by.by in self.agents


def authors(
    repo: Repository,
    review: Review,
    both: tuple[Branch, Branch],
    plan: MergePlan,
    strictest_tier: Judged,
) -> Authors:
    """Collect who wrote the rows of the review's branch or gave values in the review."""
    sessions = writers(repo, *both)
    authoring_decisions = [decision for decision in review.decided if decision.take in OWN]
    token_ids = {session.token_id for session in sessions} | {
        decision.token_id for decision in authoring_decisions
    }
    agent_ids = {session.agent_id for session in sessions} | {
        decision.by for decision in authoring_decisions
    }
    new_rows_and_edits = [*_rows(plan)]  # a copied row may have no registered writer
    agent_ids |= {
        None if row.get("agent_id") is None else str(row["agent_id"]) for row in new_rows_and_edits
    }
    has_person_author = strictest_tier.looks > 0 and any(
        row.get("source") == "user" for row in new_rows_and_edits
    )
    return Authors(
        frozenset(filter(None, token_ids)), frozenset(filter(None, agent_ids)), has_person_author
    )


def _rows(plan: MergePlan) -> Iterable[dict[str, object]]:
    """Yield the new rows and the edits of a plan, with the columns that name their writer."""
    for row in plan.rows:
        if row.source is not None and row.base is None:
            yield dict(row.source)
    for edit in plan.records.get(EDIT.table, {}).values():
        yield dict(edit or {})


def looks(approvals: Iterable[Approval], digest: str, by: Authors) -> list[Approval]:
    """Select the valid approvals: of this plan, by distinct people who are not its authors.

    Two tokens of one agent count as one person; so do all people without a token.
    """
    valid_approvals: list[Approval] = []
    for approval in approvals:
        if approval.digest != digest or by.wrote(approval):
            continue
        are_same_person = (
            approval.token_id == valid_approval.token_id
            or (approval.by is not None and approval.by == valid_approval.by)
            for valid_approval in valid_approvals
        )
        if not any(are_same_person):
            valid_approvals.append(approval)
    return valid_approvals
