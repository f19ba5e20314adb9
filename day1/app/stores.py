"""Open and make stores: fulfils the command line's `Stores`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from day1.app.background import prime_renewer
from day1.app.engines import create_store
from day1.app.open import open_copy_target, open_store, open_with_mask, point
from day1.app.owners import refuse_anothers

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
    from day1.app import place

    return place.place_of(store)
