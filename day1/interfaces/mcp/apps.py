"""The review inside a chat: the extension `io.modelcontextprotocol/ui` (SEP-1865, MCP Apps).

A client with the extension shows one HTML document beside the answer of a review tool, and passes
the document's calls on to the tools. The document loads nothing and shows memory as text only. Its
words, keys and colours are those of the web pages.
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

from day1.interfaces.reviewing import GROUPS, KEYS, REASONS, TAKEN, TEXTS, TIERS, fields
from day1.model.redaction.veil import MARKS
from day1.model.rows.kind import MEMORIES, WHOLE, Kind
from day1.model.values.showing import BEGINNING, FOLDED, UNSEEN
from day1.version import __version__

EXTENSION: Final = "io.modelcontextprotocol/ui"
"""The name of MCP's extension for views."""
HTML: Final = "text/html;profile=mcp-app"
"""The media type of a view."""
REVIEW: Final = "ui://day1/review.html"
"""The address of the view of a review."""
VIEWS: Final = {"review_open": REVIEW, "review_show": REVIEW}
"""The address of the view of a tool's answer, by the tool's name."""
_HERE: Final = Path(__file__).parent / "view"
_PAGES: Final = Path(__file__).parents[1] / "web" / "static"
_CLOSED_DOMAINS: Final = ("connectDomains", "resourceDomains", "frameDomains", "baseUriDomains")
"""The domain lists of a view's content policy; all are empty for day1's view."""


def documents(tools: Collection[str]) -> dict[str, TextResourceContents]:
    """Return the views of these tools, by address."""
    return {} if VIEWS.keys().isdisjoint(tools) else {REVIEW: review()}


def add_views(server: Server[Any], tools: Collection[str]) -> None:
    """Announce the extension in the server's capabilities if one of these tools has a view."""
    if documents(tools):
        server.extensions[EXTENSION] = {}


def with_views(ctx: Any, tools: Iterable[types.Tool]) -> list[types.Tool]:
    """List tools with the addresses of their views if the request's client can show views."""
    capabilities = ctx.session.client_capabilities
    extension_settings = ((capabilities and capabilities.extensions) or {}).get(EXTENSION) or {}
    mime_types = extension_settings.get("mimeTypes")
    view_by_tool = VIEWS if isinstance(mime_types, list) and HTML in mime_types else {}
    return [
        tool.model_copy(update={"meta": {**(tool.meta or {}), "ui": {"resourceUri": view}}})
        if (view := view_by_tool.get(tool.name))
        else tool
        for tool in tools
    ]


@cache
def review() -> TextResourceContents:
    """Build the view of a review: one HTML document that may load nothing."""
    style = _read(_PAGES / "day1.css", _HERE / "review.css")
    script = _read(_PAGES / "keys.js", _HERE / "review.js")
    script = script.replace('"use strict";', f'"use strict";\nconst WORDS = {_words()};', 1)
    security_policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    text_by_placeholder = {"{policy}": security_policy, "{style}": style, "{script}": script}
    page_template = _read(_HERE / "review.html")
    page_html = re.sub(
        r"\{(?:policy|style|script)\}", lambda part: text_by_placeholder[part[0]], page_template
    )
    ui_metadata = {"csp": {permission: [] for permission in _CLOSED_DOMAINS}, "prefersBorder": True}
    return TextResourceContents(
        uri=REVIEW, mime_type=HTML, text=page_html, meta={"ui": ui_metadata}
    )


def _read(*paths: Path) -> str:
    return "".join(path.read_text(encoding="utf-8") for path in paths)


def _hash(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()


def _words() -> str:
    """Write the words and columns that the view's script uses as JSON."""
    document: Mapping[str, Any] = {
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
    return json.dumps(document)


def _kind(kind: Kind) -> dict[str, Any]:
    cells = (WHOLE, *(group[0] for group in kind.groups))
    return {"says": kind.says, "cells": {cell: fields(kind, cell) for cell in cells}}
