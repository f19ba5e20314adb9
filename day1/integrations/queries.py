"""Make texts of users into queries that a search takes."""

from __future__ import annotations

import re
from typing import Final

_MOST: Final = 32_768
_REFUSED: Final = re.compile("[\0\ud800-\udfff]")
"""NUL and half characters, which no request may have."""


def query_of(text: str) -> str | None:
    """Return a text as a query: without NUL and half characters, and cut to the longest query.

    None if no words are left.
    """
    return _REFUSED.sub(" ", text).strip()[:_MOST] or None
