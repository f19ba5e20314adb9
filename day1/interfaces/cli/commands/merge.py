"""`day1 merge`: bring a branch's memories into another."""

from __future__ import annotations

from typing import Any

import click

from day1.interfaces.cli.merge_dialogue import MergeDialogue, decide_and_merge, merge_options
from day1.interfaces.cli.session import Session, command


@click.command("merge")
@click.argument("source")
@click.option("--squash", is_flag=True, help="One commit with one parent; it closes SOURCE.")
@click.option("--hold-duplicates", is_flag=True, help="Hold possible duplicates.")
@merge_options
@command
def merge_command(session: Session, source: str, **options: Any) -> None:
    """Merge SOURCE into the current branch.

    On a terminal you are asked about each conflict. Otherwise, and with --yes, the target keeps
    its side of each conflict, the source's side is held, and the exit code is 3.
    """
    target = session.branch(options["into"])
    strategy = "squash" if options["squash"] else "auto"
    decide_and_merge(
        session, MergeDialogue(source, target, strategy, None, options["agent"]), options
    )
