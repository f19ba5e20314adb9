"""`day1 history`: every version of a memory, across merges."""

from __future__ import annotations

from typing import Any

import click

from day1.interfaces.cli.diffing import one_spaced, text_of, words
from day1.interfaces.cli.moments import brief
from day1.interfaces.cli.options import branch_option
from day1.interfaces.cli.render import WHOLE_ID, Part, one_line, plural, short
from day1.interfaces.cli.session import Session, command
from day1.model.values.showing import short_commit

Document = dict[str, Any]

_STYLES = {"added": "added", "changed": "changed", "removed": "removed", "restored": "added"}


@click.command("history")
@click.argument("name", metavar="ID")
@click.option("-n", "limit", type=click.IntRange(1, 1000), help="Maximum number; default 50.")
@branch_option
@command
def history_command(session: Session, name: str, limit: int | None, branch: str | None) -> None:
    """Show every version of the memory ID, across merges, newest first.

    For a removed memory give its whole id.
    """
    branch = session.branch(branch)
    row_id = session.whole_id(name, branch)
    answer = session.call("memory_history", id=row_id, branch=branch, limit=limit)
    if session.answer(answer):
        return
    screen, versions = session.screen, answer["versions"]
    for index, version in enumerate(versions):
        commit_line = one_line(
            WHOLE_ID.sub(lambda match: short(match[0]), version["line"] or "waiting")
        )
        author_and_time = ", ".join(filter(None, (version["agent_id"], brief(version["at"]))))
        screen.line(
            (short_commit(version["commit"] or "-" * 8), "commit"),
            (f" {version['how']:<8} ", _STYLES[version["how"]]),
            (version["branch"] or "(a branch that is gone)", "branch"),
            f" {commit_line}",
            (f"  {author_and_time}", "dim"),
        )
        if version["reason"]:
            screen.line(f"    because: {one_spaced(version['reason'])}")
        older_row = next(
            (
                older_version["row"]
                for older_version in versions[index + 1 :]
                if older_version["row"]
            ),
            None,
        )
        for line_parts in _difference(session, older_row, version["row"]):
            screen.line("    ", *line_parts)
    if answer["left_out"]:
        screen.note(f"{plural(answer['left_out'], 'older version')} more: -n shows them")


def _difference(
    session: Session, before: Document | None, row: Document | None
) -> list[list[Part]]:
    """Return the lines of a version: the first one's text, else the columns that changed."""
    if row is None:
        return []
    if before is None:
        return [[text_of(row)]]
    # Empty columns are left out of both rows.
    changed_columns = [column for column in {**row, **before} if column != "revision"]
    values_by_column = [(column, before.get(column), row.get(column)) for column in changed_columns]
    return [
        [f"{column}: ", *words(session.screen, *two_values)]
        for column, *two_values in values_by_column
        if two_values[0] != two_values[1]
    ]
