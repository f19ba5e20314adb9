"""The review inside a chat: the extension `io.modelcontextprotocol/ui` (SEP-1865, MCP Apps).

A client that can shows one HTML document beside what a review tool answers, and passes its calls on
to the tools that there are. The document loads nothing, and shows memory as text only. Its words,
keys and colours are those of the web pages.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from mcp import types
from mcp.server.lowlevel import Server
from mcp.types import TextResourceContents

from day1 import __version__
from day1.interfaces.reviewing import GROUPS, KEYS, REASONS, TAKEN, TEXTS, TIERS, fields
from day1.model.redaction.veil import MARKS
from day1.model.rows.kind import MEMORIES, WHOLE, Kind
from day1.model.values.showing import BEGINNING, FOLDED, UNSEEN

EXTENSION: Final = "io.modelcontextprotocol/ui"
HTML: Final = "text/html;profile=mcp-app"
REVIEW: Final = "ui://day1/review.html"
VIEWS: Final = {"review_open": REVIEW, "review_show": REVIEW}
"""The view of what a tool answers."""
_HERE: Final = Path(__file__).parent / "view"
_PAGES: Final = Path(__file__).parents[1] / "web" / "static"
_SHUT: Final = ("connectDomains", "resourceDomains", "frameDomains", "baseUriDomains")


def documents(tools: Collection[str]) -> dict[str, TextResourceContents]:
    """What tools of these names are shown with, by address."""
    return {} if VIEWS.keys().isdisjoint(tools) else {REVIEW: review()}


def add_views(server: Server[Any], tools: Collection[str]) -> None:
    """Tell clients of the protocol of 2026 of views, if there are any for these tools."""
    if documents(tools):
        server.extensions[EXTENSION] = {}


def with_views(ctx: Any, tools: Iterable[types.Tool]) -> list[types.Tool]:
    """Tools as they are listed for the client of a request: with views, if it shows them."""
    known = ctx.session.client_capabilities
    settings = ((known and known.extensions) or {}).get(EXTENSION) or {}
    kinds = settings.get("mimeTypes")
    shown = VIEWS if isinstance(kinds, list) and HTML in kinds else {}
    return [
        tool.model_copy(update={"meta": {**(tool.meta or {}), "ui": {"resourceUri": view}}})
        if (view := shown.get(tool.name))
        else tool
        for tool in tools
    ]


@cache
def review() -> TextResourceContents:
    """The document, which may ask nobody but its host for anything."""
    style = _read(_PAGES / "day1.css", _HERE / "review.css")
    script = _read(_PAGES / "keys.js", _HERE / "review.js")
    script = script.replace('"use strict";', f'"use strict";\nconst WORDS = {_words()};', 1)
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = {"{policy}": policy, "{style}": style, "{script}": script}
    page = _read(_HERE / "review.html")
    text = re.sub(r"\{(?:policy|style|script)\}", lambda part: parts[part[0]], page)
    ui = {"csp": {domains: [] for domains in _SHUT}, "prefersBorder": True}
    return TextResourceContents(uri=REVIEW, mime_type=HTML, text=text, meta={"ui": ui})


def _read(*paths: Path) -> str:
    return "".join(path.read_text(encoding="utf-8") for path in paths)


def _hash(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()


def _words() -> str:
    """What the script needs to know of reviews and rows."""
    known: Mapping[str, Any] = {
        "version": __version__,
        "groups": GROUPS,
        "reasons": REASONS,
        "taken": TAKEN,
        "tiers": TIERS,
        "keys": KEYS,
        "texts": sorted(TEXTS),
        "kinds": {kind.name: _kind(kind) for kind in MEMORIES},
        "unseen": re.sub("[^ -~]", lambda mark: f"\\u{{{ord(mark[0]):x}}}", UNSEEN.pattern),
        "marks": sorted(MARKS),
        "folded": FOLDED,
        "beginning": BEGINNING,
    }
    return json.dumps(known)


def _kind(kind: Kind) -> dict[str, Any]:
    cells = (WHOLE, *(group[0] for group in kind.groups))
    return {"says": kind.says, "cells": {cell: fields(kind, cell) for cell in cells}}
