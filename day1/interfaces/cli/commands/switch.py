"""`day1 switch`: go to another branch."""

from __future__ import annotations

import click

from day1.interfaces.cli.session import Session, command


@click.command("switch")
@click.argument("name")
@click.argument("start", required=False)
@click.option("-c", "--create", is_flag=True, help="Create NAME from START first.")
@click.option("--description", metavar="TEXT", help="With -c: description of the new branch.")
@click.option("--at", metavar="TIME", help="With -c: create NAME as START was at TIME.")
@command
def switch_command(
    session: Session,
    name: str,
    start: str | None,
    *,
    create: bool,
    **options: str | None,
) -> None:
    """Go to branch NAME; later commands then work on it.

    A retired branch is brought back. Only the command line moves: each agent has its own HEAD.
    """
    if not create and (start or any(options.values())):
        raise click.UsageError("START, --description and --at can be used with -c only.")
    outcome_phrase = "Switched to"
    if create:
        session.create_branch(name, start, options["description"], options["at"])
        outcome_phrase = "Switched to a new"
    elif session.call("memory_branch_revive", branch_name=name)["revived"]:
        outcome_phrase = "Brought back and switched to"
    answer = session.call("memory_branch_switch", branch_name=name)
    if not session.answer(answer):
        session.screen.line(f"{outcome_phrase} branch ", (answer["active_branch"], "branch"))
