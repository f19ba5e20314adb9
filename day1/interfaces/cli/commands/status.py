"""`day1 status`: which branch you are on, and what is pending."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import click

from day1.interfaces.cli.codes import WAITS
from day1.interfaces.cli.moments import since
from day1.interfaces.cli.options import branch_option
from day1.interfaces.cli.render import plural
from day1.interfaces.cli.session import Session, command

if TYPE_CHECKING:
    from day1.services.health.doctor import IndexState
    from day1.services.merges.waiting import Waiting
    from day1.services.upkeep.status import BranchStatus


@click.command("status")
@branch_option
@click.option("--exit-code", is_flag=True, help=f"Exit with {WAITS} if something waits for you.")
@command
def status_command(session: Session, branch: str | None, *, exit_code: bool) -> None:
    """Say which branch you are on, what is not committed, what you must decide, what to do next.

    Open reviews wait for a person, and so do the held items of this branch, of main and of
    protected branches.
    """
    from day1.services.health.doctor import index_state
    from day1.services.merges.waiting import waiting
    from day1.services.upkeep.status import branch_status

    store = session.store()
    with store.repo.ledger.same_version():
        status = branch_status(store.repo, session.find(branch))
        index = index_state(store.repo, store.search, status.state.branch)
        waiting_items = waiting(store.repo, status.state.branch.name)
    failing_chores = store.failing_chores()
    model_place = session.app.models.place(session.settings.embedder)
    document = {
        "branch": status.state.branch.name,
        "parent": status.state.parent,
        "status": status.state.status,
        "commit": status.state.tip,
        "pending": status.pending.count,
        "held": status.held,
        "waiting": waiting_items.document(),
        "ahead": status.ahead,
        "index": {
            "words_current": index.words_current,
            "pending_vectors": index.pending_vectors,
            "model": model_place,
        },
        "chores": dict(failing_chores),
        "store": store.where,
    }
    if not session.answer(document):
        _say_branch(session, status)
        _say_waiting(session, status, waiting_items)
        _say_index(session, index, model_place)
        _say_chores(session, failing_chores)
    if exit_code and waiting_items.every:
        raise click.exceptions.Exit(WAITS)


def _say_branch(session: Session, status: BranchStatus) -> None:
    screen, name, parent = session.screen, status.state.branch.name, status.state.parent
    store = session.store()
    screen.line("On branch ", (name, "branch"), f" of {store.where}" if store.node else "")
    state_words: list[str] = [status.state.status] if status.state.status != "active" else []
    state_words += ["closed"] if status.state.branch.closed else []
    if state_words:
        screen.line(f"It is {' and '.join(state_words)}.")
    if status.pending.count:
        age = since(status.pending.oldest or 0, session.now())
        screen.line(
            f"{plural(status.pending.count, 'row')} stored, waiting for a commit (first {age})"
        )
    else:
        screen.line("Everything is committed.")
    if status.held:
        screen.line((plural(status.held, "held item"), "warn"), ' (use "day1 held" to decide)')
    if parent and status.ahead:
        change_counts = ", ".join(
            f"{count:,} {change}" for change, count in sorted(status.ahead.items())
        )
        screen.line(f"Ahead of {parent}: {change_counts}")
        merge_hint = f', "day1 merge {name} --into {parent}" to merge'
        screen.line(f'  (use "day1 diff" to see{"" if status.state.branch.closed else merge_hint})')
    elif parent:
        screen.line(f"Nothing that {parent} does not have.")


def _say_waiting(session: Session, status: BranchStatus, waits: Waiting) -> None:
    """Print the number of all open reviews, and of held items on each other branch."""
    screen = session.screen
    if waits.reviews:
        screen.line(
            (plural(len(waits.reviews), "open review"), "warn"), ' (use "day1 review" to list)'
        )
    held_by_branch = Counter(branch for item in waits.held for branch in item.branches)
    del held_by_branch[status.state.branch.name]
    for branch, count in held_by_branch.items():
        screen.line(
            (plural(count, "held item"), "warn"),
            f' on {branch} (use "day1 held -b {branch}" to see)',
        )


def _say_chores(session: Session, chores: list[tuple[str, str]]) -> None:
    """Print the background work that fails in servers of this machine."""
    if chores:
        errors = ", ".join(f"{name} ({error})" for name, error in chores)
        warning = (f"Background work that fails: {errors}", "warn")
        session.screen.line(warning, ' (use "day1 doctor" for advice)')


def _say_index(session: Session, index: IndexState, model: str | None) -> None:
    screen = session.screen
    if session.settings.embedder.kind == "none":
        screen.line("Search is by keywords, by setting.")
    elif model is None:
        screen.line('Search is by keywords (use "day1 model install" for search by meaning)')
    elif index.pending_vectors:
        pending_texts = plural(index.pending_vectors, "text")
        screen.line(f'{pending_texts} without a vector yet (use "day1 search --wait")')
