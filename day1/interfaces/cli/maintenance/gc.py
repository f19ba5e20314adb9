"""`day1 gc`: give unused space back and offer branches to retire."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from day1.interfaces.cli.render import Part, Screen, plural
from day1.interfaces.cli.session import Session, command
from day1.model.values.instant import DAY
from day1.model.values.showing import short_commit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from day1.errors import Json
    from day1.ports.rewriting import Rewriting
    from day1.services.upkeep.retirable import RetirableBranch


@click.command("gc")
@click.option("--retire", is_flag=True, help="Retire the branches that are offered.")
@click.option("--purge-redacted", "purges", is_flag=True, help="Purge what is redacted first.")
@click.option(
    "--prune-deleted",
    "prune_days",
    metavar="DAYS",
    type=click.IntRange(0, 36_500),
    help="First forget branches that were deleted at least DAYS days ago.",
)
@command
def gc_command(session: Session, *, retire: bool, purges: bool, prune_days: int | None) -> None:
    """Give unused space back, and offer branches to retire.

    It offers branches that are merged with nothing held, or older than their ttl_days. A retired
    branch loses its ref; `day1 switch` brings it back. Other writers wait while the store is
    compacted; a server compacts by itself.

    A deleted branch costs as much as any branch until it is forgotten; then nothing brings it back.
    Those with a snapshot, handoff or template are not forgotten.

    Purging rewrites the store's files without the redacted words. Commits get new ids, and each
    names its old one. Backups and exports made before still have the words.
    """
    from day1.services.branches import retiring
    from day1.services.branches.pruning import prune
    from day1.services.upkeep.retirable import retirable_branches

    repo, rewriting = session.repo(), _files(session) if purges else None
    candidates = retirable_branches(repo, session.branch(), session.now())
    if retire:
        for candidate in candidates:
            retiring.retire(repo, candidate.state.branch, session.now())
    counts: dict[str, int] = {}
    if prune_days is not None:
        counts["pruned"] = len(prune(repo, session.now() - prune_days * DAY))
    if rewriting:
        counts |= _purge(session, rewriting)
    bytes_by_name = repo.store.compact() if repo.store.capabilities.compaction else {}
    branch_documents = [
        {
            "branch_name": candidate.state.branch.name,
            "commit": candidate.state.tip,
            "why": candidate.why,
        }
        for candidate in candidates
    ]
    if not session.answer(
        {**counts, **bytes_by_name, "retired" if retire else "offered": branch_documents}
    ):
        _show_counts(session.screen, counts, bytes_by_name)
        _show_branches(session.screen, candidates, retired=retire)


def _show_counts(screen: Screen, counts: Mapping[str, int], sizes: Mapping[str, Json]) -> None:
    """Print what was pruned and purged, and the bytes before and after the compaction."""
    if "pruned" in counts:
        screen.line(f"Forgot {plural(counts['pruned'], 'deleted branch', 'deleted branches')}.")
    if "purged" in counts:
        redaction_count, commit_count = counts["purged"], counts["commits"]
        counts_text = (
            f"{plural(redaction_count, 'redaction')}, {plural(commit_count, 'commit')} written anew"
        )
        screen.line(f"Purged {counts_text}." if redaction_count else "Nothing is redacted.")
    if sizes:
        kib_before, kib_after = (
            int(str(sizes[size_name])) / 1024 for size_name in ("bytes_before", "bytes_after")
        )
        screen.line(f"memory.db: {kib_before:,.0f} KB before, {kib_after:,.0f} KB after")
    else:
        screen.note("The server gives unused space back by itself.")


def _show_branches(screen: Screen, candidates: Sequence[RetirableBranch], *, retired: bool) -> None:
    """Print the branches that were retired or may be."""
    for candidate in candidates:
        styled_label: Part = ("retired ", "changed") if retired else "may be retired: "
        styled_tip = (short_commit(candidate.state.tip), "commit")
        screen.line(
            styled_label,
            (candidate.state.branch.name, "branch"),
            " ",
            styled_tip,
            f" {candidate.why}",
        )
    if candidates and not retired:
        screen.note("`day1 gc --retire` retires them")


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
