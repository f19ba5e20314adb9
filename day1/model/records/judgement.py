"""A judge's input for a claim, its answer, and the verdict from its scores.

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
"""The stance of one memory towards another: support, contradiction, or the same topic only."""

DIMENSIONS: Final = ("accuracy", "relevance", "specificity")
VERIFIED: Final = 0.6
INVALIDATED: Final = 0.3


@dataclass(frozen=True, slots=True)
class Evidence:
    """A memory that was found for a claim."""

    id: str
    kind: str
    """The kind of the memory: fact or observation."""
    text: str
    at: int
    """When the memory happened, else when it was learned; microseconds UTC."""
    agent_id: str | None = None
    source: str | None = None
    verified: bool = False
    confidence: float = 1.0
    cosine: float | None = None
    stance: Stance = "related"


@dataclass(frozen=True, slots=True)
class Case:
    """A claim with the memories about it. Its texts are untrusted: others wrote them."""

    text: str
    at: int
    now: int
    category: str | None = None
    confidence: float = 1.0
    agent_id: str | None = None
    source: str | None = None
    evidence: tuple[Evidence, ...] = ()
    relations: tuple[str, ...] = ()
    """Relations of the entities that the claim names, each as a line."""
    context: str | None = None
    dimensions: tuple[str, ...] = DIMENSIONS
    left_out: int = 0
    """The number of removed pieces of text that gave the judge instructions."""


@dataclass(frozen=True, slots=True)
class Score:
    """The score of one dimension, 0 to 1, with a reason in words."""

    dimension: str
    score: float
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judge's answer."""

    verdict: Verdict
    reason: str
    scores: tuple[Score, ...]
    judge: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    weighed: tuple[str, ...] = ()
    """Ids of the evidence that supports or contradicts the claim."""
    left_out: int = 0
    """The number of pieces of the case that gave the judge instructions and were removed."""


def verdict_of(scores: Sequence[Score], *, refuted: bool = False) -> Verdict:
    """Return the verdict for scores; `refuted` means that memory clearly says the contrary."""
    if refuted:
        return "invalidated"
    if not scores:
        return "unverified"
    mean_score = math.fsum(score.score for score in scores) / len(scores)
    # Scores have two decimals: what prints as 0.60 must not fail by a bit of the machine's.
    mean_score = round(mean_score, 6)
    if mean_score >= VERIFIED:
        return "verified"
    return "invalidated" if mean_score < INVALIDATED else "unverified"
