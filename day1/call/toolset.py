"""A toolset: operations that belong together, and what every wire asks about them.

A toolset says the form of its errors, its HTTP routes, the branch of a call that names none, and
what a client is told. So no wire knows a toolset by name.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from string import Formatter
from typing import Any, Final, Literal

from pydantic import ValidationError

from day1.call.context import Context
from day1.call.fields import Request, Response
from day1.call.operation import Operation
from day1.call.problems import invalid
from day1.errors import Day1Error, InvalidRequest, Json, Say, Step
from day1.services.access.calls import BranchRule, active_branch

log = logging.getLogger(__name__)

Wire = Literal["mcp", "http", "call"]
"""A wire that a toolset can leave out; `call` is the command `day1 call`."""

_FAILURE: Final[Mapping[str, Any]] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "details"],
            "properties": {
                "code": {"type": "string", "description": "stable; see docs/errors.md"},
                "message": {"type": "string", "description": "what to do next"},
                "details": {"type": "object"},
                "next": {
                    "type": "array",
                    "description": "calls to make next",
                    "items": {
                        "type": "object",
                        "required": ["operation"],
                        "properties": {
                            "operation": {"type": "string"},
                            "arguments": {"type": "object"},
                        },
                    },
                },
            },
        }
    },
}


@dataclass(frozen=True, slots=True)
class ErrorShape:
    """The form in which a toolset's errors are answered."""

    body: Callable[[Day1Error, Say], Mapping[str, Json]] = Day1Error.body
    schema: Mapping[str, Any] = field(default_factory=lambda: _FAILURE)
    """The JSON schema of `body`."""
    statuses: Mapping[type[Day1Error], int] = field(default_factory=dict)
    """HTTP statuses that differ from day1's; the nearest class above an error decides."""


@dataclass(frozen=True, slots=True)
class Binding:
    """Which operation a route calls, and which of its arguments the path and the query give.

    The JSON object in the body gives the others. `{id}` in a path gives the argument `id` unless
    `path` names another.
    """

    operation: str
    path: Mapping[str, str] = field(default_factory=dict)
    """Name in the path -> argument."""
    query: Mapping[str, str] = field(default_factory=dict)
    """Name in the query -> argument. Other names are refused unless the namespace is loose."""
    only: str | None = None
    """The field of the operation's answer to send alone, such as a bare list; None: all of it."""


Answer = Mapping[str, Json]
"""The answer of an operation, as a mapping."""


@dataclass(frozen=True, slots=True)
class StatusOf:
    """The HTTP status as a function of the answer, such as 201 only for what was made."""

    choose: Callable[[Answer], int]
    statuses: tuple[int, ...]
    """Every status that `choose` can return, for the OpenAPI document."""


@dataclass(frozen=True, slots=True)
class Route:
    """One HTTP call of a toolset; its path lies below the prefix of the toolset's namespace."""

    method: str
    path: str
    status: int | StatusOf
    binding: Binding
    id: str | None = None
    """The route's id in the OpenAPI document; default: the operation's name."""
    location: str | None = None
    """The path of the created resource, for the header `Location` of an answer with status 201. It
    lies below the prefix, and `{id}` in it is the field `id` of the answer."""
    refusals: tuple[int, ...] | None = None
    """The statuses of errors that the OpenAPI document names; default: every one there is."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Name in the path -> the component of the OpenAPI document that describes it."""

    @property
    def statuses(self) -> tuple[int, ...]:
        """The HTTP statuses that answers of the route can have."""
        return self.status.statuses if isinstance(self.status, StatusOf) else (self.status,)

    def status_of(self, answer: Answer) -> int:
        """Return the HTTP status of an answer."""
        return self.status.choose(answer) if isinstance(self.status, StatusOf) else self.status

    @property
    def in_path(self) -> dict[str, str]:
        """Name in the path -> the name of the argument that it gives."""
        path_names = [name for _, name, _, _ in Formatter().parse(self.path) if name]
        return {name: self.binding.path.get(name, name) for name in path_names}


@dataclass(frozen=True, slots=True)
class DocumentHead:
    """The head of an OpenAPI document, and the names of its parts; the defaults are day1's own."""

    version: str | None = None
    """The version in the document; default: that of day1."""
    summary: str | None = None
    dialect: str | None = None
    """The JSON schema dialect."""
    tag: str | None = None
    """The tag of all operations; default: the effect of each."""
    failure: str = "Failure"
    """The name of the schema of errors, and of the response that has one."""
    named_bodies: bool = False
    """Whether each body is a component, with the name of its request."""
    bases: tuple[type[Request], ...] = ()
    """Base classes of requests whose schemas are components too, though no call takes them."""


