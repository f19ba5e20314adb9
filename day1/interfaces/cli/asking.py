"""Ask a person at a terminal about the conflicts of a merge; one key answers each."""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from collections.abc import Mapping
from typing import Any, Final

import click

from day1.errors import Refused
from day1.interfaces.cli.diffing import one_spaced, words
from day1.interfaces.cli.render import Part, Screen, short

WHOLE: Final = "*"
_ESCAPE: Final = b"\x1b"
_REST_S: Final = 0.05
_TEXTS: Final = frozenset({"fact_text", "category", "summary", "content", "title"})
"""Cells that hold text, which a person may edit in an editor."""

AskedConflict = Mapping[str, Any]
ChoiceDocument = dict[str, Any]


def show_conflict(screen: Screen, conflict: AskedConflict, source: str, target: str) -> None:
    """Show both sides of a conflict, with the words that differ in colour."""
    cell_label = "the whole memory" if conflict["cell"] == WHOLE else conflict["cell"]
    phrase_by_reason = {"delete_modify": "changed on one side, removed on the other"}
    reason_phrase = phrase_by_reason.get(conflict["reason"], conflict["reason"].replace("_", " "))
    screen.line(
        ("conflict ", "warn"), (short(conflict["id"]), "commit"), f" {cell_label}: {reason_phrase}"
    )
    label_width = max(len(source), len(target)) + 1
    target_value, source_value = conflict["target"], conflict["source"]
    screen.line(f"    {target + ':':<{label_width}} ", _side(target_value))
    if target_value and source_value:
        screen.line(
            f"    {source + ':':<{label_width}} ", *words(screen, target_value, source_value)
        )
    else:
        screen.line(f"    {source + ':':<{label_width}} ", _side(source_value))


def _side(value: str) -> Part:
    return one_spaced(value) if value else ("(not there)", "dim")


def ask(screen: Screen, conflict: AskedConflict, source: str, target: str) -> ChoiceDocument | None:
    """Ask a person how to decide one conflict; None means that the conflict is held.

    Raises:
        Refused: the person pressed `q`.
    """
    show_conflict(screen, conflict, source, target)
    label_by_key = {
        "o": f"[o]urs ({target})",
        "t": f"[t]heirs ({source})",
        "s": "[s]kip",
        "q": "[q]uit",
    }
    if conflict["cell"] in _TEXTS:
        label_by_key = {**label_by_key, "e": "[e]dit"}
    while True:
        screen.line(
            (
                "  "
                + "  ".join(label_by_key[key] for key in sorted(label_by_key, key="otesq".index)),
                "bold",
            )
        )
        key = _key()
        if key not in label_by_key:
            continue
        if key == "q":
            raise Refused("You pressed q, so nothing was merged.")
        if key == "e":
            edited_text = _edited(conflict, source, target)
            if edited_text is None:
                continue
            screen.line("  = ", (one_spaced(edited_text), "added"))
            return decision(conflict, "value", {conflict["cell"]: edited_text})
        screen.line("  = ", {"o": "ours", "t": "theirs", "s": "held"}[key])
        return None if key == "s" else decision(conflict, {"o": "ours", "t": "theirs"}[key])


def _key() -> str:
    """Read one key without showing it. Keys typed early count; `click.getchar` would drop them."""
    stdin_fd = sys.stdin.fileno()
    terminal_settings = termios.tcgetattr(stdin_fd)
    tty.setcbreak(stdin_fd, termios.TCSANOW)
    try:
        key = os.read(stdin_fd, 1)
        if key == _ESCAPE:  # an arrow key, for example, sends letters that are not answers
            while select.select([stdin_fd], [], [], _REST_S)[0] and os.read(stdin_fd, 32):
                pass
    finally:
        termios.tcsetattr(stdin_fd, termios.TCSANOW, terminal_settings)
    if not key:
        raise click.Abort
    return key.decode(errors="replace").lower()


def decision(
    conflict: AskedConflict, take: str, value: Mapping[str, Any] | None = None
) -> ChoiceDocument:
    """Return a decision of a conflict in the form that operations take."""
    choice: ChoiceDocument = {"id": conflict["id"], "cell": conflict["cell"], "take": take}
    return choice if value is None else {**choice, "value": dict(value)}


def _edited(conflict: AskedConflict, source: str, target: str) -> str | None:
    """Let a person write the cell in an editor; None if it is empty or has conflict marks left."""
    marked_text = (
        f"<<<<<<< {target}\n{conflict['target']}\n=======\n{conflict['source']}\n>>>>>>> {source}\n"
    )
    edited_text = click.edit(marked_text)
    if edited_text is None or not edited_text.strip():
        return None
    marks = ("<<<<<<< ", ">>>>>>> ")
    if any(line.startswith(marks) or line == "=======" for line in edited_text.splitlines()):
        return None
    return edited_text.strip()
