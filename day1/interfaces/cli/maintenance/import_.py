"""`day1 import`: bring memories in from git, Markdown, graphs or an export."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from day1.foreign_files import shown
from day1.interfaces.cli.files import lines_of
from day1.interfaces.cli.indexing import bring_up
from day1.interfaces.cli.maintenance.importing import import_found, import_named, imported
from day1.interfaces.cli.options import agent_option, branch_option
from day1.interfaces.cli.session import Session, command

if TYPE_CHECKING:
    from day1.model.branches.branch import Branch
    from day1.model.values.callbacks import ReportProgress
    from day1.services.exchange.imported import Imported

_TOOLS = {
    "claude-code": "Import the memory that Claude Code keeps of this project.",
    "codex": "Import the memory of Codex: its handbook, and its summaries of sessions.",
    "basic-memory": "Import the notes of basic-memory: its observations and relations.",
    "claude-mem": "Import what claude-mem noted of sessions: its database or its export.",
    "mem0": "Import mem0's history, each event as a commit; or what its get_all answers.",
    "mcp-memory-service": "Import the memories of mcp-memory-service: database or export.",
    "engram": "Import engram's observations: its database, its chunks, or its export.",
    "beads": "Import the memories among the issues of beads.",
    "letta": "Import what a Letta agent remembers: an .af file, or the folder of its memory.",
    "claude-ai": "Import what Claude.ai remembers: memories.json, or the export's zip file.",
    "lines": "Import lines `[date] - text`, as any chat prints what it remembers; `-` reads stdin.",
}
"""The help of each tool whose memory is imported as a review, in the order of the help."""


@click.group("import")
def import_command() -> None:
    """Bring memories in. A second run adds new ones and updates those that changed at the source.

    Memories that were edited, removed, redacted or held here since are left as they are, and
    listed.
    """


def _importing(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of an import that writes directly, without a review."""
    no_index_option = click.option(
        "--no-index", is_flag=True, help="Leave the index to the next search."
    )
    return no_index_option(branch_option(agent_option(command)))


def _paths(metavar: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the argument of an import from one or more files."""
    path_type = click.Path(path_type=Path)
    return click.argument("paths", metavar=metavar, nargs=-1, required=True, type=path_type)


def _from_tools(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of an import from a tool's own memory."""
    for option in (
        click.option("--no-index", is_flag=True, help="Leave the index to the next search."),
        click.option("--sensitive", is_flag=True, help="Also what the tool calls sensitive."),
        click.option("--all-projects", is_flag=True, help="Not only this folder's project."),
        click.option("--dry-run", is_flag=True, help="Show counts and samples, change nothing."),
        click.option("--into", metavar="BRANCH", help="Review for it. Default: the current one."),
    ):
        command = option(command)
    return agent_option(command)


@import_command.command("auto")
@click.option("-y", "--yes", is_flag=True, help="Import all that is found without asking.")
@_from_tools
@command
def import_auto(session: Session, **options: Any) -> None:
    """Look for the memory of other tools on this machine, and import what you confirm.

    What each tool has is imported onto a branch import/NAME-DATE, with a review opened for it.
    """
    import_found(session, options)


def _tool_command(name: str, summary: str) -> None:
    @import_command.command(
        name, help=f"{summary}\n\nIt lands on a branch of its own, as a review."
    )
    @click.argument(
        "paths", metavar="[PATH]...", nargs=-1, type=click.Path(path_type=Path, allow_dash=True)
    )
    @_from_tools
    @command
    def run(session: Session, paths: tuple[Path, ...], **options: Any) -> None:
        import_named(session, name, paths, options)


for _name, _summary in _TOOLS.items():
    _tool_command(_name, _summary)


@import_command.command("git")
@click.argument("path", type=click.Path(path_type=Path), default=Path())
@_importing
@command
def import_git(session: Session, path: Path, **options: Any) -> None:
    """Import the history of the git repository at PATH: commits, files, authors, tags."""
    _foreign(session, "git", [path], options)


@import_command.command("markdown")
@_paths("PATH...")
@_importing
@command
def import_markdown(session: Session, paths: tuple[Path, ...], **options: Any) -> None:
    """Import notes: each section of Markdown files, or of the notes in folders, is a fact."""
    _foreign(session, "markdown", list(paths), options)


@import_command.command("text")
@_paths("FILE...")
@_importing
@command
def import_text(session: Session, paths: tuple[Path, ...], **options: Any) -> None:
    """Import texts of any length: each file is one fact, a long one in parts found as one."""
    _foreign(session, "text", list(paths), options)


@import_command.command("graph")
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@_importing
@command
def import_graph(session: Session, path: Path, **options: Any) -> None:
    """Import the JSON Lines of a knowledge graph (the MCP reference memory server's file)."""
    _foreign(session, "graph", [path], options)


@import_command.command("jsonl")
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path, allow_dash=True))
@_importing
@command
def import_jsonl(session: Session, path: Path, **options: Any) -> None:
    """Import what `day1 export` wrote, with every column as it was; `-` reads stdin.

    An export of a store (--all) goes into the branches that it names.
    """
    from day1.services.access.calls import branch_of
    from day1.services.exchange.own_import import import_own

    context = session.context(create=True)
    branch = branch_of(context, options["branch"])

    def bring(report: ReportProgress) -> Imported:
        with lines_of(path) as lines:
            return import_own(context.repo, branch, lines, session.now(), report)

    _run(session, shown(path), branch, bring, options)


def _foreign(session: Session, kind: str, paths: list[Path], options: dict[str, Any]) -> None:
    from day1.services.access.calls import branch_of
    from day1.services.exchange.importing import import_foreign
    from day1.services.exchange.screening import WithoutSecrets

    context = session.context(create=True)
    branch = branch_of(context, options["branch"])
    # Ids come from paths relative to the folder around the store, not to the current one.
    source = session.app.sources.import_source(kind, paths, session.store().folder.parent)
    if session.settings.write.secrets == "refuse":
        source = WithoutSecrets(source)
    origin = session.origin(options["agent"])

    def bring(report: ReportProgress) -> Imported:
        return import_foreign(context.repo, branch, source, origin, report)

    _run(session, f"{kind} {' '.join(map(shown, paths))}", branch, bring, options)


def _run(
    session: Session,
    what: str,
    branch: Branch,
    bring: Callable[[ReportProgress], Imported],
    options: dict[str, Any],
) -> None:
    """Import with a progress bar, print the counts, and update the index."""
    from day1.services.branches.lookup import find

    with session.screen.progress("Importing") as report_progress:
        import_result = bring(report_progress)
    session.answer(imported(session, branch.name, import_result, f"{what} "))
    if not options["no_index"]:
        other_branches = (
            find(session.repo(), branch_name)
            for branch_name in import_result.branches
            if branch_name != branch.name
        )
        bring_up(session, branch, *other_branches)
