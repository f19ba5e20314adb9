"""Toolsets by name; an MCP server serves one or several whose names do not clash."""

from collections.abc import Mapping

from day1.errors import NotFound
from day1.operation import Operation, Toolset
from day1.toolsets.core import CORE
from day1.toolsets.review import REVIEW

TOOLSETS: Mapping[str, Toolset] = {"core": CORE, "review": REVIEW}


def operations(names: str) -> Toolset:
    """The operations of toolsets named with commas, in order.

    Raises:
        NotFound: there is no such toolset.
    """
    found: dict[str, Operation] = {}  # type: ignore[type-arg]  # of any request and response
    for name in filter(None, (part.strip() for part in names.split(","))):
        if name not in TOOLSETS:
            raise NotFound(
                f"There is no toolset {name!r}; there are: {', '.join(TOOLSETS)}.", toolset=name
            )
        found |= {operation.name: operation for operation in TOOLSETS[name]}
    return tuple(found.values())
