"""Branches, facts, snapshots and reviews as MCP resources: read by address, listed, completed.

    day1://branches                          every branch
    day1://branches/{branch}                 where it stands, and its newest facts
    day1://prime                             what a session begins with, as text
    day1://branches/{branch}/prime           the same of a branch
    day1://branches/{branch}/facts/{id}      one fact
    day1://snapshots/{id}                    a snapshot's label and facts
    day1://reviews                           what waits for a person, and the open reviews

A slash in a branch's name is written %2F. What is read goes through the operations that tools have,
so a token sees no more here than there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import quote, unquote

from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from day1.call.context import Context
from day1.errors import NotFound
from day1.services.merges.waiting import waiting
from day1.toolsets import TOOLSETS

BRANCHES: Final = "day1://branches"
"""The address of the list of branches."""
PRIME: Final = "day1://prime"
"""The address of the prime of the caller's branch."""
REVIEWS: Final = "day1://reviews"
"""The address of the open reviews and of what waits for a person."""
_JSON, _TEXT = "application/json", "text/plain"
_FACTS = 50
"""Maximum number of facts in a resource."""
_PAGE = 100
"""Resources on a page of the list."""
_COMPLETED = 100
"""Maximum number of values in a completion."""
_CURSOR: Final = re.compile("[0-9]{1,9}")


def branch_uri(name: str) -> str:
    """Return the address of a branch."""
    return f"{BRANCHES}/{quote(name, safe='')}"


def prime_uri(name: str) -> str:
    """Return the address of a branch's prime."""
    return f"{branch_uri(name)}/prime"


TEMPLATES: Final = ListResourceTemplatesResult(
    resource_templates=[
        ResourceTemplate(
            name="branch",
            title="A branch",
            uri_template=f"{BRANCHES}/{{branch}}",
            description="Where a branch stands, and its newest facts.",
            mime_type=_JSON,
        ),
        ResourceTemplate(
            name="fact",
            title="A fact",
            uri_template=f"{BRANCHES}/{{branch}}/facts/{{id}}",
            description="A fact as it is on a branch.",
            mime_type=_JSON,
        ),
        ResourceTemplate(
            name="prime",
            title="What a session begins with",
            uri_template=f"{BRANCHES}/{{branch}}/prime",
            description="A branch in a few lines: what waits, and the facts that serve best.",
            mime_type=_TEXT,
        ),
        ResourceTemplate(
            name="snapshot",
            title="A snapshot",
            uri_template="day1://snapshots/{id}",
            description="A snapshot's label, and its newest facts.",
            mime_type=_JSON,
        ),
    ]
)


