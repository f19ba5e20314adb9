"""What is made to be handed on: template, bundle, handoff."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from day1.interfaces.cli.files import lines_of, write_file, write_lines
from day1.interfaces.cli.indexing import bring_up
from day1.interfaces.cli.render import plural, short
from day1.interfaces.cli.session import Session, branch_option, porcelain

_every = click.option("--deprecated", is_flag=True, help="Those that are out of use.")

_description = click.option("--description", metavar="TEXT", help="What it holds; lists show it.")
_tags = click.option("--tag", "tags", multiple=True, metavar="NAME", help="Repeatable.")


@click.group("template")
def template_command() -> None:
    """Templates: versions of a branch to begin new work from."""


@template_command.command("create")
@click.argument("name")
@_description
@click.option("--type", "types", multiple=True, metavar="NAME", help="For tasks of this type.")
@_tags
@branch_option
@porcelain
def template_create_command(session: Session, name: str, **given: Any) -> None:
    """Keep a branch as template NAME; a name that exists gets its next version."""
    answer = session.call(
        "memory_template_create",
        name=name,
        source_branch=session.branch(given["branch"]),
        description=given["description"],
        applicable_task_types=list(given["types"]) or None,
        tags=list(given["tags"]) or None,
    )
    if not session.answer(answer):
        facts = plural(answer["fact_count"], "fact")
        session.screen.line(f"Template {name} version {answer['version']}: {facts}")


@template_command.command("list")
@click.option("--type", "task_type", metavar="NAME", help="For tasks of this type.")
@_every
@porcelain
def template_list_command(session: Session, task_type: str | None, *, deprecated: bool) -> None:
    """List templates, the newest first."""
    status = "deprecated" if deprecated else "active"
    answer = session.call("memory_template_list", task_type=task_type, status=status, limit=200)
    if not session.answer(answer):
        rows = [
            (t["name"], str(t["version"]), str(t["fact_count"]), t["branch_name"])
            for t in answer["templates"]
        ]
        session.screen.table(("template", "version", "facts", "branch"), rows)


@template_command.command("use")
@click.argument("name")
@click.argument("branch")
@click.option("--task", metavar="ID", help="The task that the branch is for.")
@porcelain
def template_use_command(session: Session, name: str, branch: str, task: str | None) -> None:
    """Fork BRANCH from the newest version of template NAME."""
    answer = session.call(
        "memory_template_instantiate", template_name=name, target_branch_name=branch, task_id=task
    )
    if not session.answer(answer):
        facts = plural(answer["facts_inherited"], "fact")
        session.screen.line(f"Branch {branch} with {facts} of {name} {answer['template_version']}")


@template_command.command("deprecate")
@click.argument("name")
@click.option("--version", type=int, metavar="N", help="Default: every version.")
@porcelain
def template_deprecate_command(session: Session, name: str, version: int | None) -> None:
    """Take template NAME out of use; its branches stay readable."""
    from day1.services.teams.templates import deprecate_template

    done = deprecate_template(session.repo(), name, version)
    if not session.answer({"name": name, "versions": [t.version for t in done]}):
        session.screen.line(f"Deprecated {plural(len(done), 'version')} of {name}")


@click.group("bundle")
def bundle_command() -> None:
    """Bundles: knowledge to be carried to other branches and other stores."""


@bundle_command.command("create")
@click.argument("name")
@click.option(
    "--all", "every", is_flag=True, help="Also facts that nobody verified, and relations."
)
@_description
@_tags
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
@_every
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
    from day1.services.exchange.bundles import export_bundle

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

    FILE is read whole first: what is not sound is refused, and nothing is taken.
    """
    from day1.services.exchange.bundles import take_bundle

    context = session.context(create=True)
    branch = context.branch(given["branch"])
    with lines_of(file) as lines:
        bundle = take_bundle(context.repo, lines, session.now())
    taken: dict[str, Any] = {"bundle_id": bundle.id, "name": bundle.name}
    if given["no_branch"]:
        if not session.answer(taken):
            session.screen.line(f"Took bundle {bundle.id} {bundle.name}")
        return
    answer = session.call("knowledge_bundle_import", bundle_id=bundle.id, target_branch=branch)
    if not session.answer({**taken, **answer}):
        session.screen.line(
            f"Imported {bundle.name} into {branch}: {plural(answer['facts_imported'], 'fact')}, "
            f"{plural(answer['conversations_imported'], 'conversation')}; "
            f"{answer['skipped']:,} were there, {len(answer['left']):,} left as they are"
        )
    bring_up(session, branch)


@bundle_command.command("deprecate")
@click.argument("bundle")
@porcelain
def bundle_deprecate_command(session: Session, bundle: str) -> None:
    """Take BUNDLE out of use; it can still be imported by its id."""
    from day1.services.exchange.bundles import deprecate_bundle

    done = deprecate_bundle(session.repo(), bundle)
    if not session.answer({"bundle_id": done.id, "status": done.status}):
        session.screen.line(f"Deprecated {done.id} {done.name}")


@click.group("handoff")
def handoff_command() -> None:
    """Handoffs: what one branch found out, frozen for another."""


@handoff_command.command("create")
@click.argument("source")
@click.argument("target")
@click.option("--summary", metavar="TEXT", help="What the receiver should know.")
@click.option("--include-unverified", is_flag=True, help="Also facts that nobody has judged.")
@porcelain
def handoff_create_command(session: Session, source: str, target: str, **given: Any) -> None:
    """Hand what SOURCE found out over to TARGET."""
    answer = session.call(
        "memory_handoff_create",
        source_branch=source,
        target_branch=target,
        context_summary=given["summary"],
        include_unverified=given["include_unverified"],
    )
    if not session.answer(answer):
        session.notes(answer)
        session.screen.line(f"Handoff {answer['handoff_id']}: {answer['context_summary']}")


@handoff_command.command("show")
@click.argument("handoff")
@porcelain
def handoff_show_command(session: Session, handoff: str) -> None:
    """Show a handoff as it was made."""
    answer = session.call("memory_handoff_get", handoff_id=handoff)
    if session.answer(answer):
        return
    session.screen.line(answer["context_summary"])
    for fact in answer["facts"]:
        session.screen.line((short(fact["id"]), "id"), f"  {fact['fact_text']}")
    for talk in answer["conversations"]:
        session.screen.line(f"{talk['title'] or talk['conversation_id']}:")
        for message in talk["messages"]:
            session.screen.line(f"  {message['role']}: {message['content']}")
