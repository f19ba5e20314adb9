"""The score of a memory that competes for a place: a sum of weighted parts. Pure.

Each part is between 0 and 1, and the weights sum to 1. There is no other term, so anybody can add
up a score: `math.fsum` of each weight times its part.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import fsum
from typing import Final

from day1.model.workspace.mind import SLOTS

PARTS: Final = (
    "relevance",
    "novelty",
    "links",
    "recency",
    "held",
    "frequency",
    "need",
    "stake",
)
"""The parts of a score, in the order in which they are shown."""
Parts = Mapping[str, float]
"""A number for each part of a score, by the name of the part."""

ALONE: Final[Parts] = {
    "relevance": 0.35,
    "novelty": 0.15,
    "links": 0.20,
    "recency": 0.15,
    "held": 0.05,
    "frequency": 0.10,
    "need": 0.0,
    "stake": 0.0,
}
"""The weights in the workspace of one client."""
SHARED: Final[Parts] = {
    "relevance": 0.30,
    "novelty": 0.20,
    "links": 0.0,
    "recency": 0.05,
    "held": 0.05,
    "frequency": 0.05,
    "need": 0.10,
    "stake": 0.25,
}
"""The weights in the workspace of a task.

Links let a memory enter, but add nothing to its score: in the team test, a weight for them told
agents no more (`tests/relevance/test_workspace.py`).
"""

PULL: Final = 0.8
"""The share of a chosen memory's relevance that a linked memory gets as its `links`."""
IGNITION: Final = 0.2
"""The minimum relevance, links or stake with which a memory may enter the workspace."""
TOKENS: Final = 4_000
"""Maximum number of tokens of a broadcast."""
_ROUNDED: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Rules:
    """The settings of a workspace.

    Raises:
        ValueError: the weights do not name exactly `PARTS`, are negative, or do not sum to 1.
    """

    weights: Parts
    slots: int = SLOTS
    ignition: float = IGNITION
    tokens: int = TOKENS

    def __post_init__(self) -> None:
        if set(self.weights) != set(PARTS) or min(self.weights.values()) < 0:
            raise ValueError(f"the weights must be those of {', '.join(PARTS)}, none below 0")
        if abs(fsum(self.weights.values()) - 1) > _ROUNDED:
            raise ValueError("the weights of a workspace must sum to 1")


def score_of(parts: Parts, weights: Parts) -> float:
    """Compute a score: the sum of each weight times its part."""
    return fsum([weights[name] * parts[name] for name in PARTS])
