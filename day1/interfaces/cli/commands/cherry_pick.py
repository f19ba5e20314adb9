"""`day1 cherry-pick`: take single memories from another branch."""

from __future__ import annotations

from typing import Any

import click

from day1.interfaces.cli.merge_dialogue import MergeDialogue, decide_and_merge, merge_options
from day1.interfaces.cli.session import Session, command


@click.command("cherry-pick")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option("--from", "source", metavar="BRANCH", help="Default: the branch that has them.")
@merge_options
@command
def cherry_pick_command(session: Session, ids: tuple[str, ...], **options: Any) -> None:
    """Take single memories, as they are, from another branch into the current one."""
    from day1.services.branches.resolving import source_of

    target_branch = session.find(options["into"])
    asked_source = session.find(options["source"]) if options["source"] else None
    source_name, row_ids = source_of(session.repo(), ids, target_branch, asked_source)
    dialogue = MergeDialogue(
        source_name, target_branch.name, "cherry_pick", row_ids, options["agent"]
    )
    decide_and_merge(session, dialogue, {**options, "hold_duplicates": False})
