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
    claim_text, removed_count = cleared(case.text)
    context, removed_from_context = cleared(case.context or "")
    cleared_relations = [cleared(text) for text in case.relations]
    prepared_evidence = []
    for item in case.evidence:
        cleared_evidence = cleared(item.text)
        evidence_stance = (
            stance(claim_text, cleared_evidence.text, item.cosine)
            if cleared_evidence.text
            else None
        )
        removed_count += cleared_evidence.left_out if evidence_stance else 0
        if evidence_stance is not None:
            prepared_evidence.append(
                replace(item, text=cleared_evidence.text, stance=evidence_stance)
            )
    return replace(
        case,
        text=claim_text,
        category=cleared(case.category or "").text or None,
        context=context or None,
        relations=tuple(relation.text for relation in cleared_relations if not relation.left_out),
        evidence=tuple(prepared_evidence),
        left_out=removed_count + removed_from_context,
    )


def judged(case: Case, judge: Callable[[Case], Judgement]) -> Judgement:
    """Prepare and judge a case; add the ids of weighed evidence and the count of removed pieces."""
    cleared_case = prepared(case)
    weighed_ids = tuple(item.id for item in cleared_case.evidence if item.stance != "related")
    return replace(judge(cleared_case), weighed=weighed_ids, left_out=cleared_case.left_out)
