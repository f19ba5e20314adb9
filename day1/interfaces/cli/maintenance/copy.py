"""`day1 copy`: copy the store to another folder or server."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from day1.errors import StoreReadOnly
from day1.interfaces.cli.render import plural
from day1.interfaces.cli.session import Session, command

if TYPE_CHECKING:
    from day1.services.exchange.store_copy import CopiedStore


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

    with ExitStack() as opened:
        store = session.app.stores.open_store(settings_at(session.settings, source))
        opened.callback(store.close)
        if store.read_only:
            raise StoreReadOnly(
                f"{store.where} cannot be written, and a copy locks the store while it runs: "
                "copy its folder to a place that can be written, and copy that."
            )
        redactions = store.repo.ledger.records(Redaction) if purges else []
        masked = opened.enter_context(session.app.stores.open_with_mask(store, mask_of(redactions)))
        carry = without_redacted(masked, redactions, session.now()) if redactions else unchanged
        copy = opened.enter_context(
            session.app.stores.open_copy_target(settings_at(session.settings, target), masked)
        )
        with session.screen.progress("Copying") as report:
            result = copy_store(masked, copy, carry, report)
    document = {"from": _shown(source), "to": _shown(target), "purged": len(redactions)}
    if not session.answer({**document, **_document(result)}):
        count = plural(len(result.branches), "branch", "branches")
        main = next(branch.rows for branch in result.branches if branch.name == "main")
        session.screen.line(
            f"Copied {count} ({plural(main, 'row')} on main) and "
            f"{plural(result.commits, 'commit')} to {_shown(target)}; all is equal."
        )
        if result.moved:
            session.screen.note(
                f"{_shown(source)} was written to meanwhile: what came at the end is not in the "
                "copy. Stop what writes there, and copy again to a new place."
            )


def _shown(where: str) -> str:
    """Return a store's address without user and password."""
    if "://" not in where:
        return where
    url = urlsplit(where)
    return f"{url.scheme}://{url.hostname}:{url.port}{url.path}"


def _document(copied: CopiedStore) -> dict[str, Any]:
    return {
        "commits": copied.commits,
        "repeated": copied.repeated,
        "tags": copied.tags,
        "records": copied.records,
        "source_moved": copied.moved,
        "branches": [
            {
                "branch_name": branch.name,
                "commit": branch.commit,
                "pending": branch.waiting,
                "rows": branch.rows,
                "sha256": branch.sha256,
            }
            for branch in copied.branches
        ],
    }
