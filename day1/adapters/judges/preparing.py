"""Prepares a case for any judge: removes orders to the judge, and reads the stance of each text."""

from collections.abc import Callable
from dataclasses import replace

from day1.adapters.judges.injection import cleared
from day1.model.records.judgement import Case, Judgement
from day1.model.search.stance import stance


def prepared(case: Case) -> Case:
    """Prepare a case for a judge: remove instructions to it, and settle each stance.

    Evidence that is about something else is left out, and so is what only spoke to the judge.
    """
    text, count = cleared(case.text)
    context, count_in_context = cleared(case.context or "")
    relations = [cleared(relation) for relation in case.relations]
    evidence = []
    for item in case.evidence:
        cleared_text = cleared(item.text)
        its_stance = stance(text, cleared_text.text, item.cosine) if cleared_text.text else None
        count += cleared_text.left_out if its_stance else 0
        if its_stance is not None:
            evidence.append(replace(item, text=cleared_text.text, stance=its_stance))
    return replace(
        case,
        text=text,
        category=cleared(case.category or "").text or None,
        context=context or None,
        relations=tuple(relation.text for relation in relations if not relation.left_out),
        evidence=tuple(evidence),
        left_out=count + count_in_context,
    )


def judged(case: Case, judge: Callable[[Case], Judgement]) -> Judgement:
    """Prepare and judge a case; add the ids of weighed evidence and the count of removed pieces."""
    cleared_case = prepared(case)
    weighed_ids = tuple(item.id for item in cleared_case.evidence if item.stance != "related")
    return replace(judge(cleared_case), weighed=weighed_ids, left_out=cleared_case.left_out)
