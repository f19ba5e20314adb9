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
    """Put a mark in place of a text wherever it stands as whole words in `prose`.

    No regular expression: with a repetitive text it would read `prose` again from each place.
    """
    pieces: list[str] = []
    copied_end, position = 0, prose.find(text[0]) if text and text in prose else -1
    while position >= 0:
        end = position + len(text)
        neighbour_letters = prose[position - 1 : position] if position else "", prose[end : end + 1]
        if prose.startswith(text, position) and not any(
            letter.isalnum() or letter == "_" for letter in neighbour_letters
        ):
            pieces += prose[copied_end:position], REDACTED
            copied_end = end
        position = prose.find(text[0], max(position + 1, copied_end))
    return "".join((*pieces, prose[copied_end:]))
