"""Where the tools write that name neither branch nor agent."""

from day1.call.context import Context
from day1.call.fields import Repeatable, WriteRequest
from day1.services.access.calls import Writing, writing


def write_here(ctx: Context, request: Repeatable) -> Writing:
    """What a call writes with: the caller's active branch, and its own agent."""
    return writing(ctx, WriteRequest(request_id=request.request_id))
