"""The frame of all pages: visits, calls of operations, forms, cookies and errors."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from urllib.parse import urlencode

from anyio import to_thread
from starlette.datastructures import FormData, Headers
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from day1.call.context import Context
from day1.call.toolset import Tool
from day1.errors import Day1Error, Forbidden, InvalidRequest, TooManyRequests, Unauthorized
from day1.interfaces.web.rendering import environment
from day1.model.access.permissions import Access, Scope
from day1.model.access.tokens import digest, new_secret
from day1.services.access.authentication import SIGNED_IN_S, Authenticator, without_place

log = logging.getLogger(__name__)

HOME: Final = "/review"
"""The path of the home page."""
LOGIN: Final = "/review/login"
"""The path of the sign-in page."""
SESSION: Final = "day1"
"""Name of the cookie of a browser that signed in."""
_FORMS: Final = "day1-forms"
"""Name of the cookie of a browser that did not sign in, for CSRF tokens. It is another name than
`SESSION`: a link from another site comes without that cookie, and must not replace it."""
_FIELDS: Final = 64
"""Maximum number of fields of a form."""
_AGAIN_S: Final = "1"
"""Seconds after which to retry, as the text of a header."""
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_SAFE: Final = {
    "Content-Security-Policy": _POLICY,
    # `no-referrer` would hide the Origin of forms, which the middleware checks.
    "Referrer-Policy": "same-origin",
}
Form = Mapping[str, str]


def cookie_name(headers: Headers, name: str) -> str:
    """Add the server's port to a cookie's name: browsers share cookies between ports."""
    port = headers.get("host", "").rpartition(":")[2]
    return f"{name}-{port}" if port.isdecimal() else name


def cookie_of(request: HTTPConnection, name: str = SESSION) -> str | None:
    """Return the value of a request's cookie; None without the cookie."""
    return request.cookies.get(cookie_name(request.headers, name)) or None


def csrf_of(cookie: str) -> str:
    """Derive the CSRF token that every form of this browser must send."""
    return digest(f"csrf:{cookie}")


