"""`day1 bundle`: carry knowledge to other branches and stores."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from day1.interfaces.cli.files import lines_of, write_file, write_lines
from day1.interfaces.cli.indexing import bring_up
from day1.interfaces.cli.options import (
    branch_option,
    deprecated_option,
    description_option,
    tags_option,
)
from day1.interfaces.cli.render import plural
from day1.interfaces.cli.session import Session, porcelain


@click.group("bundle")
def bundle_command() -> None:
    """Bundles carry knowledge to other branches and other stores."""


@bundle_command.command("create")
@click.argument("name")
@click.option(
    "--all", "every", is_flag=True, help="Also facts that nobody verified, and relations."
)
@description_option
@tags_option
@branch_option
@porcelain
def bundle_create_command(session: Session, name: str, **given: Any) -> None:
    """Bundle the facts and conversations of a branch as NAME."""
    answer = session.call(
        "knowledge_bundle_create",
        name=name,
        source_branch=session.branch(given["branch"]),
        description=given["description"],
        tags=list(given["tags"]) or None,
        only_verified=not given["every"],
    )
    if not session.answer(answer):
        session.notes(answer)
        session.screen.line(f"Bundle {answer['id']}: {plural(answer['fact_count'], 'fact')}")


@bundle_command.command("list")
@deprecated_option
@porcelain
def bundle_list_command(session: Session, *, deprecated: bool) -> None:
    """List bundles, the newest first."""
    status = "deprecated" if deprecated else "active"
    answer = session.call("knowledge_bundle_list", status=status, limit=200)
    if not session.answer(answer):
        rows = [
            (b["id"], str(b["fact_count"]), b["source_branch"], b["name"])
            for b in answer["bundles"]
        ]
        session.screen.table(("bundle", "facts", "from", "name"), rows)


@bundle_command.command("export")
@click.argument("bundle")
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))
@porcelain
def bundle_export_command(session: Session, bundle: str, file: Path | None) -> None:
    """Write BUNDLE to FILE (default: stdout)."""
    from day1.services.sharing.bundles import export_bundle

    if session.as_json and file is None:
        raise click.UsageError("--json goes with a FILE: the lines go there.")
    lines = export_bundle(session.repo(), bundle)
    if file is None:
        write_lines(lines, sys.stdout.buffer)
        return
    count = write_file(lines, file)
    if not session.answer({"file": str(file), "lines": count}):
        session.screen.line(f"Wrote {plural(count, 'line')} to {file}")


@bundle_command.command("import")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--no-branch", is_flag=True, help="Only take it in; knowledge_bundle_import uses it.")
@branch_option
@porcelain
def bundle_import_command(session: Session, file: Path, **given: Any) -> None:
    """Take a bundle from FILE (`-` reads stdin), and copy its rows to a branch.

    FILE is read completely first: if it is damaged, it is refused and nothing is imported.
    """
    from day1.services.access.calls import branch_of
    from day1.services.sharing.bundles import take_bundle

    context = session.context(create=True)
    branch = branch_of(context, given["branch"])
    with lines_of(file) as lines:
        bundle = take_bundle(context.repo, lines, session.now())
    taken: dict[str, Any] = {"bundle_id": bundle.id, "name": bundle.name}
    if given["no_branch"]:
        if not session.answer(taken):
            session.screen.line(f"Took bundle {bundle.id} {bundle.name}")
        return
    answer = session.call("knowledge_bundle_import", bundle_id=bundle.id, target_branch=branch.name)
    if not session.answer({**taken, **answer}):
        session.screen.line(
            f"Imported {bundle.name} into {branch.name}: "
            f"{plural(answer['facts_imported'], 'fact')}, "
            f"{plural(answer['conversations_imported'], 'conversation')}; "
            f"{answer['skipped']:,} were there, {len(answer['left']):,} left as they are"
        )
    bring_up(session, branch)


@bundle_command.command("deprecate")
@click.argument("bundle")
@porcelain
def bundle_deprecate_command(session: Session, bundle: str) -> None:
    """Take BUNDLE out of use; it can still be imported by its id."""
    answer = session.call("knowledge_bundle_deprecate", bundle_id=bundle)
    if not session.answer(answer, "bundle_id", "status"):
        session.screen.line(f"Deprecated {answer['bundle_id']} {answer['name']}")
