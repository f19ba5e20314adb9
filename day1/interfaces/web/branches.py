"""The home page, and the pages of a branch: its rows now or at a past time, and its log."""

from __future__ import annotations

import re
from typing import Any, Final

from starlette.responses import Response

from day1.errors import UnknownBranch
from day1.interfaces.web import drawing
from day1.interfaces.web.rendering import count, short
from day1.interfaces.web.site import Visit
from day1.model.rows.kind import BY_TABLE

_PAGE: Final = 50
"""Rows or commits on a page."""
_MAX_BRANCHES: Final = 200
"""Maximum number of branches or relations read for a picture."""
_WHOLE_ID: Final = re.compile(r"\b[a-z]+_[0-9A-HJKMNP-TV-Z]{26}\b")
_REVIEWS: Final = 5
"""Maximum number of reviews on the home page: counting the changes of one plans its merge anew."""


def home(visit: Visit) -> Response:
    """Show the picture of branches, the list of branches and the open reviews."""
    branch_graph = visit.call("memory_graph", limit=_MAX_BRANCHES)
    reviews = visit.call("review_list", limit=_REVIEWS)
    branches = sorted(branch_graph["branches"], key=lambda b: str(b["moved_at"]), reverse=True)
    return visit.page(
        "home.html",
        tree=drawing.tree(branch_graph["branches"], branch_graph["merges"]),
        branches=branches,
        left_out=branch_graph["left_out"],
        reviews=reviews["result"],
        more=bool(reviews["read"]["notes"]),
    )


def branch(visit: Visit) -> Response:
    """Show one tab of a branch's page."""
    name, at = visit.request.path_params["name"], visit.asked("at")
    requested = visit.asked("tab") or "facts"
    known_tab = requested if requested in _TABS else "facts"
    branch_items = visit.call("memory_branch_list")["result"]
    item_by_branch = {item["branch_name"]: item for item in branch_items}
    if name not in item_by_branch:
        visit.call("memory_log", branch=name, limit=1)  # raises if the name itself is invalid
        raise UnknownBranch(f"There is no branch {name!r}.", branch=name)
    return visit.page(
        "branch.html",
        name=name,
        at=at,
        tab=known_tab,
        tabs=list(_TABS),
        item=item_by_branch[name],
        children=[other for other in branch_items if other["parent"] == name],
        given={"tab": known_tab, "at": at},
        **_TABS[known_tab](visit, name),
    )


def _rows(visit: Visit, name: str, kind: str, **more: Any) -> dict[str, Any]:
    """Read one page of a branch's rows, newest first."""
    offset = visit.number("offset")
    at = visit.asked("at")
    answer = visit.call(
        "memory_list", type=kind, branch=name, at=at, offset=offset, limit=_PAGE, **more
    )
    end = offset + len(answer["rows"])
    return {
        **answer,
        "offset": offset,
        "before": max(offset - _PAGE, 0) if offset else None,
        "after": end if end < answer["total"] else None,
    }


def _facts(visit: Visit, name: str) -> dict[str, Any]:
    is_active_only = visit.asked("all") is None
    return {**_rows(visit, name, "fact", active_only=is_active_only), "active": is_active_only}


def _observations(visit: Visit, name: str) -> dict[str, Any]:
    return _rows(visit, name, "observation")


def _relations(visit: Visit, name: str) -> dict[str, Any]:
    """Read the relations around an entity, or the newest relations of the branch."""
    entity = visit.asked("entity")
    if entity is None:
        page = _rows(visit, name, "relation")
        items = visit.call(
            "memory_list", type="relation", branch=name, at=visit.asked("at"), limit=_MAX_BRANCHES
        )["rows"]
        triples = [(r["source_entity"], r["relation_type"], r["target_entity"]) for r in items]
    else:
        neighbourhood = visit.call(
            "memory_graph_query", entity=entity, depth=2, branch=name, at=visit.asked("at")
        )
        edges = neighbourhood["result"]
        triples = [(e["source"], e["relation"], e["target"]) for e in edges]
        rows = [
            {
                "id": e["id"],
                "source_entity": e["source"],
                "relation_type": e["relation"],
                "target_entity": e["target"],
                "properties": e["properties"],
            }
            for e in edges
        ]
        page = {"rows": rows, "total": len(rows), "offset": 0, "before": None, "after": None}
        page["read"] = neighbourhood["read"]
    return {**page, "entity": entity, "web": drawing.web(triples)}


def _conversations(visit: Visit, name: str) -> dict[str, Any]:
    """Read a branch's conversations, or the messages of the requested one."""
    conversation_id = visit.asked("conversation")
    if conversation_id is None:
        page = _rows(visit, name, "conversation")
        if visit.asked("at") is None and not visit.number("offset"):
            items = visit.call("memory_list_conversations", branch=name, limit=_PAGE)["result"]
            detail_by_conversation = {item["conversation_id"]: item for item in items}
            page["rows"] = [
                {**row, **detail_by_conversation.get(row["id"], {})} for row in page["rows"]
            ]
        return {**page, "talk": None}
    page = _rows(visit, name, "message", conversation_id=conversation_id)
    row = visit.call("memory_get", id=conversation_id, branch=name, at=visit.asked("at"))["row"]
    return {**page, "talk": row}


def _log(visit: Visit, name: str) -> dict[str, Any]:
    log = visit.call("memory_log", branch=name, limit=_PAGE, before=visit.asked("before"))
    commits = [{**commit, "told": _commit_text(commit)} for commit in log["result"]]
    older_than = commits[-1]["commit"] if len(commits) == _PAGE else None
    return {"commits": commits, "older": older_than, "read": log["read"]}


def _commit_text(commit: dict[str, Any]) -> str:
    """Word what a commit did: rows added by kind, or its line with short ids."""
    if commit["op"] == "add" and commit["counts"]:
        counts_by_table = commit["counts"].items()
        return ", ".join(count(n, BY_TABLE[t].name, t) for t, n in counts_by_table if t in BY_TABLE)
    line: str = commit["line"].removeprefix(commit["op"]).strip()
    return _WHOLE_ID.sub(lambda match: short(match[0]), line)


_TABS: Final = {
    "facts": _facts,
    "observations": _observations,
    "relations": _relations,
    "conversations": _conversations,
    "log": _log,
}
