"""Open and make stores: fulfils the command line's `Stores`."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from day1.adapters.index.uses import FILE as USES
from day1.adapters.index.uses import FileUses
from day1.adapters.primes import FilePrimes
from day1.app.background import prime_renewer
from day1.app.engines import create_store
from day1.app.open import open_copy_target, open_store, open_with_mask, point
from day1.app.owners import refuse_anothers
from day1.services.access.calls import now

if TYPE_CHECKING:
    from day1.interfaces.open_store import OpenStore
    from day1.services.health.doctor import StoreLocation

__all__ = [
    "create_store",
    "open_copy_target",
    "open_store",
    "open_with_mask",
    "place_of",
    "point",
    "prime_renewer",
    "refuse_anothers",
]


def place_of(store: OpenStore) -> StoreLocation:
    """Measure what `day1 doctor` reports about a store's folder, disk and files."""
    from day1.adapters.index.index import chroma_trouble
    from day1.adapters.spool import FolderSpool
    from day1.services.health.doctor import StoreLocation

    spool = FolderSpool(store.folder)
    return StoreLocation(
        obstacles=tuple(map(str, store.obstacles())),
        store_bytes=store.repo.store.size(),
        free_bytes=shutil.disk_usage(store.folder).free,
        read_only=store.read_only,
        chroma=(store.folder / "chroma").is_dir(),
        chroma_trouble=chroma_trouble(store.folder),
        node=str(store.folder) if store.node else None,
        unheard=spool.aside(),
        unheard_gone=spool.gone(),
        damaged=(*_damaged(store.folder), *spool.damaged()),
        failing_chores=tuple(store.failing_chores()),
        chroma_server=urlsplit(store.settings.index.chroma_url or "").hostname,
        now=now(),
    )


def _damaged(folder: Path) -> list[str]:
    """List the damaged files that day1 can do without: the uses and the primes."""
    with closing(FileUses(folder, read_only=True)) as uses_file:
        damaged_uses = [] if uses_file.is_whole() else [USES]
    return damaged_uses + FilePrimes(folder, read_only=True).damaged()
