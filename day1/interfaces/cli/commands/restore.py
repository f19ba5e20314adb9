"""`day1 restore`: bring a memory or a branch back to a past state."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import click

from day1.errors import Advice, InvalidRequest, NotFound, Refused
from day1.interfaces.cli.options import agent_option, branch_option
from day1.interfaces.cli.render import plural, visible
from day1.interfaces.cli.session import Session, command


@click.command("restore")
@click.argument("row", metavar="[ID]", required=False)
@click.option(
    "-s", "--source", "to", required=True, metavar="TIME|SNAPSHOT", help="The past state."
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask before restoring a whole branch.")
@branch_option
@agent_option
@command
def restore_command(session: Session, row: str | None, **options: Any) -> None:
    """Bring the memory ID, or without ID the whole branch, back to a past state.

    This makes a new commit, and a snapshot before it.
    """
    from day1.services.branches.snapshots import snapshots

    branch_name = session.branch(options["branch"])
    snapshot_names = {
        snapshot_name
        for snapshot in snapshots(session.repo(), None)
        for snapshot_name in (snapshot.id, snapshot.label)
    }
    past_state = options["to"]
    if past_state not in snapshot_names:
        past_state = _moment(session, past_state)
    whole_id = None if row is None else _whole_id(session, branch_name, row, str(past_state))
    is_confirmed = options["yes"]
    if whole_id is None and not is_confirmed and session.asks:
        question = visible(f"Bring every memory of {branch_name} back to {options['to']}?")
        is_confirmed = click.confirm(question, err=True)
        if not is_confirmed:
            raise Refused("You did not confirm, so nothing was restored.")
    if whole_id is None and not is_confirmed:
        raise click.UsageError("This changes the whole branch: add --yes.")
    answer = session.call(
        "memory_restore",
        to=past_state,
        id=whole_id,
        branch=branch_name,
        confirm=branch_name if whole_id is None else None,
        agent_id=options["agent"],
    )
    if not session.answer(answer):
        restored_count = answer["restored_rows"]
        session.screen.line(f"Restored {plural(restored_count, 'row')}.")
        session.screen.note(f"`day1 restore --source {answer['snapshot_before']} --yes` undoes it")
    session.notes(answer)


def _moment(session: Session, text: str) -> str:
    """Parse the option TIME|SNAPSHOT as a time, after no snapshot was found.

    Raises:
        NotFound: the text is not a time either.
    """
    try:
        return str(session.moment(text, end=True))
    except InvalidRequest as exc:
        raise NotFound(
            f"There is no snapshot {text!r}, and it is not a time such as 2026-03-01.",
            Advice("{memory_snapshot_list} lists the snapshots."),
            name=text,
        ) from exc


def _whole_id(session: Session, branch: str, text: str, to: str) -> str:
    """Complete a memory's id from the branch as it is, else from the past state."""
    from day1.model.rows.change import Ref
    from day1.model.values.instant import parse
    from day1.services.branches.resolving import row_id
    from day1.services.branches.snapshots import find_snapshot

    repo = session.repo()
    with suppress(NotFound):
        return session.whole_id(text, branch)
    try:
        past_ref = Ref(commit=find_snapshot(repo, to).commit)
    except NotFound:
        past_ref = Ref(branch=branch, until=parse(to))
    with repo.store.reading(past_ref) as reading:
        return row_id(reading, text)
