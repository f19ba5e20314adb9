"""`day1 prime`: what a session begins with, and what is near a prompt."""

from __future__ import annotations

import sys
from typing import Final

import click

from day1.interfaces.cli.options import branch_option
from day1.interfaces.cli.session import Session, command

_STDIN: Final = "-"


@click.command("prime")
@click.option("--prompt", metavar="TEXT", help="What is near this instead; `-` reads stdin.")
@click.option(
    "--space", metavar="NAME", help="Its facts too, such as project:metal. Default: DAY1_SPACE."
)
@branch_option
@command
def prime_command(
    session: Session, branch: str | None, space: str | None, prompt: str | None
) -> None:
    """Print what a session begins with: the branch, what waits, and what is known.

    The text has at most DAY1_PRIME__CHARS characters, and is marked as data. With --prompt it is
    what memory has near a prompt, in at most 600 characters, or nothing.
    """
    if prompt is None:
        answer = session.call("memory_prime", branch=branch, space=space)
    else:
        said = sys.stdin.read() if prompt == _STDIN else prompt
        answer = session.call("memory_recall_hint", prompt=said, branch=branch, space=space)
    if not session.answer(answer) and answer["text"]:
        session.screen.line(answer["text"])
