"""`day1 export`: write memories out as JSON Lines."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from day1.interfaces.cli.files import write_file, write_lines
from day1.interfaces.cli.options import at_option, branch_option
from day1.interfaces.cli.render import plural
from day1.interfaces.cli.session import Session, command


@click.command("export")
@click.option("--all", "every", is_flag=True, help="Every branch, with its notes.")
@click.option("--with-thinking", is_flag=True, help="Also the thinking of messages.")
@click.option("--with-secrets", is_flag=True, help="Also secret rows; the file says so.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write there; default: stdout.",
)
@at_option
@branch_option
@command
def export_command(session: Session, **options: Any) -> None:
    """Write a branch's memories as JSON Lines; the same rows give the same bytes.

    With --json a summary is printed, so the lines need a FILE.
    """
    from day1.model.rows.change import Ref
    from day1.model.values.instant import parse
    from day1.services.exchange.exporting import export_branch, export_store

    all_branches, until_time, output = (
        options["every"],
        session.moment(options["at"], end=True),
        options["output"],
    )
    if all_branches and (until_time or options["branch"]):
        raise click.UsageError("--all cannot be used with --branch or --at.")
    if session.as_json and output is None:
        raise click.UsageError("--json needs -o FILE: without it, stdout has the lines.")
    repo = session.repo()
    if options["with_secrets"]:
        session.context().caller.access.require("admin", "An export with secrets")
    content_options = {name: options[name] for name in ("with_thinking", "with_secrets")}
    if all_branches:
        lines = export_store(repo, **content_options)
    else:
        branch = session.branch(options["branch"])
        ref = Ref(branch=branch, until=None if until_time is None else parse(until_time))
        lines = export_branch(repo.store, repo.shown(ref), **content_options)
    if output is None:
        write_lines(lines, sys.stdout.buffer)
        return
    line_count = write_file(lines, output)
    if not session.answer({"file": str(output), "lines": line_count}):
        session.screen.line(f"Wrote {plural(line_count, 'line')} to {output}")
