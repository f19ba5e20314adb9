"""`day1 prime`: what a session begins with."""

from __future__ import annotations

import click

from day1.interfaces.cli.options import branch_option, space_option
from day1.interfaces.cli.session import Session, porcelain


@click.command("prime")
@space_option
@branch_option
@porcelain
def prime_command(session: Session, branch: str | None, space: str | None) -> None:
    """Print what a session begins with: the branch, what waits, and what is known.

    The text has at most DAY1_PRIME__CHARS characters, and is marked as data.
    """
    answer = session.call("memory_prime", branch=branch, space=space)
    if not session.answer(answer):
        click.echo(answer["text"])
