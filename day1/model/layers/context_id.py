"""The id of a prompt: it names the rows that the prompt shows, so nothing has to be remembered."""

import base64
from collections.abc import Iterable
from typing import Final

from day1.model.rows.kind import FACT, MESSAGE
from day1.model.values.ids import is_made, number_in, ulid

_BEGINS: Final = "ctx_"
_KINDS: Final = (FACT.prefix, MESSAGE.prefix)
"""The kinds of rows in a prompt; a kind's index here is its number in an id."""
_BYTES: Final = 16
"""Bytes of the number in an id."""
_MAX_IDS: Final = 200
"""Maximum number of rows that are read from one id."""


def context_id(row_ids: Iterable[str]) -> str:
    """Make the id of a prompt that shows these rows; rows with foreign ids are left out.

    It has a byte for the kind of each row and 16 for the row's id, in base64.
    """
    packed_ids = bytearray()
    for row_id in row_ids:
        prefix = row_id.partition("_")[0]
        if prefix in _KINDS and is_made(prefix, row_id):
            packed_ids.append(_KINDS.index(prefix))
            packed_ids += number_in(row_id).to_bytes(_BYTES)
    return _BEGINS + base64.urlsafe_b64encode(packed_ids).decode().rstrip("=")


def row_ids_in(prompt_id: str) -> list[str]:
    """Read the ids of a prompt's rows from the prompt's id; unreadable ones are left out."""
    encoded_ids = prompt_id.removeprefix(_BEGINS)
    try:
        packed_ids = base64.urlsafe_b64decode(encoded_ids + "=" * (-len(encoded_ids) % 4))
    except ValueError:
        return []
    packed_rows = [
        packed_ids[offset : offset + 1 + _BYTES] for offset in range(0, len(packed_ids), 1 + _BYTES)
    ]
    return [
        f"{_KINDS[packed_row[0]]}_{ulid(0, int.from_bytes(packed_row[1:]))}"
        for packed_row in packed_rows[:_MAX_IDS]
        if len(packed_row) == 1 + _BYTES and packed_row[0] < len(_KINDS)
    ]
