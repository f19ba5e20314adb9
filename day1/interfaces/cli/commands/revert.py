"""`day1 revert`: undo a commit or a merge by a new commit."""

from __future__ import annotations

from typing import Any

import click

from day1.interfaces.cli.asking import WHOLE, decided, show_conflict
from day1.interfaces.cli.options import agent_option, branch_option
from day1.interfaces.cli.render import one_line, place, plural, short
from day1.interfaces.cli.session import Session, command
from day1.model.values.showing import short_commit

_SHOWN = 20
"""Of what depends on a commit, so many of each kind are named."""


@click.command("revert")
@click.argument("name", metavar="COMMIT|MERGE")
@click.option("--preview", is_flag=True, help="Show what it would do, and stop.")
@click.option("--theirs", is_flag=True, help="Undo also what changed since.")
@branch_option
@agent_option
@command
def revert_command(session: Session, name: str, **given: Any) -> None:
    """Undo a commit of the current branch, or a merge into it, as a new commit.

    Cells that changed since keep their present value. A revert can be reverted.
    """
    from day1.services.branches.resolving import undoable

    branch = session.branch(given["branch"])
    asked: dict[str, Any] = {"commit": undoable(session.repo(), name), "branch": branch}
    seen = session.call("memory_revert", **asked, preview=True)
    choices = [decided(kept, "theirs") for kept in seen["kept"]] if given["theirs"] else []
    if choices:
        seen = session.call("memory_revert", **asked, choices=choices, preview=True)
    answer = seen
    if not given["preview"]:
        digest, agent = seen["digest"], given["agent"]
        answer = session.call(
            "memory_revert", **asked, choices=choices, expect=digest, agent_id=agent
        )
    if not session.answer(answer):
        _draw_revert(session, answer, branch)
        session.notes(answer)


def _draw_revert(session: Session, answer: dict[str, Any], branch: str) -> None:
    screen = session.screen
    marks = {
        "restored": ("+ ", "added"),
        "changed": ("~ ", "changed"),
        "removed": ("- ", "removed"),
    }
    for row in answer["rows"]:
        if row["effect"] in marks:
            said = f" {one_line(row['text'])}"
            screen.line(marks[row["effect"]], (short(row["id"]), "commit"), said)
    for kept in answer["kept"]:
        if kept["cell"] == WHOLE or kept["reason"] == "belongs_to":
            screen.line(("stays ", "warn"), (short(kept["id"]), "commit"), f" {kept['cell']}")
        else:
            show_conflict(screen, kept, "before", branch)
    _draw_dependents(session, answer["depends"])
    rows = plural(answer["reverted_count"], "memory", "memories")
    undone = short_commit(answer["reverts"])
    if answer["written"] is None:
        screen.line(f"Would undo {answer['op']} {undone}: {rows}")
    elif answer["reverted_count"]:
        screen.line(place(answer["written"]), f"Undid {answer['op']} {undone}: {rows}")


def _draw_dependents(session: Session, depends: list[dict[str, Any]]) -> None:
    by_type: dict[str, list[str]] = {}
    for one in depends:
        name = one["id"] if one["type"] == "held" else one["name"] or one["id"]
        by_type.setdefault(one["type"], []).append(short(name) if name == one["id"] else name)
    by_type.pop("row", None)  # rows that stay are named above
    for what, names in by_type.items():
        more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
        verb = "stays open" if what == "held" else "still has it"
        session.screen.note(f"{what}: {', '.join(names[:_SHOWN])}{more} ({verb})")
