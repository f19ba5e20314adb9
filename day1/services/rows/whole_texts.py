"""Finding the rows before and after a row that is part of a longer text."""

from dataclasses import dataclass, replace

from day1.model.rows.change import Query
from day1.model.rows.kind import MESSAGE, Kind, Row, text_of
from day1.model.search.passages import part_in
from day1.ports.reading import Reading


@dataclass(frozen=True, slots=True)
class Around:
    """The place of a row in a longer text, and the ids of the rows before and after it."""

    place: str
    before: str | None
    after: str | None


def parts_around(reading: Reading, kind: Kind, row: Row, shown: Query) -> Around | None:
    """Find the place of a row among the parts of its text; None if it is the whole text.

    Args:
        reading: the reading that the row comes from.
        kind: the kind of the row.
        row: the row.
        shown: which rows may be named; its `equal` columns hold for the other parts too.
    """
    text_part = part_in(row)
    if text_part is None:
        return None
    neighbour_ids = [row_id for row_id in (text_part.before, text_part.after) if row_id is not None]
    # A copied conversation has ids of its own.
    id_column = "id" if row["id"] in text_part.ids else "origin_id"
    conversation_condition = {"conversation_id": row["conversation_id"]} if kind is MESSAGE else {}
    query = replace(
        shown, equal={**shown.equal, **conversation_condition}, among={id_column: neighbour_ids}
    )
    neighbour_id_by_key = {
        text_of(neighbour[id_column]): text_of(neighbour["id"])
        for neighbour in reading.find(kind, query)
    }
    return Around(
        str(text_part),
        neighbour_id_by_key.get(text_part.before),
        neighbour_id_by_key.get(text_part.after),
    )
