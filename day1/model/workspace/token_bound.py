"""An upper bound of the tokens of a text, without a tokenizer. Pure.

It is meant for tokenizers that merge pairs of bytes, such as cl100k_base. A token has one byte at
least, so a text has at most as many tokens as bytes. Fewer are sure for

- a common word behind a space: one token;
- three digits: one token;
- small letters: two that follow one another are merged, unless they are a pair that no vocabulary
  has. So at most every other token is a single letter: n letters are at most (2n + 1) / 3 tokens.
"""

import re
from typing import Final

from day1.model.search.wording import STOP_WORDS

_UNMERGED: Final = frozenset(
    """
    bq fj fz gj gk gq hj jg jv jw jx jy jz kq kx kz lq mz nq oq qf qg qj qk qo qy qz rj tj tq uq
    vq vz wq wv wz xg xh xj xk xq xu xv xw yf yj yq yv zg zj zq zr zv
    """.split()  # noqa: SIM905 - one line for each would be long
)
"""Pairs of small letters that are no token of cl100k_base."""
_COMMON: Final = "|".join(sorted(STOP_WORDS, key=lambda word: (-len(word), word)))
_PARTS: Final = re.compile(
    rf"( (?:{_COMMON})(?![^\W\d_])|(?<![^\x00-\x7f])[0-9]{{1,3}})|( ?[a-z]+)|([^a-z0-9 ]+|.)",
    re.DOTALL,
)
"""Three groups: one token; small letters; anything else, with at most a token per byte."""
_UNMERGED_PAIR: Final = re.compile("|".join(sorted(_UNMERGED)))


def token_bound(text: str) -> int:
    """Return a number of tokens that a text does not exceed."""
    token_total = 0
    for single_token, letters, other_characters in _PARTS.findall(text):
        if letters:
            token_total += _of_letters(letters)
        else:
            token_total += (
                1 if single_token else len(other_characters.encode("utf-8", "surrogatepass"))
            )
    return token_total


def _of_letters(letters: str) -> int:
    """Return the bound of small letters, perhaps with a space before them."""
    if not _UNMERGED_PAIR.search(letters):
        return (2 * len(letters) + 1) // 3
    token_total, start = 0, 0
    for end in range(1, len(letters) + 1):
        if end == len(letters) or letters[end - 1 : end + 1] in _UNMERGED:
            token_total += (2 * (end - start) + 1) // 3
            start = end
    return token_total
