"""The entry point `day1`: runs the command line, or the hook, which must start fast."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from day1.interfaces.cli.application import Application

_HELP: Final = {"-h", "--help"}


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with its code; default: the process's arguments."""
    command_arguments = sys.argv[1:] if arguments is None else arguments
    if command_arguments and command_arguments[0] == "hook" and _HELP.isdisjoint(command_arguments):
        from day1.interfaces.hook import entry

        entry.run(command_arguments[1:])  # a hook has no time for the imports below
    try:
        exit_code = _prepare_and_run(command_arguments)
    except KeyboardInterrupt:  # before or after the command itself, which handles its own
        from day1.interfaces.cli.codes import INTERRUPTED

        exit_code = INTERRUPTED
    sys.exit(exit_code)


def _prepare_and_run(arguments: Sequence[str]) -> int:
    from day1.app import garbage
    from day1.interfaces.cli import main as command_line

    garbage.look_rarely()
    command_line.open_closed_streams()
    command_line.prepare_output()
    exit_code = run(arguments)
    garbage.before_leaving()
    return exit_code


def run(arguments: Sequence[str]) -> int:
    """Run one command and return the exit code."""
    from day1.interfaces.cli import main as command_line

    return command_line.run(arguments, _application)


def _application() -> Application:
    """Import the composition root; `day1 --help` needs none, and imports click alone."""
    from day1.app import commands

    return commands
