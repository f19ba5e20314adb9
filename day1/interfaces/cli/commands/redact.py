"""`day1 redact`: make a memory unreadable everywhere, for good."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import click

from day1.errors import Refused
from day1.interfaces.cli.options import agent_option, branch_option
from day1.interfaces.cli.render import plural
from day1.interfaces.cli.session import Session, command


@click.command("redact")
@click.argument("row", metavar="ID")
@click.option("-m", "--reason", metavar="TEXT", help="Why; kept, so it must not quote the text.")
@click.option("--confirm", metavar="ID", help="The ID again: this cannot be undone.")
@click.option("--whole", is_flag=True, help="Also the other parts of a longer text.")
@branch_option
@agent_option
@command
def redact_command(session: Session, row: str, confirm: str | None, **options: Any) -> None:
    """Show [redacted] instead of the memory ID, its former texts and every equal text.

    This holds for all branches and their past, at once, and cannot be undone. ID may be shortened
    if the memory is on the branch.
    """
    from day1.errors import NotFound

    branch_name = session.branch(options["branch"])
    whole_id = row
    with suppress(NotFound):
        whole_id = session.whole_id(row, branch_name)
    if confirm is None and session.asks:
        if not click.confirm(f"Redact {whole_id} for good? It cannot be undone.", err=True):
            raise Refused("You did not confirm, so nothing was redacted.")
        confirm = whole_id
    answer = session.call(
        "memory_redact",
        id=whole_id,
        reason=options["reason"],
        confirm=whole_id if confirm == row else confirm,
        whole=options["whole"],
        branch=branch_name,
        agent_id=options["agent"],
    )
    if not session.answer(answer):
        rows_text = plural(answer["rows"], "row")
        branches_text = plural(answer["branches"], "branch", "branches")
        outcome_phrase = "Was redacted before" if answer["already"] else "Redacted"
        session.screen.line(f"{outcome_phrase}: {rows_text} on {branches_text}.")
    session.notes(answer)
