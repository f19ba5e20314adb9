"""Intents: what an operation is about to ask of the engine, noted before it asks."""

from collections.abc import Mapping
from dataclasses import dataclass

from day1.errors import Json


@dataclass(frozen=True, slots=True)
class Intent:
    """An operation on engine and ledger, with all that is needed to finish or withdraw it."""

    id: str
    op: str
    payload: Mapping[str, Json]
    created_at: int
