"""A browser without script: it keeps cookies, follows links, and sends the forms of its pages.

Every page it gets is held against what all of them promise: see `_check`.
"""

import re
from collections.abc import Mapping
from html.parser import HTMLParser
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

import httpx2

from tests.wires.http_server import HttpServer
from tests.wires.mcp_session import WAIT_S

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
UNSEEN = re.compile("[\u0000-\u0008\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_ADDRESSES = {"href", "src", "action", "formaction", "xlink:href"}


class Form(NamedTuple):
    """A form as it stands on a page."""

    action: str
    method: str
    fields: dict[str, str]
    buttons: list[tuple[str, str]]


class Page(NamedTuple):
    """What a browser shows."""

    status: int
    html: str
    text: str
    """What can be read, without tags."""
    address: str
    links: list[str]
    forms: list[Form]
    headers: Mapping[str, str]

    def form(self, action: str, **fields: str) -> Form:
        """The form that is sent to an address, and has these fields."""
        found = [
            form
            for form in self.forms
            if form.action.partition("?")[0] == action and fields.items() <= form.fields.items()
        ]
        assert found, (action, fields, [form[:3] for form in self.forms])
        return found[0]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.forms: list[Form] = []
        self.links: list[str] = []
        self.texts: list[str] = []
        self._written: tuple[str, list[str]] | None = None
        self._select: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        assert len(given) == len(attrs), (tag, attrs)
        self.tags.append((tag, given))
        name = given.get("name", "")
        if tag == "a":
            self.links.append(given["href"])
        elif tag == "form":
            self.forms.append(Form(given["action"], given["method"], {}, []))
        elif tag == "input" and given.get("type") != "checkbox":
            self.forms[-1].fields[name] = given.get("value", "")
        elif tag == "textarea":
            self._written = (name, [])
        elif tag == "select":
            self._select = name
        elif tag == "option" and self._select is not None and "selected" in given:
            self.forms[-1].fields[self._select] = given.get("value", "")
        elif tag == "button" and name:
            self.forms[-1].buttons.append((name, given["value"]))

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self._written is not None:
            name, parts = self._written
            self.forms[-1].fields[name] = "".join(parts).removeprefix("\n")
            self._written = None
        elif tag == "select":
            self._select = None

    def handle_data(self, data: str) -> None:
        (self._written[1] if self._written else self.texts).append(data)


class Browser:
    """One browser; another one has other cookies."""

    def __init__(self, server: HttpServer, **headers: str) -> None:
        """Look at a server."""
        self.server = server
        self.http = httpx2.Client(
            base_url=server.address,
            timeout=WAIT_S,
            follow_redirects=True,
            headers=headers,
            verify=False,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.http.close()

    def get(self, path: str, status: int = 200) -> Page:
        """Open a page."""
        return self._page(self.http.get(path), status)

    def send(self, form: Form, status: int = 200, /, **fields: str) -> Page:
        """Send a form, with some of its fields filled in."""
        given = {**form.fields, **fields}
        if form.method == "get":
            return self._page(self.http.get(form.action, params=given), status)
        origin = {"Origin": self.server.address}
        return self._page(self.http.post(form.action, data=given, headers=origin), status)

    def sign_in(self, secret: str) -> Page:
        """Sign in with a token."""
        page = self.get("/review/login")
        return self.send(page.form("/review/login"), token=secret)

    def _page(self, answer: Any, status: int) -> Page:
        assert answer.status_code == status, (answer.status_code, answer.text[:2_000])
        reader = _Reader()
        reader.feed(answer.text)
        page = Page(
            answer.status_code,
            answer.text,
            " ".join(" ".join(reader.texts).split()),
            str(answer.url).removeprefix(self.server.address),
            reader.links,
            reader.forms,
            answer.headers,
        )
        _check(page, reader)
        return page


def _check(page: Page, reader: _Reader) -> None:
    """No page runs what memory holds, loads from elsewhere, or hides what it shows."""
    assert page.headers["content-security-policy"] == POLICY
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["cache-control"] == "no-store"
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert UNSEEN.search("".join(reader.texts)) is None
    for tag, given in reader.tags:
        assert tag not in {"img", "iframe", "object", "embed", "style", "base", "b"}, tag
        assert not [name for name in given if name.startswith("on") or name == "style"], given
        assert tag != "script" or set(given) == {"src", "defer"}
        for name in _ADDRESSES & set(given):
            parts = urlsplit(given[name])
            assert (parts.scheme, parts.netloc) == ("", ""), given[name]
    for form in page.forms:
        assert form.method == "get" or len(form.fields["csrf"]) == 64, form
    ids = [given["id"] for _, given in reader.tags if "id" in given]
    assert len(ids) == len(set(ids)), "an id names one place"
    labelled = {given["for"] for tag, given in reader.tags if tag == "label" and "for" in given}
    assert labelled <= set(ids)
