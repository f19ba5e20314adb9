"""What the tools of Kompanion that write answer."""

from day1.call.fields import Written, written
from day1.services.access.calls import Writing
from day1.services.contexts.keyed_rows import Kept


def written_of(write: Writing, kept: Kept, *notes: str) -> Written:
    """Where rows were kept."""
    return written(write.branch.name, kept.tip, kept.pending, notes)