@dataclass(slots=True)
class Visit:
    """One request of a page, handled in one worker thread."""

    site: Site
    request: Request
    form: Form
    cookie: str
    access: Access | None
    """What the caller's token allows; None on pages that need no token."""
    _context: Context | None = None

    def call(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """Call an operation for the visitor; arguments that are None are left out."""
        if self._context is None:
            self._context = self.site.server.context(self.request)
        present_arguments = {key: value for key, value in arguments.items() if value is not None}
        tool = self.site.tool(operation)
        if tool is None:
            raise KeyError(operation)
        return tool.call(self._context, present_arguments)

    def asked(self, name: str) -> str | None:
        """Return a parameter of the query; None if it is missing or empty."""
        return self.request.query_params.get(name) or None

    def number(self, name: str) -> int:
        """Return a number from the form or query; 0 if it is missing or not a number."""
        number_text = self.form.get(name) or self.request.query_params.get(name, "")
        return (
            int(number_text) if number_text.isdecimal() and len(number_text) < len("1000000") else 0
        )

    def may(self, scope: Scope) -> bool:
        """Whether the visitor's token includes a scope; used only to show or hide buttons."""
        try:
            (self.access or Access()).require(scope, "")
        except Forbidden:
            return False
        return True

    def page(self, template: str, status: int = 200, /, **values: Any) -> Response:
        """Render a template as a response with this HTTP status."""
        common_values = {"visit": self, "here": self.request.url.path, "csrf": csrf_of(self.cookie)}
        html = environment().get_template(template).render(**common_values, **values)
        return HTMLResponse(html, status)

    def go(self, where: str) -> Response:
        """Redirect to another page, so that a reload does not send the form again."""
        return RedirectResponse(where, 303)


View = Callable[[Visit], Response]
"""A function that makes a page."""


@dataclass(frozen=True, slots=True)
class Server:
    """The parts of the HTTP server that the pages use."""

    authenticator: Authenticator
    clock: Callable[[], int]
    context: Callable[[Request], Context]
    access_of: Callable[[Request], Access]
    status_of: Callable[[type[Day1Error]], int]
    failing_chores: Callable[[], list[tuple[str, str]]]


@dataclass(frozen=True, slots=True)
class Site:
    """The frame in which a server answers all requests of pages."""

    server: Server
    tool: Callable[[str], Tool | None]
    """The function that finds a tool that pages call, by its bare or qualified name."""

    def route(self, path: str, view: View, methods: Iterable[str] = ("GET",)) -> Route:
        """Build the route of a page."""

        async def answer(request: Request) -> Response:
            if request.url.path.endswith("/"):
                return RedirectResponse(request.url.replace(path=request.url.path.rstrip("/")))
            try:
                form = await _read(request) if request.method == "POST" else None
            except InvalidRequest as exc:
                return await to_thread.run_sync(self.refused, exc, request)
            return await to_thread.run_sync(partial(self.answer, request, form, view))

        return Route(path, answer, methods=list(methods))

    def answer(self, request: Request, form: Form | None, view: View) -> Response:
        """Make a page; an error becomes the page of the error.

        `form` is None if the page acts on no form: then no CSRF token is checked.
        """
        cookie = cookie_of(request) or cookie_of(request, _FORMS)
        is_public = request.url.path == LOGIN
        browser_secret = cookie or new_secret()
        visit = Visit(
            self,
            request,
            form or {},
            browser_secret,
            None if is_public else self.server.access_of(request),
        )
        try:
            if form is not None:
                _check(visit, cookie)
            response = view(visit)
        except Day1Error as exc:
            response = failed(visit, without_place(exc) if is_public else exc)
        except Exception:
            log.exception("a page failed")
            response = visit.page("error.html", 500, code="internal", message=_INTERNAL)
        if cookie is None:
            keep(response, request, browser_secret, _FORMS)
        response.headers.update(_SAFE)
        return response

    def refused(self, error: Day1Error, request: Request) -> Response:
        """Answer a refused request: redirect to the sign-in, or show the page of the error."""
        if isinstance(error, Unauthorized):
            url = request.url
            page_path = url.path + (f"?{url.query}" if url.query else "")
            login_query = {"back": page_path if request.method == "GET" else HOME}
            return RedirectResponse(f"{LOGIN}?{urlencode(login_query)}", 303)
        return self.answer(request, None, lambda visit: failed(visit, error))


_INTERNAL: Final = "day1 failed on this page; its log says more."


async def _read(request: Request) -> Form:
    """Read the text fields of a form; files are refused.

    Raises:
        InvalidRequest: the body is not a form, or has files or too many fields.
    """
    try:
        form_fields: FormData = await request.form(max_files=0, max_fields=_FIELDS)
    except HTTPException as exc:
        raise InvalidRequest(
            f"The form cannot be read: {exc.detail} Go back, reload the page, and send it again."
        ) from exc
    return {key: value for key, value in form_fields.items() if isinstance(value, str)}


def _check(visit: Visit, cookie: str | None) -> None:
    """Check that a form comes from a page of this browser.

    Raises:
        Forbidden: the form's CSRF token is missing or of another browser.
    """
    if cookie is None or not hmac.compare_digest(
        csrf_of(cookie).encode(), visit.form.get("csrf", "").encode()
    ):
        raise Forbidden(
            "This form is not from a page of this browser, or from before you signed in: go back, "
            "reload the page, and send it again. Nothing was done."
        )


def failed(visit: Visit, error: Day1Error) -> Response:
    """Make the page of an error, with the error's HTTP status."""
    response = visit.page(
        "error.html",
        visit.site.server.status_of(type(error)),
        code=error.code,
        message=str(error),
    )
    if error.retryable or isinstance(error, TooManyRequests):
        response.headers["Retry-After"] = _AGAIN_S
    return response


def keep(response: Response, request: Request, cookie: str, name: str = SESSION) -> None:
    """Set a cookie that neither scripts nor other sites can read."""
    scheme = request.headers.get("x-forwarded-proto", request.url.scheme)
    response.set_cookie(
        cookie_name(request.headers, name),
        cookie,
        max_age=SIGNED_IN_S,
        path="/",
        secure=scheme.split(",")[0].strip() == "https",
        httponly=True,
        samesite="strict",
    )
