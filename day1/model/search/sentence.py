"""A sentence that a chat model words for several texts: its form, and what of it is taken. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from day1.errors import Json
from day1.model.search.grouping import faithful

SENTENCE: Final[dict[str, Json]] = {
    "type": "object",
    "properties": {"sentence": {"type": "string"}},
    "required": ["sentence"],
    "additionalProperties": False,
}
"""The JSON Schema of the model's answer."""


def sentence_of(answer: Mapping[str, Any], texts: Sequence[str], longest: int) -> str | None:
    """The sentence for several texts; None if the model wrote none, or one that adds to them."""
    sentence = answer.get("sentence")
    if not isinstance(sentence, str) or not 0 < len(sentence.strip()) <= longest:
        return None
    sentence = " ".join(sentence.split())
    return sentence if sentence.isprintable() and faithful(sentence, texts) else None
