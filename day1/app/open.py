"""Open a store as the settings say: choose the adapters, connect them and recover."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from day1.adapters.chore_file import ChoreFile
from day1.adapters.failures import of_system
from day1.adapters.index.uses import FileUses
from day1.adapters.primes import FilePrimes, closing_stamp
from day1.app.engines import EngineHandles, create_store, open_engine
from day1.app.ingest import ingest_before_command
from day1.app.leases import LeasePlace
from day1.app.models import chat, embedder, judge, pinning
from day1.app.owners import own_home
from day1.errors import NotAStore
from day1.home import find_home
from day1.interfaces.open_store import OpenStore
from day1.model.jobs.schedule import Calendar
from day1.model.redaction.mask import Mask
from day1.model.search.passages import PassageLimits
from day1.model.search.ranking import Weights
from day1.model.values.callbacks import KillPoint, no_kill_point
from day1.model.values.ids import new_id, short_hash
from day1.services.access.authentication import note_tokens
from day1.services.access.calls import now
from day1.services.branches.adopting import adopt
from day1.services.branches.lookup import first_commit
from day1.services.exchange.store_copy import begin, created_at, refuse_incomplete_copy
from day1.services.jobs.job_services import CHORE, JobServices
from day1.services.prime.prime_services import PrimeServices
from day1.services.recoveries import recover
from day1.services.redaction.redacting import forget_redacted
from day1.services.repository.repository import Repository
from day1.services.search.candidates import SearchLimits
from day1.services.search.indexing import withdraw_secrets
from day1.services.search.search_engine import SearchEngine
from day1.settings import SearchSettings, Settings

if TYPE_CHECKING:
    from day1.adapters.index.chroma_address import ChromaAddress
    from day1.ports.chat import Chat
    from day1.ports.index import Index


def open_store(
    settings: Settings, *, create: bool = False, serves: bool = False, folder: Path | None = None
) -> OpenStore:
    """Open the store that the settings name.

    Args:
        settings: where the store is, and how to use it.
        create: make the store if there is none.
        serves: the process goes on running, so it may own the Chroma collections.
        folder: the store's folder; default: the one that the settings name.

    Raises:
        NotAStore: there is no store, and `create` is false.
    """
    store = _opened(settings, create=create, serves=serves, folder=folder)
    if not serves:  # a server ingests between calls
        ingest_before_command(store)
    return store


def _opened(settings: Settings, *, create: bool, serves: bool, folder: Path | None) -> OpenStore:
    """Open the store, and finish what killed processes left unfinished."""
    try:
        folder = folder or own_home(settings)
    except OSError as exc:
        if exc.filename is None:  # the present folder was deleted
            raise
        # another user's .day1 on the way up
        raise of_system(exc, Path(exc.filename), writing=False) from exc
    chat_model = chat(settings.chat)
    with ExitStack() as open_resources:
        note_closing = open_resources.enter_context(closing_stamp(folder))
        try:
            engine = open_engine(settings, folder, now, open_resources)
        except NotAStore:
            if not create:
                raise
            create_store(settings, folder, now)
            engine = open_engine(settings, folder, now, open_resources)
        store, ledger, read_only = engine.store, engine.ledger, engine.read_only
        refuse_incomplete_copy(ledger, engine.where)
        store.obey(ledger.mask)
        store.point = point(settings)
        chroma_address = _chroma_server(settings, lambda: short_hash(first_commit(repo))[:12])
        index = _index(settings, folder, chroma_address, read_only=read_only, serves=serves)
        open_resources.callback(index.close)
        primes = FilePrimes(folder, read_only=read_only)
        repo = _repository(engine, index, primes)
        ledger.recover = partial(recover, repo)
        if not read_only:
            _recover(repo)
            forget_redacted(repo)
            note_tokens(repo)
        open_resources.callback(note_closing)
        uses = FileUses(folder, read_only=read_only)
        open_resources.callback(uses.close)
        prime_services = PrimeServices(uses, primes)
        search = _search_engine(settings, repo, index, serves=serves)
        lease_place = LeasePlace(folder, engine.node, ledger, now, engine.store.present)
        return OpenStore(
            folder,
            engine.where,
            engine.node,
            settings,
            repo,
            replace(search, uses=uses),
            prime_services,
            chat_model,
            pinning(settings.pinning),
            judge(settings, chat_model),
            _job_services(settings, lease_place, chat_model),
            read_only,
            now,
            ChoreFile(folder).failing,
            engine.obstacles,
            open_resources.pop_all(),
        )


@contextmanager
def open_with_mask(store: OpenStore, mask: Mask) -> Iterator[Repository]:
    """Open a store's rows once more, through a mask that no later redaction changes."""
    with ExitStack() as open_resources:
        engine = open_engine(store.settings, store.folder, now, open_resources)
        engine.store.obey(lambda: mask)
        yield replace(store.repo, store=engine.store, history=engine.store.history)


