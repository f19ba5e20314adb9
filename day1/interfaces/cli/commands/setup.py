"""`day1 setup`: connect the agents on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from day1.errors import Refused
from day1.interfaces.cli.codes import FAILED
from day1.interfaces.cli.render import Part
from day1.interfaces.cli.session import Session, command

if TYPE_CHECKING:
    from day1.ports.setup import Asked, Outcome, Setup

_STYLES: Final = {"added": "ok", "changed": "changed", "removed": "removed", "refused": "error"}


@click.command("setup")
@click.argument("clients", nargs=-1, metavar="[CLIENT]...")
@click.option(
    "--user/--project",
    "user",
    default=True,
    help="Files of the user or the project; default: --user.",
)
@click.option("--check", is_flag=True, help="Change nothing; exit code 1 if something differs.")
@click.option("--dry-run", is_flag=True, help="Change nothing; say what would become of each file.")
@click.option("--print", "prints", is_flag=True, help="Print what to add; change nothing.")
@click.option("--remove", is_flag=True, help="Take out what is day1's, and nothing else.")
@click.option("--tools", metavar="NAMES", help="What the agent gets, as for `day1 mcp --tools`.")
@click.option("--no-hooks", is_flag=True, help="Leave hooks out, and say more in the instructions.")
@click.option("--everywhere", is_flag=True, help="Make ~/.day1 too, for where no project is.")
@command
def setup_command(session: Session, clients: Sequence[str], **options: Any) -> None:
    """Connect CLIENT to day1: its MCP server, hooks, and a section in its file of instructions.

    CLIENT: claude, codex, cursor, vscode, gemini, opencode, zed, windsurf; default: those that are
    found on this machine. What others wrote in these files stays as it is; a copy of each is kept.

    A hook makes no store. With --everywhere this command makes one in your home: it serves folders
    in no project, and repositories that have none of their own.
    """
    from day1.ports.setup import Asked

    dry_flags = [options[name] for name in ("check", "dry_run", "prints")]
    if sum(dry_flags) > 1 or (options["prints"] and options["remove"]):
        raise click.UsageError(
            "--check, --dry-run and --print exclude one another; --print also excludes --remove."
        )
    if options["everywhere"] and session.settings.store.url is not None:
        raise click.UsageError("DAY1_STORE__URL names one store for all: leave --everywhere out.")
    _refuse_unknown(options["tools"])
    setup = session.app.setup()
    selected_clients = _chosen(session, setup, clients, ask=not any(dry_flags))
    request = Asked(
        selected_clients,
        not options["user"],
        options["tools"],
        options["remove"],
        not options["no_hooks"],
    )
    kill_point = session.app.stores.point(session.settings)
    outcomes, notes = setup.run(request, write=not any(dry_flags), point=kill_point)
    needs_users_store = options["everywhere"] and not options["remove"] and _lacks_users_store()
    if needs_users_store:
        notes = [*notes, _make_users_store(session, write=not any(dry_flags))]
    if options["prints"]:
        outcomes = [replace(outcome, state="same", why="") for outcome in outcomes]
    if not session.answer(_document(request, outcomes, notes, written=not any(dry_flags))):
        _say(session, setup, outcomes, prints=options["prints"])
        for note in notes:
            session.screen.note(("note: ", "dim"), note)
    has_refused = any(outcome.state == "refused" for outcome in outcomes)
    if has_refused or (
        options["check"] and (needs_users_store or any(outcome.differs for outcome in outcomes))
    ):
        raise click.exceptions.Exit(FAILED)


def _lacks_users_store() -> bool:
    from day1.git_folders import STORE
    from day1.home import is_store

    return not is_store(Path.home() / STORE)


def _make_users_store(session: Session, *, write: bool) -> str:
    """Make the user's store in their home if `write` is set; return a note about it."""
    from day1.git_folders import STORE

    folder, settings = Path.home() / STORE, session.settings
    if not write:
        return f"{_short(folder)} is to be made: it serves where there is no other store"
    session.app.stores.create_store(settings, folder, session.now)
    session.app.stores.open_store(settings, folder=folder).close()
    return f"{_short(folder)} was made: it serves where there is no other store"


def _refuse_unknown(tools: str | None) -> None:
    """Refuse names of tools that no server serves."""
    if tools is not None:
        from day1.toolsets import TOOLSETS

        TOOLSETS.choose(tools)


def _chosen(session: Session, setup: Setup, names: Sequence[str], *, ask: bool) -> list[str]:
    """Return the named clients, else those found on the machine, if the person agrees."""
    title_by_client = setup.titles()
    unknown_names = [name for name in names if name not in title_by_client]
    if unknown_names:
        raise click.UsageError(
            f"There is no client {unknown_names[0]}; there are: {', '.join(title_by_client)}."
        )
    if names:
        return list(dict.fromkeys(names))
    clients = setup.found()
    if not clients:
        raise Refused(f"No client is found here: name one of {', '.join(title_by_client)}.")
    session.screen.note("Found: ", ", ".join(title_by_client[name] for name in clients))
    if ask and session.asks and not click.confirm("Go on with these?", default=True, err=True):
        raise click.Abort
    return clients


def _document(
    request: Asked, outcomes: Sequence[Outcome], notes: Sequence[str], *, written: bool
) -> dict[str, Any]:
    """Return the command's answer as one JSON document."""
    file_documents = [
        {
            "client": outcome.client,
            "file": str(outcome.path),
            "what": outcome.what,
            "state": outcome.state,
            "why": outcome.why or None,
            "content": outcome.content or None,
            "backup": outcome.backup and str(outcome.backup),
        }
        for outcome in outcomes
    ]
    scope_name = "project" if request.project else "user"
    return {"scope": scope_name, "written": written, "files": file_documents, "notes": list(notes)}


def _say(session: Session, setup: Setup, outcomes: Sequence[Outcome], *, prints: bool) -> None:
    screen, title_by_client = session.screen, setup.titles()
    if prints:
        for outcome in outcomes:
            screen.line((f"# {title_by_client[outcome.client]}: {_short(outcome.path)}", "bold"))
            for line in outcome.content.splitlines():
                screen.line(line)
            screen.line("")
        return
    table_rows: list[Sequence[Part]] = []
    for outcome in outcomes:
        style = _STYLES.get(outcome.state, "dim")
        table_rows.append(
            (
                (outcome.state, style),
                title_by_client[outcome.client],
                _short(outcome.path),
                outcome.what,
            )
        )
    screen.table(("", "client", "file", "what"), table_rows)
    for outcome in outcomes:
        _explain(session, outcome)


def _explain(session: Session, outcome: Outcome) -> None:
    """Print where a file's copy is, and why the file was refused or left as it is."""
    screen, path_text = session.screen, _short(outcome.path)
    if outcome.backup is not None:
        screen.note(("note: ", "dim"), f"{path_text} was copied to {outcome.backup}")
    if outcome.state == "refused":
        screen.note(("refused: ", "error"), f"{path_text}: {outcome.why}. It stays.")
        if outcome.content:
            screen.note("Add this by hand:")
            for line in outcome.content.splitlines():
                screen.note("  ", line)
    elif outcome.why:
        screen.note(("note: ", "dim"), f"{path_text}: {outcome.why}.")


def _short(path: Path) -> str:
    """Return a path as text, with `~` for the user's home."""
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
