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
from day1.interfaces.cli.session import Session, command
from day1.model.rows.kind import FACT, Kind, kind_of, revision


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
@click.option(
    "--keep-valid-time", is_flag=True, help="With --supersede: the old fact was never true."
)
@click.option("-m", "--reason", metavar="TEXT", help="Why.")
@branch_option
@agent_option
@command
def edit_command(session: Session, fact_id: str, text: str | None, **options: Any) -> None:
    """Correct the fact ID; without TEXT and options its text opens in your editor.

    Options also change the columns of relations and observations. With --supersede the old fact
    stays; it is marked, search leaves it out, and its valid time ends.
    """
    if options["keep_valid_time"] and not options["supersede"]:
        raise click.UsageError("--keep-valid-time can be used with --supersede only.")
    kind, row = _row(session, session.branch(options["branch"]), fact_id)
    columns = {name: options[name] for name in ("category", "confidence")}
    for name in ("happened_at", "valid_until", "expires_at"):
        columns[name] = session.moment(options[name])
    columns |= {name: options[name] for name in ("space", "sensitivity")}
    has_no_column = not any(column_value is not None for column_value in columns.values())
    text = _text(session, kind, row, text, required=options["supersede"] or has_no_column)
    common_arguments = {
        "fact_id": row["id"],
        "fact_text": text,
        "branch": options["branch"],
        "reason": options["reason"],
        "agent_id": options["agent"],
    }
    if options["supersede"]:
        answer = session.call(
            "memory_supersede_fact", **common_arguments, **_superseding(columns, options)
        )
    else:
        revision_read = revision(kind, row)
        answer = session.call(
            "memory_update_fact", **common_arguments, **columns, expect_revision=revision_read
        )
    if not session.answer(answer):
        summary_line = f"{short(answer['id'])} changed"
        if options["supersede"]:
            summary_line = f"{answer['id']} supersedes {short(answer['superseded'])}"
        session.screen.line(place(answer["written"]), summary_line)
        if answer["decides_held"]:
            session.screen.line("This decided its held items.")
    session.notes(answer)


def _superseding(columns: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Return the new fact's columns, and whether the old one keeps its valid time."""
    for option_name in ("expires_at", "space", "sensitivity"):
        if columns.pop(option_name) is not None:
            raise click.UsageError(
                f"--{option_name.replace('_', '-')} cannot be used with --supersede."
            )
    return {**columns, "keep_valid_time": options["keep_valid_time"]}


def _text(
    session: Session, kind: Kind, row: dict[str, Any], text: str | None, *, required: bool
) -> str | None:
    """Return the new text: the argument, or with `required` what the editor leaves."""
    if kind is not FACT and (required or text is not None):
        raise Refused(
            "Only a fact's text can be edited: `day1 rm` this memory, and add it anew.",
            id=row["id"],
        )
    if text is not None:
        return session.memory_text(text) if text == "-" else text
    if not required:
        return None
    if row["sensitivity"] == "secret":
        raise click.UsageError("Give TEXT: the words of a secret fact are shown nowhere.")
    return _edited(session, str(row["fact_text"]))


def _row(session: Session, branch: str, text: str) -> tuple[Kind, dict[str, Any]]:
    from day1.model.rows.change import Query, Ref
    from day1.services.branches.resolving import row_id

    with session.repo().store.reading(Ref(branch=branch)) as reading:
        full_id = row_id(reading, text)
        kind = kind_of(full_id) or FACT
        rows = reading.find(kind, Query(equal={"id": full_id}, alive_at=session.now()))
    if not rows:
        raise InvalidRequest(
            f"{full_id} has expired or is not on branch {branch!r}: name the branch with --branch.",
            id=full_id,
            branch=branch,
        )
    return kind, dict(rows[0])


def _edited(session: Session, text: str) -> str:
    if not session.asks:
        raise click.UsageError("Missing argument 'TEXT' (`-` reads it from stdin).")
    edited_text = click.edit(text + "\n")
    if edited_text is None or not edited_text.strip() or edited_text.strip() == text.strip():
        raise Refused("The editor left the same text or none, so nothing was changed.")
    return edited_text.strip()
