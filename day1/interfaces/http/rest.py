"""The HTTP routes of toolsets: by default one for each operation, at `/api/v1`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from json import loads
from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Match
from starlette.routing import Route as Path
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from day1.call.fields import LooseRequest, UnionRequest
from day1.call.fields import Request as Arguments
from day1.call.registry import Registry
from day1.call.toolset import ErrorShape, Namespace, Route, Tool, Toolset
from day1.errors import Day1Error, InvalidRequest
from day1.interfaces.http.answers import answered
from day1.interfaces.http.callers import Callers, header_text
from day1.interfaces.http.failures import failure, fault, route_of
from day1.interfaces.http.openapi import openapi, takes_body

_IDEMPOTENCY: Final = "idempotency-key"
"""The HTTP header that stands for the argument `request_id`."""
_ROUTE: Final = "day1.route"
"""Key of the ASGI scope for the route that matched."""
_BODY: Final = "body"
"""The name of a whole body among the problems of a request."""


def routes(registry: Registry, callers: Callers) -> list[BaseRoute]:
    """Build the routes of all toolsets, and of the OpenAPI document of each namespace."""
    paths: list[Path] = []
    for namespace, toolsets in namespaces(registry):
        paths.append(Path(namespace.document, _document(namespace, toolsets), methods=["GET"]))
        paths += _paths(namespace, toolsets, callers)
    return [_ByPath(paths)]


class _ByPath(BaseRoute):
    """One route for many: looks fixed paths up in a dictionary, instead of trying each route."""

    def __init__(self, routes: Sequence[Path]) -> None:
        self._routes = routes
        self._fixed = {route.path: (route,) for route in routes if not route.param_convertors}

    @override
    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        for route in self._fixed.get(scope["path"], self._routes):
            match, child_scope = route.matches(scope)
            if match is not Match.NONE:
                return match, {**child_scope, _ROUTE: route}
        return Match.NONE, {}

    @override
    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await scope[_ROUTE].handle(scope, receive, send)


def namespaces(registry: Registry) -> list[tuple[Namespace, list[Toolset]]]:
    """Group toolsets by their namespace."""
    toolsets_by_prefix: dict[str, tuple[Namespace, list[Toolset]]] = {}
    for toolset in registry.values():
        namespace = toolset.namespace
        toolsets_by_prefix.setdefault(namespace.prefix, (namespace, []))[1].append(toolset)
    return list(toolsets_by_prefix.values())


def shape_at(registry: Registry, path: str) -> ErrorShape:
    """Return the error shape of a path: its toolset's, else the default."""
    for toolset in registry.values():
        if f"{path}/".startswith(f"{toolset.namespace.prefix}/"):
            return toolset.errors
    return ErrorShape()


def long_paths(registry: Registry) -> frozenset[str]:
    """Return the paths of the calls that take long values."""
    return frozenset(
        f"{toolset.namespace.prefix}{route.path}"
        for toolset in registry.values()
        for route in toolset.served_routes
        if toolset.tools[route.binding.operation].operation.long_values
    )


def _document(namespace: Namespace, toolsets: list[Toolset]) -> Any:
    """Make the endpoint of an OpenAPI document, which is built when it is first asked for."""
    build_document = cache(partial(openapi, namespace, toolsets))

    async def answer(_: Request) -> Response:
        return JSONResponse(await to_thread.run_sync(build_document))

    return answer


def _paths(namespace: Namespace, toolsets: Sequence[Toolset], callers: Callers) -> list[Path]:
    """Build one route for each path, with all methods of the path.

    Fixed paths come before paths with parameters that would match them too, and take every method:
    so `GET /search` never means `/{id}`, nor does `GET /items` where only `/items/{id}` is served.
    """
    calls_by_path: dict[str, dict[str, _Call]] = {}
    for toolset in toolsets:
        for route in toolset.served_routes:
            call = _Call(route, toolset.tools[route.binding.operation], callers)
            calls_by_path.setdefault(route.path, {})[route.method] = call
    if any(_is_parameter(path) for path in calls_by_path):
        for path in list(calls_by_path):
            calls_by_path.setdefault(_beginning(path), {})
    error_shape = toolsets[0].errors
    return [
        Path(
            f"{namespace.prefix}{path}",
            _endpoint(calls_by_path[path], error_shape),
            methods=_METHODS,
        )
        for path in sorted(calls_by_path, key=_fixed_first)
    ]


_METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")


def _fixed_first(path: str) -> list[bool]:
    return [path_part.startswith("{") for path_part in path.split("/")]


def _beginning(path: str) -> str:
    """Return the first part of a path, as a path."""
    return f"/{path.split('/')[1]}"


def _is_parameter(path: str) -> bool:
    """Whether a path is one parameter: it would match the first part of every other path."""
    return path == _beginning(path) and path.startswith("/{")


def _endpoint(calls: Mapping[str, _Call], shape: ErrorShape) -> Any:

    async def answer(request: Request) -> Response:
        call = calls.get("GET" if request.method == "HEAD" else request.method)
        if call is None:
            advice = f"use {', '.join(calls)}" if calls else "other paths begin with it"
            error = InvalidRequest(f"This path does not take {request.method}: {advice}.")
            return JSONResponse(shape.body(error, route_of), 405, {"Allow": ", ".join(calls)})
        return await call.answer(request)

    return answer


