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
@click.option("--user/--project", "user", default=True, help="Whose files; default: --user.")
@click.option("--check", is_flag=True, help="Change nothing; exit code 1 if something differs.")
@click.option("--dry-run", is_flag=True, help="Change nothing; say what would become of each file.")
@click.option("--print", "prints", is_flag=True, help="Print what to add; change nothing.")
@click.option("--remove", is_flag=True, help="Take out what is day1's, and nothing else.")
@click.option("--tools", metavar="NAMES", help="What the agent gets, as for `day1 mcp --tools`.")
@click.option("--no-hooks", is_flag=True, help="Leave hooks out, and say more in the instructions.")
@click.option("--everywhere", is_flag=True, help="Make ~/.day1 too, for where no project is.")
@command
def setup_command(session: Session, clients: Sequence[str], **given: Any) -> None:
    """Connect CLIENT to day1: its MCP server, hooks, and a section in its file of instructions.

    CLIENT: claude, codex, cursor, vscode, gemini, opencode, zed, windsurf; default: those that are
    found on this machine. What others wrote in these files stays as it is; a copy of each is kept.

    A hook makes no store. With --everywhere this command makes one in your home: it serves folders
    in no project, and repositories that have none of their own.
    """
    from day1.ports.setup import Asked

    looks = [given[name] for name in ("check", "dry_run", "prints")]
    if sum(looks) > 1 or (given["prints"] and given["remove"]):
        raise click.UsageError("--check, --dry-run and --print exclude one another.")
    if given["everywhere"] and session.settings.store.url is not None:
        raise click.UsageError("DAY1_STORE__URL names one store for all: leave --everywhere out.")
    _refuse_unknown(given["tools"])
    setup = session.app.setup()
    chosen = _chosen(session, setup, clients, ask=not any(looks))
    asked = Asked(chosen, not given["user"], given["tools"], given["remove"], not given["no_hooks"])
    point = session.app.stores.point(session.settings)
    outcomes, notes = setup.run(asked, write=not any(looks), point=point)
    lacks = given["everywhere"] and not given["remove"] and _lacks_users_store()
    if lacks:
        notes = [*notes, _make_users_store(session, write=not any(looks))]
    if given["prints"]:
        outcomes = [replace(each, state="same", why="") for each in outcomes]
    if not session.answer(_document(asked, outcomes, notes, written=not any(looks))):
        _say(session, setup, outcomes, prints=given["prints"])
        for note in notes:
            session.screen.note(("note: ", "dim"), note)
    refused = any(each.state == "refused" for each in outcomes)
    if refused or (given["check"] and (lacks or any(each.differs for each in outcomes))):
        raise click.exceptions.Exit(FAILED)


def _lacks_users_store() -> bool:
    from day1.git_folders import STORE
    from day1.home import is_store

    return not is_store(Path.home() / STORE)


def _make_users_store(session: Session, *, write: bool) -> str:
    """Make the store that serves where there is no other; says what became of it."""
    from day1.git_folders import STORE

    folder, settings = Path.home() / STORE, session.settings
    if not write:
        return f"{_short(folder)} is to be made: it serves where there is no other store"
    session.app.stores.create_store(settings, folder, session.now)
    session.app.stores.open_store(settings, folder=folder).close()
    return f"{_short(folder)} was made: it serves where there is no other store"


def _refuse_unknown(tools: str | None) -> None:
    """Refuse tools that the server would refuse."""
    if tools is not None:
        from day1.toolsets import TOOLSETS

        TOOLSETS.choose(tools)


def _chosen(session: Session, setup: Setup, named: Sequence[str], *, ask: bool) -> list[str]:
    """The clients that are named, else those that are found, if the person agrees."""
    titles = setup.titles()
    unknown = [name for name in named if name not in titles]
    if unknown:
        raise click.UsageError(f"There is no client {unknown[0]}; there are: {', '.join(titles)}.")
    if named:
        return list(dict.fromkeys(named))
    found = setup.found()
    if not found:
        raise Refused(f"No client is found here: name one of {', '.join(titles)}.")
    session.screen.note("Found: ", ", ".join(titles[name] for name in found))
    if ask and session.asks and not click.confirm("Go on with these?", default=True, err=True):
        raise click.Abort
    return found


def _document(
    asked: Asked, outcomes: Sequence[Outcome], notes: Sequence[str], *, written: bool
) -> dict[str, Any]:
    """The answer as JSON."""
    files = [
        {
            "client": each.client,
            "file": str(each.path),
            "what": each.what,
            "state": each.state,
            "why": each.why or None,
            "content": each.content or None,
            "backup": each.backup and str(each.backup),
        }
        for each in outcomes
    ]
    scope = "project" if asked.project else "user"
    return {"scope": scope, "written": written, "files": files, "notes": list(notes)}


def _say(session: Session, setup: Setup, outcomes: Sequence[Outcome], *, prints: bool) -> None:
    screen, titles = session.screen, setup.titles()
    if prints:
        for each in outcomes:
            screen.line((f"# {titles[each.client]}: {_short(each.path)}", "bold"))
            for line in each.content.splitlines():
                screen.line(line)
            screen.line("")
        return
    rows: list[Sequence[Part]] = []
    for each in outcomes:
        style = _STYLES.get(each.state, "dim")
        rows.append(((each.state, style), titles[each.client], _short(each.path), each.what))
    screen.table(("", "client", "file", "what"), rows)
    for each in outcomes:
        _explain(session, each)


def _explain(session: Session, outcome: Outcome) -> None:
    """Say where the copy of a file is, what a person wrote in it, or why it was refused."""
    screen, name = session.screen, _short(outcome.path)
    if outcome.backup is not None:
        screen.note(("note: ", "dim"), f"{name} was copied to {outcome.backup}")
    if outcome.state == "refused":
        screen.note(("refused: ", "error"), f"{name}: {outcome.why}. It stays.")
        if outcome.content:
            screen.note("Add this by hand:")
            for line in outcome.content.splitlines():
                screen.note("  ", line)
    elif outcome.why:
        screen.note(("note: ", "dim"), f"{name}: {outcome.why}.")


def _short(path: Path) -> str:
    """A path, from the home where it is in it."""
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
