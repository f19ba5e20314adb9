"""The messages just before and after a message that a search found."""

from collections.abc import Iterable

from day1.call.fields import Response
from day1.model.rows.kind import MESSAGE
from day1.ports.reading import Reading
from day1.services.search.request import Hit

_CUT = 200
"""Characters of a neighbour's content."""


class Neighbour(Response):
    """The message before or after a found one, in short."""

    message_id: str
    sequence: int
    role: str
    content: str


def neighbours(
    reading: Reading, hits: Iterable[Hit], orders: dict[str, list[str]]
) -> dict[str, list[Neighbour]]:
    """The messages before and after each hit."""
    near: dict[str, list[tuple[int, str]]] = {}
    for hit in hits:
        message_id, order = str(hit.row["id"]), orders[str(hit.row["conversation_id"])]
        if message_id in order:
            at = order.index(message_id)
            near[message_id] = [
                (place + 1, order[place]) for place in (at - 1, at + 1) if 0 <= place < len(order)
            ]
    rows = reading.get(MESSAGE, [i for places in near.values() for _, i in places])
    return {
        message_id: [
            Neighbour(
                message_id=i,
                sequence=sequence,
                role=str(rows[i]["role"]),
                content=_short(str(rows[i]["content"])),
            )
            for sequence, i in places
        ]
        for message_id, places in near.items()
    }


def _short(text: str) -> str:
    return text if len(text) <= _CUT else f"{text[:_CUT]} \u2026"
