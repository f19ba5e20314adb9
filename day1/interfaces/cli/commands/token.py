"""`day1 token`: make, list and take back tokens for HTTP."""

from __future__ import annotations

from typing import Any

import click

from day1.interfaces.cli.render import plural
from day1.interfaces.cli.session import Session, command


@click.group("token")
def token_command() -> None:
    """Make, list and take back the tokens that `day1 serve` lets in."""


@token_command.command("create")
@click.argument("name")
@click.option(
    "--scope",
    type=click.Choice(["read", "write", "merge", "admin"]),
    default="write",
    show_default=True,
    help="Each includes those before it.",
)
@click.option(
    "--branch", "branches", multiple=True, metavar="PATTERN", help="Only these: 'task/*'."
)
@click.option("--agent", metavar="NAME", help="It writes as this agent only.")
@click.option("--days", type=click.IntRange(1, 3_650), help="Days until it expires.")
@command
def create_command(session: Session, name: str, **options: Any) -> None:
    """Make a token. It is shown only once, because the store keeps only its hash.

    From the first token on, every call over HTTP needs one.
    """
    answer = session.call(
        "token_create",
        name=name,
        scope=options["scope"],
        branches=list(options["branches"]),
        agent_id=options["agent"],
        days=options["days"],
    )
    if not session.answer(answer):
        session.screen.line(answer["secret"])
        session.screen.note("Shown this once. Send it as `Authorization: Bearer ...`.")


@token_command.command("list")
@command
def list_command(session: Session) -> None:
    """List all tokens, also those that were revoked; secrets are not kept."""
    answer = session.call("token_list")
    if not session.answer(answer):
        session.screen.table(
            ("name", "scope", "branches", "agent", "state", "made"),
            [
                (
                    token["name"],
                    token["scope"],
                    ", ".join(token["branches"]) or "all",
                    token["agent_id"] or "",
                    token["state"],
                    token["created_at"][:16],
                )
                for token in answer["result"]
            ],
        )


@token_command.command("revoke")
@click.argument("name")
@command
def revoke_command(session: Session, name: str) -> None:
    """Revoke a token, by name or id: it gives no access from now on.

    Schedules that it made go on: each belongs to its agent.
    """
    answer = session.call("token_revoke", name=name)
    if not session.answer(answer):
        session.screen.line(f"{answer['name']} gives no access any more.")
        session.screen.line(f"{plural(answer['live'], 'live token')} left.")
        if answer["schedules"]:
            schedules_text = plural(answer["schedules"], "schedule")
            session.screen.line(f"It made {schedules_text}, which go on: /review/jobs pauses them.")
