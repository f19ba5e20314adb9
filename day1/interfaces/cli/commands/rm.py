"""`day1 rm`: remove memories from a branch."""

from __future__ import annotations

import click

from day1.interfaces.cli.options import branch_option
from day1.interfaces.cli.render import short
from day1.interfaces.cli.session import Session, command


@click.command("rm")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option("-m", "--reason", metavar="TEXT", help="Why.")
@branch_option
@command
def rm_command(
    session: Session, ids: tuple[str, ...], reason: str | None, branch: str | None
) -> None:
    """Remove memories from a branch in one commit; history keeps them.

    `day1 restore ID --source TIME` brings one back.
    """
    branch_name = session.branch(branch)
    whole_ids = session.whole_ids(ids, branch_name)
    answer = session.call("memory_remove", ids=whole_ids, reason=reason or None, branch=branch_name)
    if not session.answer(answer):
        for row_id in answer["ids"]:
            session.screen.line(("rm ", "removed"), short(row_id))
        first_id, time_before = short(whole_ids[0]), answer["before"]
        session.screen.note(f"`day1 restore {first_id} --source {time_before}` brings it back")
