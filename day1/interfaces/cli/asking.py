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
"""Cells that hold text, which a person may write anew in an editor."""

AskedConflict = Mapping[str, Any]
ChoiceDocument = dict[str, Any]


def show_conflict(screen: Screen, conflict: AskedConflict, source: str, target: str) -> None:
    """Show both sides of a conflict, with the words that differ in colour."""
    cell = "the whole memory" if conflict["cell"] == WHOLE else conflict["cell"]
    reason_by_conflict = {"delete_modify": "changed on one side, removed on the other"}
    reason = reason_by_conflict.get(conflict["reason"], conflict["reason"].replace("_", " "))
    screen.line(("conflict ", "warn"), (short(conflict["id"]), "commit"), f" {cell}: {reason}")
    label_width = max(len(source), len(target)) + 1
    ours, theirs = conflict["target"], conflict["source"]
    screen.line(f"    {target + ':':<{label_width}} ", _side(ours))
    if ours and theirs:
        screen.line(f"    {source + ':':<{label_width}} ", *words(screen, ours, theirs))
    else:
        screen.line(f"    {source + ':':<{label_width}} ", _side(theirs))


def _side(value: str) -> Part:
    return one_spaced(value) if value else ("(not there)", "dim")


def ask(screen: Screen, conflict: AskedConflict, source: str, target: str) -> ChoiceDocument | None:
    """Ask a person how to decide one conflict; None means that the conflict is held.

    Raises:
        Refused: the person pressed `q`.
    """
    show_conflict(screen, conflict, source, target)
    keys = {"o": f"[o]urs ({target})", "t": f"[t]heirs ({source})", "s": "[s]kip", "q": "[q]uit"}
    if conflict["cell"] in _TEXTS:
        keys = {**keys, "e": "[e]dit"}
    while True:
        screen.line(
            ("  " + "  ".join(keys[key] for key in sorted(keys, key="otesq".index)), "bold")
        )
        key = _key()
        if key not in keys:
            continue
        if key == "q":
            raise Refused("Nothing was merged.")
        if key == "e":
            text = _edited(conflict, source, target)
            if text is None:
                continue
            screen.line("  = ", (one_spaced(text), "added"))
            return decision(conflict, "value", {conflict["cell"]: text})
        screen.line("  = ", {"o": "ours", "t": "theirs", "s": "held"}[key])
        return None if key == "s" else decision(conflict, {"o": "ours", "t": "theirs"}[key])


def _key() -> str:
    """Read one key without showing it. Keys typed early count; `click.getchar` would drop them."""
    terminal = sys.stdin.fileno()
    settings = termios.tcgetattr(terminal)
    tty.setcbreak(terminal, termios.TCSANOW)
    try:
        key = os.read(terminal, 1)
        if key == _ESCAPE:  # an arrow key, for example, sends letters that are not answers
            while select.select([terminal], [], [], _REST_S)[0] and os.read(terminal, 32):
                pass
    finally:
        termios.tcsetattr(terminal, termios.TCSANOW, settings)
    if not key:
        raise click.Abort
    return key.decode(errors="replace").lower()


def decision(
    conflict: AskedConflict, take: str, value: Mapping[str, Any] | None = None
) -> ChoiceDocument:
    """Return a decision of a conflict in the form that operations take."""
    made: ChoiceDocument = {"id": conflict["id"], "cell": conflict["cell"], "take": take}
    return made if value is None else {**made, "value": dict(value)}


def _edited(conflict: AskedConflict, source: str, target: str) -> str | None:
    """Have a person write the cell in an editor; None if it is empty or still has the marks."""
    marked_text = (
        f"<<<<<<< {target}\n{conflict['target']}\n=======\n{conflict['source']}\n>>>>>>> {source}\n"
    )
    text = click.edit(marked_text)
    if text is None or not text.strip():
        return None
    marks = ("<<<<<<< ", ">>>>>>> ")
    if any(line.startswith(marks) or line == "=======" for line in text.splitlines()):
        return None
    return text.strip()
