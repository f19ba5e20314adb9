"""Removing quotes of redacted texts from what people and agents wrote."""

from collections.abc import Callable, Collection

from day1.model.redaction.mask import REDACTED

Clean = Callable[[str], str]
"""A function that removes redacted texts from another text."""


def without(texts: Collection[str]) -> Clean:
    """Make a function that removes whole quotes of these texts."""

    def clean(said: str) -> str:
        for text in texts:
            said = _without(said, text)
        return said

    return clean


def _without(said: str, text: str) -> str:
    """Put a mark for a text where it stands as whole words.

    Looked for by hand: a pattern reads a text that repeats itself again from each place.
    """
    kept: list[str] = []
    begun, at = 0, said.find(text[0]) if text and text in said else -1
    while at >= 0:
        end = at + len(text)
        ends = said[at - 1 : at] if at else "", said[end : end + 1]
        if said.startswith(text, at) and not any(one.isalnum() or one == "_" for one in ends):
            kept += said[begun:at], REDACTED
            begun = end
        at = said.find(text[0], max(at + 1, begun))
    return "".join((*kept, said[begun:]))
