"""Calls that write have an id each, so that they can be repeated and take effect once."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from day1.call.fields import Repeatable
from day1.call.toolset import Tool
from day1.model.values.ids import new_id


def repeatable(tool: Tool, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments of a call, with a new `request_id` where one is missing.

    So two calls write twice, also if they say the same.
    """
    if "request_id" in arguments or not issubclass(tool.operation.request, Repeatable):
        return arguments
    new_request_id = new_id("call", time.time_ns() // 1000).partition("_")[2]
    return {**arguments, "request_id": new_request_id}
