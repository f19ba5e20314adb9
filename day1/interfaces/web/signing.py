"""The pages to sign in with a token and to sign out."""

from __future__ import annotations

import logging
import time
from ipaddress import ip_address
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from day1.errors import TokenRequired, TooManyRequests, Unauthorized
from day1.interfaces.web.site import HOME, LOGIN, SESSION, Visit, cookie_name, cookie_of, keep
from day1.ports.counters import Counters, Numbers

log = logging.getLogger(__name__)

_TRIES: Final = 5
"""Failures after which the next one is refused."""
_WITHIN_S: Final = 60.0
"""Seconds for which a failure counts."""
_BEGINNING: Final = 8
"""Characters of a failed token that are remembered, to tell callers of one address apart."""


class Tries:
    """Failed sign-ins of the last minute, by address and beginning of the token.

    Many people may share an address: the failures of one do not count against another.
    """

    def __init__(self, counters: Counters) -> None:
        """Keep the times of the failures of each caller in counters."""
        self._counters = counters

    def failed(self, address: str, token: str) -> None:
        """Record a failed sign-in.

        Raises:
            TooManyRequests: too many failed before; this failure is not recorded.
        """
        self._counters.change(f"{address} {token[:_BEGINNING]}", _with_failure)


def _with_failure(failed: Numbers) -> Numbers:
    """Return the times of the last failures, with one now."""
    now = time.monotonic()
    if len(failed) == _TRIES and failed[0] >= now - _WITHIN_S:
        raise TooManyRequests(
            "Too many sign-ins failed: wait a minute, then try again.",
            retry_after=_WITHIN_S,
        )
    return (*failed, now)[-_TRIES:]


class Signing:
    """The pages to sign in and out."""

    def __init__(self, counters: Counters) -> None:
        """Keep failed sign-ins in counters."""
        self._tries = Tries(counters)

    def login(self, visit: Visit) -> Response:
        """Show the sign-in form, or sign in with the token from the form."""
        authenticator = visit.site.server.authenticator
        return_path = inside(visit.form.get("back") or visit.asked("back"))
        if authenticator.open:
            return visit.go(return_path)
        if visit.request.method == "GET":
            return visit.page("login.html", back=return_path, problem=None)
        token = visit.form.get("token", "").strip()
        try:
            session_cookie = authenticator.sign_in(token, visit.site.server.clock())
        except TokenRequired as error:
            return visit.page("login.html", 401, back=return_path, problem=str(error))
        except Unauthorized:
            # Failures count only after the check: a valid token is always let in.
            client_address = _address(visit.request)
            self._tries.failed(client_address, token)
            log.warning("a sign-in from %s failed", client_address)
            problem = "This is not a valid token of this server."
            return visit.page("login.html", 401, back=return_path, problem=problem)
        response = visit.go(return_path)
        keep(response, visit.request, session_cookie)
        return response

    def logout(self, visit: Visit) -> Response:
        """Sign out and make the cookie invalid."""
        request, response = visit.request, visit.go(LOGIN)
        cookie = cookie_of(request)
        if cookie is not None:
            visit.site.server.authenticator.sign_out(cookie)
        response.delete_cookie(cookie_name(request.headers, SESSION), path="/")
        return response


def _address(request: Request) -> str:
    """Return the client's IP address; `unknown` if a proxy sent other text."""
    host = request.client.host if request.client else ""
    try:
        return str(ip_address(host.partition("%")[0]))
    except ValueError:
        return "unknown"


def inside(back: str | None) -> str:
    """Return `back` if it is a page of this site, else the home page."""
    is_site_page = back is not None and (back == HOME or back.startswith((f"{HOME}/", f"{HOME}?")))
    return (
        back
        if back is not None and is_site_page and "\\" not in back and back.isprintable()
        else HOME
    )
