"""Shows texts of memory and ids to people, in a terminal and on pages alike."""

import re
from typing import Final

UNSEEN: Final = re.compile(
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""What nobody would see, or what acts on others: marks of direction, what has no width and joins
no letters, tags, half characters, and controls but tab and newline."""

_SHORT: Final = 8
FOLDED: Final = 1_200
"""A text longer than this is folded behind its beginning."""
BEGINNING: Final = 400


def short_id(row_id: str) -> str:
    """The letters of an id by which people tell a row from others, and may name it."""
    return row_id.partition("_")[2][-_SHORT:]


def short_commit(commit: str) -> str:
    """A commit as people see and type it."""
    return commit[:_SHORT]
