"""`day1 revert`: undo a commit or a merge by a new commit."""

from __future__ import annotations

from typing import Any

import click

from day1.interfaces.cli.asking import WHOLE, decision, show_conflict
from day1.interfaces.cli.options import agent_option, branch_option
from day1.interfaces.cli.render import one_line, place, plural, short
from day1.interfaces.cli.session import Session, command
from day1.model.values.showing import short_commit

_MAX_SHOWN = 20
"""The most names that are printed of each kind of thing that depends on a commit."""


@click.command("revert")
@click.argument("name", metavar="COMMIT|MERGE")
@click.option("--preview", is_flag=True, help="Show what it would do, and stop.")
@click.option("--theirs", is_flag=True, help="Undo also what changed since.")
@branch_option
@agent_option
@command
def revert_command(session: Session, name: str, **options: Any) -> None:
    """Undo a commit of the current branch, or a merge into it, by a new commit.

    Cells that changed since keep their present value. A revert can be reverted.
    """
    from day1.services.branches.resolving import undoable

    branch = session.branch(options["branch"])
    revert_arguments: dict[str, Any] = {"commit": undoable(session.repo(), name), "branch": branch}
    plan = session.call("memory_revert", **revert_arguments, preview=True)
    choices = (
        [decision(conflict, "theirs") for conflict in plan["kept"]] if options["theirs"] else []
    )
    if choices:
        plan = session.call("memory_revert", **revert_arguments, choices=choices, preview=True)
    answer = plan
    if not options["preview"]:
        digest, agent_id = plan["digest"], options["agent"]
        answer = session.call(
            "memory_revert", **revert_arguments, choices=choices, expect=digest, agent_id=agent_id
        )
    if not session.answer(answer):
        _draw_revert(session, answer, branch)
        session.notes(answer)


def _draw_revert(session: Session, answer: dict[str, Any], branch: str) -> None:
    screen = session.screen
    styled_mark_by_effect = {
        "restored": ("+ ", "added"),
        "changed": ("~ ", "changed"),
        "removed": ("- ", "removed"),
    }
    for row in answer["rows"]:
        if row["effect"] in styled_mark_by_effect:
            row_text = f" {one_line(row['text'])}"
            screen.line(
                styled_mark_by_effect[row["effect"]], (short(row["id"]), "commit"), row_text
            )
    for conflict in answer["kept"]:
        if conflict["cell"] == WHOLE or conflict["reason"] == "belongs_to":
            screen.line(
                ("stays ", "warn"), (short(conflict["id"]), "commit"), f" {conflict['cell']}"
            )
        else:
            show_conflict(screen, conflict, "before", branch)
    _draw_dependents(session, answer["depends"])
    memories_text = plural(answer["reverted_count"], "memory", "memories")
    commit_label = short_commit(answer["reverts"])
    if answer["written"] is None:
        screen.line(f"Would undo {answer['op']} {commit_label}: {memories_text}")
    elif answer["reverted_count"]:
        screen.line(
            place(answer["written"]), f"Undid {answer['op']} {commit_label}: {memories_text}"
        )


def _draw_dependents(session: Session, depends: list[dict[str, Any]]) -> None:
    names_by_type: dict[str, list[str]] = {}
    for dependent in depends:
        name = (
            dependent["id"] if dependent["type"] == "held" else dependent["name"] or dependent["id"]
        )
        names_by_type.setdefault(dependent["type"], []).append(
            short(name) if name == dependent["id"] else name
        )
    names_by_type.pop("row", None)  # rows that stay are named above
    for type_name, names in names_by_type.items():
        more_text = f" and {len(names) - _MAX_SHOWN:,} more" if len(names) > _MAX_SHOWN else ""
        heading = (
            "Held items that stay open:"
            if type_name == "held"
            else f"The commit stays in {type_name}"
        )
        session.screen.note(f"{heading} {', '.join(names[:_MAX_SHOWN])}{more_text}")
