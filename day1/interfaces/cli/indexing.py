"""Update the search index, and show the progress to a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from day1.errors import EmbedderUnavailable
from day1.interfaces.cli.render import plural
from day1.interfaces.cli.session import Session

if TYPE_CHECKING:
    from day1.model.branches.branch import Branch

_AT_ONCE = 64
"""The number of passages embedded between two reports of progress: about 0.25 s."""


def bring_up(session: Session, *branches: Branch) -> None:
    """Index the words of branches, and embed every text that has no vector yet.

    Without a model only the words are indexed, and a note says so. Memory is stored already: when
    indexing fails, the next search tries again.
    """
    from day1.model.rows.change import Ref
    from day1.ports.index import IndexLost
    from day1.services.search.indexing import embed_pending, follow
    from day1.services.search.known_entries import renew_tables

    store = session.store()
    search = store.search
    for branch in branches:
        index_arguments = search.store, search.history, search.index
        try:
            follow(*index_arguments, branch.name, branch.id)
        except IndexLost:  # it was damaged or of an older format, and is empty now
            follow(*index_arguments, branch.name, branch.id)
        with search.store.reading(Ref(branch=branch.name)) as reading:
            renew_tables(reading, search.history, search.index, search.limits.exact_rows)
    embedder = search.embedder
    if embedder is None:
        return
    pending_at_start = search.index.vectors.pending(embedder)
    if not pending_at_start:
        return
    try:
        with session.screen.progress("Embedding") as report:
            pending = pending_at_start
            report(0, pending_at_start)
            while pending:
                previous_pending, pending = pending, embed_pending(search.index, embedder, _AT_ONCE)
                report(pending_at_start - pending, pending_at_start)
                if pending >= previous_pending:
                    session.screen.note(
                        f"{plural(pending, 'text')} are embedded by another process"
                    )
                    return
    except EmbedderUnavailable as exc:
        session.screen.note(("note: ", "dim"), str(exc))
