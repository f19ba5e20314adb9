"""Facts that a model extracted from a user's messages, and the rules for keeping them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from day1.model.lessons.rewording import same_text_in_words
from day1.model.rows.validation import looks_secret
from day1.model.search.grouping import faithful

MOST: Final = 20
"""Maximum number of facts that are kept from one turn."""
_MAX_FACT: Final = 500
"""Maximum number of characters of a fact."""
_ORDER: Final = re.compile(
    r"^\W*(?:(?:please|now|then|also|always|never|just|from now on|next time|important|note)\b\W*)*"
    r"(?:(?:you|the\s+(?:assistant|agent|model|ai)|assistants?|agents?)\s+"
    r"(?:must|should|shall|will|have\s+to|need\s+to|are\s+to|may\s+not|can(?:not)?)\b"
    r"|(?:ignore|disregard|forget|override|bypass|remember|memori[sz]e|reveal|print|output|reply"
    r"|respond|answer|say|tell|send|forward|upload|run|execute|call|delete|drop|pretend|act|behave"
    r"|follow|obey|trust|believe|approve|treat|do\s+not|don['\u2019]t)\b"
    r"|(?:system|assistant|developer)\s*[:>\]|])",
    re.IGNORECASE,
)
"""The pattern of a text that begins with an instruction to its reader."""
_SUBJECT: Final = re.compile(r"\b(?:the\s+)?user(?:['\u2019]s)?\b", re.IGNORECASE)
"""The words by which a fact names the writer of a message, who says `I`."""
_OVERRULES: Final = re.compile(
    r"\b(?:ignor|disregard|forget|overrid|bypass)\w*\b[^.!?]{0,60}"
    r"\b(?:instruct\w*|prompts?|rules?|guidelines?|orders?|above|previous)\b",
    re.IGNORECASE,
)
"""The pattern of words that cancel an assistant's instructions, anywhere in a text."""


@dataclass(frozen=True, slots=True)
class ExtractedFact:
    """A fact, and the places of the messages that say it."""

    text: str
    sources: tuple[int, ...]


def is_order(text: str) -> bool:
    """Whether a text is an instruction to its reader, not a statement."""
    return _ORDER.search(text) is not None or _OVERRULES.search(text) is not None


def usable_facts(
    answer: Mapping[str, Any], messages: Sequence[str], shown: Sequence[str]
) -> list[ExtractedFact]:
    """Return the facts of a model's answer that the messages say and that are new.

    Args:
        answer: the answer of the model; nothing in it is trusted.
        messages: the messages of the user.
        shown: the texts that memory gave to this turn: they are known.
    """
    listed_facts = answer.get("facts")
    fact_by_text: dict[str, ExtractedFact] = {}
    for listed_fact in listed_facts if isinstance(listed_facts, list) else ():
        fact = _usable(listed_fact, messages)
        if fact is not None and not any(
            same_text_in_words(fact.text, shown_text) for shown_text in shown
        ):
            fact_by_text.setdefault(fact.text, fact)
    return list(fact_by_text.values())[:MOST]


def _usable(listed: object, messages: Sequence[str]) -> ExtractedFact | None:
    """Return a listed fact; None unless it is a short statement that its messages support."""
    if not isinstance(listed, Mapping) or not isinstance(listed.get("text"), str):
        return None
    fact_text = " ".join(listed["text"].split())
    if not 0 < len(fact_text) <= _MAX_FACT or not fact_text.isprintable():
        return None
    cited_places = listed.get("messages")
    source_places = tuple(
        dict.fromkeys(
            place
            for place in (cited_places if isinstance(cited_places, list) else ())
            if type(place) is int and 0 <= place < len(messages)
        )
    )
    source_texts = [messages[place] for place in source_places]
    is_supported = bool(source_texts) and faithful(_SUBJECT.sub(" ", fact_text), source_texts)
    return (
        None
        if is_order(fact_text) or looks_secret(fact_text) or not is_supported
        else ExtractedFact(fact_text, source_places)
    )
