"""Which facts serve a session best at its begin, before anybody has asked for something. Pure.

A fact's worth is a weighted sum of three things that are known of it, each from 0 to 1:

- *used*: recall has shown it, often and not long ago. Being in a prime is no use of it, else what
  is in once would stay in for ever.
- *judged*: agents found it useful, or a judge verified it.
- *recent*: it was written or happened not long ago. What says how to work (a convention, a
  preference) holds until somebody changes it, and few prompts name it: the best five do not age.

Its confidence multiplies the sum, and so do bad judgements. What is pinned comes before all else: a
person or an agent gave it the category `pinned`. Facts of one session are worth less one after the
other, so that the last session does not fill the prime by itself.

A passage of an imported document, such as a table of a reference, serves who looks for it. At the
begin nobody does, so only a passage that is pinned, judged useful or verified is among the facts.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from day1.model.values.instant import DAY

PINNED: Final = "pinned"
"""The category of a fact that every session is to begin with."""
AGELESS: Final = frozenset({"convention", "preference"})
"""The categories of facts that say how to work."""


@dataclass(frozen=True, slots=True)
class KnownFact:
    """A fact that may be in a prime, and what is known of it. Times are in microseconds UTC."""

    id: str
    text: str
    at: int
    """When it happened, else when it was written."""
    pinned: bool = False
    ageless: bool = False
    verified: bool = False
    passage: bool = False
    """Whether it is a passage of a document that was imported."""
    confidence: float = 1.0
    session_id: str | None = None
    times: int = 0
    """How often recall has shown it on this machine."""
    last_shown: int = 0
    worth: float = 0.0
    """What votes say of it, -1 to 1 (`model.search.worth`)."""
    until: int | None = None
    """When it will no longer be true, if that is known."""


@dataclass(frozen=True, slots=True)
class PrimeWeights:
    """What counts how much: the three parts by their ratio, times in days."""

    used: float = 0.4
    judged: float = 0.25
    recent: float = 0.35
    often: float = 3.0
    """Shown so many times, a fact has half of what use can give it."""
    used_half_life: float = 14.0
    recent_half_life: float = 7.0
    verified: float = 0.5
    """What a verdict counts as a judgement."""
    same_session: float = 0.85
    """What each further fact of one session keeps of its worth."""
    most_ageless: int = 5
    """Of the facts that say how to work, so many do not age; beside them there is room for news."""


DEFAULT: Final = PrimeWeights()


def worth_of(fact: KnownFact, now: int, weights: PrimeWeights = DEFAULT) -> float:
    """What a fact is worth for a session that begins now, 0 to 1, but for its being pinned."""
    used = fact.times / (fact.times + weights.often)
    used *= _faded(now - fact.last_shown, weights.used_half_life)
    judged = max(fact.worth, weights.verified if fact.verified else 0.0, 0.0)
    recent = 1.0 if fact.ageless else _faded(now - fact.at, weights.recent_half_life)
    total = weights.used * used + weights.judged * judged + weights.recent * recent
    whole = weights.used + weights.judged + weights.recent
    return total / whole * fact.confidence * (1.0 + min(fact.worth, 0.0))


def ordered(
    facts: Iterable[KnownFact], now: int, weights: PrimeWeights = DEFAULT
) -> list[KnownFact]:
    """The facts that serve, the one that serves best first; of equal texts the newest alone.

    Pinned ones come first, the newest of them before the others.
    """
    newest = sorted(filter(_serves, facts), key=lambda fact: (-fact.at, fact.id))
    once = list({" ".join(fact.text.split()): fact for fact in reversed(newest)}.values())
    scores = {fact.id: worth_of(fact, now, weights) for fact in once}
    ageless = sorted((f for f in once if f.ageless), key=lambda f: (-scores[f.id], -f.at, f.id))
    for fact in ageless[weights.most_ageless :]:
        scores[fact.id] = worth_of(replace(fact, ageless=False), now, weights)
    # The best of a session keeps its worth, so the facts are looked at from the best on.
    once.sort(key=lambda fact: (-scores[fact.id], -fact.at, fact.id))
    seen = Counter[str]()
    for fact in once:
        if fact.session_id is not None and not fact.pinned:
            scores[fact.id] *= weights.same_session ** seen[fact.session_id]
            seen[fact.session_id] += 1
    return sorted(once, key=lambda f: (not f.pinned, -f.at if f.pinned else -scores[f.id], -f.at))


def _serves(fact: KnownFact) -> bool:
    return not fact.passage or fact.pinned or fact.verified or fact.worth > 0


def _faded(age: int, half_life: float) -> float:
    """What is left of 1 after an age; a time ahead of the clock is now."""
    return float(0.5 ** (max(age, 0) / DAY / half_life))
