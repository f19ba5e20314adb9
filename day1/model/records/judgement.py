"""What a judge is given of a claim, what it answers, and the verdict that its scores amount to.

A verdict follows from the mean of the scores: `VERIFIED` and above verified, below `INVALIDATED`
invalidated, else unverified. One rule stands beside it: what memory clearly refutes (newer or
weightier evidence says the contrary) is invalidated, however well it is worded.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

Verdict = Literal["verified", "unverified", "invalidated"]
Stance = Literal["supports", "contradicts", "related"]
"""What one memory says of another: that it is so, that it is not, or something about the same."""

DIMENSIONS: Final = ("accuracy", "relevance", "specificity")
VERIFIED: Final = 0.6
INVALIDATED: Final = 0.3


@dataclass(frozen=True, slots=True)
class Evidence:
    """A memory that was found for a claim."""

    id: str
    kind: str
    """fact or observation."""
    text: str
    at: int
    """When it happened, else when it was learned; microseconds UTC."""
    agent_id: str | None = None
    source: str | None = None
    verified: bool = False
    confidence: float = 1.0
    cosine: float | None = None
    stance: Stance = "related"


@dataclass(frozen=True, slots=True)
class Case:
    """A claim with what memory knows of it. All its texts were written by others."""

    text: str
    at: int
    now: int
    category: str | None = None
    confidence: float = 1.0
    agent_id: str | None = None
    source: str | None = None
    evidence: tuple[Evidence, ...] = ()
    relations: tuple[str, ...] = ()
    """Relations that touch what the claim names, each as a line."""
    context: str | None = None
    dimensions: tuple[str, ...] = DIMENSIONS
    left_out: int = 0
    """Pieces of its texts that spoke to the judge."""


@dataclass(frozen=True, slots=True)
class Score:
    """One dimension, 0 to 1, with a reason in words."""

    dimension: str
    score: float
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a judge found."""

    verdict: Verdict
    reason: str
    scores: tuple[Score, ...]
    judge: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    weighed: tuple[str, ...] = ()
    """Ids of the evidence that supports or contradicts the claim."""
    left_out: int = 0
    """Pieces of the case that spoke to the judge, and were not read."""


def verdict_of(scores: Sequence[Score], *, refuted: bool = False) -> Verdict:
    """The verdict that scores amount to; `refuted` says that memory clearly says the contrary."""
    if refuted:
        return "invalidated"
    if not scores:
        return "unverified"
    mean = math.fsum(s.score for s in scores) / len(scores)
    # Scores have two decimals: what prints as 0.60 must not fail by a bit of the machine's.
    mean = round(mean, 6)
    if mean >= VERIFIED:
        return "verified"
    return "invalidated" if mean < INVALIDATED else "unverified"
