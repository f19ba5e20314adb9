"""The scores of the rules judge: from the evidence in memory, and from how a claim is worded."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from day1.model.records.judgement import (
    INVALIDATED,
    Case,
    Evidence,
    Judgement,
    Score,
    Stance,
    Verdict,
    verdict_of,
)
from day1.model.search.stance import content_stems, names_in

_YEAR_US: Final = 365 * 86_400 * 1_000_000


@dataclass(slots=True)
class _Weight:
    """The evidence on one side, with its total weight."""

    total: float = 0.0
    descriptions: list[str] = field(default_factory=list)


_OTHERS = 0.8
"""Weight of a fact by another author or from another source."""
_SEEN = 1.0
"""Weight of an observation by another author or from another source."""
_SEEN_BY_AUTHOR = 0.7
"""Weight of an observation by the claim's own author."""
_OWN = 0.25
"""Weight of another fact by the claim's author, and factor for this author's older denials."""
_OWN_MOST = 0.3
"""Maximum weight of all other facts by the claim's own author together."""
_IF_OLDER = 0.5
"""Factor for a contradiction by others that is not newer than the claim."""
_ENOUGH = 0.5
"""Support from which good style counts fully."""
_CLEAR = 0.6
"""Contradiction from which a claim can be refuted."""
_MAX_NAMED = 3
"""Maximum number of memories that a reason names."""
_MIN_STYLE_SCORE = INVALIDATED
"""Lowest score for bad style, so that no fact is invalidated for its wording."""
_MAX_STYLE_SCORE = 0.55
"""Highest score for good style without enough support, so that it verifies no fact."""
_BASE = 0.4
"""Accuracy of a claim without evidence."""
_REACH = 0.55
"""How far evidence can move the accuracy up or down."""
_GROWTH = 1.2
"""How fast more evidence moves the accuracy towards the limit `_REACH`."""


def by_rules(case: Case) -> Judgement:
    """Judge a prepared case by the evidence in memory, with no model.

    Verdicts on the evidence weigh nothing: two facts would vouch for each other, more each time.
    Without enough support, and wherever support and contradiction are level, good style counts
    for at most 0.55: so no fact is verified for its wording. Bad style counts for no less than
    0.3: so none is invalidated for it.
    """
    support, against = _support(case), _against(case)
    is_refuted = against.total >= _CLEAR and against.total > support.total
    is_settled = support.total >= _ENOUGH and support.total > 2 * against.total
    scores = []
    for dimension in case.dimensions:
        rule = _STYLE.get(dimension)
        if dimension == "accuracy":
            score = _accuracy(case, support, against)
        elif rule is not None:
            score = rule(case)
            if not is_settled and score.score > _MAX_STYLE_SCORE:
                reason = f"{score.reason}; evidence does not settle it"
                score = replace(score, score=_MAX_STYLE_SCORE, reason=reason)
            score = replace(score, score=max(_MIN_STYLE_SCORE, score.score))
        else:
            score = Score(dimension, 0.5, "the rules do not know this dimension")
        scores.append(replace(score, score=round(score.score, 2)))
    verdict = verdict_of(scores, refuted=is_refuted)
    return Judgement(verdict, _reason(verdict, scores, refuted=is_refuted), tuple(scores), "rules")


def _reason(verdict: Verdict, scores: Sequence[Score], *, refuted: bool) -> str:
    mean = math.fsum(s.score for s in scores) / max(1, len(scores))
    reason = "memory says the contrary" if refuted else f"mean {mean:.2f}"
    parts = [f"{s.dimension} {s.score:.2f}: {s.reason}" for s in scores]
    return f"{verdict} ({reason}). " + ". ".join(parts) + "."


def _is_others(evidence: Evidence, case: Case) -> bool:
    """Whether the evidence comes from another author or source, as far as is known."""
    return evidence.agent_id != case.agent_id or evidence.source != case.source


def _support(case: Case) -> _Weight:
    weight, own_total = _Weight(), 0.0
    for evidence in _with_stance(case, "supports"):
        is_others = _is_others(evidence, case)
        if evidence.kind == "observation":
            weight_of_one = _SEEN if is_others else _SEEN_BY_AUTHOR
        else:
            weight_of_one = _OTHERS if is_others else _OWN
        weight_of_one *= evidence.confidence
        if evidence.kind != "observation" and not is_others:  # to repeat oneself is little evidence
            weight_of_one = min(weight_of_one, _OWN_MOST - own_total)
            own_total += weight_of_one
        weight.total += weight_of_one
        weight.descriptions.append(_described(evidence, case))
    return weight


