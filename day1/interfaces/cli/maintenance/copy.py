"""`day1 copy`: copy the store to another folder or server."""

from __future__ import annotations

from contextlib import ExitStack

import click

from day1.errors import StoreReadOnly
from day1.interfaces.cli.maintenance.backup import branch_counts, branch_documents
from day1.interfaces.cli.render import plural
from day1.interfaces.cli.session import Session, command


@click.command("copy")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option("--purge-redacted", "purges", is_flag=True, help="Leave redacted words behind.")
@command
def copy_command(session: Session, source: str, target: str, *, purges: bool) -> None:
    """Copy the store FROM into a new one TO: each is a folder, or a database's URL on a server.

    Everything is copied: branches, the order, authors and times of their commits, pending rows,
    held items, tasks, reviews and tokens. FROM may be in use. TO must not exist yet; it becomes a
    store when the copy is complete and was compared with FROM. An interrupted copy continues
    where it stopped.
    """
    from day1.model.redaction.mask import mask_of
    from day1.model.redaction.redaction import Redaction
    from day1.services.exchange.store_copy import copy_store, unchanged
    from day1.services.redaction.purging import without_redacted
    from day1.settings import settings_at

    with ExitStack() as exit_stack:
        store = session.app.stores.open_store(settings_at(session.settings, source))
        exit_stack.callback(store.close)
        if store.read_only:
            raise StoreReadOnly(
                f"{store.where} cannot be written, and a copy locks the store while it runs: "
                "copy its folder to a place that can be written, and copy that."
            )
        redactions = store.repo.ledger.records(Redaction) if purges else []
        masked_repo = exit_stack.enter_context(
            session.app.stores.open_with_mask(store, mask_of(redactions))
        )
        clean_record = (
            without_redacted(masked_repo, redactions, session.now()) if redactions else unchanged
        )
        target_repo = exit_stack.enter_context(
            session.app.stores.open_copy_target(settings_at(session.settings, target), masked_repo)
        )
        with session.screen.progress("Copying") as report_progress:
            copy_result = copy_store(masked_repo, target_repo, clean_record, report_progress)
    document = {
        "from": _shown(source),
        "to": _shown(target),
        "purged": len(redactions),
        "commits": copy_result.commits,
        "repeated": copy_result.repeated,
        "tags": copy_result.tags,
        "records": copy_result.records,
        "source_moved": copy_result.moved,
        "branches": branch_documents(copy_result.branches),
    }
    if not session.answer(document):
        session.screen.line(
            f"Copied {branch_counts(document)} and {plural(copy_result.commits, 'commit')} "
            f"to {_shown(target)}; both stores are equal."
        )
        if copy_result.moved:
            session.screen.note(
                f"{_shown(source)} was written to meanwhile: what came at the end is not in the "
                "copy. Stop what writes there, and copy again to a new place."
            )


def _shown(where: str) -> str:
    """Return a store's address without user and password."""
    from day1.home import server_name

    if "://" not in where:
        return where
    return f"{where.partition(':')[0]}://{server_name(where)}"
