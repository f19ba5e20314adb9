"""`day1 held`: list what merges held back, or decide it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from day1.errors import InvalidRequest, Refused
from day1.interfaces.cli.asking import WHOLE
from day1.interfaces.cli.diffing import one_spaced, words
from day1.interfaces.cli.options import agent_option, branch_option
from day1.interfaces.cli.render import Screen, plural, short
from day1.interfaces.cli.session import Session, command
from day1.model.rows.kind import kind_of

Document = Mapping[str, Any]


@click.command("held")
@click.argument("action", required=False, type=click.Choice(["list", "take", "edit", "dismiss"]))
@click.argument("held_id", metavar="[ID]", required=False)
@click.argument("value", metavar="[VALUE]", required=False)
@branch_option
@agent_option
@command
def held_command(session: Session, action: str | None, **options: Any) -> None:
    """List what merges held back on a branch, or decide the item ID.

    take accepts what is offered, dismiss rejects it, edit sets the cell to VALUE (without VALUE
    your editor opens with what is offered).
    """
    branch = session.branch(options["branch"])
    held_items = session.call("memory_held", branch=branch)
    if action in {None, "list"}:
        if not session.answer(held_items):
            _list(session.screen, held_items["items"], branch)
        return
    if options["held_id"] is None:
        raise click.UsageError(f"Which item? `day1 held` lists them, `day1 held {action} ID`.")
    held_item = _find(held_items["items"], options["held_id"], branch)
    new_columns = _value(session, held_item, options["value"]) if action == "edit" else None
    answer = session.call(
        "memory_held",
        action=action,
        id=held_item["id"],
        value=new_columns,
        branch=branch,
        agent_id=options["agent"],
    )
    if not session.answer(answer):
        verb = {"take": "Took", "edit": "Edited", "dismiss": "Dismissed"}[str(action)]
        items_left = plural(len(answer["items"]), "item")
        session.screen.line(f"{verb} {short(held_item['id'])}; {items_left} left on {branch}.")


def _find(items: list[Document], text: str, branch: str) -> Document:
    """Find the item with this id, or these last letters of its id or of its memory's id."""
    last_letters = text.rpartition("_")[2].upper()
    matching_items = [
        item for item in items if last_letters and str(item["id"]).endswith(last_letters)
    ]
    matching_items = matching_items or [
        item for item in items if last_letters and str(item["row_id"]).endswith(last_letters)
    ]
    if len(matching_items) != 1:
        problem = "No open item" if not matching_items else "More than one open item"
        raise InvalidRequest(f"{problem} {text!r} on {branch!r}; `day1 held` lists them.", id=text)
    return matching_items[0]


def _value(session: Session, item: Document, new_text: str | None) -> dict[str, Any]:
    """Return the cell that an edit sets, with its new value."""
    cell = item["cell"]
    offered_row = item["offered"] or item["present"] or {}
    if cell == WHOLE:
        kind = kind_of(item["row_id"])
        cell = None if kind is None or kind.text not in offered_row else kind.text
        if cell is None:
            raise Refused("This memory has no text to edit: take or dismiss the item.")
    if new_text is None:
        if not session.asks:
            raise click.UsageError("Missing argument 'VALUE': the value to set.")
        new_text = click.edit(str(offered_row.get(cell) or "") + "\n")
        if new_text is None or not new_text.strip():
            raise Refused(
                "The editor's text is empty, so nothing was decided: write a value and save it."
            )
    edited_text = new_text.strip()
    if not isinstance(offered_row.get(cell), float):
        return {cell: edited_text}
    try:
        return {cell: float(edited_text)}
    except ValueError as exc:
        raise InvalidRequest(f"{cell} must be a number, such as 0.8.", cell=cell) from exc


def _list(screen: Screen, items: list[Document], branch: str) -> None:
    for item in items:
        cell_label = "" if item["cell"] == WHOLE else f" {item['cell']}"
        reason = str(item["reason"]).replace("_", " ")
        screen.line((short(item["id"]), "warn"), f"  {short(item['row_id'])}{cell_label}: {reason}")
        source_label = item["source_branch"] or "source"
        label_width = max(len(source_label), len(branch)) + 1
        present_text, offered_text = _text(item, "present"), _text(item, "offered")
        screen.line(f"    {branch + ':':<{label_width}} {present_text or '(not there)'}")
        shown_parts = (
            words(screen, present_text, offered_text)
            if present_text and offered_text
            else [offered_text or "(removed)"]
        )
        screen.line(f"    {source_label + ':':<{label_width}} ", *shown_parts)
    if items:
        screen.note("`day1 held take|edit|dismiss ID` decides one")
    else:
        screen.note(f"Nothing is held on {branch}.")


def _text(item: Document, side: str) -> str:
    side_columns = item[side]
    if side_columns is None:
        return ""
    kind = kind_of(item["row_id"])
    for column in (item["cell"], *(() if kind is None else kind.says)):
        if side_columns.get(column) is not None:
            return one_spaced(str(side_columns[column]))
    return ""
