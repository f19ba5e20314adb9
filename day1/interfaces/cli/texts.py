"""The text of a memory: given, piped in, or written in an editor."""

from __future__ import annotations

import sys

import click

from day1.errors import Refused
from day1.interfaces.cli.session import Session


def given_text(session: Session, text: str | None) -> str:
    """The text given, or read from stdin, or written in the editor."""
    if text == "-":
        return sys.stdin.read().strip()
    if text is not None:
        return text
    if not session.asks:
        raise click.UsageError("Missing argument 'TEXT' (`-` reads it from stdin).")
    written = click.edit("")
    if not written or not written.strip():
        raise Refused("Nothing was written, so nothing is remembered.")
    return written.strip()
