"""`day1 blame`: who wrote each part of a memory, and how it came here."""

from __future__ import annotations

import click

from day1.interfaces.cli.diffing import one_spaced
from day1.interfaces.cli.moments import brief
from day1.interfaces.cli.options import branch_option
from day1.interfaces.cli.session import Session, command
from day1.model.values.showing import short_commit


@click.command("blame")
@click.argument("name", metavar="ID")
@branch_option
@command
def blame_command(session: Session, name: str, branch: str | None) -> None:
    """Say who wrote each part of the memory ID, when and where, and how it came to this branch."""
    branch = session.branch(branch)
    answer = session.call("memory_blame", id=session.whole_id(name, branch), branch=branch)
    if session.answer(answer):
        return
    screen = session.screen
    screen.line((f"{answer['type']} {answer['id']}", "commit"))
    for cell in answer["cells"]:
        value = cell["value"][cell["cell"]]
        if value is None and not cell["edited"]:
            continue
        author = cell["agent_id"] or cell["source"]
        screen.line(
            (short_commit(cell["commit"] or "-" * 8), "commit"),
            (f" {cell['cell']}: ", "bold"),
            one_spaced("" if value is None else str(value)),
        )
        branch_name = cell["branch"] or "a branch that is gone"
        screen.line((f"    {author} on {branch_name}, {brief(cell['at'])}", "dim"))
        if cell["reason"]:
            screen.line(f"    because: {one_spaced(cell['reason'])}")
        for merge in cell["merges"]:
            source, target = (merge[side] or "(gone)" for side in ("source", "target"))
            decided_by = f", {merge['decided_by']}" if merge["decided_by"] else ""
            merge_line = (
                f"    {merge['op']} {source} into {target}{decided_by}, {brief(merge['at'])}"
            )
            screen.line((merge_line, "dim"))
