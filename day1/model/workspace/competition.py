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
        row_id, score_parts = self.contender.id, dict(self.parts)
        return Standing(
            row_id, self.score, score_parts, number, reason, self.via, joins, self.contradicts
        )


def _rival(contender: Contender) -> _Rival:
    """Return a candidate as it is before the first choice."""
    score_parts = {
        "relevance": contender.relevance,
        "novelty": 1.0,
        "links": 0.0,
        "recency": contender.recency,
        "held": float(contender.is_held),
        "frequency": contender.frequency,
        "need": contender.need,
        "stake": contender.stake,
    }
    return _Rival(contender, score_parts)


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
    candidates = sorted(contenders, key=lambda contender: contender.id)
    rivals = {contender.id: _rival(contender) for contender in candidates}
    _note_disputes(rivals, neighbours)
    chosen: list[Standing] = []
    others: list[Standing] = []

    def ignites(rival: _Rival) -> bool:
        if rival.contender.is_pinned or rival.contradicts:
            return True
        # A contradiction raises the score, and is no reason to enter.
        stake = rival.contender.stake if rules.weights["stake"] else 0.0
        strongest_part = max(rival.contender.relevance, rival.parts["links"], stake)
        return (strongest_part if goal else rival.score) >= rules.ignition

    def weigh(rivals: Iterable[_Rival]) -> None:
        for rival in rivals:
            rival.score = score_of(rival.parts, rules.weights)
            rival.ignites = ignites(rival)

    def order(rival: _Rival) -> tuple[bool, bool, float, int, str]:
        contender = rival.contender
        priority = (not contender.is_pinned, not rival.contradicts)
        return (*priority, -rival.score, contender.created_at, contender.id)

    weigh(rivals.values())
    while len(chosen) < rules.slots:
        igniting_rivals = [rival for rival in rivals.values() if rival.ignites]
        if not igniting_rivals:
            break
        best_rival = min(igniting_rivals, key=order)
        round_number = len(chosen) + 1
        reason: Reason = "kept" if best_rival.contender.is_held else "admitted"
        chosen.append(best_rival.standing(round_number, reason))
        del rivals[best_rival.contender.id]
        wordings = _take_wordings(best_rival, rivals, neighbours)
        others += [
            wording.standing(round_number, "other_wording", best_rival.contender.id)
            for wording in wordings
        ]
        weigh(_compare_anew([best_rival, *wordings], rivals, neighbours))
    last_round = max(1, len(chosen))
    for rival in rivals.values():
        rejection_reason: Reason = "no_place" if rival.ignites else "below_ignition"
        others.append(rival.standing(last_round, rejection_reason))
    created_at_by_id = {contender.id: contender.created_at for contender in candidates}
    others.sort(key=lambda standing: (-standing.score, created_at_by_id[standing.id], standing.id))
    return Outcome(tuple(chosen), tuple(others))


def _note_disputes(rivals: Mapping[str, _Rival], neighbours: Neighbours) -> None:
    """Mark the candidates that contradict another one, so that both are chosen early."""
    id_pairs = (
        (candidate_id, similar_id)
        for candidate_id in rivals
        for similar_id in sorted(neighbours.alike.get(candidate_id, ()))
        if candidate_id < similar_id
    )
    for one_id, other_id in islice(id_pairs, _MOST_PAIRS):
        if other_id in rivals and contradict(
            rivals[one_id].contender.text, rivals[other_id].contender.text
        ):
            rivals[one_id].dispute()
            rivals[other_id].dispute()


def _take_wordings(best: _Rival, rivals: dict[str, _Rival], neighbours: Neighbours) -> list[_Rival]:
    """Remove the other wordings of a chosen memory from the rivals, and return them."""
    similar_ids = neighbours.alike.get(best.contender.id, ())
    wordings = [
        rivals[row_id]
        for row_id in sorted(similar_ids)
        if row_id in rivals and not at_odds(best.contender.text, rivals[row_id].contender.text)
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
    chosen_rival, chosen_id = wordings[0], wordings[0].contender.id
    likeness_by_id, similar_ids = (
        neighbours.likeness(chosen_id),
        neighbours.alike.get(chosen_id, ()),
    )
    linked_ids = {
        linked_id
        for wording in wordings
        for linked_id in neighbours.linked.get(wording.contender.id, ())
    }
    link_score = PULL * max(
        max(wording.contender.relevance, wording.parts["links"]) for wording in wordings
    )
    changed_rivals = []
    for row_id, rival in rivals.items():
        parts = rival.parts
        novelty = 1.0 - likeness_by_id.get(row_id, 0.0)
        is_pulled = row_id in linked_ids and link_score > parts["links"]
        is_denied = row_id in similar_ids and contradict(
            chosen_rival.contender.text, rival.contender.text
        )
        if novelty < parts["novelty"]:
            parts["novelty"] = novelty
        elif not is_pulled and not is_denied:
            continue
        if is_pulled:
            parts["links"], rival.via = link_score, chosen_id
        if is_denied:
            rival.contradicts += (chosen_id,)
            rival.dispute()
        changed_rivals.append(rival)
    return changed_rivals


def contradict(one: str, other: str) -> bool:
    """Whether two similar texts contradict each other, whichever is read first."""
    first_text, second_text = sorted(
        (one, other), key=lambda text: (text.rstrip().endswith("?"), text)
    )
    return stance(second_text, first_text, ALIKE) == "contradicts"
