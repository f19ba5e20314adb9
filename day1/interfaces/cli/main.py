"""`day1`: each command is a file, which is imported when the command is called.

A file in `commands` calls operations; one in `maintenance` works on the store itself.

`day1 --help` imports click and nothing else, and no command imports what it does not need.
Exit codes are in the epilog below, which `day1 --help` prints.
"""

import difflib
import errno
import importlib
import io
import keyword
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from day1.errors import Day1Error, InvalidRequest, NotFound
from day1.interfaces.cli.codes import DONE, FAILED, HELD, INTERRUPTED, READER_LEFT, USAGE, WAITS
from day1.version import __version__

if TYPE_CHECKING:
    from day1.interfaces.cli.application import Application

EPILOG = f"""\b
Exit codes:
  {DONE}    done
  {FAILED}    refused or failed; stderr says why
  {USAGE}    the command line does not fit
  {HELD}    merged, and something is held: `day1 held` decides it
  {WAITS}    something waits for a person: `day1 status --exit-code`, or a merge that needs a look
  {INTERRUPTED}  interrupted
  {READER_LEFT}  the reader of the pipe left

\b
The store is the nearest .day1 folder upward, of a worktree its repository's, else ~/.day1;
DAY1_HOME overrides. `day1 where` says which one is meant here, and why.
TIME is ISO 8601 (UTC without an offset) or an age such as 10m, 2h, 3d, 1w.
IDs may be shortened: a row's to its last eight letters, as it is shown (six are enough), a
commit's to its first eight (four are enough).
"""

SECTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "Start": {
        "setup": "Connect the agents on this machine to day1.",
        "init": "Make a store in this folder, or on a server.",
        "status": "Say where you are and what waits.",
        "where": "Say which store, branch and agent are meant here, and why.",
    },
    "Remember": {
        "add": "Remember a fact, an observation or a relation.",
        "edit": "Correct a fact, or put another in its place.",
        "rm": "Remove memories from a branch.",
        "restore": "Bring a memory or a branch back to a past state.",
        "redact": "Make a memory unreadable everywhere, for good.",
    },
    "Look": {
        "search": "Find memories by meaning and by words.",
        "prime": "Print what a session begins with.",
        "show": "Show a memory, a commit or a snapshot.",
        "log": "Show the commits of a branch.",
        "history": "Show every version of a memory, across merges.",
        "blame": "Say who wrote each part of a memory, and how it came here.",
        "diff": "Show what a branch has that another has not.",
    },
    "Branch and merge": {
        "branch": "List, create or delete branches.",
        "switch": "Go to another branch.",
        "topology": "Draw the tree of branches.",
        "merge": "Bring a branch's memories into another.",
        "review": "Decide together what of a branch is merged.",
        "cherry-pick": "Take single memories from another branch.",
        "revert": "Undo a commit or a merge by a new commit.",
        "held": "List and decide what merges held back.",
        "snapshot": "Mark a branch's present state, or list the marks.",
    },
    "Work as a team": {
        "task": "Open, join and follow tasks.",
        "template": "Keep a branch to begin new work from.",
        "verify": "Judge facts, and say whether a branch may be merged.",
        "handoff": "Hand what one branch found out over to another.",
    },
    "Exchange": {
        "bundle": "Carry knowledge to other branches and stores.",
        "import": "Bring memories in from other tools, git, Markdown, or an export.",
        "export": "Write memories out as JSON Lines.",
    },
    "Tend": {
        "model": "Install the embedding model, or say which one is used.",
        "doctor": "Check the store and say what to do.",
        "gc": "Give unused space back and offer branches to retire.",
        "backup": "Write the store to one file while it is used, or restore one.",
        "copy": "Copy the store to another folder or server.",
    },
    "Serve": {
        "mcp": "Serve an agent over stdin and stdout (MCP).",
        "serve": "Serve a team over HTTP: MCP, REST and review pages.",
        "hook": "Take in what a client tells of a session; clients call it.",
        "token": "Make, list and take back tokens for HTTP.",
        "call": "Call any operation by its name.",
    },
}
"""The commands of each section of `day1 --help`, each with its help in one line."""

_MAINTENANCE: Final = frozenset({"import", "export", "backup", "copy", "gc", "doctor"})
"""Commands that call no operation: they work on the store's files."""

_PATH_REFUSED: Final = frozenset({errno.EACCES, errno.EPERM, errno.ENAMETOOLONG})
"""Errors of the system that `Path.exists` and the like raise for a path."""

_COMMANDS: Final = {
    name: help_line for names in SECTIONS.values() for name, help_line in names.items()
}


