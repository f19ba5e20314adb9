"""A toolset."""

from __future__ import annotations

from typing import Any

from day1.call.operation import Operation

Toolset = tuple[Operation[Any, Any], ...]
