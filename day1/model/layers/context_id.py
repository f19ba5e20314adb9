"""The id of a prompt: it names the rows that the prompt shows, so nothing has to be remembered."""

import base64
import binascii
from collections.abc import Iterable
from typing import Final

from day1.model.rows.kind import FACT, MESSAGE
from day1.model.values.ids import is_made, number_in, ulid

_BEGINS: Final = "ctx_"
_KINDS: Final = (FACT.prefix, MESSAGE.prefix)
"""The kinds of rows that a prompt shows; the place of one here is its number in an id."""
_BYTES: Final = 17
"""Bytes of a row: the number of its kind, and the 16 bytes of its id."""
_LETTERS: Final = 4
"""Base64 is read in groups of so many letters."""


def context_id(row_ids: Iterable[str]) -> str:
    """Make the id of a prompt that shows these rows; rows with foreign ids are left out."""
    packed = bytearray()
    for row_id in row_ids:
        prefix = row_id.partition("_")[0]
        if prefix in _KINDS and is_made(prefix, row_id):
            packed.append(_KINDS.index(prefix))
            packed += number_in(row_id).to_bytes(_BYTES - 1, "big")
    return _BEGINS + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def rows_of(context: str) -> list[str]:
    """Read the ids of the rows that a prompt showed; none from a text that is no such id."""
    letters = context.removeprefix(_BEGINS)
    padding = "=" * (-len(letters) % _LETTERS)
    try:
        packed = base64.b64decode(letters + padding, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return []
    rows = [packed[at : at + _BYTES] for at in range(0, len(packed), _BYTES)]
    is_sound = all(len(row) == _BYTES and row[0] < len(_KINDS) for row in rows)
    if not context.startswith(_BEGINS) or not is_sound:
        return []
    return [f"{_KINDS[row[0]]}_{ulid(0, int.from_bytes(row[1:], 'big'))}" for row in rows]
