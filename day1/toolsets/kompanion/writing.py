"""What the tools of Kompanion that write share, and the form of their answers."""

from day1.call.context import Context, Writing
from day1.call.fields import Repeatable, WriteRequest, Written, written
from day1.services.keeping.keyed_rows import Kept


def writing(ctx: Context, request: Repeatable) -> Writing:
    """Where a call writes, and who does: these tools name neither branch nor agent."""
    return ctx.writing(WriteRequest(request_id=request.request_id), None)


def written_of(write: Writing, kept: Kept, *notes: str) -> Written:
    """Where rows were kept."""
    return written(write.branch.name, kept.tip, kept.pending, notes)
