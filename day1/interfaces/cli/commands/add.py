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
def add_command(session: Session, text: str | None, **given: Any) -> None:
    """Remember TEXT as a fact; with `-` TEXT is read from stdin, without it from an editor.

    `-o TYPE` makes it an observation (tool_use, discovery, decision, error, insight);
    `--relation` links two entities instead. Facts that name their subject and date are
    found best.
    """
    common = {
        "branch": given["branch"],
        "agent_id": given["agent"],
        "happened_at": session.moment(given["happened_at"]),
        "request_id": given["request_id"],
        "space": given["space"],
    }
    _check_options(text, given)
    said, answer = _added(session, text, given, common)
    if not session.answer(answer):
        where = f"[{answer['written']['branch']}] "
        session.screen.line((where, "branch"), (answer["id"], "commit"), f" {_head(said)}")
        twin = answer.get("near_duplicate_of")
        if twin:
            session.screen.note(("note: ", "dim"), f"{short(twin)} says exactly the same")
    session.notes(answer)


def _added(
    session: Session, text: str | None, given: dict[str, Any], common: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """What was said, and what the tool answered that took it."""
    until = session.moment(given["valid_until"])
    kept = {
        "expires_at": session.moment(given["expires_at"]),
        "sensitivity": given["sensitivity"],
    }
    relation = given["relation"]
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
    elif given["observation"]:
        said = session.given_text(text)
        answer = session.call(
            "memory_write_observation",
            create=True,
            observation_type=given["observation"],
            summary=said,
            tool_name=given["tool"],
            **common,
            **kept,
        )
    else:
        said = session.given_text(text)
        answer = session.call(
            "memory_write_fact",
            create=True,
            fact_text=said,
            category=given["category"],
            confidence=given["confidence"],
            valid_until=until,
            **common,
            **kept,
        )
    return said, answer


def _check_options(text: str | None, given: dict[str, Any]) -> None:
    """Refuse options that would have no effect."""
    if given["relation"] and (text is not None or given["observation"]):
        raise click.UsageError("--relation takes no TEXT and no -o.")
    of_facts = [name for name in ("category", "confidence") if given[name] is not None]
    if of_facts and (given["relation"] or given["observation"]):
        raise click.UsageError(f"--{of_facts[0]} is of facts only.")
    if given["relation"] and (given["expires_at"] or given["sensitivity"]):
        raise click.UsageError("--expires-at and --sensitivity do not go with --relation.")
    if given["observation"] and given["valid_until"]:
        raise click.UsageError("--valid-until is of facts and relations only.")
    if given["tool"] and not given["observation"]:
        raise click.UsageError("--tool goes with -o.")


def _head(text: str, most: int = 72) -> str:
    line = one_line(text)
    return line if len(line) <= most else line[: most - 1] + "…"
