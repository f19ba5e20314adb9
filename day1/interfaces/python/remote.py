"""Calls of a memory behind `day1 serve`, over its HTTP routes."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, urlsplit

import httpx
from pydantic import ValidationError

from day1.call.fields import Response
from day1.call.operation import Effect
from day1.call.toolset import Route, Tool
from day1.errors import (
    Day1Error,
    InvalidRequest,
    NotAStore,
    StoreUnavailable,
    StoreVersionUnknown,
    Unauthorized,
)
from day1.interfaces.python.answers import reworded
from day1.interfaces.python.calls import Who, require_text, unfit
from day1.interfaces.python.lifetime import Lifetime
from day1.interfaces.python.repeating import repeatable
from day1.interfaces.python.server_errors import error_of
from day1.interfaces.python.wording import from_http
from day1.model.rows.origin import named
from day1.toolsets.finding import tool_of

_TIMEOUT: Final = httpx.Timeout(120.0, connect=10.0)
"""Seconds that a call may take."""
_TRIES: Final = 2
"""The number of times that a call is sent if its connection breaks, where that is safe."""
_BODIES: Final = frozenset({"POST", "PUT", "PATCH"})
_HEADER_BY_ARGUMENT: Final = {
    "branch": b"Day1-Branch",
    "agent": b"Day1-Agent-Id",
    "session": b"Day1-Session-Id",
    "task": b"Day1-Task-Id",
    "space": b"Day1-Space",
}
"""Argument -> the header that carries it, in the order in which they are checked."""
_FAILED: Final = 400
_REDIRECTED: Final = 300
_NO_NAME: Final = frozenset({"", ".", ".."})
"""Parts of a path that name nothing: clients and servers leave them out."""
_OF_PROXIES: Final = frozenset({502, 503, 504})
"""Statuses by which a proxy says that the server behind it did not answer."""


class RemoteCalls:
    """Calls operations of a server, which must answer a first call when the object is made."""

    def __init__(self, address: str, token: str | None, who: Who) -> None:
        """Ask the server whether it lets the caller in.

        Raises:
            InvalidRequest: the address is not one, or has a path, a query or a password; or the
                token or a name cannot be one, or the environment's proxy cannot be used.
            Unauthorized: the server wants a token, or another one.
            NotAStore: it is no server of day1.
            StoreUnavailable: it does not answer.
        """
        self._address = _checked(address)
        auth_headers = {} if token is None else {"Authorization": f"Bearer {_checked_token(token)}"}
        self._has_token = token is not None
        self._http = _client(self._address, auth_headers)
        self._lifetime = Lifetime(self, self._http.close)
        try:
            self.ask("memory_log", {"limit": 1}, who)
        except (InvalidRequest, NotAStore, StoreUnavailable, StoreVersionUnknown, Unauthorized):
            self.close()
            raise
        except Day1Error:
            pass  # such as a branch that does not exist yet: each call says so

    @property
    def place(self) -> str:
        """The address of the server."""
        return self._address

    def ask(self, operation: str, arguments: Mapping[str, Any], who: Who) -> Response:
        """Call an operation: see `Calls.ask`."""
        tool = tool_of(operation)
        answer_json = self._body(tool, arguments, who)
        try:
            answer: Response = tool.operation.response.model_validate(answer_json)
        except ValidationError as exc:
            raise StoreVersionUnknown(
                f"The answer of {self._address} to {operation} has a form that this version of "
                "day1 does not know: use the same version on both sides.",
                operation=operation,
            ) from exc
        worded_answer: Response = reworded(answer, lambda note: from_http(str(note)))
        return worded_answer

    def ask_plainly(self, operation: str, arguments: Mapping[str, Any], who: Who) -> dict[str, Any]:
        """Call an operation and return its answer as JSON: see `Calls.ask_plainly`."""
        answer: dict[str, Any] = self._body(tool_of(operation), arguments, who)
        return answer

    def close(self) -> None:
        """Wait for running calls, and close the HTTP connections."""
        self._lifetime.close()

    def _body(self, tool: Tool, arguments: Mapping[str, Any], who: Who) -> Any:
        """Call a tool by its first route; return the answer as JSON."""
        route = next(
            served_route
            for served_route in tool.toolset.served_routes
            if served_route.binding.operation == tool.name
        )
        headers = _headers(who)
        with self._lifetime.using():
            arguments = repeatable(tool, arguments)
            tool.validated(arguments)  # JSON would make texts of other keys, and lists of tuples
            max_tries = (
                _TRIES if "request_id" in arguments or tool.operation.effect is Effect.READ else 1
            )
            request = _request(tool, route, arguments)
            http_response = self._send(request, headers, max_tries)
        try:
            body = http_response.json() if http_response.content else {}
        except ValueError:
            body = None
        if http_response.status_code in _OF_PROXIES and "error" not in (body or {}):
            raise self._unfinished(request)
        if http_response.status_code >= _FAILED:
            raise error_of(
                body, http_response.status_code, self._address, has_token=self._has_token
            )
        if body is None or http_response.status_code >= _REDIRECTED:
            raise NotAStore(
                f"{self._address} answers, but not as `day1 serve` does: check the address.",
                address=self._address,
            )
        return body if route.binding.only is None else {route.binding.only: body}

    def _send(
        self, request: dict[str, Any], headers: dict[bytes, bytes], tries: int
    ) -> httpx.Response:
        """Send a request, and again if its connection breaks.

        Raises:
            StoreUnavailable: the server does not answer.
        """
        was_sent = False
        while True:
            tries -= 1
            try:
                return self._http.request(**request, headers=headers)
            except (TypeError, ValueError) as exc:
                raise InvalidRequest(f"An argument cannot be sent as JSON: {exc}.") from exc
            except httpx.ConnectError as exc:
                if was_sent:  # the server may have made the call before it went away
                    raise self._unfinished(request) from exc
                raise StoreUnavailable(
                    f"{self._address} does not answer: start `day1 serve` there, or check the "
                    "address.",
                    address=self._address,
                ) from exc
            except httpx.HTTPError as exc:
                was_sent = True
                if tries < 1 or isinstance(exc, httpx.TimeoutException):
                    raise self._unfinished(request) from exc

    def _unfinished(self, request: Mapping[str, Any]) -> StoreUnavailable:
        """Build the error for a broken call that may or may not have taken effect."""
        request_id = request.get("json", {}).get("request_id")
        if request_id is None:
            advice = "a read can be called again; before you repeat a write, see whether it did."
        else:
            advice = f"call again with request_id={request_id!r}, and it takes effect once."
        return StoreUnavailable(
            f"{self._address} did not finish its answer; the call may have taken effect: {advice}",
            address=self._address,
            request_id=request_id,
        )


def _checked(address: str) -> str:
    """Check the address of a server, and return it without a slash at its end.

    Raises:
        InvalidRequest: it has no host, or more than a host and a port.
    """
    try:
        url_parts = urlsplit(address)
        server_address = f"{url_parts.scheme}://{url_parts.netloc}"
        url, _ = httpx.URL(server_address), url_parts.port  # a port that is none raises
        encoded_host = url.host and url.raw_host.decode().encode("idna")  # as a socket encodes it
    except (ValueError, httpx.InvalidURL):
        raise _no_address() from None
    if (
        not encoded_host
        or any(map(str.isspace, url_parts.netloc))
        or "@" in url_parts.netloc
        or url_parts.path.strip("/")
        or url_parts.query
    ):
        raise _no_address()
    return server_address


def _no_address() -> InvalidRequest:
    return InvalidRequest(
        "This is not the address of a server: give http://HOST:PORT or https://HOST, without a "
        "path, a query or a password, and the token as `token`.",
    )


def _checked_token(token: str) -> str:
    """Check a token, and return it without white space around it, such as a file's last line break.

    Raises:
        InvalidRequest: it is empty, or has characters that no token has.
    """
    require_text("token", token)
    bare_token = token.strip()
    if not bare_token or not bare_token.isascii() or not bare_token.isprintable():
        raise unfit("token", "must be one that `day1 token create` made: letters, digits and _")
    return bare_token


def _client(address: str, headers: dict[str, str]) -> httpx.Client:
    """Make the client of an address, which uses the proxy and certificates of the environment.

    Raises:
        InvalidRequest: they cannot be used.
    """
    try:
        return httpx.Client(
            base_url=address, headers=headers, timeout=_TIMEOUT, verify=_trusted(address)
        )
    except (ImportError, ValueError, OSError, httpx.InvalidURL) as exc:
        raise InvalidRequest(
            "The proxy or the certificates of the environment cannot be used: correct HTTP_PROXY, "
            "HTTPS_PROXY, ALL_PROXY, NO_PROXY, SSL_CERT_FILE or SSL_CERT_DIR. A SOCKS proxy needs "
            "`pip install 'httpx[socks]'`."
        ) from exc


def _trusted(address: str) -> ssl.SSLContext | bool:
    """Return the certificates to trust: those of the machine, and for plain HTTP none.

    Reading those of the machine takes 30 ms of processor time.
    """
    return True if address.startswith("https:") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _headers(who: Who) -> dict[bytes, bytes]:
    """Build the headers that name the caller; names may be in any script.

    Raises:
        InvalidRequest: the server would refuse a name, or a header cannot carry it.
    """
    headers = {}
    for argument, header in _HEADER_BY_ARGUMENT.items():
        name = getattr(who, argument)
        if name is None:
            continue
        if name != name.strip():
            raise unfit(argument, "must not begin or end with white space, which HTTP drops")
        named(name, argument)
        headers[header] = name.encode()
    return headers


def _request(tool: Tool, route: Route, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Build the request of a route: its path, query and body.

    Raises:
        InvalidRequest: an argument cannot be a part of the path.
    """
    remaining_arguments = dict(arguments)
    path = route.path
    for parameter, argument in route.in_path.items():
        value = str(remaining_arguments.pop(argument, ""))
        if value in _NO_NAME or "/" in value:  # it would lead to another operation
            raise unfit(argument, "must not be empty, `.` or `..`, nor have a `/`, over HTTP")
        path = path.replace(f"{{{parameter}}}", quote(value, safe=""))
    request: dict[str, Any] = {
        "method": route.method,
        "url": tool.toolset.namespace.prefix + path,
    }
    query = {
        parameter: remaining_arguments.pop(argument)
        for parameter, argument in route.binding.query.items()
        if argument in remaining_arguments
    }
    if query:
        request["params"] = query
    if route.method in _BODIES:
        request["json"] = remaining_arguments
    return request
