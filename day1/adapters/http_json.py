"""One POST of JSON to an endpoint that the owner configured.

What is sent leaves this machine, to that address and nowhere else: redirects are refused, since
they would carry the key and the texts along. Answers are bounded in bytes and time, and no error
or log quotes one: servers repeat the texts and keys they were sent.
"""

from __future__ import annotations

import json
import logging
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException, HTTPMessage, HTTPResponse
from typing import IO, Any
from urllib.parse import urlsplit

from day1.errors import InvalidRequest, Json

log = logging.getLogger(__name__)

_LONGEST_PAUSE_S = 10.0
_PART_BYTES = 64 * 1024
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
            timeout_s: how long one try may take, to the last byte of its answer.
            tries: how often it is asked while it is busy or broken for now.
            most_bytes: a longer answer is refused.

        Raises:
            InvalidRequest: the address is not http or https.
        """
        parts = urlsplit(base)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise InvalidRequest("An endpoint's url must look like https://host/v1.")
        stem = parts.path.rstrip("/").removesuffix(path)
        self._url = parts._replace(path=f"{stem}{path}").geturl()
        self.host = parts.hostname
        self._headers = {"Content-Type": "application/json", "User-Agent": "day1"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._timeout_s, self._tries, self._most_bytes = timeout_s, tries, most_bytes
        self._opener = urllib.request.build_opener(_NoRedirect)
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
                until = time.monotonic() + self._timeout_s
                with self._opener.open(request, timeout=self._timeout_s) as answer:
                    return json.loads(self._read(answer, until))
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

    def _read(self, answer: HTTPResponse, until: float) -> bytes:
        """The body, unless it is too long or comes too slowly."""
        parts: list[bytes] = []
        left = self._most_bytes
        while part := answer.read1(_PART_BYTES):
            parts.append(part)
            left -= len(part)
            if left < 0:
                raise EndpointFailed("its answer is too long")
            if time.monotonic() > until:
                raise TimeoutError
        return b"".join(parts)


def _pause_s(retry_after: str | None, attempt: int) -> float:
    """What the server asks for, else half a second doubled at each try; ten seconds at most."""
    asked = float(retry_after) if retry_after and retry_after.isdecimal() else 0.25 * 2**attempt
    return min(asked, _LONGEST_PAUSE_S)
