"""`day1 diff`: what a branch has that another has not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from day1.errors import InvalidRequest
from day1.interfaces.cli.asking import show_conflict
from day1.interfaces.cli.diffing import change_documents, draw_changes
from day1.interfaces.cli.render import plural
from day1.interfaces.cli.session import Session, command

if TYPE_CHECKING:
    from day1.services.repository.repository import Repository


@click.command("diff")
@click.argument("a", required=False)
@click.argument("b", required=False)
@click.option("-c", "--category", metavar="NAME", help="Facts of this category only.")
@command
def diff_command(session: Session, a: str | None, b: str | None, category: str | None) -> None:
    """Show what branch B has that A has not, since their last common commit.

    Without B it is the current branch, without A its parent: what a merge into the parent would
    bring. A may also be a snapshot or a commit: then the changes of B since then are shown.
    """
    from day1.services.branches.resolving import state

    repo = session.repo()
    b = session.branch(b)
    a = a or _parent(repo, b)
    base_state = state(repo, a)
    if base_state.how != "branch":
        if category is not None:
            raise click.UsageError("--category compares branches only: name two branches.")
        _since(session, base_state.commit, b)
        return
    answer = session.call(
        "memory_branch_diff", source_branch=b, target_branch=base_state.name, category=category
    )
    if not session.answer(answer):
        _draw_diff(session, answer, b, base_state.name)


def _parent(repo: Repository, name: str) -> str:
    from day1.services.branches.lookup import find

    parent_id = find(repo, name).parent_id
    for branch in repo.ledger.branches():
        if branch.id == parent_id and branch.retired_tip is None:
            return branch.name
    raise InvalidRequest(
        f"{name!r} has no parent to compare with: name two branches, `day1 diff {name} OTHER`."
    )


def _since(session: Session, commit: str, branch: str) -> None:
    from day1.model.rows.change import Ref

    repo, ref = session.repo(), Ref(branch=branch)
    documents_by_change = change_documents(repo, ref, repo.history.changes(commit, ref))
    if not session.answer({**documents_by_change, "since": commit, "branch": branch}):
        draw_changes(session.screen, documents_by_change)


def _draw_diff(session: Session, answer: dict[str, Any], source: str, target: str) -> None:
    screen = session.screen
    added_rows = [*answer["new_facts"], *answer["new_observations"], *answer["new_relations"]]
    draw_changes(screen, {**answer, "added": added_rows})
    for conflict in answer["conflicts"]:
        show_conflict(screen, conflict, source, target)
    if answer["held"]:
        screen.note(f"{plural(len(answer['held']), 'item')} held on {target}: `day1 held` decides")
    if not (added_rows or answer["changed"] or answer["removed"] or answer["conflicts"]):
        screen.note(f"{source} has nothing that {target} has not.")
