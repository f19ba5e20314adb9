"""Commands about the past of a memory: history, blame, and undoing a commit or a merge."""

from __future__ import annotations

from typing import Any

import click

from day1.interfaces.cli.asking import WHOLE, decided, show_conflict
from day1.interfaces.cli.diffing import one_spaced, text_of, words
from day1.interfaces.cli.moments import brief
from day1.interfaces.cli.render import WHOLE_ID, Part, one_line, place, plural, short
from day1.interfaces.cli.session import Session, agent_option, branch_option, porcelain
from day1.model.values.showing import short_commit

Document = dict[str, Any]

_STYLES = {"added": "added", "changed": "changed", "removed": "removed", "restored": "added"}
_SHOWN = 20
"""Of what depends on a commit, so many of each kind are named."""


def _whole(session: Session, text: str, branch: str) -> str:
    from day1.model.rows.change import Ref
    from day1.services.branches.resolving import row_id

    with session.repo().store.reading(Ref(branch=branch)) as reading:
        return row_id(reading, text)


@click.command("history")
@click.argument("name", metavar="ID")
@click.option("-n", "limit", type=click.IntRange(1, 1000), help="At most so many; default 50.")
@branch_option
@porcelain
def history_command(session: Session, name: str, limit: int | None, branch: str | None) -> None:
    """Show every version of the memory ID, across merges, newest first.

    One that was removed is named by its whole id.
    """
    branch = session.branch(branch)
    row_id = _whole(session, name, branch)
    answer = session.call("memory_history", id=row_id, branch=branch, limit=limit)
    if session.answer(answer):
        return
    screen, versions = session.screen, answer["versions"]
    for number, version in enumerate(versions):
        what = one_line(WHOLE_ID.sub(lambda found: short(found[0]), version["line"] or "waiting"))
        by = ", ".join(filter(None, (version["agent_id"], brief(version["at"]))))
        screen.line(
            (short_commit(version["commit"] or "-" * 8), "commit"),
            (f" {version['how']:<8} ", _STYLES[version["how"]]),
            (version["branch"] or "(a branch that is gone)", "branch"),
            f" {what}",
            (f"  {by}", "dim"),
        )
        if version["reason"]:
            screen.line(f"    because: {one_spaced(version['reason'])}")
        before = next((v["row"] for v in versions[number + 1 :] if v["row"]), None)
        for line in _difference(session, before, version["row"]):
            screen.line("    ", *line)
    if answer["left_out"]:
        screen.note(f"{plural(answer['left_out'], 'older version')} more: -n shows them")


def _difference(
    session: Session, before: Document | None, row: Document | None
) -> list[list[Part]]:
    """What a version says: all of the first, then the columns that differ."""
    if row is None:
        return []
    if before is None:
        return [[text_of(row)]]
    differ = [c for c in row if row[c] != before[c] and c != "revision"]
    return [[f"{c}: ", *words(session.screen, before[c], row[c])] for c in differ]


@click.command("blame")
@click.argument("name", metavar="ID")
@branch_option
@porcelain
def blame_command(session: Session, name: str, branch: str | None) -> None:
    """Say who wrote each part of the memory ID, when and where, and how it came to this branch."""
    branch = session.branch(branch)
    answer = session.call("memory_blame", id=_whole(session, name, branch), branch=branch)
    if session.answer(answer):
        return
    screen = session.screen
    screen.line((f"{answer['type']} {answer['id']}", "commit"))
    for cell in answer["cells"]:
        value = cell["value"][cell["cell"]]
        if value is None and not cell["edited"]:
            continue
        by = cell["agent_id"] or cell["source"]
        screen.line(
            (short_commit(cell["commit"] or "-" * 8), "commit"),
            (f" {cell['cell']}: ", "bold"),
            one_spaced("" if value is None else str(value)),
        )
        where = cell["branch"] or "a branch that is gone"
        screen.line((f"    {by} on {where}, {brief(cell['at'])}", "dim"))
        if cell["reason"]:
            screen.line(f"    because: {one_spaced(cell['reason'])}")
        for merge in cell["merges"]:
            source, target = (merge[side] or "(gone)" for side in ("source", "target"))
            decided_by = f", {merge['decided_by']}" if merge["decided_by"] else ""
            way = f"    {merge['op']} {source} into {target}{decided_by}, {brief(merge['at'])}"
            screen.line((way, "dim"))


@click.command("revert")
@click.argument("name", metavar="COMMIT|MERGE")
@click.option("--preview", is_flag=True, help="Show what it would do, and stop.")
@click.option("--theirs", is_flag=True, help="Undo also what changed since.")
@branch_option
@agent_option
@porcelain
def revert_command(session: Session, name: str, **given: Any) -> None:
    """Undo a commit of the current branch, or a merge into it, as a new commit.

    What changed since keeps its present value. A revert can be reverted.
    """
    from day1.services.branches.resolving import undoable

    branch = session.branch(given["branch"])
    asked: Document = {"commit": undoable(session.repo(), name), "branch": branch}
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


def _draw_revert(session: Session, answer: Document, branch: str) -> None:
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


def _draw_dependents(session: Session, depends: list[Document]) -> None:
    by_type: dict[str, list[str]] = {}
    for one in depends:
        name = one["id"] if one["type"] == "held" else one["name"] or one["id"]
        by_type.setdefault(one["type"], []).append(short(name) if name == one["id"] else name)
    by_type.pop("row", None)  # those that stay are named above
    for what, names in by_type.items():
        more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
        verb = "stays open" if what == "held" else "still has it"
        session.screen.note(f"{what}: {', '.join(names[:_SHOWN])}{more} ({verb})")
