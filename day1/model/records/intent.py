"""What the engine is about to be asked."""

from collections.abc import Mapping
from dataclasses import dataclass

from day1.errors import Json


@dataclass(frozen=True, slots=True)
class Intent:
    """What the engine is about to be asked, with all that finishing or withdrawing it needs."""

    id: str
    op: str
    payload: Mapping[str, Json]
    created_at: int
