"""Send a POST to an endpoint that the owner configured, and read its answer as JSON.

The request goes to that address and nowhere else: no redirect is followed, since it would take
the key and the texts along. An answer is limited in bytes and time, and no error or log quotes
one: servers repeat the texts and keys that they were sent.

`httpx` and `tenacity` take 0.2 s to import, so they are imported when the endpoint is first used.
"""

from __future__ import annotations

import json
import logging
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import anyio

from day1.errors import InvalidRequest, Json

if TYPE_CHECKING:
    import httpx
    from tenacity import RetryCallState

log = logging.getLogger(__name__)

_LONGEST_PAUSE_S: Final = 10.0
_TOO_MANY, _SERVER_ERROR = 429, 500
_FORM: Final = "An endpoint's url must look like https://host/v1."


class EndpointFailed(Exception):
    """The endpoint gave no usable answer; the text says why and follows "cannot be used: "."""


class _Busy(EndpointFailed):
    """The endpoint may answer later."""

    def __init__(self, status: int, retry_after: str | None) -> None:
        super().__init__(f"it answered with status {status}")
        self.asked_s = float(retry_after) if retry_after and retry_after.isdecimal() else None
        """The pause that the endpoint asks for."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits on the time and bytes that one call of an endpoint may use."""

    timeout_s: float
    """Seconds that one try may take, from connecting to the last byte."""
    tries: int
    """The number of tries while the endpoint is busy or broken."""
    answer_bytes: int
    """The largest answer in bytes; a longer one is refused."""


class JsonEndpoint:
    """An address that answers JSON; safe to share between threads."""

    def __init__(self, base: str, path: str, *, key: str, bounds: Bounds) -> None:
        """Set the endpoint: `https://host/v1`, with or without `path` at its end.

        Args:
            base: the address.
            path: what is asked there, such as `/embeddings`.
            key: is sent as a bearer token; empty: none.
            bounds: limits of time, tries and bytes.

        Raises:
            InvalidRequest: the address is not http or https, or the key cannot be sent.
        """
        try:
            url_parts = urlsplit(base)
            host = url_parts.hostname if url_parts.port != 0 else None
        except ValueError:  # a port above 65535, or half an IPv6 address
            raise InvalidRequest(_FORM) from None
        if url_parts.scheme not in {"http", "https"} or not host:
            raise InvalidRequest(_FORM)
        base_path = url_parts.path.rstrip("/").removesuffix(path)
        self._url = url_parts._replace(path=f"{base_path}{path}").geturl()
        self.host = host
        # An answer that is compressed could be far longer than its bytes.
        self._headers = {
            "User-Agent": "day1",
            "Accept-Encoding": "identity",
        }
        key = key.strip()  # a file's last line ends in a newline
        if not (key.isascii() and key.isprintable()):
            raise InvalidRequest("An endpoint's key must be one line of ASCII characters.")
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._bounds = bounds
        self.pause: Callable[[float], None] = time.sleep

    def post(self, document: Json) -> Any:
        """Send JSON; return the endpoint's answer as parsed JSON, whose fields are not checked.

        Raises:
            EndpointFailed: there is no answer, or it is not JSON.
        """
        return self.send(json.dumps(document).encode(), "application/json")

    def send(self, body: bytes, content_type: str) -> Any:
        """Send a body of any type; return the endpoint's answer as parsed JSON.

        Raises:
            EndpointFailed: there is no answer, or it is not JSON.
        """
        import tenacity  # noqa: PLC0415 - see above

        retrier = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_Busy),
            stop=tenacity.stop_after_attempt(self._bounds.tries),
            wait=_pause_s,
            before_sleep=tenacity.before_sleep_log(log, logging.WARNING),
            sleep=self.pause,
            reraise=True,
        )
        try:
            return json.loads(retrier(self._ask, body, content_type))
        except (ValueError, RecursionError):  # the error's text would quote the answer
            raise EndpointFailed("its answer is not JSON") from None

    def _ask(self, body: bytes, content_type: str) -> bytes:
        """Send the request once, in an event loop, which can end every part of it in time."""
        import httpx  # noqa: PLC0415 - see above

        try:
            headers = {**self._headers, "Content-Type": content_type}
            request = httpx.Request("POST", self._url, content=body, headers=headers)
            return anyio.run(self._answer, request)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ImportError, ValueError) as error:
            raise EndpointFailed(f"it cannot be reached ({_reason(error)})") from error

    async def _answer(self, request: httpx.Request) -> bytes:
        """Return a good answer's body. httpx's client would log the address, with a key in it."""
        import httpx  # noqa: PLC0415 - see above

        # An entry of NO_PROXY may have a port.
        is_bypassed = proxy_bypass(request.url.netloc.decode())
        proxy_url = None if is_bypassed else getproxies().get(request.url.scheme)
        if proxy_url and "://" not in proxy_url:
            proxy_url = f"http://{proxy_url}"
        with anyio.fail_after(self._bounds.timeout_s):
            async with httpx.AsyncHTTPTransport(verify=self._tls, proxy=proxy_url) as transport:
                return await self._read(await transport.handle_async_request(request))

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        """The TLS context of requests, which trusts the system's certificate authorities."""
        return ssl.create_default_context()

    async def _read(self, answer: httpx.Response) -> bytes:
        status = answer.status_code
        if status == _TOO_MANY or status >= _SERVER_ERROR:
            raise _Busy(status, answer.headers.get("Retry-After"))
        if not answer.is_success:
            raise EndpointFailed(f"it answered with status {status}")
        body = b""
        async for part in answer.aiter_raw():
            body += part
            if len(body) > self._bounds.answer_bytes:
                raise EndpointFailed("its answer is too long")
        return body


def _pause_s(tried: RetryCallState) -> float:
    """Return the pause before the next try: the endpoint's, else 0.5 s doubled; at most 10 s."""
    error = tried.outcome.exception() if tried.outcome else None
    requested_pause_s = error.asked_s if isinstance(error, _Busy) else None
    return min(
        0.25 * 2**tried.attempt_number if requested_pause_s is None else requested_pause_s,
        _LONGEST_PAUSE_S,
    )


def _reason(error: BaseException | None) -> str:
    """Return the system's message; of other errors the class, since a text may quote the answer."""
    class_name = type(error).__name__
    while error is not None:
        if isinstance(error, OSError) and error.errno is not None:
            return str(error)
        error = error.__cause__ or error.__context__
    return class_name
