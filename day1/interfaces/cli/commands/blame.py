"""`day1 blame`: who wrote each part of a memory, and how it came here."""

from __future__ import annotations

from typing import Any

import click

from day1.interfaces.cli.diffing import one_spaced
from day1.interfaces.cli.moments import brief
from day1.interfaces.cli.options import branch_option
from day1.interfaces.cli.session import Session, command
from day1.model.values.showing import short_commit


@click.command("blame")
@click.argument("name", metavar="ID")
@click.option("--lines", is_flag=True, help="Say who wrote each line of its text.")
@branch_option
@command
def blame_command(session: Session, name: str, branch: str | None, *, lines: bool) -> None:
    """Say who wrote each part of the memory ID, when and where, and how it came to this branch."""
    branch = session.branch(branch)
    row_id = session.whole_id(name, branch)
    answer = session.call("memory_blame", id=row_id, branch=branch, lines=lines)
    if session.answer(answer):
        return
    if lines:
        _show_lines(session, answer)
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


def _show_lines(session: Session, answer: dict[str, Any]) -> None:
    """Print each line of the text, and before it the commit, agent and time that brought it."""
    if not answer["lines"]:
        session.screen.note("It has no text, or its text is hidden.")
    cell = answer["cells"][0]
    structure = cell["value"].get("structure")
    is_file = isinstance(structure, dict) and structure.keys() == {"text"}
    text = structure["text"] if is_file else cell["value"][cell["cell"]]
    text_lines = str(text).split("\n")
    for line_run in answer["lines"]:
        for line_number in range(line_run["first"], line_run["last"] + 1):
            session.screen.line(
                (short_commit(line_run["commit"] or "-" * 8), "commit"),
                (
                    f" ({line_run['agent_id'] or '-'}, {brief(line_run['at'])}) {line_number:>4} ",
                    "dim",
                ),
                text_lines[line_number - 1],
            )
