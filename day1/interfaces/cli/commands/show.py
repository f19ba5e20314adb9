"""`day1 show`: a memory, a commit or a snapshot."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from day1.interfaces.cli.moments import brief
from day1.interfaces.cli.options import at_option, branch_option
from day1.interfaces.cli.session import Session, command

if TYPE_CHECKING:
    from day1.services.branches.resolving import NamedState


@click.command("show")
@click.argument("name")
@click.option("--history", is_flag=True, help="With a memory: show every edit.")
@at_option
@branch_option
@click.option("--space", metavar="NAME", help="The space of a secret memory, to see its text.")
@command
def show_command(session: Session, name: str, **options: Any) -> None:
    """Show a memory with the author of each part, or the changes of a commit.

    NAME is a memory's id, or a commit, a snapshot or a branch (its tip).
    """
    from day1.errors import Advice, NotFound
    from day1.services.branches.resolving import state

    try:
        target = state(session.repo(), name)
    except NotFound as no_state_error:
        try:
            _show_row(session, name, options)
        except NotFound as no_row_error:
            advice = Advice.joined((no_row_error.advice, no_state_error.advice))
            raise NotFound(advice, name=name) from no_row_error
    else:
        _show_state(session, target)


def _show_state(session: Session, target: NamedState) -> None:
    """Show a commit with its changes; a snapshot's name comes before it."""
    from day1.interfaces.cli.diffing import change_documents, draw_changes, draw_commit
    from day1.model.rows.change import Ref
    from day1.model.values.instant import show

    repo = session.repo()
    commit = repo.history.commit(target.commit)
    changes_by_table = {}
    if commit.parents:
        changes_by_table = repo.history.changes(commit.parents[0], Ref(commit=commit.id))
    documents_by_change = change_documents(repo, Ref(commit=commit.id), changes_by_table)
    document = {
        "type": target.how,
        "name": target.name,
        "commit": commit.id,
        "parents": list(commit.parents),
        "op": commit.op,
        "author": commit.author,
        "at": show(commit.ts),
        "line": commit.line,
        "meta": dict(commit.meta),
        "changes": documents_by_change,
    }
    if session.answer(document):
        return
    screen = session.screen
    if target.snapshot is not None:
        screen.line("snapshot ", (target.name, "branch"), f"  {target.snapshot.id}")
        screen.line(f"Taken:  {brief(show(target.snapshot.created_at))}")
    screen.line(("commit ", "commit"), (commit.id, "commit"))
    draw_commit(screen, commit)
    screen.line()
    draw_changes(screen, documents_by_change)


def _show_row(session: Session, name: str, options: dict[str, Any]) -> None:
    from day1.errors import NotFound
    from day1.model.rows.change import Query, Ref
    from day1.model.rows.kind import kind_of
    from day1.model.values.instant import parse, show
    from day1.model.values.space import asked_space
    from day1.services.access.calls import in_space
    from day1.services.branches.resolving import row_id
    from day1.services.rows.deriving import shown_edits
    from day1.services.rows.recording import authors
    from day1.services.rows.whole_texts import parts_around
    from day1.toolsets.shared.shown import shown

    branch, until_time = session.branch(options["branch"]), session.moment(options["at"], end=True)
    ref = Ref(branch=branch, until=None if until_time is None else parse(until_time))
    repo = session.repo()
    with repo.store.reading(ref) as reading:
        whole_id = row_id(reading, name)
        space = options["space"]
        kind = kind_of(whole_id)
        alive_query = Query(equal={"id": whole_id}, alive_at=repo.shown(ref).shown_at)
        rows = [] if kind is None else reading.find(kind, alive_query)
        if kind is None or not rows:
            raise NotFound(
                f"{whole_id} is not on branch {branch!r}: name its branch with --branch.",
                id=whole_id,
                branch=branch,
            )
        row = rows[0]
        space_columns = {} if space is None else in_space(session.context(), asked_space(space))
        is_own_space = space_columns == {"space": row.get("space")}
        edits = shown_edits(reading, [whole_id], repo.clock()) if options["history"] else []
        neighbour_query = Query(alive_at=repo.shown(ref).shown_at, public=not is_own_space)
        part_with_neighbours = parts_around(reading, kind, row, neighbour_query)
        state_read = {"branch": branch, "commit": reading.tip, "pending": reading.pending.count}
    author_by_cell = {
        cell: {"by": edit["agent_id"] or edit["source"], "at": show(int(edit["created_at"] or 0))}
        for cell, edit in authors(repo, ref, kind, row).items()
    }
    edit_documents = [
        {
            "cell": edit["cell"],
            "by": edit["agent_id"] or edit["source"],
            "at": show(int(edit["created_at"] or 0)),
            "reason": edit["reason"],
        }
        for edit in edits
    ]
    document = {
        **shown(kind, row, whole=is_own_space),
        "authors": author_by_cell,
        "read": state_read,
    }
    if part_with_neighbours is not None:
        document["part"] = asdict(part_with_neighbours)
    if options["history"]:
        document["edits"] = edit_documents
    if not session.answer(document):
        _draw_row(session, document, kind.text, edit_documents)


def _draw_row(
    session: Session, row: dict[str, Any], text: str | None, edits: list[dict[str, Any]]
) -> None:
    screen = session.screen
    screen.line((f"{row['type']} {row['id']}", "commit"))
    unlisted_keys = {"type", "id", "authors", "read", "edits", "part", text}
    for part_field, value in row.get("part", {}).items():
        if value is not None:
            screen.line(f"{part_field + ':':<16}{value}")
    for column, value in row.items():
        if column not in unlisted_keys and value is not None:
            author = row["authors"].get(column)
            author_note = () if author is None else ((f"   {_by(author)}", "dim"),)
            screen.line(f"{column + ':':<16}{value}", *author_note)
    for edit in edits:
        reason_text = f": {edit['reason']}" if edit["reason"] else ""
        screen.line((f"edit of {edit['cell']}", "changed"), f"{reason_text}   ", (_by(edit), "dim"))
    if text is not None:
        author = row["authors"].get(text)
        screen.line()
        for text_line in str(row[text]).splitlines():
            screen.line(f"    {text_line}")
        if author is not None:
            screen.line((f"    {_by(author)}", "dim"))


def _by(author: dict[str, Any]) -> str:
    return f"{author['by']}, {brief(author['at'])}"
