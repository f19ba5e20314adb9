"""Choosing the branch of a session's events: the session's fork, else the configured branch."""

from dataclasses import replace

from day1.model.branches.branch import MAIN, Branch
from day1.model.branches.names import branch_part
from day1.model.files.client_event import ClientEvent, fork_id
from day1.services.branches.forking import NewBranch, fork_under
from day1.services.repository.repository import Repository

AGENTS = "agent"
"""First part of the names of agents' own branches, for when the configured branch is closed."""
FORKS = "fork"
"""First part of the names of branches of forked sessions."""


def branch_of(repo: Repository, event: ClientEvent) -> Branch:
    """Find the branch for the rows of an event; create it if it is missing.

    If the configured branch cannot be written to (protected, closed or deleted), the agent gets a
    branch of its own, forked from the configured branch or from main.
    """
    existing_fork = repo.ledger.record(Branch, fork_id(event.session))
    if existing_fork is not None and _takes_rows(repo, existing_fork):
        return existing_fork
    configured_branch = repo.ledger.branch(event.branch or MAIN)
    if configured_branch is not None and _takes_rows(repo, configured_branch):
        return configured_branch
    parent_branch = _parent_of(repo, event)

    def newest() -> Branch | None:
        """Find the newest branch of this agent that was forked from the parent."""
        agent_branches = (
            branch
            for branch in repo.ledger.branches()
            if branch.name.startswith(f"{AGENTS}/")
            and (branch.parent_id, branch.agent_id) == (parent_branch.id, event.agent)
            and _takes_rows(repo, branch)
        )
        return max(agent_branches, key=lambda branch: branch.created_at, default=None)

    def make(name: str) -> NewBranch:
        branch = _new_branch(repo, repo.new_id("branch", repo.clock()), name, parent_branch)
        return replace(branch, agent_id=event.agent), ()

    return fork_under(repo, lambda: f"{AGENTS}/{branch_part(event.agent)}", make, newest)


def fork_session(repo: Repository, event: ClientEvent) -> Branch:
    """Find or create the branch of a session that was forked from another session."""
    origin_session_id = event.session if event.parent is None else event.parent
    origin_fork = (
        repo.ledger.record(Branch, fork_id(origin_session_id))
        if origin_session_id != event.session
        else None
    )
    parent_branch = (
        origin_fork
        if origin_fork is not None and _has_ref(repo, origin_fork)
        else _parent_of(repo, event)
    )
    branch_name = f"{FORKS}/{branch_part(f'{event.agent}-{event.session}')}"
    return fork_under(
        repo,
        lambda: branch_name,
        lambda free: (_new_branch(repo, fork_id(event.session), free, parent_branch), ()),
        lambda: repo.ledger.record(Branch, fork_id(event.session)),
    )


def _new_branch(repo: Repository, branch_id: str, name: str, parent: Branch) -> Branch:
    fork_commit = repo.store.commit_pending(parent.name)
    return Branch(branch_id, name, parent.id, fork_commit, repo.clock())


def _parent_of(repo: Repository, event: ClientEvent) -> Branch:
    """Find the configured branch, even if closed or protected; main if it is deleted."""
    for branch_name in (event.branch or MAIN, MAIN):
        branch = repo.ledger.branch(branch_name)
        if branch is not None and _has_ref(repo, branch):
            return branch
    raise AssertionError("main is always there")


def _has_ref(repo: Repository, branch: Branch) -> bool:
    return branch.retired_tip is None and branch.name in repo.history.branches()


def _takes_rows(repo: Repository, branch: Branch) -> bool:
    return not branch.closed and not branch.protection and _has_ref(repo, branch)
