"""`day1 snapshot`: mark a branch's present state, or list the marks."""

from __future__ import annotations

import click

from day1.interfaces.cli.moments import brief
from day1.interfaces.cli.options import branch_option
from day1.interfaces.cli.render import Part
from day1.interfaces.cli.session import Session, command
from day1.model.values.showing import short_commit


@click.command("snapshot")
@click.argument("label", required=False)
@click.option("-l", "--list", "lists", is_flag=True, help="List snapshots, oldest first.")
@branch_option
@command
def snapshot_command(
    session: Session, label: str | None, *, lists: bool, branch: str | None
) -> None:
    """Mark a branch's present state under LABEL, so that it can be shown and restored."""
    if lists:
        if label is not None:
            raise click.UsageError("--list takes no LABEL.")
        _list_snapshots(session, branch)
        return
    answer = session.call("memory_snapshot", label=label, branch=branch)
    if not session.answer(answer):
        written = answer["written"]
        session.screen.line(
            f"Snapshot {answer['label'] or answer['snapshot_id']} of {written['branch']} at ",
            (short_commit(written["commit"]), "commit"),
        )


def _list_snapshots(session: Session, branch: str | None) -> None:
    answer = session.call("memory_snapshot_list", branch=branch)
    if session.answer(answer):
        return
    rows: list[list[Part]] = [
        [
            (item["id"], "commit"),
            brief(item["created_at"]),
            (short_commit(item["commit"]), "commit"),
            item["branch"],
            item["label"],
        ]
        for item in answer["result"]
    ]
    session.screen.table(("id", "taken", "commit", "branch", "label"), rows)
