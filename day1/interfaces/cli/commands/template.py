"""`day1 template`: keep a branch to begin new work from."""

from __future__ import annotations

from typing import Any

import click

from day1.interfaces.cli.options import (
    branch_option,
    deprecated_option,
    description_option,
    tags_option,
)
from day1.interfaces.cli.render import plural
from day1.interfaces.cli.session import Session, command


@click.group("template")
def template_command() -> None:
    """Templates are kept versions of a branch, to begin new work from."""


@template_command.command("create")
@click.argument("name")
@description_option
@click.option("--type", "types", multiple=True, metavar="NAME", help="For tasks of this type.")
@tags_option
@branch_option
@command
def template_create_command(session: Session, name: str, **options: Any) -> None:
    """Keep a branch as template NAME; a name that exists gets its next version."""
    answer = session.call(
        "memory_template_create",
        name=name,
        source_branch=session.branch(options["branch"]),
        description=options["description"],
        applicable_task_types=list(options["types"]) or None,
        tags=list(options["tags"]) or None,
    )
    if not session.answer(answer):
        facts_text = plural(answer["fact_count"], "fact")
        session.screen.line(f"Template {name} version {answer['version']}: {facts_text}")


@template_command.command("list")
@click.option("--type", "task_type", metavar="NAME", help="For tasks of this type.")
@deprecated_option
@command
def template_list_command(session: Session, task_type: str | None, *, deprecated: bool) -> None:
    """List templates, the newest first."""
    status = "deprecated" if deprecated else "active"
    answer = session.call("memory_template_list", task_type=task_type, status=status, limit=200)
    if not session.answer(answer):
        table_rows = [
            (
                template["name"],
                str(template["version"]),
                str(template["fact_count"]),
                template["branch_name"],
            )
            for template in answer["templates"]
        ]
        session.screen.table(("template", "version", "facts", "branch"), table_rows)


@template_command.command("use")
@click.argument("name")
@click.argument("branch")
@click.option("--task", metavar="ID", help="The task that the branch is for.")
@command
def template_use_command(session: Session, name: str, branch: str, task: str | None) -> None:
    """Fork BRANCH from the newest version of template NAME."""
    answer = session.call(
        "memory_template_instantiate", template_name=name, target_branch_name=branch, task_id=task
    )
    if not session.answer(answer):
        facts_text = plural(answer["facts_inherited"], "fact")
        session.screen.line(
            f"Branch {branch} with {facts_text} of {name} {answer['template_version']}"
        )


@template_command.command("deprecate")
@click.argument("name")
@click.option("--version", type=int, metavar="N", help="Default: every version.")
@command
def template_deprecate_command(session: Session, name: str, version: int | None) -> None:
    """Take template NAME out of use; its branches stay readable."""
    answer = session.call("memory_template_deprecate", name=name, version=version)
    if not session.answer(answer, "name", "versions"):
        session.screen.line(f"Deprecated {plural(len(answer['versions']), 'version')} of {name}")
