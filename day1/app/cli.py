"""The entry point `day1`: the command line, and what opens stores for it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from day1.interfaces.cli.application import Application

_HELP: Final = {"-h", "--help"}


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code; default: the process's arguments."""
    given = sys.argv[1:] if arguments is None else arguments
    if given and given[0] == "hook" and _HELP.isdisjoint(given):
        from day1.interfaces.hook import entry

        entry.run(given[1:])  # it has no time for the imports below
    from day1.app import garbage
    from day1.interfaces.cli import main as command_line

    garbage.while_loading()
    command_line.prepare_output()
    code = run(given)
    garbage.before_leaving()
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run one command; answers the exit code."""
    from day1.interfaces.cli import main as command_line

    return command_line.run(arguments, _application)


def _application() -> Application:
    """Imported when a command first asks for it: `day1 --help` imports click and nothing else."""
    from day1.app import commands

    return commands
