"""`day1 gc`: give unused space back and offer branches to retire."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from day1.interfaces.cli.render import Part, plural
from day1.interfaces.cli.session import Session, command
from day1.model.values.showing import short_commit

if TYPE_CHECKING:
    from day1.ports.rewriting import Rewriting


@click.command("gc")
@click.option("--retire", is_flag=True, help="Retire the branches that are offered.")
@click.option("--purge-redacted", "purges", is_flag=True, help="Purge what is redacted first.")
@command
def gc_command(session: Session, *, retire: bool, purges: bool) -> None:
    """Give unused space back, and offer branches to retire.

    It offers branches that are merged with nothing held, or older than their ttl_days. A retired
    branch loses its ref; `day1 switch` brings it back. Other writers wait while the store is
    compacted; a server compacts by itself.

    Purging rewrites the store's files without the redacted words. Commits get new ids, and each
    names its old one. Backups and exports made before still have the words.
    """
    from day1.services.branches import retiring
    from day1.services.upkeep.retirable import retirable_branches

    repo, files = session.repo(), _files(session) if purges else None
    retirable = retirable_branches(repo, session.branch(), session.now())
    if retire:
        for item in retirable:
            retiring.retire(repo, item.state.branch, session.now())
    purged = _purge(session, files) if files else {}
    sizes = repo.store.compact() if repo.store.capabilities.compaction else {}
    branches = [
        {"branch_name": item.state.branch.name, "commit": item.state.tip, "why": item.why}
        for item in retirable
    ]
    if session.answer({**purged, **sizes, "retired" if retire else "offered": branches}):
        return
    if purges:
        redactions, commits = purged["purged"], purged["commits"]
        counts_text = f"{plural(redactions, 'redaction')}, {plural(commits, 'commit')} written anew"
        session.screen.line(f"Purged {counts_text}." if redactions else "Nothing is redacted.")
    if sizes:
        before, after = (int(str(sizes[key])) / 1024 for key in ("bytes_before", "bytes_after"))
        session.screen.line(f"memory.db: {before:,.0f} KB before, {after:,.0f} KB after")
    else:
        session.screen.note("The server gives unused space back by itself.")
    for item in retirable:
        label: Part = ("retired ", "changed") if retire else "may be retired: "
        tip = (short_commit(item.state.tip), "commit")
        session.screen.line(label, (item.state.branch.name, "branch"), " ", tip, f" {item.why}")
    if retirable and not retire:
        session.screen.note("`day1 gc --retire` retires them")


def _files(session: Session) -> Rewriting:

    store = session.store()
    return session.app.archives.rewriting(store.settings, store.folder)


def _purge(session: Session, files: Rewriting) -> dict[str, int]:
    """Rewrite the store without redacted texts; return the counts of redactions and commits."""
    from day1.model.redaction.mask import mask_of
    from day1.model.redaction.redaction import Redaction
    from day1.services.redaction.purging import purge

    store = session.store()
    redactions = store.repo.ledger.records(Redaction)
    with (
        session.app.stores.open_with_mask(store, mask_of(redactions)) as masked,
        session.screen.progress("Purging") as report,
    ):
        result = purge(masked, redactions, files, report, session.now())
    return {"purged": result.redactions, "commits": result.commits}
