"""The routes of all pages, below `/review`."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from day1.errors import NotFound
from day1.interfaces.web import branches, jobs, memories, reviews
from day1.interfaces.web.events import Events
from day1.interfaces.web.signing import Signing
from day1.interfaces.web.site import HOME, LOGIN, Site, Visit
from day1.interfaces.web.static_files import FOLDER, PATH, PageFiles
from day1.ports.counters import Counters

_BOTH: Final = ("GET", "POST")
_POST: Final = ("POST",)


def is_page(path: str) -> bool:
    """Whether a path is a page: it redirects to the sign-in where a token is needed."""
    return path == HOME or path.startswith(f"{HOME}/")


def is_public(path: str) -> bool:
    """Whether a path needs no token."""
    return path in {"/", LOGIN} or path.startswith(f"{PATH}/")


def routes(site: Site, events: Events, sign_ins: Counters) -> list[BaseRoute]:
    """Build the routes of all pages; `sign_ins` counts those that fail."""
    sign_in_pages = Signing(sign_ins)
    return [
        Route("/", _home, methods=["GET"]),
        site.route(HOME, branches.home),
        site.route(LOGIN, sign_in_pages.login, _BOTH),
        site.route("/review/logout", sign_in_pages.logout, _POST),
        Mount(PATH, PageFiles(directory=FOLDER)),
        Route("/review/events", _events_head, methods=["HEAD"]),
        Route("/review/events", events.stream, methods=["GET"]),
        site.route("/review/search", memories.search),
        site.route("/review/rows/{id}", memories.row),
        site.route("/review/branches/{name:path}", branches.branch),
        site.route("/review/reviews", reviews.listed),
        site.route("/review/reviews", reviews.opened, _POST),
        site.route("/review/reviews/{id}", reviews.review),
        site.route("/review/reviews/{id}/decide", reviews.decide, _POST),
        site.route("/review/reviews/{id}/approve", reviews.approve, _POST),
        site.route("/review/reviews/{id}/merge", reviews.merge, _BOTH),
        site.route("/review/reviews/{id}/close", reviews.close, _POST),
        site.route("/review/revert", reviews.revert, _BOTH),
        site.route(jobs.PAGE, jobs.listed),
        site.route(jobs.PAGE, jobs.changed, _POST),
        site.route("/review/{rest:path}", _nothing),
    ]


async def _home(_: Request) -> Response:
    return RedirectResponse(HOME)


async def _events_head(_: Request) -> Response:
    """Answer without the stream, which would hold the connection without an end."""
    return Response(media_type="text/event-stream")


def _nothing(_: Visit) -> Response:
    raise NotFound("There is no such page.")
