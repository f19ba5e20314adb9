"""One POST of JSON to an endpoint that the owner configured.

What is sent leaves this machine, to that address and nowhere else: redirects are refused, since
they would carry the key and the texts along. Answers are bounded in bytes and time, and no error
or log quotes one: servers repeat the texts and keys they were sent.
"""

from __future__ import annotations

import io
import json
import logging
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import (
    HTTPConnection,
    HTTPException,
    HTTPMessage,
    HTTPResponse,
    HTTPSConnection,
)
from socket import socket
from typing import IO, TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from day1.errors import InvalidRequest, Json

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

log = logging.getLogger(__name__)

_LONGEST_PAUSE_S = 10.0
_TOO_MANY, _SERVER_ERROR = 429, 500


class EndpointFailed(Exception):
    """No usable answer; the text says why, to follow "cannot be used: "."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Makes a redirect the HTTPError that any other unwanted status is."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> None:
        """Follow nothing."""


class _InTime(io.RawIOBase):
    """What a socket sends, for as long as its timeout in all: else who drips never ends."""

    def __init__(self, raw: io.RawIOBase, sock: socket) -> None:
        self._raw, self._sock = raw, sock
        self._until = time.monotonic() + (sock.gettimeout() or 0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int | None:
        left_s = self._until - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        self._sock.settimeout(left_s)
        return cast("int | None", self._raw.readinto(buffer))

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Answer(HTTPResponse):
    def __init__(self, sock: socket, *given: Any, **more: Any) -> None:
        super().__init__(sock, *given, **more)
        self.fp = io.BufferedReader(_InTime(self.fp.detach(), sock))


class _Connection(HTTPConnection):
    response_class = _Answer


class _SafeConnection(HTTPSConnection):
    response_class = _Answer


class _Http(urllib.request.HTTPHandler):
    def http_open(self, req: urllib.request.Request) -> HTTPResponse:
        return self.do_open(_Connection, req)


class _Https(urllib.request.HTTPSHandler):
    def https_open(self, req: urllib.request.Request) -> HTTPResponse:
        return self.do_open(_SafeConnection, req)


class JsonEndpoint:
    """An address that takes and answers JSON; safe to share between threads."""

    def __init__(
        self, base: str, path: str, *, key: str, timeout_s: float, tries: int, most_bytes: int
    ) -> None:
        """Name the endpoint: `https://host/v1`, with or without `path` at its end.

        Args:
            base: the address.
            path: what is asked there, such as `/embeddings`.
            key: goes along as a bearer token; empty: none.
            timeout_s: how long to connect may take, and then its answer to the last byte.
            tries: how often it is asked while it is busy or broken for now.
            most_bytes: a longer answer is refused.

        Raises:
            InvalidRequest: the address is not http or https, or the key cannot be sent.
        """
        parts = urlsplit(base)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise InvalidRequest("An endpoint's url must look like https://host/v1.")
        stem = parts.path.rstrip("/").removesuffix(path)
        self._url = parts._replace(path=f"{stem}{path}").geturl()
        self.host = parts.hostname
        self._headers = {"Content-Type": "application/json", "User-Agent": "day1"}
        key = key.strip()  # a file's last line ends in a newline
        if not (key.isascii() and key.isprintable()):
            raise InvalidRequest("An endpoint's key must be one line of ASCII characters.")
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._timeout_s, self._tries, self._most_bytes = timeout_s, tries, most_bytes
        self._opener = urllib.request.build_opener(_NoRedirect, _Http, _Https)
        self.pause: Callable[[float], None] = time.sleep

    def post(self, asked: Json) -> Any:
        """The endpoint's answer, parsed and no more.

        Raises:
            EndpointFailed: there is none, or it is not JSON.
        """
        request = urllib.request.Request(  # noqa: S310 - the scheme was checked
            self._url, json.dumps(asked).encode(), self._headers, method="POST"
        )
        for tries_left in reversed(range(self._tries)):
            try:
                with self._opener.open(request, timeout=self._timeout_s) as answer:
                    return json.loads(self._read(answer))
            except urllib.error.HTTPError as error:
                error.close()
                passing = error.code == _TOO_MANY or error.code >= _SERVER_ERROR
                if not passing or not tries_left:
                    raise EndpointFailed(f"it answered with status {error.code}") from None
                pause_s = _pause_s(error.headers.get("Retry-After"), self._tries - tries_left)
                log.warning("%s: status %d, pause %.1f s", self.host, error.code, pause_s)
                self.pause(pause_s)
            except (OSError, HTTPException) as error:  # URLError and timeouts are OSErrors
                reason = getattr(error, "reason", None) or type(error).__name__
                raise EndpointFailed(f"it cannot be reached ({reason})") from error
            except (ValueError, RecursionError):  # whose text would quote the answer
                raise EndpointFailed("its answer is not JSON") from None
        raise AssertionError("the last try returns or raises")

    def _read(self, answer: HTTPResponse) -> bytes:
        """The body, unless it is too long."""
        body = answer.read(self._most_bytes + 1)
        if len(body) > self._most_bytes:
            raise EndpointFailed("its answer is too long")
        return body


def _pause_s(retry_after: str | None, attempt: int) -> float:
    """What the server asks for, else half a second doubled at each try; ten seconds at most."""
    asked = float(retry_after) if retry_after and retry_after.isdecimal() else 0.25 * 2**attempt
    return min(asked, _LONGEST_PAUSE_S)
