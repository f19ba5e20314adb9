"""`day1 add`: remember a fact, an observation or a relation."""

from __future__ import annotations

from typing import Any

import click

from day1.interfaces.cli.options import (
    agent_option,
    branch_option,
    expires_option,
    secret_option,
    space_option,
    valid_until_option,
)
from day1.interfaces.cli.render import one_line, short
from day1.interfaces.cli.session import Session, command

OBSERVATIONS = ("tool_use", "discovery", "decision", "error", "insight")


@click.command("add")
@click.argument("text", required=False)
@click.option(
    "-o",
    "--observation",
    metavar="TYPE",
    type=click.Choice(OBSERVATIONS),
    help="TEXT is an observation of this type.",
)
@click.option("--tool", metavar="NAME", help="With -o: the tool that was used.")
@click.option(
    "--relation", nargs=3, metavar="SOURCE TYPE TARGET", help="Link two entities, without TEXT."
)
@click.option("-c", "--category", metavar="NAME", help="Of a fact: bug_fix, preference …")
@click.option("--confidence", type=click.FloatRange(0, 1), help="Of a fact; default 1.")
@click.option("--happened-at", metavar="TIME", help="When it was true or took place.")
@valid_until_option
@space_option
@expires_option
@secret_option
@click.option("--request-id", metavar="ID", help="Run again with the same ID, it is added once.")
@branch_option
@agent_option
@command
def add_command(session: Session, text: str | None, **options: Any) -> None:
    """Remember TEXT as a fact; with `-` TEXT is read from stdin, without it from an editor.

    `-o TYPE` makes it an observation (tool_use, discovery, decision, error, insight);
    `--relation` links two entities instead. Facts that name their subject and date are
    found best.
    """
    common = {
        "branch": options["branch"],
        "agent_id": options["agent"],
        "happened_at": session.moment(options["happened_at"]),
        "request_id": options["request_id"],
        "space": options["space"],
    }
    _check_options(text, options)
    text_added, answer = _added(session, text, options, common)
    if not session.answer(answer):
        where = f"[{answer['written']['branch']}] "
        session.screen.line((where, "branch"), (answer["id"], "commit"), f" {_head(text_added)}")
        twin = answer.get("near_duplicate_of")
        if twin:
            session.screen.note(("note: ", "dim"), f"{short(twin)} says exactly the same")
    session.notes(answer)


def _added(
    session: Session, text: str | None, options: dict[str, Any], common: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Add the memory by its kind's operation; return its text and the operation's answer."""
    until = session.moment(options["valid_until"])
    kept = {
        "expires_at": session.moment(options["expires_at"]),
        "sensitivity": options["sensitivity"],
    }
    relation = options["relation"]
    if relation:
        source, relation_type, target = relation
        said = f"{source} -{relation_type}-> {target}"
        ends = {"source_entity": source, "target_entity": target}
        answer = session.call(
            "memory_write_relation",
            create=True,
            relation_type=relation_type,
            valid_until=until,
            **ends,
            **common,
        )
    elif options["observation"]:
        said = session.memory_text(text)
        answer = session.call(
            "memory_write_observation",
            create=True,
            observation_type=options["observation"],
            summary=said,
            tool_name=options["tool"],
            **common,
            **kept,
        )
    else:
        said = session.memory_text(text)
        answer = session.call(
            "memory_write_fact",
            create=True,
            fact_text=said,
            category=options["category"],
            confidence=options["confidence"],
            valid_until=until,
            **common,
            **kept,
        )
    return said, answer


def _check_options(text: str | None, options: dict[str, Any]) -> None:
    """Refuse options that would have no effect."""
    if options["relation"] and (text is not None or options["observation"]):
        raise click.UsageError("--relation takes no TEXT and no -o.")
    of_facts = [name for name in ("category", "confidence") if options[name] is not None]
    if of_facts and (options["relation"] or options["observation"]):
        raise click.UsageError(f"--{of_facts[0]} is of facts only.")
    if options["relation"] and (options["expires_at"] or options["sensitivity"]):
        raise click.UsageError("--expires-at and --sensitivity do not go with --relation.")
    if options["observation"] and options["valid_until"]:
        raise click.UsageError("--valid-until is of facts and relations only.")
    if options["tool"] and not options["observation"]:
        raise click.UsageError("--tool goes with -o.")


def _head(text: str, most: int = 72) -> str:
    line = one_line(text)
    return line if len(line) <= most else line[: most - 1] + "…"
