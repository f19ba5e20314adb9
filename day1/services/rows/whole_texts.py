"""The rows around a part of a longer text, on the branch that is read."""

from dataclasses import dataclass, replace

from day1.model.rows.change import Query
from day1.model.rows.kind import MESSAGE, Kind, Row, text_of
from day1.model.search.passages import part_in
from day1.ports.reading import Reading


@dataclass(frozen=True, slots=True)
class Around:
    """The place of a row in a longer text, and the rows before and after it that are there."""

    place: str
    before: str | None
    after: str | None


def parts_around(reading: Reading, kind: Kind, row: Row, shown: Query) -> Around | None:
    """The place of a row among the parts of its text; None if it is a text of its own.

    Args:
        reading: where the row was read.
        kind: of the row.
        row: as it was read.
        shown: which rows may be named; its columns to equal hold for the other parts too.
    """
    part = part_in(row)
    if part is None:
        return None
    ids = [row_id for row_id in (part.before, part.after) if row_id is not None]
    key = "id" if row["id"] in part.ids else "origin_id"  # a copied conversation has ids of its own
    here = {"conversation_id": row["conversation_id"]} if kind is MESSAGE else {}
    query = replace(shown, equal={**shown.equal, **here}, among={key: ids})
    id_by_key = {text_of(one[key]): text_of(one["id"]) for one in reading.find(kind, query)}
    return Around(str(part), id_by_key.get(part.before), id_by_key.get(part.after))
