"""Signing in with a token, and out."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict, deque
from typing import Final

from starlette.responses import Response

from day1.errors import TooManyRequests, Unauthorized
from day1.interfaces.web.site import (
    HOME,
    LOGIN,
    SESSION,
    Visit,
    cookie_name,
    cookie_of,
    keep,
)

log = logging.getLogger(__name__)

_TRIES: Final = 5
_WITHIN_S: Final = 60.0
_CALLERS: Final = 1_000


class Tries:
    """Failed sign-ins of the last minute, by where they came from."""

    def __init__(self) -> None:
        """Begin without any."""
        self._guard = threading.Lock()
        self._failed: OrderedDict[str, deque[float]] = OrderedDict()

    def check(self, caller: str) -> None:
        """Let a caller try who did not fail too often.

        Raises:
            TooManyRequests: it did.
        """
        with self._guard:
            failed = self._failed.get(caller, deque())
            while failed and failed[0] < time.monotonic() - _WITHIN_S:
                failed.popleft()
            if len(failed) >= _TRIES:
                raise TooManyRequests(
                    "That was no token too many times: wait a minute, then try again.",
                    retry_after=_WITHIN_S,
                )

    def failed(self, caller: str) -> None:
        """Note a failure."""
        with self._guard:
            self._failed.setdefault(caller, deque()).append(time.monotonic())
            self._failed.move_to_end(caller)
            while len(self._failed) > _CALLERS:
                self._failed.popitem(last=False)


class Signing:
    """The pages for it."""

    def __init__(self) -> None:
        """Begin with nobody having failed."""
        self._tries = Tries()

    def login(self, visit: Visit) -> Response:
        """The form, or what it does."""
        door, back = visit.site.server.door, inside(visit.form.get("back") or visit.asked("back"))
        if door.open:
            return visit.go(back)
        if visit.request.method == "GET":
            return visit.page("login.html", back=back, problem=None)
        caller = visit.request.client.host if visit.request.client else ""
        try:
            cookie = door.sign_in(visit.form.get("token", "").strip(), visit.site.server.clock())
        except Unauthorized:
            # Behind a proxy all have one address: others' failures refuse nobody a live token.
            self._tries.check(caller)
            self._tries.failed(caller)
            log.warning("a sign-in from %s failed", caller)
            problem = "That is no live token of this server."
            return visit.page("login.html", 401, back=back, problem=problem)
        response = visit.go(back)
        keep(response, visit.request, cookie)
        return response

    def logout(self, visit: Visit) -> Response:
        """Let the cookie open nothing any more."""
        headers, response = visit.request.headers, visit.go(LOGIN)
        cookie = cookie_of(headers)
        if cookie is not None:
            visit.site.server.door.sign_out(cookie)
        response.delete_cookie(cookie_name(headers, SESSION), path="/")
        return response


def inside(back: str | None) -> str:
    """A page of this site to go on to; whatever else is named, the first one."""
    page = back is not None and (back == HOME or back.startswith((f"{HOME}/", f"{HOME}?")))
    return back if back is not None and page and "\\" not in back and back.isprintable() else HOME
