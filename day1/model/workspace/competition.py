"""The competition for the places of a workspace: a greedy choice by score. Pure.

The memory with the highest score is chosen; then novelty and links of the others are computed anew,
since they depend on what was chosen. A memory enters only if it belongs to the goal or is linked
with a chosen one: being new, recent or different is not enough. Another wording of a chosen memory
joins it. What contradicts a chosen memory is chosen next, so that both are seen.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, Literal

from day1.model.search.grouping import ALIKE, at_odds
from day1.model.search.stance import stance
from day1.model.workspace.scoring import PULL, Parts, Rules, score_of

Reason = Literal["admitted", "kept", "other_wording", "below_ignition", "no_place"]
"""Why a candidate is in the workspace, or is not."""


_MOST_PAIRS: Final = 500
"""Pairs of similar candidates that are compared before the first choice, at most."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A memory that competes; its parts are between 0 and 1."""

    id: str
    text: str
    created_at: int
    relevance: float = 0.0
    recency: float = 0.0
    frequency: float = 0.0
    need: float = 0.0
    stake: float = 0.0
    """What agents' verdicts and votes say of it; 1 if it contradicts a chosen memory."""
    is_held: bool = False
    """Whether it is in the workspace already."""
    is_pinned: bool = False


@dataclass(frozen=True, slots=True)
class Neighbours:
    """How candidates are related."""

    linked: Mapping[str, Collection[str]] = field(default_factory=dict)
    """Id -> ids of the candidates linked with it."""
    alike: Mapping[str, Collection[str]] = field(default_factory=dict)
    """Id -> ids of the candidates that say nearly the same, or contradict it."""
    likeness: Callable[[str], Mapping[str, float]] = lambda _: {}
    """Returns how like a candidate the others are, 0 to 1; 0 for those that are missing."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How a candidate came off."""

    id: str
    score: float
    parts: Parts
    round: int
    """The round in which it was chosen, from 1; of others the last one in which it competed."""
    reason: Reason
    via: str | None = None
    """The id of the chosen memory whose link pulled it most."""
    joins: str | None = None
    """The id of the chosen memory of which it is another wording."""
    contradicts: tuple[str, ...] = ()
    """Ids of the chosen memories that it contradicts."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a competition."""

    chosen: tuple[Standing, ...]
    """Best first."""
    others: tuple[Standing, ...]
    """Those without a place, best first."""

    @property
    def standings(self) -> tuple[Standing, ...]:
        """Every candidate, the chosen ones first."""
        return self.chosen + self.others


@dataclass(slots=True)
class _Rival:
    """A candidate during the competition."""

    contender: Contender
    novelty: float = 1.0
    links: float = 0.0
    via: str | None = None
    contradicts: tuple[str, ...] = ()
    is_disputed: bool = False
    """Whether it contradicts a candidate, chosen or not."""
    score: float = 0.0
    """The sum of its parts by the weights, kept up to date by `compete`."""

    @property
    def parts(self) -> Parts:
        own = self.contender
        return {
            "relevance": own.relevance,
            "novelty": self.novelty,
            "links": self.links,
            "recency": own.recency,
            "held": float(own.is_held),
            "frequency": own.frequency,
            "need": own.need,
            "stake": 1.0 if self.is_disputed else own.stake,
        }

    def standing(self, number: int, reason: Reason, joins: str | None = None) -> Standing:
        own = self.contender
        return Standing(
            own.id, self.score, self.parts, number, reason, self.via, joins, self.contradicts
        )


