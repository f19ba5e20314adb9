"""The search page, and the page of one memory: its text, versions and authors."""

from __future__ import annotations

from typing import Any, Final

from starlette.responses import Response

from day1.errors import NotFound
from day1.interfaces.web.site import Visit
from day1.model.branches.branch import MAIN
from day1.model.rows.kind import BY_NAME, ORIGIN, words_of

_LIMIT: Final = 25
"""Maximum number of hits of a search."""
_VERSIONS: Final = 100
"""Maximum number of versions on the page of a memory."""
_TYPES: Final = ("fact", "observation")
"""Kinds of rows that the search page finds."""
_MODES: Final = {"hybrid": "meaning and words", "vector": "meaning", "keyword": "words"}
"""Words for the ways of searching, by the operation's name."""
_HIDDEN: Final = frozenset({"type", "id", "revision", *ORIGIN})
"""Fields of a row that are not part of its content."""


def search(visit: Visit) -> Response:
    """Show the search form, and the hits on a branch now or at a past time."""
    query, at, mode = visit.asked("q"), visit.asked("at"), visit.asked("mode")
    mode = mode if mode in _MODES else "hybrid"
    kind = visit.asked("type")
    branch_names = [item["branch_name"] for item in visit.call("memory_branch_list")["result"]]
    requested = visit.asked("branch")
    branch = requested or (MAIN if MAIN in branch_names else next(iter(branch_names), MAIN))
    hits: dict[str, Any] | None = None
    if query is not None:
        hits = visit.call(
            "memory_search",
            query=query,
            search_type=mode,
            branch=branch,
            at=at,
            types=[kind] if kind in _TYPES else list(_TYPES),
            include_inactive=visit.asked("all") is not None,
            limit=_LIMIT,
        )
    return visit.page(
        "search.html",
        query_text=query or "",
        mode=mode,
        modes=_MODES,
        kind=kind,
        branch=branch,
        branches=branch_names,
        at=at,
        every=visit.asked("all") is not None,
        hits=hits,
    )


def row(visit: Visit) -> Response:
    """Show one memory with its versions and the author of each part."""
    row_id, at = visit.request.path_params["id"], visit.asked("at")
    branch = visit.asked("branch")
    history = visit.call("memory_history", id=row_id, branch=branch, limit=_VERSIONS)
    branch = history["read"]["branch"]
    try:
        current_row = visit.call("memory_get", id=row_id, branch=branch, at=at)["row"]
        blame = None if at else visit.call("memory_blame", id=row_id, branch=branch)
    except NotFound:
        current_row, blame = None, None
    if current_row is None and not history["versions"]:
        raise NotFound(f"{row_id!r} was never on {branch!r}.", id=row_id, branch=branch)
    return visit.page(
        "row.html",
        row=current_row,
        row_id=row_id,
        kind=history["type"],
        branch=branch,
        at=at,
        blame=blame,
        versions=_compared(history["versions"]),
        left_out=history["left_out"],
        said=said,
        columns=columns,
    )


def _compared(versions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add to each version the columns that differ from the next older one."""
    compared_versions = []
    for n, version in enumerate(versions):
        older_row = next((v["row"] for v in versions[n + 1 :] if v["row"]), None)
        row = version["row"]
        sides_by_column = {}
        if row and older_row:
            sides_by_column = {
                c: (older_row.get(c), row[c]) for c in columns(row) if older_row.get(c) != row[c]
            }
        compared_versions.append({**version, "changed": sides_by_column})
    return compared_versions


def columns(row: dict[str, Any]) -> list[str]:
    """List the columns of a row that have content, without those of its origin."""
    return [c for c in row if c not in _HIDDEN and row[c] is not None]


def said(row: dict[str, Any]) -> str:
    """Return the content of a memory as one text."""
    return words_of(BY_NAME[row["type"]], row)
