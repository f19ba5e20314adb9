"""The id of a prompt: it names the rows that the prompt shows, so nothing has to be remembered."""

import base64
from collections.abc import Iterable
from typing import Final

from day1.model.rows.kind import FACT, MESSAGE
from day1.model.values.ids import is_made, number_in

_BEGINS: Final = "ctx_"
_KINDS: Final = (FACT.prefix, MESSAGE.prefix)
"""The kinds of rows that a prompt shows; the place of one here is its number in an id."""
_BYTES: Final = 16
"""Bytes of the number in an id."""


def context_id(row_ids: Iterable[str]) -> str:
    """Make the id of a prompt that shows these rows; rows with foreign ids are left out.

    It has a byte for the kind of each row and 16 for the row's id, in base64.
    """
    packed = bytearray()
    for row_id in row_ids:
        prefix = row_id.partition("_")[0]
        if prefix in _KINDS and is_made(prefix, row_id):
            packed.append(_KINDS.index(prefix))
            packed += number_in(row_id).to_bytes(_BYTES)
    return _BEGINS + base64.urlsafe_b64encode(packed).decode().rstrip("=")
