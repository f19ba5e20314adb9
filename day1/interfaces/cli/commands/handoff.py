"""`day1 handoff`: hand what one branch found out over to another."""

from __future__ import annotations

from typing import Any

import click

from day1.interfaces.cli.render import short
from day1.interfaces.cli.session import Session, command


@click.group("handoff")
def handoff_command() -> None:
    """Handoffs freeze what one branch found out, for another branch."""


@handoff_command.command("create")
@click.argument("source")
@click.argument("target")
@click.option("--summary", metavar="TEXT", help="What the receiver should know.")
@click.option("--include-unverified", is_flag=True, help="Also facts that nobody has judged.")
@command
def handoff_create_command(session: Session, source: str, target: str, **options: Any) -> None:
    """Hand what SOURCE found out over to TARGET."""
    answer = session.call(
        "memory_handoff_create",
        source_branch=source,
        target_branch=target,
        context_summary=options["summary"],
        include_unverified=options["include_unverified"],
    )
    if not session.answer(answer):
        session.notes(answer)
        session.screen.line(f"Handoff {answer['handoff_id']}: {answer['context_summary']}")


@handoff_command.command("show")
@click.argument("handoff")
@command
def handoff_show_command(session: Session, handoff: str) -> None:
    """Show HANDOFF with its facts and messages, as they were when it was made."""
    answer = session.call("memory_handoff_get", handoff_id=handoff)
    if session.answer(answer):
        return
    session.screen.line(answer["context_summary"])
    for fact in answer["facts"]:
        session.screen.line((short(fact["id"]), "id"), f"  {fact['fact_text']}")
    for conversation in answer["conversations"]:
        session.screen.line(f"{conversation['title'] or conversation['conversation_id']}:")
        for message in conversation["messages"]:
            session.screen.line(f"  {message['role']}: {message['content']}")
