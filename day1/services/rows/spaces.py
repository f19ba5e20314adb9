"""What to say where a space has nothing: names drift, and then memories seem to be lost."""

from collections.abc import Mapping, Sequence

from day1.model.rows.kind import MEMORIES, Cell
from day1.model.values.space import similar_spaces
from day1.ports.reading import Reading


def empty_space(reading: Reading, asked: Mapping[str, Cell], found: Sequence[object]) -> list[str]:
    """A note if a call in a space found nothing: which spaces with similar names have rows.

    Args:
        reading: of the state that was asked.
        asked: the columns that rows were asked for.
        found: what was found.
    """
    space = asked.get("space")
    if found or space is None:
        return []
    known: dict[str, int] = {}
    for kind in MEMORIES:
        if "space" in kind.column:
            for name, count in reading.tally(kind, "space").items():
                if name is not None:
                    known[str(name)] = known.get(str(name), 0) + count
    if str(space) in known:
        return []
    near = similar_spaces(str(space), known)
    hint = f" Similar: {', '.join(f'{name} ({known[name]})' for name in near)}." if near else ""
    return [f"Nothing is in the space {space}.{hint}"]