class _Call:
    """One route: turns a request into a call of its tool."""

    def __init__(self, route: Route, tool: Tool, callers: Callers) -> None:
        self.route, self.tool, self._callers = route, tool, callers
        request_class = tool.operation.request
        argument_fields = request_class.model_fields.items()
        self._lists = {name for name, field in argument_fields if _is_list(field.annotation)}
        self._takes_request_id = _takes_request_id(request_class)
        self._query = dict(route.binding.query)
        """Name in the query -> argument. For another spelling of a field that is the name itself:
        the request finds out whether two spellings disagree."""
        if issubclass(request_class, LooseRequest):
            for argument in route.binding.query.values():
                for spelling in request_class.other_spellings(argument):
                    self._query.setdefault(spelling, spelling)

    async def answer(self, request: Request) -> Response:
        """Run the tool's operation in a worker thread and make its response."""
        error_shape = self.tool.toolset.errors
        try:
            arguments = self._arguments(request, await request.body())
            request_id = header_text(request, _IDEMPOTENCY)
            if request_id is not None and self._takes_request_id:
                _name_request(arguments, request_id)
            answer = await to_thread.run_sync(partial(self._run, request, arguments))
        except Day1Error as exc:
            return failure(exc, error_shape)
        except Exception as exc:  # noqa: BLE001 - whatever it is, the caller gets the one shape
            return fault(exc, error_shape)
        return answered(answer, self.route, self.tool.toolset.namespace)

    def _run(self, request: Request, arguments: dict[str, Any]) -> Mapping[str, Any]:
        ctx = replace(self._callers.context(request), say=route_of)
        return self.tool.call(ctx, arguments)

    def _arguments(self, request: Request, body: bytes) -> dict[str, Any]:
        arguments = _in_body(self.tool.name, body) if takes_body(self.route) else {}
        for name, argument in self.route.in_path.items():
            self._put(arguments, argument, request.path_params[name])
        if self.route.binding.query or not takes_body(self.route):
            is_loose = self.tool.toolset.namespace.loose
            for name in request.query_params:
                if name in self._query or not is_loose:
                    self._put(arguments, *self._query_argument(request, name))
        return arguments

    def _query_argument(self, request: Request, name: str) -> tuple[str, Any]:
        argument = self._query.get(name)
        if argument is None:
            known_names = ", ".join(self._query) or "none"
            raise _refusal(
                f"The query of {self.tool.name} has no {name[:80]!r}: it takes {known_names}.",
                name[:80],
                "is unknown in the query",
            )
        argument_values = request.query_params.getlist(name)
        if argument not in self._lists and len(argument_values) > 1:
            raise _refusal(
                f"The query of {self.tool.name} gives {name!r} more than once.",
                name,
                "is given more than once in the query",
            )
        return argument, argument_values if argument in self._lists else argument_values[0]

    def _put(self, arguments: dict[str, Any], argument: str, value: Any) -> None:
        """Add an argument of the address; where unknown fields are taken, the body may repeat it.

        Raises:
            InvalidRequest: the body has the argument too.
        """
        is_repeated = self.tool.toolset.namespace.loose and arguments.get(argument) == value
        if argument in arguments and not is_repeated:
            raise _refusal(
                f"The address of {self.tool.name} gives {argument!r}: leave it out of the body.",
                argument,
                "is given by the address: leave it out of the body",
            )
        arguments[argument] = value


def _name_request(arguments: dict[str, Any], request_id: str) -> None:
    """Add the `request_id` of a header; one that is null in the body counts as missing.

    Raises:
        InvalidRequest: the body has another one.
    """
    if arguments.get("request_id") is None:
        arguments["request_id"] = request_id
    elif arguments["request_id"] != request_id:
        problem = "disagrees with the header Idempotency-Key: give one of the two"
        raise _refusal(f"`request_id` {problem}.", "request_id", problem)


def _takes_request_id(request: type[Arguments]) -> bool:
    """Whether a call can be repeated by the name of its request, in any of its forms."""
    forms = request.FORMS.values() if issubclass(request, UnionRequest) else (request,)
    return any("request_id" in form.model_fields for form in forms)


def _is_list(annotation: Any) -> bool:
    """Whether an argument's type is a list, or a union with one."""
    type_origin = get_origin(annotation)
    if type_origin in {Annotated, Union, UnionType}:
        return any(map(_is_list, get_args(annotation)))
    return (type_origin or annotation) is list


def _in_body(name: str, body: bytes) -> dict[str, Any]:
    try:
        arguments = loads(body or b"{}")
    except (ValueError, RecursionError) as exc:  # ValueError also for numbers of 5,000 digits
        raise _refusal(
            f"The body of {name} is not JSON: send an object of arguments.",
            _BODY,
            "is not JSON: send an object of arguments",
        ) from exc
    if not isinstance(arguments, dict):
        problem_text = "must be a JSON object of arguments"
        raise _refusal(f"The body of {name} {problem_text}.", _BODY, problem_text)
    return arguments


def _refusal(message: str, argument: str, problem: str) -> InvalidRequest:
    """Build the error of a request with one wrong part, and name that part."""
    return InvalidRequest(message, problems=[{"argument": argument, "problem": problem}])
