"""The registry of toolsets, and the choice of tools that a server serves."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from typing import Final

from day1.call.toolset import Tool, Toolset, Wire
from day1.errors import InvalidRequest, NotFound, Step

log = logging.getLogger(__name__)
_NAME: Final = re.compile("[a-z][a-z0-9_]*")


class Registry(Mapping[str, Toolset]):
    """Toolsets by name.

    A bare name of a tool means the one of the toolset that was registered first, of those that MCP
    offers; `TOOLSET.tool` names any. Toolsets of one namespace have no two tools of one name.
    """

    def __init__(
        self,
        lists: Mapping[str, tuple[Tool, ...]],
        default: str,
        everything: str,
        former: Mapping[str, str],
    ) -> None:
        """Make an empty registry.

        Args:
            lists: named lists of tools.
            default: the choice of tools for a client that asks for none.
            everything: the choice of tools for a client that asks for all.
            former: names that lists had before, and those that they have now.
        """
        self.lists, self.default, self.everything = lists, default, everything
        self.former = former
        self._toolsets: dict[str, Toolset] = {}
        self._first: dict[str, Tool] = {}
        self._qualified: dict[str, Tool] = {}

    def __getitem__(self, name: str) -> Toolset:
        """Return a toolset by its name."""
        return self._toolsets[name]

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the toolsets, in the order in which they were registered."""
        return iter(self._toolsets)

    def __len__(self) -> int:
        """Count the toolsets."""
        return len(self._toolsets)

    def register(self, toolset: Toolset) -> None:
        """Add a toolset.

        Raises:
            ValueError: it clashes with another in its name, its namespace, a tool or a route, or
                one of its routes calls no operation that it has.
        """
        if not _NAME.fullmatch(toolset.name) or len(toolset.tools) != len(toolset.operations):
            raise ValueError(
                f"Toolset {toolset.name!r} has two operations of one name, or its own name is not "
                "a lower-case word."
            )
        if toolset.name in {*self, *self.lists, *self.former, *self._first, "all"}:
            raise ValueError(f"The name {toolset.name!r} is taken: give the toolset another one.")
        for other_toolset in self.values():
            _refuse_clash(toolset, other_toolset)
        _check_routes(toolset)
        self._toolsets[toolset.name] = toolset
        for tool_name, tool in toolset.tools.items():
            if "mcp" in toolset.wires:
                self._first.setdefault(tool_name, tool)
            self._qualified[tool.qualified_name] = tool

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools by bare name; of tools with one name, the one registered first."""
        return self._first

    def tool(self, name: str) -> Tool | None:
        """Return the tool of a bare or qualified name; None without one."""
        return self._first.get(name) or self._qualified.get(name)

    def of(self, toolset: Toolset, operation: str) -> Tool:
        """Return the tool that an operation's name means in a toolset.

        It is the toolset's own, else one of its namespace, else the first that was registered.

        Raises:
            KeyError: there is no such tool.
        """
        namespace_toolsets = (
            other_toolset
            for other_toolset in self.values()
            if other_toolset.namespace is toolset.namespace
        )
        for candidate in (toolset, *namespace_toolsets):
            if operation in candidate.tools:
                return candidate.tools[operation]
        return self._first[operation]

    def meant(self, step: Step) -> Tool:
        """Return the tool that an advised step names, in the toolset that gave the advice.

        Raises:
            KeyError: there is no such tool.
        """
        return self.of(self.get(step.toolset) or self[self.default], step.operation)

    def choose(self, names: str, wire: Wire = "mcp") -> tuple[Tool, ...]:
        """Resolve a comma-separated choice of toolsets, named lists and tools to tools, in order.

        Raises:
            NotFound: there is no such toolset, list or tool.
            InvalidRequest: two toolsets of the choice have a tool of one name, or one of them is
                not offered over the wire.
        """
        tool_by_name: dict[str, Tool] = {}
        for chosen_name in filter(None, (raw_name.strip() for raw_name in names.split(","))):
            for tool in self._named(chosen_name):
                if wire not in tool.toolset.wires:
                    _refuse_wire(tool.toolset, wire)
                first_tool = tool_by_name.setdefault(tool.name, tool)
                if first_tool is not tool:
                    raise InvalidRequest(
                        f"{first_tool.qualified_name} and {tool.qualified_name} have one name, and "
                        "a client could not tell them apart: serve one of the two, or each toolset "
                        "at an endpoint of its own.",
                        tools=[first_tool.qualified_name, tool.qualified_name],
                    )
        return tuple(tool_by_name.values())

    def _named(self, name: str) -> tuple[Tool, ...]:
        if name in self._toolsets:
            return tuple(self._toolsets[name].tools.values())
        if name in self.former:
            log.warning(renamed(name, self.former[name]))
            name = self.former[name]
        if name in self.lists:
            return self.lists[name]
        tool = self.tool(name)
        if tool is None:
            available_names = ", ".join((*self, *self.lists))
            raise NotFound(
                f"There is no toolset, list or tool {name[:80]!r}; there are {available_names}, "
                "and the tools that `day1 call` lists.",
                toolset=name[:80],
            )
        return (tool,)

    def endpoints(self) -> Iterator[tuple[str, str]]:
        """Yield each choice of tools that has an endpoint: its name in the address, and the choice.

        The default has the empty name.
        """
        yield "", self.default
        for name, toolset in self.items():
            if "mcp" in toolset.wires:
                yield name, name
        for name in self.lists:
            yield name, name
        yield "all", self.everything


def renamed(name: str, now: str) -> str:
    """Write the message for a user of a former name: it tells the present name."""
    return f"{name} is now called {now}: use that name, since the next version removes the old one."


def _refuse_wire(toolset: Toolset, wire: Wire) -> None:
    raise InvalidRequest(
        f"The toolset {toolset.name!r} is not offered over {wire}: call its HTTP routes at "
        f"{toolset.namespace.prefix}, or `day1 call {toolset.name}.TOOL`.",
        toolset=toolset.name,
    )


def _refuse_clash(toolset: Toolset, other: Toolset) -> None:
    namespace, other_namespace = toolset.namespace, other.namespace
    if namespace is not other_namespace:
        path_clashes = (
            f"{namespace.prefix}/".startswith(f"{other_namespace.prefix}/"),
            namespace.document == other_namespace.document,
        )
        if any(path_clashes) or f"{other_namespace.prefix}/".startswith(f"{namespace.prefix}/"):
            raise ValueError(
                f"Toolset {toolset.name!r} would have its routes at {namespace.prefix}, where "
                f"{other.name!r} has its own at {other_namespace.prefix}: give it another prefix."
            )
        return
    clashing_names = sorted(toolset.tools.keys() & other.tools.keys())
    if clashing_names:
        raise ValueError(
            f"Toolsets {other.name!r} and {toolset.name!r} share a namespace, and both have "
            f"{', '.join(clashing_names)}: rename one, or give {toolset.name!r} a namespace of its "
            "own."
        )


def _check_routes(toolset: Toolset) -> None:
    checked_routes = set()
    for route in toolset.served_routes:
        operation_name = route.binding.operation
        if operation_name not in toolset.tools:
            raise ValueError(
                f"{route.method} {route.path} calls {operation_name!r}, which the toolset lacks."
            )
        argument_names = toolset.tools[operation_name].operation.request.model_fields.keys()
        route_arguments = (*route.in_path.values(), *route.binding.query.values())
        unknown_arguments = [
            argument for argument in route_arguments if argument not in argument_names
        ]
        if unknown_arguments or len(set(route_arguments)) != len(route_arguments):
            raise ValueError(
                f"{route.method} {route.path} gives arguments twice, or ones that "
                f"{operation_name!r} does not take: {', '.join(route_arguments)}."
            )
        if (route.method, route.path) in checked_routes:
            raise ValueError(f"Toolset {toolset.name!r} has {route.method} {route.path} twice.")
        checked_routes.add((route.method, route.path))
