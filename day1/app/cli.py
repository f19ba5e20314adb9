"""The entry point `day1`: the command line, and what opens stores for it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from day1.app import garbage
from day1.interfaces.cli import main as command_line

if TYPE_CHECKING:
    from day1.interfaces.cli.application import Application


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code; default: the process's arguments."""
    garbage.while_loading()
    command_line.prepare_output()
    code = run(sys.argv[1:] if arguments is None else arguments)
    garbage.before_leaving()
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run one command; answers the exit code."""
    return command_line.run(arguments, _application)


def _application() -> Application:
    """Imported when a command first asks for it: `day1 --help` imports click and nothing else."""
    from day1.app import commands

    return commands
