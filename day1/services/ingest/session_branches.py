"""On which branch a session's events land: its own if it is a fork, else the one that is set."""

from dataclasses import replace

from day1.model.branches.branch import MAIN, Branch
from day1.model.branches.names import branch_part
from day1.model.files.client_event import ClientEvent, fork_id
from day1.services.branches.forking import NewBranch, fork_under
from day1.services.repository.repository import Repository

AGENTS = "agent"
"""Where the branches of agents are that may not write to the branch that is set."""
FORKS = "fork"


def branch_of(repo: Repository, event: ClientEvent) -> Branch:
    """The branch of an event, which takes rows.

    Where the branch that is set takes none, because it is protected, closed or gone, it is one of
    the agent's own, which is forked from it, or from main.
    """
    own = repo.ledger.record(Branch, fork_id(event.session))
    if own is not None and _takes_rows(repo, own):
        return own
    wanted = repo.ledger.branch(event.branch or MAIN)
    if wanted is not None and _takes_rows(repo, wanted):
        return wanted
    parent = _base(repo, event)

    def there() -> Branch | None:
        """The newest one of this agent."""
        mine = (
            branch
            for branch in repo.ledger.branches()
            if branch.name.startswith(f"{AGENTS}/")
            and (branch.parent_id, branch.agent_id) == (parent.id, event.agent)
            and _takes_rows(repo, branch)
        )
        return max(mine, key=lambda branch: branch.created_at, default=None)

    def make(name: str) -> NewBranch:
        made = _forked(repo, repo.new_id("branch", repo.clock()), name, parent)
        return replace(made, agent_id=event.agent), ()

    return fork_under(repo, lambda: f"{AGENTS}/{branch_part(event.agent)}", make, there)


def fork_session(repo: Repository, event: ClientEvent) -> Branch:
    """The branch of a session that was forked from another; it is made once."""
    session = event.session if event.parent is None else event.parent
    first = repo.ledger.record(Branch, fork_id(session)) if session != event.session else None
    parent = first if first is not None and _is_there(repo, first) else _base(repo, event)
    name = f"{FORKS}/{branch_part(f'{event.agent}-{event.session}')}"
    return fork_under(
        repo,
        lambda: name,
        lambda free: (_forked(repo, fork_id(event.session), free, parent), ()),
        lambda: repo.ledger.record(Branch, fork_id(event.session)),
    )


def _forked(repo: Repository, branch_id: str, name: str, parent: Branch) -> Branch:
    commit = repo.store.commit_pending(parent.name)
    return Branch(branch_id, name, parent.id, commit, repo.clock())


def _base(repo: Repository, event: ClientEvent) -> Branch:
    """The branch that is set, whether or not it takes rows; main where it is gone."""
    for name in (event.branch or MAIN, MAIN):
        found = repo.ledger.branch(name)
        if found is not None and _is_there(repo, found):
            return found
    raise AssertionError("main is always there")


def _is_there(repo: Repository, branch: Branch) -> bool:
    return branch.retired_tip is None and branch.name in repo.history.branches()


def _takes_rows(repo: Repository, branch: Branch) -> bool:
    return not branch.closed and not branch.protection and _is_there(repo, branch)
