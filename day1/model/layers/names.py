"""The names in a text by which relations are looked up: entities are named as the text has them."""

import re
from typing import Final

from day1.model.search.wording import STOP_WORDS

_WORD: Final = re.compile(r"[^\W_]+(?:[-._/:@+'\u2019]+[^\W_]+)*")
_LONGEST: Final = 4
"""Words of a name, at most."""
_READ: Final = 100
"""Words of a text that are looked at."""


def names_in(text: str) -> set[str]:
    """List what may be a name in a text: one to four words that neither begin nor end in filler."""
    words = [match for _, match in zip(range(_READ), _WORD.finditer(text), strict=False)]
    is_filler = [word[0].lower() in STOP_WORDS for word in words]
    return {
        text[words[first].start() : words[last].end()]
        for first in range(len(words))
        for last in range(first, min(first + _LONGEST, len(words)))
        if not is_filler[first] and not is_filler[last]
    }