def compete(
    contenders: Iterable[Contender], neighbours: Neighbours, rules: Rules, *, goal: bool
) -> Outcome:
    """Choose the memories that get the places; their order does not matter.

    Args:
        contenders: the candidates, each once.
        neighbours: how they are related.
        rules: the weights, and the number of places.
        goal: whether there is a goal; without one, the score itself must reach the ignition.
    """
    candidates = sorted(contenders, key=lambda each: each.id)
    rivals = {each.id: _Rival(each) for each in candidates}
    _note_disputes(rivals, neighbours)
    chosen: list[Standing] = []
    others: list[Standing] = []

    def weigh(rivals: Iterable[_Rival]) -> None:
        for rival in rivals:
            rival.score = score_of(rival.parts, rules.weights)

    def order(rival: _Rival) -> tuple[bool, bool, float, int, str]:
        own = rival.contender
        first = (not own.is_pinned, not rival.contradicts)
        return (*first, -rival.score, own.created_at, own.id)

    def ignites(rival: _Rival) -> bool:
        if rival.contender.is_pinned or rival.contradicts:
            return True
        stake = rival.contender.stake if rules.weights["stake"] else 0.0
        strongest = max(rival.contender.relevance, rival.links, stake) if goal else rival.score
        return strongest >= rules.ignition

    weigh(rivals.values())
    while len(chosen) < rules.slots:
        ready = [rival for rival in rivals.values() if ignites(rival)]
        if not ready:
            break
        best = min(ready, key=order)
        number = len(chosen) + 1
        reason: Reason = "kept" if best.contender.is_held else "admitted"
        chosen.append(best.standing(number, reason))
        del rivals[best.contender.id]
        wordings = _take_wordings(best, rivals, neighbours)
        others += [each.standing(number, "other_wording", best.contender.id) for each in wordings]
        weigh(_compare_anew([best, *wordings], rivals, neighbours))
    last = max(1, len(chosen))
    for rival in rivals.values():
        why: Reason = "no_place" if ignites(rival) else "below_ignition"
        others.append(rival.standing(last, why))
    created_at = {each.id: each.created_at for each in candidates}
    others.sort(key=lambda each: (-each.score, created_at[each.id], each.id))
    return Outcome(tuple(chosen), tuple(others))


def _note_disputes(rivals: Mapping[str, _Rival], neighbours: Neighbours) -> None:
    """Mark the candidates that contradict another one, so that both are chosen early."""
    pairs = ((i, j) for i in rivals for j in sorted(neighbours.alike.get(i, ())) if i < j)
    for one, other in islice(pairs, _MOST_PAIRS):
        if other in rivals and contradict(rivals[one].contender.text, rivals[other].contender.text):
            rivals[one].is_disputed = rivals[other].is_disputed = True


def _take_wordings(best: _Rival, rivals: dict[str, _Rival], neighbours: Neighbours) -> list[_Rival]:
    """Remove the other wordings of a chosen memory from the rivals, and return them."""
    alike = neighbours.alike.get(best.contender.id, ())
    wordings = [
        rivals[i]
        for i in sorted(alike)
        if i in rivals and not at_odds(best.contender.text, rivals[i].contender.text)
    ]
    for rival in wordings:
        del rivals[rival.contender.id]
    return wordings


def _compare_anew(
    wordings: Sequence[_Rival], rivals: Mapping[str, _Rival], neighbours: Neighbours
) -> list[_Rival]:
    """Compute novelty and links of the others anew, and whom the chosen memory contradicts.

    `wordings` are the chosen memory and its other wordings: a link with any of them counts.

    Returns:
        The others of which a part of the score has changed.
    """
    best, chosen = wordings[0], wordings[0].contender.id
    likeness, alike = neighbours.likeness(chosen), neighbours.alike.get(chosen, ())
    linked = {i for each in wordings for i in neighbours.linked.get(each.contender.id, ())}
    pull = PULL * max(max(each.contender.relevance, each.links) for each in wordings)
    changed = []
    for row_id, rival in rivals.items():
        before = (rival.novelty, rival.links, rival.is_disputed)
        rival.novelty = min(rival.novelty, 1.0 - likeness.get(row_id, 0.0))
        if row_id in linked and pull > rival.links:
            rival.links, rival.via = pull, chosen
        if row_id in alike and contradict(best.contender.text, rival.contender.text):
            rival.contradicts += (chosen,)
            rival.is_disputed = True
        if before != (rival.novelty, rival.links, rival.is_disputed):
            changed.append(rival)
    return changed


def contradict(one: str, other: str) -> bool:
    """Whether two similar texts contradict each other, whichever is read first."""
    first, second = sorted((one, other), key=lambda text: (text.rstrip().endswith("?"), text))
    return stance(second, first, ALIKE) == "contradicts"
