"""`day1 bundle`: carry knowledge to other branches and stores."""

from __future__ import annotations

from typing import Any

import click

from day1.interfaces.cli.maintenance.bundle_files import (
    bundle_export_command,
    bundle_import_command,
)
from day1.interfaces.cli.options import (
    branch_option,
    deprecated_option,
    description_option,
    tags_option,
)
from day1.interfaces.cli.render import plural
from day1.interfaces.cli.session import Session, command


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
@command
def bundle_create_command(session: Session, name: str, **options: Any) -> None:
    """Bundle the facts and conversations of a branch as NAME."""
    answer = session.call(
        "knowledge_bundle_create",
        name=name,
        source_branch=session.branch(options["branch"]),
        description=options["description"],
        tags=list(options["tags"]) or None,
        only_verified=not options["every"],
    )
    if not session.answer(answer):
        session.notes(answer)
        session.screen.line(f"Bundle {answer['id']}: {plural(answer['fact_count'], 'fact')}")


@bundle_command.command("list")
@deprecated_option
@command
def bundle_list_command(session: Session, *, deprecated: bool) -> None:
    """List bundles, the newest first."""
    status = "deprecated" if deprecated else "active"
    answer = session.call("knowledge_bundle_list", status=status, limit=200)
    if not session.answer(answer):
        table_rows = [
            (bundle["id"], str(bundle["fact_count"]), bundle["source_branch"], bundle["name"])
            for bundle in answer["bundles"]
        ]
        session.screen.table(("bundle", "facts", "from", "name"), table_rows)


bundle_command.add_command(bundle_export_command)
bundle_command.add_command(bundle_import_command)


@bundle_command.command("deprecate")
@click.argument("bundle")
@command
def bundle_deprecate_command(session: Session, bundle: str) -> None:
    """Take BUNDLE out of use; it can still be imported by its id."""
    answer = session.call("knowledge_bundle_deprecate", bundle_id=bundle)
    if not session.answer(answer, "bundle_id", "status"):
        session.screen.line(f"Deprecated {answer['bundle_id']} {answer['name']}")
