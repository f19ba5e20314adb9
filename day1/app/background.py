"""What runs beside the calls: the background worker, and what renews the kept primes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from day1.app.ingest import spool_ingester
from day1.errors import InvalidRequest
from day1.interfaces.heads import spaced
from day1.model.branches.branch import MAIN
from day1.model.values.space import EVERY, SHARED

if TYPE_CHECKING:
    from day1.interfaces.open_store import OpenStore
    from day1.services.prime.renewing import PrimeRenewer
    from day1.services.upkeep.worker import BackgroundWorker


def background_worker(store: OpenStore, branch: str | None = None) -> BackgroundWorker:
    """The worker that indexes, compacts, takes in and renews primes between a server's calls.

    `branch` is the one on which sessions begin.
    """
    from day1.services.upkeep.worker import BackgroundWorker

    compacts = store.settings.store.compact and not store.read_only
    renew = prime_renewer(store, branch).renew
    ingest = spool_ingester(store)
    return BackgroundWorker(store.repo, store.search, compacts=compacts, ingest=ingest, renew=renew)


def prime_renewer(store: OpenStore, branch: str | None = None) -> PrimeRenewer:
    """What renews the kept primes; `branch` is the one on which sessions begin."""
    from day1.services.prime.renewing import PrimeChoice, PrimeRenewer

    settings = store.settings
    try:
        space = spaced(settings.space)
    except InvalidRequest:  # each call says so
        space = None
    alone = space if space not in {SHARED, EVERY} else None
    choice = PrimeChoice(branch or settings.branch or MAIN, alone, settings.prime.chars)
    return PrimeRenewer(store.repo, store.prime, choice)
