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
    open_reviews = visit.call("review_list", limit=_REVIEWS)
    branches = sorted(branch_graph["branches"], key=lambda b: str(b["moved_at"]), reverse=True)
    return visit.page(
        "home.html",
        tree=drawing.tree(branch_graph["branches"], branch_graph["merges"]),
        branches=branches,
        left_out=branch_graph["left_out"],
        reviews=open_reviews["result"],
        more=bool(open_reviews["read"]["notes"]),
    )


def branch(visit: Visit) -> Response:
    """Show one tab of a branch's page."""
    branch_name, past_time = visit.request.path_params["name"], visit.asked("at")
    requested_tab = visit.asked("tab") or "facts"
    tab = requested_tab if requested_tab in _TABS else "facts"
    branch_items = visit.call("memory_branch_list")["result"]
    item_by_branch = {item["branch_name"]: item for item in branch_items}
    if branch_name not in item_by_branch:
        # It raises if the name itself is invalid.
        visit.call("memory_log", branch=branch_name, limit=1)
        raise UnknownBranch(f"There is no branch {branch_name!r}.", branch=branch_name)
    return visit.page(
        "branch.html",
        name=branch_name,
        at=past_time,
        tab=tab,
        tabs=list(_TABS),
        item=item_by_branch[branch_name],
        children=[
            branch_item for branch_item in branch_items if branch_item["parent"] == branch_name
        ],
        given={"tab": tab, "at": past_time},
        **_TABS[tab](visit, branch_name),
    )


def _rows(visit: Visit, name: str, kind: str, **more: Any) -> dict[str, Any]:
    """Read one page of a branch's rows, newest first."""
    offset = visit.number("offset")
    past_time = visit.asked("at")
    row_page = visit.call(
        "memory_list", type=kind, branch=name, at=past_time, offset=offset, limit=_PAGE, **more
    )
    end_offset = offset + len(row_page["rows"])
    return {
        **row_page,
        "offset": offset,
        "before": max(offset - _PAGE, 0) if offset else None,
        "after": end_offset if end_offset < row_page["total"] else None,
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
        row_page = _rows(visit, name, "relation")
        newest_relations = visit.call(
            "memory_list", type="relation", branch=name, at=visit.asked("at"), limit=_MAX_BRANCHES
        )["rows"]
        relation_triples = [
            (relation["source_entity"], relation["relation_type"], relation["target_entity"])
            for relation in newest_relations
        ]
    else:
        graph_answer = visit.call(
            "memory_graph_query", entity=entity, depth=2, branch=name, at=visit.asked("at")
        )
        edges = graph_answer["result"]
        relation_triples = [(edge["source"], edge["relation"], edge["target"]) for edge in edges]
        edge_rows = [
            {
                "id": edge["id"],
                "source_entity": edge["source"],
                "relation_type": edge["relation"],
                "target_entity": edge["target"],
                "properties": edge["properties"],
            }
            for edge in edges
        ]
        row_page = {
            "rows": edge_rows,
            "total": len(edge_rows),
            "offset": 0,
            "before": None,
            "after": None,
        }
        row_page["read"] = graph_answer["read"]
    return {**row_page, "entity": entity, "web": drawing.web(relation_triples)}


def _conversations(visit: Visit, name: str) -> dict[str, Any]:
    """Read a branch's conversations, or the messages of the requested one."""
    conversation_id = visit.asked("conversation")
    if conversation_id is None:
        row_page = _rows(visit, name, "conversation")
        if visit.asked("at") is None and not visit.number("offset"):
            conversation_items = visit.call("memory_list_conversations", branch=name, limit=_PAGE)[
                "result"
            ]
            item_by_conversation_id = {item["conversation_id"]: item for item in conversation_items}
            row_page["rows"] = [
                {**conversation_row, **item_by_conversation_id.get(conversation_row["id"], {})}
                for conversation_row in row_page["rows"]
            ]
        return {**row_page, "talk": None}
    row_page = _rows(visit, name, "message", conversation_id=conversation_id)
    conversation_row = visit.call(
        "memory_get", id=conversation_id, branch=name, at=visit.asked("at")
    )["row"]
    return {**row_page, "talk": conversation_row}


def _log(visit: Visit, name: str) -> dict[str, Any]:
    log_answer = visit.call("memory_log", branch=name, limit=_PAGE, before=visit.asked("before"))
    commits = [{**commit, "told": _commit_text(commit)} for commit in log_answer["result"]]
    oldest_shown_commit = commits[-1]["commit"] if len(commits) == _PAGE else None
    return {"commits": commits, "older": oldest_shown_commit, "read": log_answer["read"]}


def _commit_text(commit: dict[str, Any]) -> str:
    """Word what a commit did: rows added by kind, or its line with short ids."""
    if commit["op"] == "add" and commit["counts"]:
        table_counts = commit["counts"].items()
        return ", ".join(
            count(row_count, BY_TABLE[table].name, table)
            for table, row_count in table_counts
            if table in BY_TABLE
        )
    commit_line: str = commit["line"].removeprefix(commit["op"]).strip()
    return _WHOLE_ID.sub(lambda match: short(match[0]), commit_line)


_TABS: Final = {
    "facts": _facts,
    "observations": _observations,
    "relations": _relations,
    "conversations": _conversations,
    "log": _log,
}
