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
    support, contradiction = _support(case), _against(case)
    is_refuted = contradiction.total >= _CLEAR and contradiction.total > support.total
    is_settled = support.total >= _ENOUGH and support.total > 2 * contradiction.total
    scores = []
    for dimension in case.dimensions:
        style_rule = _STYLE.get(dimension)
        if dimension == "accuracy":
            score = _accuracy(case, support, contradiction)
        elif style_rule is not None:
            score = style_rule(case)
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
    mean_score = math.fsum(score.score for score in scores) / max(1, len(scores))
    reason = "memory says the contrary" if refuted else f"mean {mean_score:.2f}"
    score_texts = [f"{score.dimension} {score.score:.2f}: {score.reason}" for score in scores]
    return f"{verdict} ({reason}). " + ". ".join(score_texts) + "."


def _is_others(evidence: Evidence, case: Case) -> bool:
    """Whether the evidence comes from another author or source, as far as is known."""
    return evidence.agent_id != case.agent_id or evidence.source != case.source


def _support(case: Case) -> _Weight:
    support, own_facts_weight = _Weight(), 0.0
    for evidence in _with_stance(case, "supports"):
        is_by_others = _is_others(evidence, case)
        if evidence.kind == "observation":
            evidence_weight = _SEEN if is_by_others else _SEEN_BY_AUTHOR
        else:
            evidence_weight = _OTHERS if is_by_others else _OWN
        evidence_weight *= evidence.confidence
        # To repeat oneself is little evidence.
        if evidence.kind != "observation" and not is_by_others:
            evidence_weight = min(evidence_weight, _OWN_MOST - own_facts_weight)
            own_facts_weight += evidence_weight
        support.total += evidence_weight
        support.descriptions.append(_described(evidence, case))
    return support


def _against(case: Case) -> _Weight:
    contradiction = _Weight()
    for evidence in _with_stance(case, "contradicts"):
        is_newer = evidence.at > case.at
        evidence_weight = (
            _SEEN if evidence.kind == "observation" else _OTHERS
        ) * evidence.confidence
        if not is_newer:
            evidence_weight *= _IF_OLDER if _is_others(evidence, case) else _OWN
        contradiction.total += evidence_weight
        contradiction.descriptions.append(
            f"{'newer' if is_newer else 'older'} {_described(evidence, case)}"
        )
    return contradiction


def _with_stance(case: Case, stance: Stance) -> list[Evidence]:
    return [evidence for evidence in case.evidence if evidence.stance == stance]


def _described(evidence: Evidence, case: Case) -> str:
    author = "another source" if _is_others(evidence, case) else "the same author"
    return f"{evidence.kind} {evidence.id} of {author}"


def _accuracy(case: Case, support: _Weight, against: _Weight) -> Score:
    accuracy = _BASE + _REACH * (_grown(support.total) - _grown(against.total))
    reasons = []
    if support.descriptions:
        reasons.append(f"supported by {_listed(support.descriptions)}")
    if against.descriptions:
        reasons.append(f"contradicted by {_listed(against.descriptions)}")
    if not reasons:
        reasons.append("nothing in memory supports or contradicts it")
    if case.now - case.at > _YEAR_US:
        accuracy -= 0.05
        reasons.append("older than a year")
    if case.confidence < 0.5:  # noqa: PLR2004 - half sure
        accuracy -= 0.1
        reasons.append("its author was not sure")
    minimum = 0.0 if against.descriptions else _MIN_STYLE_SCORE
    return Score("accuracy", min(1.0, max(minimum, accuracy)), "; ".join(reasons))


def _listed(names: Sequence[str]) -> str:
    unnamed_count = len(names) - _MAX_NAMED
    return ", ".join(names[:_MAX_NAMED]) + (
        f" and {unnamed_count} more" if unnamed_count > 0 else ""
    )


def _grown(total: float) -> float:
    """Map a weight to 0..1, so that the first evidence counts most."""
    return 1 - math.exp(-_GROWTH * total)


def _relevance(case: Case) -> Score:
    relevance, reasons = 0.4, []
    if case.category:
        relevance += 0.15
        reasons.append("it has a category")
    if case.relations:
        relevance += 0.2
        reasons.append("relations touch what it names")
    if case.evidence:
        relevance += 0.25
        reasons.append("other memories are about the same")
    if case.context is not None:
        context_stems, claim_stems = content_stems(case.context), content_stems(case.text)
        common_share = len(context_stems & claim_stems) / max(
            1, min(len(context_stems), len(claim_stems))
        )
        relevance = relevance / 2 + common_share / 2
        reasons.append(f"it shares {common_share:.0%} of its words with the context")
    return Score(
        "relevance", relevance, "; ".join(reasons) or "nothing in memory is about the same"
    )


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
    word_count, name_count = len(case.text.split()), len(names_in(case.text))
    number_match, place_match = _NUMBER.search(case.text), _PLACE_PATTERN.search(case.text)
    hedge_count = len(_HEDGE.findall(case.text))
    specificity = (
        0.35 + 0.15 * min(2, name_count) + 0.2 * bool(number_match) + 0.15 * bool(place_match)
    )
    reasons = [f"names {name_count}", "has numbers" if number_match else "no numbers"]
    if hedge_count:
        specificity -= 0.15 * min(3, hedge_count)
        reasons.append(f"hedges {hedge_count}")
    if len(content_stems(case.text)) < _SHORT:
        specificity -= 0.15
        reasons.append("very short")
    if word_count > _LONG:
        specificity -= 0.1
        reasons.append("long for one claim")
    return Score("specificity", specificity, ", ".join(reasons))


_STYLE = {"relevance": _relevance, "specificity": _specificity}
