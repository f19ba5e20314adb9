"""`day1 bundle export` and `day1 bundle import`: bundles as files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from day1.interfaces.cli.files import lines_of, write_file, write_lines
from day1.interfaces.cli.indexing import bring_up
from day1.interfaces.cli.options import branch_option
from day1.interfaces.cli.render import plural
from day1.interfaces.cli.session import Session, command


@click.command("export")
@click.argument("bundle")
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))
@command
def bundle_export_command(session: Session, bundle: str, file: Path | None) -> None:
    """Write BUNDLE to FILE (default: stdout)."""
    from day1.services.sharing.bundles import export_bundle

    if session.as_json and file is None:
        raise click.UsageError("--json needs a FILE: without one, stdout has the lines.")
    lines = export_bundle(session.repo(), bundle)
    if file is None:
        write_lines(lines, sys.stdout.buffer)
        return
    line_count = write_file(lines, file)
    if not session.answer({"file": str(file), "lines": line_count}):
        session.screen.line(f"Wrote {plural(line_count, 'line')} to {file}")


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--no-branch",
    is_flag=True,
    help="Copy no rows to a branch.",
)
@branch_option
@command
def bundle_import_command(session: Session, file: Path, **options: Any) -> None:
    """Take a bundle from FILE (`-` reads stdin), and copy its rows to a branch.

    FILE is read completely first: if it is damaged, it is refused and nothing is imported.
    """
    from day1.services.access.calls import branch_of
    from day1.services.sharing.bundles import take_bundle

    context = session.context(create=True)
    branch = branch_of(context, options["branch"])
    with lines_of(file) as lines:
        bundle = take_bundle(context.repo, lines, session.now())
    imported_document: dict[str, Any] = {"bundle_id": bundle.id, "name": bundle.name}
    if options["no_branch"]:
        if not session.answer(imported_document):
            session.screen.line(f"Took bundle {bundle.id} {bundle.name}")
        return
    answer = session.call("knowledge_bundle_import", bundle_id=bundle.id, target_branch=branch.name)
    if not session.answer({**imported_document, **answer}):
        session.screen.line(
            f"Imported {bundle.name} into {branch.name}: "
            f"{plural(answer['facts_imported'], 'fact')}, "
            f"{plural(answer['conversations_imported'], 'conversation')}; "
            f"{answer['skipped']:,} were there, {len(answer['left']):,} left as they are"
        )
    bring_up(session, branch)