class LazyGroup(click.Group):
    """A click group that imports a command's module when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of all commands, in the order of the help."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import the module of a command, and return the command."""
        if cmd_name not in _COMMANDS:
            return None
        command_name = cmd_name.replace("-", "_")
        file_name = f"{command_name}_" if keyword.iskeyword(command_name) else command_name
        package = "maintenance" if cmd_name in _MAINTENANCE else "commands"
        module = importlib.import_module(f"day1.interfaces.cli.{package}.{file_name}")
        command: click.Command = getattr(module, f"{command_name}_command")
        command.short_help = _COMMANDS[cmd_name]
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or suggest one with a similar name."""
        similar_names = difflib.get_close_matches(args[0], _COMMANDS, n=1)
        if args[0] not in _COMMANDS and not args[0].startswith("-") and similar_names:
            ctx.fail(f"There is no command '{args[0]}'. Did you mean '{similar_names[0]}'?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """List the commands by section, without importing any."""
        for section, help_by_command in SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl(list(help_by_command.items()))


@click.group(cls=LazyGroup, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="day1", message="%(prog)s %(version)s")
def day1() -> None:
    """Git for agent memory: remember, branch, review, merge, travel in time."""


def open_closed_streams() -> None:
    """Connect standard streams that are closed to the null device.

    Otherwise the store's files would get their numbers, and a library that prints would write into
    them.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 - as long as the process


def prepare_output() -> None:
    """Make stdout and stderr write characters that they cannot show as escapes."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def run(arguments: Sequence[str], application: "Callable[[], Application]") -> int:
    """Run one command and return the exit code.

    Args:
        arguments: what follows `day1`.
        application: is called when a command first needs a store or an adapter.
    """
    try:
        exit_code: Any = day1.main(
            list(arguments), prog_name="day1", standalone_mode=False, obj=application
        )
        _flush()
    except BrokenPipeError:
        from day1.interfaces.cli.render import be_quiet

        be_quiet()
        return READER_LEFT
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except Exception as exc:  # noqa: BLE001 - the wire's outermost handler
        return _fail(_of_argument(exc, arguments), as_json="--json" in arguments)
    return exit_code if isinstance(exit_code, int) else DONE


def _flush() -> None:
    """Write what Python still holds of the answer.

    Raises:
        BrokenPipeError: the reader is gone.
        OutputFailed: stdout cannot be written.
    """
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as exc:
        from day1.interfaces.cli.render import output_failed

        raise output_failed(exc) from exc


def _of_argument(exc: Exception, arguments: Sequence[str]) -> Exception:
    """Return the refusal for an argument that cannot be used; other errors stay the same."""
    if isinstance(exc, UnicodeEncodeError):
        from day1.foreign_files import is_text, shown

        for argument in arguments:
            if not is_text(argument):
                return InvalidRequest(
                    f"The argument {shown(argument)} has bytes that are not UTF-8: write it in "
                    "UTF-8. Only the path of a file or folder may have other bytes."
                )
    return _of_path(exc)


def _of_path(exc: Exception) -> Exception:
    """Return the refusal for a path that the system does not accept; other errors stay the same."""
    if isinstance(exc, OSError) and exc.errno in _PATH_REFUSED and exc.filename is not None:
        from day1.foreign_files import shown

        return InvalidRequest(
            f"{shown(exc.filename)} cannot be used: {exc.strerror}. Name another path, or give "
            "this user access to it."
        )
    if isinstance(exc, FileNotFoundError):
        try:
            Path.cwd()
        except FileNotFoundError:
            return NotFound(
                "The present folder was deleted: change to another folder, and try again."
            )
    return exc


def _fail(exc: Exception, *, as_json: bool) -> int:
    """Print an exception on stderr, and return the exit code for it."""
    from day1.interfaces.cli.render import Screen, json_text, put, visible

    if isinstance(exc, click.ClickException) and not as_json:
        usage_text = io.StringIO()
        exc.show(usage_text)
        # It quotes the arguments, which a script may have passed.
        put(sys.stderr, visible(usage_text.getvalue()))
    elif as_json:
        put(sys.stderr, json_text(_body(exc)) + "\n")
    else:
        Screen().note(("error: ", "error"), _message(exc))
    return exc.exit_code if isinstance(exc, click.ClickException) else FAILED


def _body(exc: Exception) -> Mapping[str, Any]:
    if isinstance(exc, Day1Error):
        return exc.body()
    error_code = "usage" if isinstance(exc, click.ClickException) else "internal"
    return {"error": {"code": error_code, "message": _message(exc), "details": {}}}


def _message(exc: Exception) -> str:
    if isinstance(exc, click.ClickException):
        return exc.format_message()
    if isinstance(exc, Day1Error):
        from day1.interfaces.cli.wording import command_of

        return exc.worded(command_of)
    if os.environ.get("DAY1_LOG_LEVEL", "").upper() == "DEBUG":
        traceback.print_exception(exc)
    error_name = type(exc).__name__
    return (
        f"day1 failed with {error_name}; DAY1_LOG_LEVEL=DEBUG shows where. {_os_text(exc)}".strip()
    )


def _os_text(exc: Exception) -> str:
    """Return the operating system's message, such as "Permission denied"; it quotes no memory."""
    return str(exc) if isinstance(exc, OSError) else ""
