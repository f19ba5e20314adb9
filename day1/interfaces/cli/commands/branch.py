"""`day1 branch`: list, create, delete, revive, archive or protect branches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from day1.interfaces.cli.render import Part
from day1.interfaces.cli.session import Session, command
from day1.model.values.showing import short_commit


@click.command("branch")
@click.argument("name", required=False)
@click.argument("start", required=False)
@click.option("-d", "--delete", is_flag=True, help="Delete NAME, if another branch has it all.")
@click.option("-D", "force", is_flag=True, help="Delete NAME even if no other branch has it all.")
@click.option(
    "--archive/--unarchive", "archives", default=None, help="Archive NAME, or bring it back."
)
@click.option("--revive", is_flag=True, help="Bring back NAME, which was deleted or retired.")
@click.option("--protect", metavar="LIST", help="NAME takes only merges: review,gate,other,tiers.")
@click.option(
    "--tier", "tiers", metavar="RULE", multiple=True, help="With --protect tiers: a rule."
)
@click.option("--unprotect", is_flag=True, help="NAME takes writes again.")
@click.option("--description", metavar="TEXT", help="Of a new branch.")
@click.option("--at", metavar="TIME", help="Create NAME as START was at TIME (ISO 8601).")
@click.option("-v", "--verbose", is_flag=True, help="List with commit, parent and description.")
@command
def branch_command(session: Session, name: str | None, start: str | None, **options: Any) -> None:
    """List branches; with NAME create one from START (default: the current branch).

    --revive brings a deleted branch back; an archived one is only hidden. A protected branch
    takes merges only: reviewed, of verified facts (gate), by a token other than the author's, or
    looked at as often as its rules say (tiers): --tier "none kind=observation" --tier
    "two category=policy".
    """
    is_deletion = options["delete"] or options["force"]
    is_protection = options["unprotect"] or options["protect"] is not None or bool(options["tiers"])
    is_archiving = options["archives"] is not None
    is_creation = bool(start or options["description"] or options["at"])
    action_flags = (is_deletion, options["revive"], is_archiving, is_protection, is_creation)
    if sum(action_flags) > 1:
        raise click.UsageError(
            "Create, delete, revive, archive or protect: give one of them at a time."
        )
    if name is None:
        if any(action_flags):
            raise click.UsageError("Which branch? Give its NAME.")
        _list(session, verbose=options["verbose"])
    elif is_deletion:
        _delete(session, name, force=options["force"])
    elif options["revive"]:
        _revive(session, name)
    elif is_protection:
        _protect(session, name, options)
    elif is_archiving:
        _archive(session, name, archived=options["archives"])
    else:
        answer = session.create_branch(name, start, options["description"], options["at"])
        if not session.answer(answer):
            time_phrase = f" as of {options['at']}" if options["at"] else ""
            created_line = (
                f"Branch {answer['branch_name']} created from {answer['parent']}{time_phrase}."
            )
            session.screen.line(created_line)


def _delete(session: Session, name: str, *, force: bool) -> None:
    answer = session.call("memory_branch_delete", branch_name=name, force=force)
    if not session.answer(answer, "branch_name", "deleted", "commit"):
        session.screen.line(f"Deleted branch {name} (was {short_commit(answer['commit'])}).")
        session.notes(answer)


def _revive(session: Session, name: str) -> None:
    answer = session.call("memory_branch_revive", branch_name=name, deleted=True)
    if not session.answer(answer, "branch_name", "revived"):
        outcome_phrase = "is back" if answer["revived"] else "was neither deleted nor retired"
        session.screen.line(f"Branch {name} {outcome_phrase}.")


def _archive(session: Session, name: str, *, archived: bool) -> None:
    answer = session.call("memory_branch_archive", branch_name=name, archived=archived)
    if not session.answer(answer, "branch_name", "archived"):
        session.screen.line(f"Branch {name} is {'archived' if archived else 'not archived'}.")


def _protect(session: Session, name: str, options: Mapping[str, Any]) -> None:
    requirements_text, tier_rules, is_unprotect = (
        options["protect"],
        list(options["tiers"]),
        options["unprotect"],
    )
    if is_unprotect and (tier_rules or requirements_text is not None):
        raise click.UsageError("Use --unprotect without --protect and --tier.")
    requirements = [
        requirement.strip()
        for requirement in (requirements_text or "").split(",")
        if requirement.strip()
    ]
    requirements += ["tiers"] if tier_rules and "tiers" not in requirements else []
    if not is_unprotect and not requirements:
        raise click.UsageError("--protect takes one or more of: review, gate, other, tiers.")
    answer = session.call(
        "memory_branch_protect", branch_name=name, requires=requirements, tiers=tier_rules or None
    )
    if session.answer(answer):
        return
    requirement_names = ", ".join(answer["requires"])
    protection_text = (
        f"takes only merges that fulfil: {requirement_names}"
        if requirement_names
        else "takes writes"
    )
    session.screen.line(f"Branch {name} {protection_text}.")
    for tier_rule in answer["tiers"]:
        session.screen.line(f"  {tier_rule}")


def _list(session: Session, *, verbose: bool) -> None:
    answer = session.call("memory_branch_list")
    if session.answer(answer):
        return
    if verbose:
        table_rows: list[list[Part]] = [
            [
                "*" if branch["active"] else " ",
                (branch["branch_name"], "branch"),
                (short_commit(branch["commit"]), "commit"),
                branch["status"],
                branch["parent"],
                branch["description"],
            ]
            for branch in answer["result"]
        ]
        session.screen.table(
            ("", "branch", "commit", "status", "parent", "description"), table_rows
        )
        return
    for branch in answer["result"]:
        status_note = "" if branch["status"] == "active" else f"  ({branch['status']})"
        styled_name: Part = branch["branch_name"]
        if branch["active"]:
            styled_name = (branch["branch_name"], "added")
        session.screen.line("* " if branch["active"] else "  ", styled_name, (status_note, "dim"))
