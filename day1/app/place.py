"""What `day1 doctor` reports of the place where a store is."""

import shutil
from urllib.parse import urlsplit

from day1.adapters.chore_file import ChoreFile
from day1.adapters.index.index import chroma_trouble
from day1.adapters.index.uses import FILE as USES
from day1.adapters.index.uses import FileUses
from day1.adapters.primes import FilePrimes
from day1.adapters.spool import FolderSpool
from day1.interfaces.open_store import OpenStore
from day1.services.access.calls import now
from day1.services.health.doctor import StoreLocation


def _damaged(store: OpenStore) -> tuple[str, ...]:
    """List the damaged files in a store's folder that can be deleted without losing memories."""
    uses = [] if FileUses(store.folder, read_only=True).is_whole() else [USES]
    primes = FilePrimes(store.folder, read_only=True).damaged()
    return (*uses, *primes, *FolderSpool(store.folder).damaged())


def place_of(store: OpenStore) -> StoreLocation:
    """What `day1 doctor` reports of the place where a store is."""
    return StoreLocation(
        obstacles=tuple(map(str, store.obstacles())),
        store_bytes=store.repo.store.size(),
        free_bytes=shutil.disk_usage(store.folder).free,
        read_only=store.read_only,
        chroma=(store.folder / "chroma").is_dir(),
        chroma_trouble=chroma_trouble(store.folder),
        node=str(store.folder) if store.node else None,
        unheard=FolderSpool(store.folder).aside(),
        unheard_gone=FolderSpool(store.folder).gone(),
        damaged=_damaged(store),
        failing_chores=tuple(ChoreFile(store.folder).failing()),
        chroma_server=urlsplit(store.settings.index.chroma_url or "").hostname,
        now=now(),
    )
