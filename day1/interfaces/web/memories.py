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
    query_text, past_time, search_mode = visit.asked("q"), visit.asked("at"), visit.asked("mode")
    search_mode = search_mode if search_mode in _MODES else "hybrid"
    row_kind = visit.asked("type")
    branch_names = [item["branch_name"] for item in visit.call("memory_branch_list")["result"]]
    requested_branch = visit.asked("branch")
    branch_name = requested_branch or (
        MAIN if MAIN in branch_names else next(iter(branch_names), MAIN)
    )
    search_answer: dict[str, Any] | None = None
    if query_text is not None:
        search_answer = visit.call(
            "memory_search",
            query=query_text,
            search_type=search_mode,
            branch=branch_name,
            at=past_time,
            types=[row_kind] if row_kind in _TYPES else list(_TYPES),
            include_inactive=visit.asked("all") is not None,
            limit=_LIMIT,
        )
    return visit.page(
        "search.html",
        query_text=query_text or "",
        mode=search_mode,
        modes=_MODES,
        kind=row_kind,
        branch=branch_name,
        branches=branch_names,
        at=past_time,
        every=visit.asked("all") is not None,
        hits=search_answer,
    )


def row(visit: Visit) -> Response:
    """Show one memory with its versions and the author of each part."""
    row_id, past_time = visit.request.path_params["id"], visit.asked("at")
    branch_name = visit.asked("branch")
    history = visit.call("memory_history", id=row_id, branch=branch_name, limit=_VERSIONS)
    branch_name = history["read"]["branch"]
    try:
        shown_row = visit.call("memory_get", id=row_id, branch=branch_name, at=past_time)["row"]
        blame = None if past_time else visit.call("memory_blame", id=row_id, branch=branch_name)
    except NotFound:
        shown_row, blame = None, None
    if shown_row is None and not history["versions"]:
        raise NotFound(
            f"The memory {row_id!r} was never on the branch {branch_name!r}.",
            id=row_id,
            branch=branch_name,
        )
    return visit.page(
        "row.html",
        row=shown_row,
        row_id=row_id,
        kind=history["type"],
        branch=branch_name,
        at=past_time,
        blame=blame,
        versions=_compared(history["versions"]),
        left_out=history["left_out"],
        said=said,
        columns=columns,
    )


def _compared(versions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add to each version the columns that differ from the next older one."""
    compared_versions = []
    for version_index, version in enumerate(versions):
        older_row = next(
            (
                older_version["row"]
                for older_version in versions[version_index + 1 :]
                if older_version["row"]
            ),
            None,
        )
        version_row = version["row"]
        old_and_new_by_column = {}
        if version_row and older_row:
            old_and_new_by_column = {
                column: (older_row.get(column), version_row[column])
                for column in columns(version_row)
                if older_row.get(column) != version_row[column]
            }
        compared_versions.append({**version, "changed": old_and_new_by_column})
    return compared_versions


def columns(row: dict[str, Any]) -> list[str]:
    """List the columns of a row that have content, without those of its origin."""
    return [column for column in row if column not in _HIDDEN and row[column] is not None]


def said(row: dict[str, Any]) -> str:
    """Return the content of a memory as one text."""
    return words_of(BY_NAME[row["type"]], row)
