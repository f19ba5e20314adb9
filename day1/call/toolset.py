"""A toolset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from day1.call.operation import Operation

if TYPE_CHECKING:
    pass


Toolset = tuple[Operation[Any, Any], ...]