def listed(ctx: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
    """List branches, snapshots, reviews and the prime as resources, in pages of 100.

    A model may take a listing for the server's own words. So descriptions and labels, which any
    writer can set, stand only in the resources themselves.

    Raises:
        MCPError: day1 did not make this cursor.
    """
    page_start = start_of(params.cursor if params else None)
    entries = [_resource("branches", "Branches", BRANCHES)]
    entries.append(_resource("reviews", "What waits for a person", REVIEWS))
    entries.append(_resource("prime", "What a session begins with", PRIME, _TEXT))
    for branch in _call(ctx, "memory_branch_list")["result"]:
        branch_name = branch["branch_name"]
        entries.append(_resource(branch_name, f"Branch {branch_name}", branch_uri(branch_name)))
    for snapshot in _call(ctx, "memory_snapshot_list")["result"]:
        title = f"Snapshot of {snapshot['branch']}, {snapshot['created_at']}"
        entries.append(_resource(snapshot["id"], title, f"day1://snapshots/{snapshot['id']}"))
    next_cursor = str(page_start + _PAGE) if len(entries) > page_start + _PAGE else None
    return ListResourcesResult(
        resources=entries[page_start : page_start + _PAGE], next_cursor=next_cursor
    )


def start_of(cursor: str | None) -> int:
    """Return the index at which the page of a cursor begins.

    Raises:
        MCPError: day1 did not make this cursor.
    """
    if cursor is not None and not _CURSOR.fullmatch(cursor):
        raise MCPError(
            INVALID_PARAMS,
            "This server gave no such cursor: list again from the first page, without a cursor.",
        )
    return int(cursor or 0)


def _resource(name: str, title: str, uri: str, mime_type: str = _JSON) -> Resource:
    return Resource(name=name, title=title, uri=uri, mime_type=mime_type)


def read(ctx: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
    """Read the resource at an address.

    Raises:
        MCPError: the address has no resource.
        Day1Error: the operation behind the resource failed.
    """
    uri = params.uri
    try:
        resource_value = _read(ctx, uri)
    except NotFound as exc:
        raise MCPError(INVALID_PARAMS, f"Resource not found: {exc}", {"uri": uri}) from exc
    if isinstance(resource_value, str):
        content = TextResourceContents(uri=uri, mime_type=_TEXT, text=resource_value)
        return ReadResourceResult(contents=[content])
    resource_json = json.dumps(resource_value, ensure_ascii=False, separators=(",", ":"))
    resource_json = resource_json.encode("utf-8", "replace").decode()
    content = TextResourceContents(uri=uri, mime_type=_JSON, text=resource_json)
    return ReadResourceResult(contents=[content])


def _read(ctx: Context, uri: str) -> Mapping[str, Any] | str:
    for pattern, reader in _READERS:
        match = re.fullmatch(pattern, uri)
        if match is not None:
            return reader(ctx, *map(unquote, match.groups()))
    raise NotFound(f"this server has {BRANCHES}, {REVIEWS} and the resources that it lists.")


def _branch(ctx: Context, name: str) -> Mapping[str, Any]:
    return {"branch": name, **_call(ctx, "memory_list", type="fact", branch=name, limit=_FACTS)}


def _prime(ctx: Context, branch: str | None = None) -> str:
    return str(_call(ctx, "memory_prime", branch=branch)["text"])


def _reviews(ctx: Context) -> Mapping[str, Any]:
    open_reviews = _call(ctx, "review_list")
    return {"waiting": waiting(ctx.repo).document(), **open_reviews}


def _snapshot(ctx: Context, name: str) -> Mapping[str, Any]:
    snapshots = _call(ctx, "memory_snapshot_list")["result"]
    snapshot = next(
        (listed_snapshot for listed_snapshot in snapshots if listed_snapshot["id"] == name), None
    )
    if snapshot is None:
        raise NotFound(f"there is no snapshot {name[:80]!r}.")
    facts = _call(ctx, "memory_list", type="fact", branch=snapshot["branch"], at=name, limit=_FACTS)
    return {"snapshot": name, "label": snapshot["label"], **facts}


def _call(ctx: Context, name: str, **arguments: Any) -> dict[str, Any]:
    toolset = TOOLSETS[TOOLSETS.default]
    answer: dict[str, Any] = TOOLSETS.of(toolset, name).call(ctx, arguments)
    return answer


_Reader = Callable[..., Mapping[str, Any] | str]
_READERS: Final[tuple[tuple[str, _Reader], ...]] = (
    (BRANCHES, lambda ctx: _call(ctx, "memory_branch_list")),
    (rf"{BRANCHES}/([^/?#]+)", _branch),
    (
        rf"{BRANCHES}/([^/?#]+)/facts/([^/?#]+)",
        lambda ctx, branch, row: _call(ctx, "memory_get", id=row, branch=branch),
    ),
    (rf"{BRANCHES}/([^/?#]+)/prime", _prime),
    (PRIME, _prime),
    (r"day1://snapshots/([^/?#]+)", _snapshot),
    (REVIEWS, _reviews),
)


def completed(ctx: Context, params: CompleteRequestParams) -> CompleteResult:
    """Complete the name of a branch or the id of a snapshot from its beginning."""
    typed_text, completions = params.argument.value.lower(), list[str]()
    if params.argument.name in {"branch", "target"}:
        completions = [
            branch["branch_name"] for branch in _call(ctx, "memory_branch_list")["result"]
        ]
    elif params.argument.name == "id" and getattr(params.ref, "uri", "").startswith(
        "day1://snapshots"
    ):
        completions = [snapshot["id"] for snapshot in _call(ctx, "memory_snapshot_list")["result"]]
    completions = [
        completion for completion in completions if completion.lower().startswith(typed_text)
    ]
    return CompleteResult(
        completion=Completion(
            values=completions[:_COMPLETED],
            total=len(completions),
            has_more=len(completions) > _COMPLETED,
        )
    )
