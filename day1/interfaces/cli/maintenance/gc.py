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

    repo, rewriting = session.repo(), _files(session) if purges else None
    candidates = retirable_branches(repo, session.branch(), session.now())
    if retire:
        for candidate in candidates:
            retiring.retire(repo, candidate.state.branch, session.now())
    purge_counts = _purge(session, rewriting) if rewriting else {}
    bytes_by_name = repo.store.compact() if repo.store.capabilities.compaction else {}
    branch_documents = [
        {
            "branch_name": candidate.state.branch.name,
            "commit": candidate.state.tip,
            "why": candidate.why,
        }
        for candidate in candidates
    ]
    if session.answer(
        {**purge_counts, **bytes_by_name, "retired" if retire else "offered": branch_documents}
    ):
        return
    if purges:
        redaction_count, commit_count = purge_counts["purged"], purge_counts["commits"]
        counts_text = (
            f"{plural(redaction_count, 'redaction')}, {plural(commit_count, 'commit')} written anew"
        )
        session.screen.line(f"Purged {counts_text}." if redaction_count else "Nothing is redacted.")
    if bytes_by_name:
        kib_before, kib_after = (
            int(str(bytes_by_name[size_name])) / 1024
            for size_name in ("bytes_before", "bytes_after")
        )
        session.screen.line(f"memory.db: {kib_before:,.0f} KB before, {kib_after:,.0f} KB after")
    else:
        session.screen.note("The server gives unused space back by itself.")
    for candidate in candidates:
        styled_label: Part = ("retired ", "changed") if retire else "may be retired: "
        styled_tip = (short_commit(candidate.state.tip), "commit")
        session.screen.line(
            styled_label,
            (candidate.state.branch.name, "branch"),
            " ",
            styled_tip,
            f" {candidate.why}",
        )
    if candidates and not retire:
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
        session.app.stores.open_with_mask(store, mask_of(redactions)) as masked_repo,
        session.screen.progress("Purging") as report_progress,
    ):
        purge_result = purge(masked_repo, redactions, files, report_progress, session.now())
    return {"purged": purge_result.redactions, "commits": purge_result.commits}
