"""Where the tools write that name neither branch nor agent."""

from day1.call.context import Context, Writing
from day1.call.fields import Repeatable, WriteRequest


def writing(ctx: Context, request: Repeatable) -> Writing:
    """Where a call writes, and who does: the caller's active branch, and its own agent."""
    return ctx.writing(WriteRequest(request_id=request.request_id), None)
