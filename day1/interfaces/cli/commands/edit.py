"""`day1 edit`: correct a fact, or put another in its place."""

from __future__ import annotations

from typing import Any

import click

from day1.errors import InvalidRequest, Refused
from day1.interfaces.cli.options import (
    agent_option,
    branch_option,
    expires_option,
    secret_option,
    space_option,
    valid_until_option,
)
from day1.interfaces.cli.render import place, short
from day1.interfaces.cli.session import Session, porcelain
from day1.interfaces.cli.texts import given_text
from day1.model.rows.kind import FACT


@click.command("edit")
@click.argument("fact_id", metavar="ID")
@click.argument("text", required=False)
@click.option("-c", "--category", metavar="NAME", help="The new category.")
@click.option("--confidence", type=click.FloatRange(0, 1), help="The new confidence.")
@click.option("--happened-at", metavar="TIME", help="The new time at which it was true.")
@valid_until_option
@space_option
@expires_option
@secret_option
@click.option("--supersede", is_flag=True, help="Add TEXT as a new fact in place of the old one.")
@click.option("-m", "--reason", metavar="TEXT", help="Why.")
@branch_option
@agent_option
@porcelain
def edit_command(session: Session, fact_id: str, text: str | None, **given: Any) -> None:
    """Correct the fact ID; without TEXT or options its text opens in your editor.

    With --supersede the old fact stays; it is marked, and search leaves it out.
    """
    row = _fact(session, session.branch(given["branch"]), fact_id)
    columns = {name: given[name] for name in ("category", "confidence")}
    for name in ("happened_at", "valid_until", "expires_at"):
        columns[name] = session.moment(given[name])
    columns |= {name: given[name] for name in ("space", "sensitivity")}
    text = given_text(session, text) if text == "-" else text
    if text is None and (given["supersede"] or not any(v is not None for v in columns.values())):
        if row["sensitivity"] == "secret":
            raise click.UsageError("Give TEXT: the words of a secret fact are shown nowhere.")
        text = _edited(session, str(row["fact_text"]))
    common = {
        "fact_id": row["id"],
        "fact_text": text,
        "branch": given["branch"],
        "reason": given["reason"],
        "agent_id": given["agent"],
    }
    if given["supersede"]:
        for name in ("expires_at", "space", "sensitivity"):
            if columns.pop(name) is not None:
                raise click.UsageError(f"--{name.replace('_', '-')} does not go with --supersede.")
        answer = session.call("memory_supersede_fact", **common, **columns)
    else:
        expected = _revision(row)
        answer = session.call("memory_update_fact", **common, **columns, expect_revision=expected)
    if not session.answer(answer):
        said = f"{short(answer['id'])} changed"
        if given["supersede"]:
            said = f"{answer['id']} supersedes {short(answer['superseded'])}"
        session.screen.line(place(answer["written"]), said)
        if answer["decides_held"]:
            session.screen.line("This decided what was held of it.")
    session.notes(answer)


def _fact(session: Session, branch: str, text: str) -> dict[str, Any]:
    from day1.model.rows.change import Ref
    from day1.services.branches.resolving import row_id

    with session.repo().store.reading(Ref(branch=branch)) as reading:
        whole = row_id(reading, text)
        row = reading.get(FACT, [whole]).get(whole)
    if row is None:
        if not whole.startswith(f"{FACT.prefix}_"):
            raise Refused("Only facts are edited; `day1 rm` it and add it anew.", id=whole)
        raise InvalidRequest(f"{whole} is not on branch {branch!r}.", id=whole, branch=branch)
    return dict(row)


def _revision(row: dict[str, Any]) -> str:
    from day1.model.rows.kind import revision

    return revision(FACT, row)


def _edited(session: Session, text: str) -> str:
    if not session.asks:
        raise click.UsageError("Missing argument 'TEXT' (`-` reads it from stdin).")
    written = click.edit(text + "\n")
    if written is None or not written.strip() or written.strip() == text.strip():
        raise Refused("The text was left as it is, so nothing changed.")
    return written.strip()
