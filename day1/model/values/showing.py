"""Shows texts of memory and ids to people, in a terminal and on pages alike."""

import re
import unicodedata
from typing import Final

_IGNORED: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Unicode's Default_Ignorable_Code_Point (DerivedCoreProperties.txt, version 16), but for the two
joiners and the two selectors below: what has no shape of its own. Letters that are ignored can hold
any hidden text, a bit or a byte each."""
_ACTING: Final = "\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ud800-\udfff\ufff9-\ufffb"
"""Controls but tab and newline, separators of lines, half characters, and interlinear notes."""
_EMOJI: Final = (
    "\u00a9\u00ae\u203c\u2049\u20e3\u2100-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
_JOINED: Final = f"[^\u0000-\u00bf\u1680\u2000-\u206f\u3000\ufe0e\ufe0f{_IGNORED}{_ACTING}]"
"""The pattern of a visible non-ASCII character; only behind one a joiner counts as visible."""
JOINERS: Final = "\u200c\u200d"
UNSEEN: Final = re.compile(
    f"[{_ACTING}{_IGNORED}]"
    f"|(?<!{_JOINED})(?<![{_EMOJI}]\ufe0f)[\u200c\u200d]"
    f"|(?<![{_EMOJI}])\ufe0e|(?<![{_EMOJI}])\ufe0f(?!\u20e3)"
)
"""The pattern of characters that are invisible or change other characters.

A joiner behind a letter is seen, since Persian, the scripts of India and families of emoji need it,
and so is a selector behind an emoji. Others are not: two in a row, or one behind an ASCII letter.
Variants of ideographs and of Mongolian letters show the usual shape without their selectors, and
flags of regions the black flag."""


def seen(text: str) -> str:
    """Remove the invisible characters of a text, and put it on one line."""
    return UNSEEN.sub(lambda letter: " " if letter[0] in _BREAKS else "", text)


def changes_the_last(letter: str) -> bool:
    """Whether a letter changes the one before it: accents, selectors, joiners and skin tones."""
    is_mark = unicodedata.category(letter).startswith("M")
    return is_mark or letter in JOINERS or "\U0001f3fb" <= letter <= "\U0001f3ff"


_BREAKS: Final = frozenset("\n\r\t\v\f\x1c\x1d\x1e\x85\u2028\u2029")
_SHORT: Final = 8
FOLDED: Final = 1_200
"""A text longer than this is folded behind its beginning."""
BEGINNING: Final = 400


def short_id(row_id: str) -> str:
    """Return the last letters of an id, by which people name a row."""
    return row_id.partition("_")[2][-_SHORT:]


def short_commit(commit: str) -> str:
    """Shorten a commit's id as people see and type it."""
    return commit[:_SHORT]