def _against(case: Case) -> _Weight:
    weight = _Weight()
    for evidence in _with_stance(case, "contradicts"):
        is_newer = evidence.at > case.at
        weight_of_one = (_SEEN if evidence.kind == "observation" else _OTHERS) * evidence.confidence
        if not is_newer:
            weight_of_one *= _IF_OLDER if _is_others(evidence, case) else _OWN
        weight.total += weight_of_one
        weight.descriptions.append(
            f"{'newer' if is_newer else 'older'} {_described(evidence, case)}"
        )
    return weight


def _with_stance(case: Case, stance: Stance) -> list[Evidence]:
    return [evidence for evidence in case.evidence if evidence.stance == stance]


def _described(evidence: Evidence, case: Case) -> str:
    author = "another source" if _is_others(evidence, case) else "the same author"
    return f"{evidence.kind} {evidence.id} of {author}"


def _accuracy(case: Case, support: _Weight, against: _Weight) -> Score:
    value = _BASE + _REACH * (_grown(support.total) - _grown(against.total))
    reasons = []
    if support.descriptions:
        reasons.append(f"supported by {_listed(support.descriptions)}")
    if against.descriptions:
        reasons.append(f"contradicted by {_listed(against.descriptions)}")
    if not reasons:
        reasons.append("nothing in memory supports or contradicts it")
    if case.now - case.at > _YEAR_US:
        value -= 0.05
        reasons.append("older than a year")
    if case.confidence < 0.5:  # noqa: PLR2004 - half sure
        value -= 0.1
        reasons.append("its author was not sure")
    minimum = 0.0 if against.descriptions else _MIN_STYLE_SCORE
    return Score("accuracy", min(1.0, max(minimum, value)), "; ".join(reasons))


def _listed(names: Sequence[str]) -> str:
    unnamed = len(names) - _MAX_NAMED
    return ", ".join(names[:_MAX_NAMED]) + (f" and {unnamed} more" if unnamed > 0 else "")


def _grown(total: float) -> float:
    """Map a weight to 0..1, so that the first evidence counts most."""
    return 1 - math.exp(-_GROWTH * total)


def _relevance(case: Case) -> Score:
    value, reasons = 0.4, []
    if case.category:
        value += 0.15
        reasons.append("it has a category")
    if case.relations:
        value += 0.2
        reasons.append("relations touch what it names")
    if case.evidence:
        value += 0.25
        reasons.append("other memories are about the same")
    if case.context is not None:
        topic, words = content_stems(case.context), content_stems(case.text)
        common_share = len(topic & words) / max(1, min(len(topic), len(words)))
        value = value / 2 + common_share / 2
        reasons.append(f"it shares {common_share:.0%} of its words with the context")
    return Score("relevance", value, "; ".join(reasons) or "nothing in memory is about the same")


_NUMBER = re.compile(r"\d")
_PLACE_PATTERN = re.compile(r"`[^`]+`|\w[.-]*/[\w./-]|\w\.[a-z]{1,5}\b|\w_\w|\b[A-Z]\w+[A-Z]")
_HEDGE = re.compile(
    r"\b(?:maybe|perhaps|possibly|probably|might|some(?:thing|how|times|one)?|seems?|apparently"
    r"|likely|roughly|somewhat|stuff|things?|various|several|etc|and so on|i think|not sure"
    r"|usually)\b",
    re.IGNORECASE,
)
_SHORT = 3
"""Content words below which a claim is very short."""
_LONG = 120
"""Words above which a claim is long."""


def _specificity(case: Case) -> Score:
    words, names = len(case.text.split()), len(names_in(case.text))
    numbers, places = _NUMBER.search(case.text), _PLACE_PATTERN.search(case.text)
    hedges = len(_HEDGE.findall(case.text))
    value = 0.35 + 0.15 * min(2, names) + 0.2 * bool(numbers) + 0.15 * bool(places)
    reasons = [f"names {names}", "has numbers" if numbers else "no numbers"]
    if hedges:
        value -= 0.15 * min(3, hedges)
        reasons.append(f"hedges {hedges}")
    if len(content_stems(case.text)) < _SHORT:
        value -= 0.15
        reasons.append("very short")
    if words > _LONG:
        value -= 0.1
        reasons.append("long for one claim")
    return Score("specificity", value, ", ".join(reasons))


_STYLE = {"relevance": _relevance, "specificity": _specificity}
