"""Commands that look: status, search, show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from day1.interfaces.cli.moments import brief, day, since
from day1.interfaces.cli.render import plural, short
from day1.interfaces.cli.session import Session, at_option, branch_option, porcelain
from day1.model.values.showing import short_commit

if TYPE_CHECKING:
    from day1.services.branches.resolving import NamedState
    from day1.services.upkeep.doctor import IndexState


@click.command("status")
@branch_option
@porcelain
def status_command(session: Session, branch: str | None) -> None:
    """Say which branch you are on, what waits, what is held, and what to do next."""
    from day1.services.upkeep.doctor import index_state
    from day1.services.upkeep.status import branch_status

    store = session.store()
    with store.repo.ledger.steady():
        here = branch_status(store.repo, session.branch(branch))
        index = index_state(store.repo, store.search, here.state.branch)
    model = session.app.model_place(session.settings.embedder)
    document = {
        "branch": here.state.branch.name,
        "parent": here.state.parent,
        "status": here.state.status,
        "commit": here.state.tip,
        "pending": here.pending.count,
        "held": here.held,
        "ahead": here.ahead,
        "index": {
            "words_current": index.words_current,
            "pending_vectors": index.pending_vectors,
            "model": model,
        },
        "store": store.where,
    }
    if session.answer(document):
        return
    screen, name, parent = session.screen, here.state.branch.name, here.state.parent
    screen.line("On branch ", (name, "branch"), f" of {store.where}" if store.node else "")
    told: list[str] = [here.state.status] if here.state.status != "active" else []
    told += ["closed"] if here.state.branch.closed else []
    if told:
        screen.line(f"It is {' and '.join(told)}.")
    if here.pending.count:
        waiting = since(here.pending.oldest or 0, session.now())
        screen.line(
            f"{plural(here.pending.count, 'row')} stored, waiting for a commit (first {waiting})"
        )
    else:
        screen.line("Everything is committed.")
    if here.held:
        screen.line((plural(here.held, "held item"), "warn"), ' (use "day1 held" to decide)')
    if parent and here.ahead:
        parts = ", ".join(f"{count:,} {how}" for how, count in sorted(here.ahead.items()))
        screen.line(f"Ahead of {parent}: {parts}")
        merge = f', "day1 merge {name} --into {parent}" to merge'
        screen.line(f'  (use "day1 diff" to see{"" if here.state.branch.closed else merge})')
    elif parent:
        screen.line(f"Nothing that {parent} does not have.")
    _say_index(session, index, model)


def _say_index(session: Session, index: IndexState, model: str | None) -> None:
    screen = session.screen
    if session.settings.embedder.kind == "none":
        screen.line("Search is by keywords, by setting.")
    elif model is None:
        screen.line('Search is by keywords (use "day1 model install" for search by meaning)')
    elif index.pending_vectors:
        texts = plural(index.pending_vectors, "text")
        screen.line(f'{texts} without a vector yet (use "day1 search --wait")')


@click.command("search")
@click.argument("query")
@click.option("--mode", type=click.Choice(["hybrid", "vector", "keyword"]), help="Default: hybrid.")
@click.option("-n", "limit", type=click.IntRange(1, 200), help="At most so many; default 10.")
@click.option("-c", "--category", metavar="NAME", help="Facts of this category only.")
@click.option("--after", metavar="TIME", help="Happened then or later.")
@click.option("--before", metavar="TIME", help="Happened then or earlier.")
@click.option("--all-types", is_flag=True, help="Observations too.")
@click.option("--all-states", is_flag=True, help="Superseded and archived facts too.")
@click.option("--wait", is_flag=True, help="First give every new text its vector.")
@at_option
@branch_option
@porcelain
def search_command(session: Session, query: str, **given: Any) -> None:
    """Find memories on a branch by meaning and by words, best first."""
    if given["wait"]:
        from day1.interfaces.cli.indexing import bring_up

        bring_up(session, session.branch(given["branch"]))
    window = {
        "after": session.moment(given["after"]),
        "before": session.moment(given["before"], end=True),
    }
    answer = session.call(
        "memory_search",
        query=query,
        search_type=given["mode"],
        limit=given["limit"],
        category=given["category"],
        branch=given["branch"],
        time_range=window if any(window.values()) else None,
        types=["fact", "observation"] if given["all_types"] else None,
        include_inactive=given["all_states"] or None,
        at=session.moment(given["at"], end=True),
    )
    if not session.answer(answer):
        hits = answer["result"]
        rows = [
            (
                f"{hit['score']:.2f}",
                (short(hit["id"]), "commit"),
                day(hit["happened_at"] or hit["created_at"]),
                hit["passage"] or hit["fact_text"],
            )
            for hit in hits
        ]
        session.screen.table(("score", "id", "date", "memory"), rows)
        if not hits:
            session.screen.note("Nothing found.")
        session.notes(answer)


@click.command("show")
@click.argument("name")
@click.option("--history", is_flag=True, help="Of a memory: every edit of it.")
@at_option
@branch_option
@porcelain
def show_command(session: Session, name: str, **given: Any) -> None:
    """Show a memory with who wrote what of it, or what a commit brought.

    NAME is a memory's id, or a commit, a snapshot or a branch (its tip).
    """
    from day1.errors import NotFound
    from day1.services.branches.resolving import state

    try:
        found = state(session.repo(), name)
    except NotFound as no_state:
        try:
            _show_row(session, name, given)
        except NotFound as no_row:
            raise NotFound(f"{no_row} {no_state}", name=name) from no_row
    else:
        _show_state(session, found)


def _show_state(session: Session, found: NamedState) -> None:
    """A commit with what it brought, under the name it was found by."""
    from day1.interfaces.cli.diffing import change_documents, draw_changes, told
    from day1.model.rows.change import Ref
    from day1.model.values.instant import show

    repo = session.repo()
    commit = repo.history.commit(found.commit)
    changes = {}
    if commit.parents:
        changes = repo.history.changes(commit.parents[0], Ref(commit=commit.id))
    document = {
        "type": found.how,
        "name": found.name,
        "commit": commit.id,
        "parents": list(commit.parents),
        "op": commit.op,
        "author": commit.author,
        "at": show(commit.ts),
        "line": commit.line,
        "meta": dict(commit.meta),
        "changes": change_documents(changes),
    }
    if session.answer(document):
        return
    screen = session.screen
    if found.snapshot is not None:
        screen.line("snapshot ", (found.name, "branch"), f"  {found.snapshot.id}")
        screen.line(f"Taken:  {brief(show(found.snapshot.created_at))}")
    screen.line(("commit ", "commit"), (commit.id, "commit"))
    if len(commit.parents) > 1:
        screen.line("Merge:  " + " ".join(short_commit(parent) for parent in commit.parents))
    screen.line(f"Author: {commit.author}")
    screen.line(f"Date:   {brief(show(commit.ts))}")
    screen.line()
    screen.line(f"    {told(commit)}")
    screen.line()
    draw_changes(screen, changes)


def _show_row(session: Session, name: str, given: dict[str, Any]) -> None:
    from day1.errors import NotFound
    from day1.model.rows.change import Query, Ref
    from day1.model.rows.kind import EDIT, kind_of
    from day1.model.values.instant import parse, show
    from day1.services.branches.resolving import row_id
    from day1.services.rows.editing import authors
    from day1.toolsets.shared.shown import shown

    branch, at = session.branch(given["branch"]), session.moment(given["at"], end=True)
    ref = Ref(branch=branch, until=None if at is None else parse(at))
    repo = session.repo()
    with repo.store.reading(ref) as reading:
        whole = row_id(reading, name)
        kind = kind_of(whole)
        row = None if kind is None else reading.get(kind, [whole]).get(whole)
        if kind is None or row is None:
            raise NotFound(f"{whole} is not on branch {branch!r}.", id=whole, branch=branch)
        edits = reading.find(EDIT, Query(equal={"row_id": whole})) if given["history"] else []
        read = {"branch": branch, "commit": reading.tip, "pending": reading.pending.count}
    by = {
        cell: {"by": edit["agent_id"] or edit["source"], "at": show(int(edit["created_at"] or 0))}
        for cell, edit in authors(repo, ref, kind, row).items()
    }
    history = [
        {
            "cell": edit["cell"],
            "by": edit["agent_id"] or edit["source"],
            "at": show(int(edit["created_at"] or 0)),
            "reason": edit["reason"],
        }
        for edit in edits
    ]
    document = {**shown(kind, row), "authors": by, "read": read}
    if given["history"]:
        document["edits"] = history
    if not session.answer(document):
        _draw_row(session, document, kind.text, history)


def _draw_row(
    session: Session, row: dict[str, Any], text: str | None, edits: list[dict[str, Any]]
) -> None:
    screen = session.screen
    screen.line((f"{row['type']} {row['id']}", "commit"))
    hidden = {"type", "id", "authors", "read", "edits", text}
    for column, value in row.items():
        if column not in hidden and value is not None:
            author = row["authors"].get(column)
            told = () if author is None else ((f"   {_by(author)}", "dim"),)
            screen.line(f"{column + ':':<16}{value}", *told)
    for edit in edits:
        why = f": {edit['reason']}" if edit["reason"] else ""
        screen.line((f"edit of {edit['cell']}", "changed"), f"{why}   ", (_by(edit), "dim"))
    if text is not None:
        author = row["authors"].get(text)
        screen.line()
        for part in str(row[text]).splitlines():
            screen.line(f"    {part}")
        if author is not None:
            screen.line((f"    {_by(author)}", "dim"))


def _by(author: dict[str, Any]) -> str:
    return f"{author['by']}, {brief(author['at'])}"
