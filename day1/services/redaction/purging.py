"""Purging: rewrite the store's files without redacted texts.

A redaction masks texts, but their bytes stay in the files. Purging copies the rows as they are
shown, then replaces the old file by the copy. Until that moment the old store is complete; from
then on the new one is. A process that dies at that moment leaves an intent, and the next process
updates the ledger.
"""

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, replace

from day1.model.branches.branch import MAIN
from day1.model.records.intent import IntentKind
from day1.model.redaction.mask import mask_of
from day1.model.redaction.quotes import without
from day1.model.redaction.redaction import Redaction
from day1.model.rows.change import CommitId
from day1.model.rows.kind import BY_TABLE
from day1.model.values.callbacks import ReportProgress
from day1.ports.index import IndexLost
from day1.ports.rewriting import Rewriting
from day1.services.exchange.store_copy import Carry, CommitReplay, created_at
from day1.services.redaction.cleaning import cleaned
from day1.services.redaction.redacting import texts_of
from day1.services.repository.commit_ids import carried, new_ids, put, rename_all
from day1.services.repository.repository import Repository


@dataclass(frozen=True, slots=True)
class Purged:
    """The number of purged redactions and of rewritten commits."""

    redactions: int
    commits: int


def cleaning(source: Repository, redactions: Collection[Redaction]) -> Carry:
    """Make a function that removes redacted texts from ledger records."""
    mask = mask_of(redactions)
    text_by_hash: dict[str, str] = {}
    for redaction in redactions:
        text_by_hash |= texts_of(source, BY_TABLE[redaction.row_kind], redaction.row_id)
    clean_text = without(
        [text for text_hash, text in text_by_hash.items() if text_hash in mask.hashes]
    )
    return lambda record: cleaned(record, mask, clean_text)


def without_redacted(source: Repository, redactions: Collection[Redaction], now: int) -> Carry:
    """Make a function that cleans a copy's records and marks its redactions as purged."""
    clean_record, purged_ids = (
        cleaning(source, redactions),
        {redaction.id for redaction in redactions},
    )

    def carry(record: object) -> object:
        cleaned_record = clean_record(record)
        if isinstance(cleaned_record, Redaction) and cleaned_record.id in purged_ids:
            return replace(cleaned_record, purged_at=now)
        return cleaned_record

    return carry


def purge(
    source: Repository,
    redactions: Collection[Redaction],
    rewriting: Rewriting,
    report: ReportProgress,
    now: int,
) -> Purged:
    """Rewrite the store without the texts of these redactions.

    Args:
        source: the memory, with a store that applies exactly these redactions.
        redactions: all redactions of the store.
        rewriting: the port that replaces the store's files.
        report: called with the progress.
        now: the time.

    Raises:
        StoreBusy: other processes write without a pause.
        IntegrityBroken: the new store has other rows than the old one shows; the old one stays.
    """
    if not redactions:
        return Purged(0, 0)
    ledger, clean_record = source.ledger, cleaning(source, redactions)
    with rewriting.fresh(created_at(source)) as (new_store, new_history):
        replay = CommitReplay(source, replace(source, store=new_store, history=new_history), report)
        replay.follow()
        replay.compare()
        with source.ledger.open_intent(PURGE, PurgeIntent(source.history.branches()[MAIN]), now):
            source.point("purge.after_intent")
            with rewriting.exclusive():
                replay.compare(replay.copy_rest())
                _clean_all(source, clean_record)
                source.point("purge.copied")
                rewriting.replace()
                source.point("purge.replaced")
                rename_all(ledger, replay.ids)
                source.point("purge.after_ledger")
    with suppress(IndexLost):  # the lost index starts empty and gets only masked texts
        source.forget(mask_of(redactions).hashes)
    rewriting.scrub()
    source.point("purge.scrubbed")
    redaction_ids = {redaction.id for redaction in redactions}
    purged_redactions = (
        redaction for redaction in ledger.records(Redaction) if redaction.id in redaction_ids
    )
    ledger.put(*(replace(redaction, purged_at=now) for redaction in purged_redactions))
    return Purged(len(redactions), len(replay.ids))


def _clean_all(source: Repository, clean: Carry) -> None:
    with source.ledger.transaction():
        for record in carried(source.ledger):
            cleaned_record = clean(record)
            if cleaned_record != record:
                put(source.ledger, cleaned_record)


@dataclass(frozen=True, slots=True)
class PurgeIntent:
    """The intent to rewrite a store, with the tip of main before the rewrite."""

    tip: CommitId


def _finish(repo: Repository, intent: PurgeIntent) -> None:
    """Finish an interrupted purge: if commit ids changed, put the new ids into the records."""
    new_id_by_old = new_ids(repo.history)
    if intent.tip in new_id_by_old:
        rename_all(repo.ledger, new_id_by_old)


PURGE = IntentKind("purge", PurgeIntent, _finish)