@dataclass(frozen=True, slots=True)
class Namespace:
    """Where toolsets have their HTTP routes; those of one namespace share one OpenAPI document."""

    prefix: str
    title: str
    about: str
    document: str
    """The path of the OpenAPI document, which may lie outside the prefix."""
    state: Literal["body", "headers"] = "body"
    """The part of an answer that names the branch and commit it was read from or written to."""
    loose: bool = False
    """Whether unknown names in a query are ignored; else they are refused."""
    head: DocumentHead = field(default_factory=DocumentHead)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A text that a person picks in a client; it has a `{name}` for each argument."""

    name: str
    title: str
    description: str
    arguments: Mapping[str, str]
    """The meaning of each argument by name; the first one is required unless it has a default."""
    text: str
    defaults: Mapping[str, str] = field(default_factory=dict)
    operation: str | None = None
    """An operation whose `text` is put in for `{answer}`, as it is when the prompt is picked."""


@dataclass(frozen=True, slots=True)
class Hints:
    """The hints that a client gets on a toolset beside its tools."""

    lines: tuple[str, ...] = ()
    """Advice on the toolset. A line with tools, in braces, is sent if all of them are served."""
    prompts: tuple[Prompt, ...] = ()
    skills: tuple[str, ...] = ()
    """Names of folders of day1/skills: step-by-step instructions for the toolset."""

    def told(self, served: Mapping[str, Any]) -> list[str]:
        """Return the lines for a client that gets the tools of these names."""
        return [
            line.format_map({name: name for name in served})
            for line in self.lines
            if all(name in served for _, name, _, _ in Formatter().parse(line) if name)
        ]


@dataclass(frozen=True)
class Toolset:
    """Operations under one name; inside, an operation is called `NAME.operation`."""

    name: str
    operations: tuple[Operation[Any, Any], ...]
    namespace: Namespace
    errors: ErrorShape = field(default_factory=ErrorShape)
    routes: tuple[Route, ...] = ()
    """The HTTP routes; default: POST to the name of each operation."""
    branch_rule: BranchRule = active_branch
    """The branch of a call that names none."""
    hints: Hints = field(default_factory=Hints)
    unlisted: tuple[Operation[Any, Any], ...] = ()
    """Operations that can be called, but are in no list of tools: programs call them, and a model
    would pay tokens for each listed tool."""
    dotted: str | None = None
    """The prefix of the tools' dotted names, such as `PREFIX.tool`; None: they have none."""
    wires: frozenset[Wire] = frozenset({"mcp", "http", "call"})
    """The wires that offer the toolset. Without `mcp` it has no MCP endpoint, and its tools are
    called by their qualified names only."""

    @cached_property
    def tools(self) -> dict[str, Tool]:
        """The tools of the toolset by bare name."""
        return {operation.name: Tool(self, operation) for operation in self.operations}

    @cached_property
    def served_routes(self) -> tuple[Route, ...]:
        """The routes of the toolset: its own, else the default ones."""
        return self.routes or tuple(
            Route("POST", f"/{name}", 200, Binding(name)) for name in self.tools
        )


@dataclass(frozen=True, slots=True)
class Tool:
    """An operation of a toolset."""

    toolset: Toolset
    operation: Operation[Any, Any]

    @property
    def name(self) -> str:
        """The tool's name on the toolset's own endpoint."""
        return self.operation.name

    @property
    def qualified_name(self) -> str:
        """The tool's name among all toolsets."""
        return f"{self.toolset.name}.{self.operation.name}"

    @property
    def dotted_name(self) -> str | None:
        """A second name, `PREFIX.tool`, where toolsets are served together; no list shows it."""
        dotted_prefix = self.toolset.dotted
        return None if dotted_prefix is None else f"{dotted_prefix}.{self.operation.name}"

    def call(self, ctx: Context, arguments: Mapping[str, Any]) -> dict[str, Json]:
        """Validate, run under the toolset's rule for branches, and dump the answer as JSON.

        Raises:
            InvalidRequest: the arguments do not fit; every problem is named.
            Day1Error: as the operation says.
        """
        answer = self.answer(ctx, arguments)
        return answer.model_dump(mode="json", context=self.wording(ctx.say))

    def validated(self, arguments: Mapping[str, Any]) -> Any:
        """Return the request that the arguments make.

        Raises:
            InvalidRequest: the arguments do not fit; every problem is named.
        """
        request_class = self.operation.request
        try:
            return request_class.model_validate(dict(arguments))
        except ValidationError as exc:
            raise invalid(f"The arguments of {self.operation.name}", request_class, exc) from exc

    def answer(self, ctx: Context, arguments: Mapping[str, Any]) -> Response:
        """Validate, and run under the toolset's rule for branches; every call enters here.

        Raises:
            InvalidRequest: the arguments do not fit; every problem is named.
            Day1Error: as the operation says.
        """
        toolset_name = self.toolset.name
        ctx = replace(ctx, branch_rule=self.toolset.branch_rule, say=self.wording(ctx.say))
        operation, access = self.operation, ctx.caller.access
        start_time, outcome = time.perf_counter(), "ok"
        try:
            if operation.needs not in access.scopes:
                access.require(operation.needs, operation.name)
            request = self.validated(arguments)
            with ctx.repo.ledger.same_version():
                answer: Response = operation.run(ctx, request)
                return answer
        except ValidationError as exc:
            outcome = InvalidRequest.code
            raise invalid(f"The arguments of {operation.name}", operation.request, exc) from exc
        except Day1Error as exc:
            outcome = exc.code
            exc.advice = exc.advice.by(toolset_name)
            raise
        except Exception:
            outcome = "internal"
            raise
        finally:
            duration_ms = round((time.perf_counter() - start_time) * 1e3, 1)
            log.info("%s %s %s ms", operation.name, outcome, duration_ms)

    def wording(self, say: Say) -> Say:
        """Return `say` for steps that mean the tools of this tool's toolset."""
        toolset_name = self.toolset.name

        def said(step: Step) -> str:
            return say(replace(step, toolset=toolset_name))

        return said
