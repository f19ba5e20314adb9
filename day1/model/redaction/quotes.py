"""Removing quotes of redacted texts from what people and agents wrote."""

from collections.abc import Callable, Collection

from day1.model.redaction.mask import REDACTED

Clean = Callable[[str], str]
"""A function that removes redacted texts from another text."""


def without(texts: Collection[str]) -> Clean:
    """Make a function that removes whole quotes of these texts."""

    def clean(prose: str) -> str:
        for text in texts:
            prose = _without(prose, text)
        return prose

    return clean


def _without(prose: str, text: str) -> str:
    """Put a mark for a text where it stands as whole words.

    Looked for by hand: a pattern reads a text that repeats itself again from each place.
    """
    pieces: list[str] = []
    begun, at = 0, prose.find(text[0]) if text and text in prose else -1
    while at >= 0:
        end = at + len(text)
        ends = prose[at - 1 : at] if at else "", prose[end : end + 1]
        if prose.startswith(text, at) and not any(
            letter.isalnum() or letter == "_" for letter in ends
        ):
            pieces += prose[begun:at], REDACTED
            begun = end
        at = prose.find(text[0], max(at + 1, begun))
    return "".join((*pieces, prose[begun:]))
