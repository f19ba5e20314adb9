"""Orders the facts of a prime: by use, votes and age, before anybody has asked a question. Pure.

A fact's worth is a weighted sum of three parts, each from 0 to 1:

- *used*: a search or a hint showed the fact among its best, or an agent opened it, often and not
  long ago. Being in a prime is no use: what is in once would stay in for ever.
- *judged*: agents rated the fact useful, or a judge verified it.
- *recent*: the fact was written or happened not long ago. A convention or a preference holds until
  somebody changes it, and few prompts name it: the best five of them do not age.

The fact's confidence multiplies the sum, and so do bad votes. Pinned facts come before all others:
a person or an agent gave them the category `pinned`. Further facts of one session count as older
than they are, so that the last session does not fill the prime; what use and votes say of them
counts in full.

How a text looks (a row of a table, an item of a list, a path of headings) counts nothing. Who
imports a document notes none of its passages, so the age of a passage counts nothing either: a
passage has the place that use and votes give it, and none before somebody has used or judged it.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from day1.model.values.instant import DAY

PINNED: Final = "pinned"
"""The category of facts that every session begins with."""
EVERGREEN: Final = frozenset({"convention", "preference"})
"""The categories of facts that say how to work: their rank does not fall with age."""


@dataclass(frozen=True, slots=True)
class KnownFact:
    """A candidate fact for a prime, and its attributes. Times are in microseconds UTC."""

    id: str
    text: str
    at: int
    """When the fact happened, else when it was written."""
    pinned: bool = False
    evergreen: bool = False
    verified: bool = False
    passage: bool = False
    """Whether the fact is a passage of an imported document."""
    confidence: float = 1.0
    session_id: str | None = None
    times: int = 0
    """The number of uses of the fact on this machine (`ports.uses.Use`)."""
    last_shown: int = 0
    usefulness: float = 0.0
    """The usefulness by votes, -1 to 1 (`model.search.usefulness`)."""
    until: int | None = None
    """The time at which the fact ends, if it is known."""


@dataclass(frozen=True, slots=True)
class PrimeWeights:
    """The weights of the order: the ratio of its three parts, and times in days."""

    used: float = 0.4
    judged: float = 0.25
    recent: float = 0.35
    often: float = 3.0
    """The number of uses that give a fact half of the weight of use."""
    passage: int = 10
    """The number of uses from which a passage that nobody judged may be in a prime. A search shows
    something for every question, so a few uses say little about a passage."""
    used_half_life: float = 14.0
    recent_half_life: float = 7.0
    verified: float = 0.5
    """The weight of a verdict, as a judgement."""
    same_session: float = 0.85
    """The factor on a fact's *recent* part for each better fact of the same session."""
    most_evergreen: int = 5
    """Maximum number of evergreen facts that do not age, so that room stays for news."""


DEFAULT: Final = PrimeWeights()


def worth_of(
    fact: KnownFact, now: int, weights: PrimeWeights = DEFAULT, *, before: int = 0
) -> float:
    """Score a fact for a session that begins now, 0 to 1, without regard to pinning.

    `before` is the number of better facts of its session.
    """
    use_worth = fact.times / (fact.times + weights.often)
    use_worth *= _faded(now - fact.last_shown, weights.used_half_life)
    judged_worth = max(fact.usefulness, weights.verified if fact.verified else 0.0, 0.0)
    recent_worth = 1.0 if fact.evergreen else _faded(now - fact.at, weights.recent_half_life)
    recent_worth *= 0.0 if fact.passage else weights.same_session**before
    weighted_sum = (
        weights.used * use_worth + weights.judged * judged_worth + weights.recent * recent_worth
    )
    weight_sum = weights.used + weights.judged + weights.recent
    return weighted_sum / weight_sum * fact.confidence * (1.0 + min(fact.usefulness, 0.0))


def ordered(
    facts: Iterable[KnownFact], now: int, weights: PrimeWeights = DEFAULT
) -> list[KnownFact]:
    """Order the facts that may be in a prime, best first; of equal texts only the newest.

    Pinned ones come first, the newest of them before the others.
    """
    eligible_facts = (fact for fact in facts if _serves(fact, weights))
    newest_first = sorted(eligible_facts, key=lambda fact: (-fact.at, fact.id))
    distinct_facts = list(
        {" ".join(fact.text.split()): fact for fact in reversed(newest_first)}.values()
    )
    score_by_id = {fact.id: worth_of(fact, now, weights) for fact in distinct_facts}
    evergreen_facts = sorted(
        (fact for fact in distinct_facts if fact.evergreen),
        key=lambda f: (-score_by_id[f.id], -f.at, f.id),
    )
    ageing_fact_by_id = {
        fact.id: replace(fact, evergreen=False)
        for fact in evergreen_facts[weights.most_evergreen :]
    }
    distinct_facts = [ageing_fact_by_id.get(fact.id, fact) for fact in distinct_facts]
    score_by_id |= {fact.id: worth_of(fact, now, weights) for fact in ageing_fact_by_id.values()}
    # The best of a session keeps its worth, so the facts are looked at from the best on.
    distinct_facts.sort(key=lambda fact: (-score_by_id[fact.id], -fact.at, fact.id))
    count_by_session = Counter[str]()
    for fact in distinct_facts:
        if fact.session_id is None or fact.pinned:
            continue
        if count_by_session[fact.session_id]:
            score_by_id[fact.id] = worth_of(
                fact, now, weights, before=count_by_session[fact.session_id]
            )
        count_by_session[fact.session_id] += 1
    return sorted(
        distinct_facts,
        key=lambda f: (not f.pinned, -f.at if f.pinned else -score_by_id[f.id], -f.at),
    )


def _serves(fact: KnownFact, weights: PrimeWeights) -> bool:
    """Whether a fact may be in a prime: a passage only if somebody pinned, judged or used it."""
    if not fact.passage or fact.pinned or fact.verified or fact.usefulness > 0:
        return True
    return fact.usefulness == 0 and fact.times >= weights.passage


def _faded(age: int, half_life: float) -> float:
    """Return the decay after an age, 1 for a new fact; a future time counts as now."""
    return float(0.5 ** (max(age, 0) / DAY / half_life))
