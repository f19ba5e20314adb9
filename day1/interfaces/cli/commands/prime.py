"""`day1 prime`: print the text with which a session begins, or memories near a prompt."""

from __future__ import annotations

import sys
from typing import Final

import click

from day1.interfaces.cli.options import branch_option
from day1.interfaces.cli.session import Session, command

_STDIN: Final = "-"


@click.command("prime")
@click.option("--prompt", metavar="TEXT", help="Print facts near this prompt; `-` reads stdin.")
@click.option(
    "--space", metavar="NAME", help="Add this space's facts (project:metal). Default: DAY1_SPACE."
)
@branch_option
@command
def prime_command(
    session: Session, branch: str | None, space: str | None, prompt: str | None
) -> None:
    """Print the text with which a session begins: the branch, what waits, and the best facts.

    The text has at most DAY1_PRIME__CHARS characters, and is marked as data. With --prompt it has
    the memories near that prompt, in at most 600 characters, or nothing.
    """
    if prompt is None:
        answer = session.call("memory_prime", branch=branch, space=space)
    else:
        prompt_text = sys.stdin.read() if prompt == _STDIN else prompt
        answer = session.call("memory_recall_hint", prompt=prompt_text, branch=branch, space=space)
    if not session.answer(answer) and answer["text"]:
        session.screen.line(answer["text"])
