"""`day1 cherry-pick`: take single memories from another branch."""

from __future__ import annotations

from typing import Any

import click

from day1.interfaces.cli.merge_dialogue import MergeDialogue, decide_and_merge, deciding
from day1.interfaces.cli.session import Session, command


@click.command("cherry-pick")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option("--from", "source", metavar="BRANCH", help="Default: the branch that has them.")
@deciding
@command
def cherry_pick_command(session: Session, ids: tuple[str, ...], **given: Any) -> None:
    """Take single memories, as they are, from another branch into the current one."""
    from day1.services.branches.resolving import source_of

    target = session.find(given["into"])
    named = session.find(given["source"]) if given["source"] else None
    source, items = source_of(session.repo(), ids, target, named)
    merge = MergeDialogue(source, target.name, "cherry_pick", items, given["agent"])
    decide_and_merge(session, merge, {**given, "hold_duplicates": False})
