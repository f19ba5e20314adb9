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
"""Maximum number of pairs of similar candidates compared before the first choice."""


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
    """The score of agents' verdicts and votes; 1 if the memory contradicts a chosen one."""
    is_held: bool = False
    """Whether the memory is in the workspace already."""
    is_pinned: bool = False


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The relations between candidates: links, similar texts and similarity."""

    linked: Mapping[str, Collection[str]] = field(default_factory=dict)
    """Candidate id -> ids of the candidates linked with it."""
    alike: Mapping[str, Collection[str]] = field(default_factory=dict)
    """Candidate id -> ids of the candidates that say nearly the same, or contradict it."""
    likeness: Callable[[str], Mapping[str, float]] = lambda _: {}
    """Returns the similarity, 0 to 1, of others to a candidate, by id; a missing id means 0."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The result of one candidate: its score, and why it has a place or not."""

    id: str
    score: float
    parts: Parts
    round: int
    """The number, from 1, of the round that chose or joined it, else of the last round."""
    reason: Reason
    via: str | None = None
    """The id of the chosen memory whose link pulled it most."""
    joins: str | None = None
    """The id of the chosen memory of which it is another wording."""
    contradicts: tuple[str, ...] = ()
    """Ids of the chosen memories that it contradicts."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The memories that the competition chose for the workspace, and the others."""

    chosen: tuple[Standing, ...]
    """The candidates with a place, best first."""
    others: tuple[Standing, ...]
    """The candidates without a place, best first."""

    @property
    def standings(self) -> tuple[Standing, ...]:
        """Every candidate, the chosen ones first."""
        return self.chosen + self.others


@dataclass(slots=True)
class _Rival:
    """A candidate during the competition."""

    contender: Contender
    parts: dict[str, float]
    via: str | None = None
    contradicts: tuple[str, ...] = ()
    score: float = 0.0
    """The weighted sum of the parts, kept up to date by `compete`."""
    ignites: bool = False
    """Whether the candidate may enter the workspace, kept up to date by `compete`."""

    def dispute(self) -> None:
        """Note that the candidate contradicts another one, chosen or not."""
        self.parts["stake"] = 1.0

    def standing(self, number: int, reason: Reason, joins: str | None = None) -> Standing:
        row_id, parts = self.contender.id, dict(self.parts)
        return Standing(
            row_id, self.score, parts, number, reason, self.via, joins, self.contradicts
        )


def _rival(contender: Contender) -> _Rival:
    """Return a candidate as it is before the first choice."""
    parts = {
        "relevance": contender.relevance,
        "novelty": 1.0,
        "links": 0.0,
        "recency": contender.recency,
        "held": float(contender.is_held),
        "frequency": contender.frequency,
        "need": contender.need,
        "stake": contender.stake,
    }
    return _Rival(contender, parts)


def compete(
    contenders: Iterable[Contender], neighbours: Neighbours, rules: Rules, *, goal: bool
) -> Outcome:
    """Choose the memories that get the places; the order of the candidates does not matter.

    Args:
        contenders: the candidates, each once.
        neighbours: how they are related.
        rules: the weights, and the number of places.
        goal: whether there is a goal; without one, the score itself must reach the ignition.
    """
    candidates = sorted(contenders, key=lambda each: each.id)
    rivals = {each.id: _rival(each) for each in candidates}
    _note_disputes(rivals, neighbours)
    chosen: list[Standing] = []
    others: list[Standing] = []

    def ignites(rival: _Rival) -> bool:
        if rival.contender.is_pinned or rival.contradicts:
            return True
        # A contradiction raises the score, and is no reason to enter.
        stake = rival.contender.stake if rules.weights["stake"] else 0.0
        strongest = max(rival.contender.relevance, rival.parts["links"], stake)
        return (strongest if goal else rival.score) >= rules.ignition

    def weigh(rivals: Iterable[_Rival]) -> None:
        for rival in rivals:
            rival.score = score_of(rival.parts, rules.weights)
            rival.ignites = ignites(rival)

    def order(rival: _Rival) -> tuple[bool, bool, float, int, str]:
        contender = rival.contender
        first = (not contender.is_pinned, not rival.contradicts)
        return (*first, -rival.score, contender.created_at, contender.id)

    weigh(rivals.values())
    while len(chosen) < rules.slots:
        ready = [rival for rival in rivals.values() if rival.ignites]
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
    last_round = max(1, len(chosen))
    for rival in rivals.values():
        rejection: Reason = "no_place" if rival.ignites else "below_ignition"
        others.append(rival.standing(last_round, rejection))
    created_at = {each.id: each.created_at for each in candidates}
    others.sort(key=lambda each: (-each.score, created_at[each.id], each.id))
    return Outcome(tuple(chosen), tuple(others))


def _note_disputes(rivals: Mapping[str, _Rival], neighbours: Neighbours) -> None:
    """Mark the candidates that contradict another one, so that both are chosen early."""
    pairs = ((i, j) for i in rivals for j in sorted(neighbours.alike.get(i, ())) if i < j)
    for one, other in islice(pairs, _MOST_PAIRS):
        if other in rivals and contradict(rivals[one].contender.text, rivals[other].contender.text):
            rivals[one].dispute()
            rivals[other].dispute()


def _take_wordings(best: _Rival, rivals: dict[str, _Rival], neighbours: Neighbours) -> list[_Rival]:
    """Remove the other wordings of a chosen memory from the rivals, and return them."""
    similar_ids = neighbours.alike.get(best.contender.id, ())
    wordings = [
        rivals[i]
        for i in sorted(similar_ids)
        if i in rivals and not at_odds(best.contender.text, rivals[i].contender.text)
    ]
    for rival in wordings:
        del rivals[rival.contender.id]
    return wordings


def _compare_anew(
    wordings: Sequence[_Rival], rivals: Mapping[str, _Rival], neighbours: Neighbours
) -> list[_Rival]:
    """Update novelty, links and contradictions of the remaining rivals after a choice.

    `wordings` are the chosen memory and its other wordings: a link with any of them counts.

    Returns:
        The rivals with a changed part of their score.
    """
    best, chosen_id = wordings[0], wordings[0].contender.id
    likeness, alike = neighbours.likeness(chosen_id), neighbours.alike.get(chosen_id, ())
    linked = {i for each in wordings for i in neighbours.linked.get(each.contender.id, ())}
    pull = PULL * max(max(each.contender.relevance, each.parts["links"]) for each in wordings)
    changed = []
    for row_id, rival in rivals.items():
        parts = rival.parts
        novelty = 1.0 - likeness.get(row_id, 0.0)
        is_pulled = row_id in linked and pull > parts["links"]
        is_denied = row_id in alike and contradict(best.contender.text, rival.contender.text)
        if novelty < parts["novelty"]:
            parts["novelty"] = novelty
        elif not is_pulled and not is_denied:
            continue
        if is_pulled:
            parts["links"], rival.via = pull, chosen_id
        if is_denied:
            rival.contradicts += (chosen_id,)
            rival.dispute()
        changed.append(rival)
    return changed


def contradict(one: str, other: str) -> bool:
    """Whether two similar texts contradict each other, whichever is read first."""
    first, second = sorted((one, other), key=lambda text: (text.rstrip().endswith("?"), text))
    return stance(second, first, ALIKE) == "contradicts"