@contextmanager
def open_copy_target(settings: Settings, source: Repository) -> Iterator[Repository]:
    """Open the store that the settings name, as a copy of `source` that is filled next.

    The store is made if there is none; an interrupted copy is opened again.

    Raises:
        Conflict: another store has that place, or an unfinished copy that an earlier day1 began.
    """
    folder, first_commit_time = find_home(settings), created_at(source)

    def clock() -> int:  # the time of the first commit, so pending rows never become too old
        return first_commit_time

    create_store(settings, folder, clock, clock)
    with ExitStack() as open_resources:
        engine = open_engine(settings, folder, clock, open_resources, clock)
        store = engine.store
        target = Repository(store, store.history, engine.ledger, new_id, now, point(settings))
        engine.ledger.recover = partial(recover, target)
        begin(source, target, engine.where, now(), old=store.history.oldest < store.version)
        yield target


def _repository(engine: EngineHandles, index: Index, primes: FilePrimes) -> Repository:
    """Make the repository of an engine; redacted and secret texts leave its index and primes."""
    store = engine.store
    store.withdraw = partial(withdraw_secrets, store, index)
    store.hide = primes.forget
    forget_functions = index.forget, primes.forget
    return Repository(
        store, store.history, engine.ledger, new_id, now, store.point, *forget_functions
    )


def _job_services(settings: Settings, place: LeasePlace, chat_model: Chat | None) -> JobServices:
    job_settings = settings.jobs
    calendar = Calendar(job_settings.hour, job_settings.weekday)
    extractor = chat_model if job_settings.extract else None
    return JobServices(
        calendar, job_settings.transcript_days, partial(place.is_held, CHORE), extractor
    )


def _recover(repo: Repository) -> None:
    """Finish what killed processes left, and add the engine's branches that the ledger lacks.

    The ledger lacks main in a new store, and every branch after it was lost. No other process
    may make a branch meanwhile: a fork makes its ref before its row.
    """
    ledger = repo.ledger
    ledger.recover_orphans()
    if repo.history.branches().keys() - {branch.name for branch in ledger.branches()}:
        # A process that made a ref may have been killed since: recover it first.
        with ledger.exclusive(), ledger.transaction():
            adopt(repo, now())


def _chroma_server(settings: Settings, store: Callable[[], str]) -> ChromaAddress | None:
    """Return the Chroma server that the settings name; `store` names its collections."""
    if settings.index.chroma_url is None:
        return None
    from day1.adapters.index.chroma_address import ChromaAddress

    return ChromaAddress(
        settings.index.chroma_url, settings.index.chroma_token.get_secret_value(), store
    )


def _index(
    settings: Settings,
    folder: Path,
    chroma: ChromaAddress | None,
    *,
    read_only: bool,
    serves: bool,
) -> Index:
    from day1.adapters.index.index import LocalIndex

    return LocalIndex(
        folder,
        read_only=read_only,
        chroma=serves and settings.search.chroma,
        chroma_above=settings.search.chroma_rows if chroma is None else settings.search.exact_rows,
        chroma_server=chroma,
    )


def _search_engine(
    settings: Settings, repo: Repository, index: Index, *, serves: bool
) -> SearchEngine:
    return SearchEngine(
        repo.store,
        repo.history,
        index,
        embedder(settings.embedder),
        now,
        weights=weights(settings.search),
        limits=SearchLimits(exact_rows=settings.search.exact_rows),
        lengths=lengths(settings.search),
        embedding_s=settings.search.embed_ms / 1000 if serves else None,
        votes=repo.ledger.votes,
    )


def weights(settings: SearchSettings) -> Weights:
    """Return the weights by which hits are ranked, from the settings."""
    other_weights = settings.model_dump(include=set(Weights.__dataclass_fields__))
    return Weights(
        vector=settings.vector_weight, keyword=1 - settings.vector_weight, **other_weights
    )


def lengths(settings: SearchSettings) -> PassageLimits:
    """Return how many characters of long texts an answer has, from the settings."""
    return PassageLimits(**settings.model_dump(include=set(PassageLimits.__dataclass_fields__)))


def point(settings: Settings) -> KillPoint:
    """Make the function that kills the process at the point `kill_at`, for tests of recovery."""
    if settings.kill_at is None:
        return no_kill_point

    def at(name: str) -> None:
        if name == settings.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    return at
