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
@click.option("--tool", metavar="NAME", help="With --observation: the tool that was used.")
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
    _check_options(text, options)
    common_arguments = {
        "branch": options["branch"],
        "agent_id": options["agent"],
        "happened_at": session.moment(options["happened_at"]),
        "valid_until": session.moment(options["valid_until"]),
        "expires_at": session.moment(options["expires_at"]),
        "sensitivity": options["sensitivity"],
        "request_id": options["request_id"],
        "space": options["space"],
    }
    operation, summary, kind_arguments = _memory(session, text, options)
    answer = session.call(operation, create=True, **kind_arguments, **common_arguments)
    if not session.answer(answer):
        branch_label = f"[{answer['written']['branch']}] "
        session.screen.line(
            (branch_label, "branch"), (answer["id"], "commit"), f" {_head(summary)}"
        )
        twin_id = answer.get("near_duplicate_of")
        if twin_id:
            session.screen.note(("note: ", "dim"), f"{short(twin_id)} says exactly the same")
    session.notes(answer)


def _memory(
    session: Session, text: str | None, options: dict[str, Any]
) -> tuple[str, str, dict[str, Any]]:
    """Return the operation that adds the memory, its text, and the arguments of its kind."""
    if options["relation"]:
        source, relation_type, target = options["relation"]
        entities = {"source_entity": source, "target_entity": target}
        summary = f"{source} -{relation_type}-> {target}"
        return "memory_write_relation", summary, {"relation_type": relation_type, **entities}
    text = session.memory_text(text)
    if options["observation"]:
        observation_arguments = {
            "observation_type": options["observation"],
            "tool_name": options["tool"],
        }
        return "memory_write_observation", text, {"summary": text, **observation_arguments}
    columns = {name: options[name] for name in ("category", "confidence")}
    return "memory_write_fact", text, {"fact_text": text, **columns}


def _check_options(text: str | None, options: dict[str, Any]) -> None:
    """Refuse options that would have no effect."""
    if options["relation"] and (text is not None or options["observation"]):
        raise click.UsageError("--relation cannot be used with TEXT or --observation.")
    fact_options = [name for name in ("category", "confidence") if options[name] is not None]
    if fact_options and (options["relation"] or options["observation"]):
        raise click.UsageError(f"--{fact_options[0]} can be used for a fact only.")
    if options["relation"] and (options["expires_at"] or options["sensitivity"]):
        raise click.UsageError("--expires-at and --sensitivity cannot be used with --relation.")
    if options["observation"] and options["valid_until"]:
        raise click.UsageError("--valid-until can be used for a fact or a relation only.")
    if options["tool"] and not options["observation"]:
        raise click.UsageError("--tool can be used with --observation only.")


def _head(text: str, limit: int = 72) -> str:
    line = one_line(text)
    return line if len(line) <= limit else line[: limit - 1] + "…"
