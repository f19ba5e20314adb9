"""The pages of reviews: list, open, decide, approve, merge, close, revert."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from starlette.responses import Response

from day1.errors import Conflict, Day1Error, InvalidRequest, Refused
from day1.interfaces.reviewing import GROUPS, KEYS, NUMBERS, REASONS, TAKEN, TEXTS, TIERS, fields
from day1.interfaces.web.memories import said
from day1.interfaces.web.signing import inside
from day1.interfaces.web.site import HOME, Visit
from day1.model.redaction.veil import MARKS
from day1.model.rows.kind import BY_NAME

_PAGE: Final = 50
"""Reviews or rows on a page."""
_VALUE_PREFIX: Final = "v."
"""Prefix of the form fields that hold a column's new value."""


def address(review_id: str, offset: int = 0, place: str = "") -> str:
    """Return the address of a review's page and, optionally, of a place on it."""
    page_query = f"?offset={offset}" if offset else ""
    return f"{HOME}/reviews/{quote(review_id, safe='')}{page_query}{'#' if place else ''}{place}"


def listed(visit: Visit) -> Response:
    """Show the list of reviews, of all or of one status."""
    status = visit.asked("status")
    status = status if status in {"open", "merged", "closed", "all"} else "all"
    review_list = visit.call("review_list", status=status, limit=_PAGE)
    has_more_reviews = bool(review_list["read"]["notes"])
    return visit.page(
        "reviews.html", reviews=review_list["result"], status=status, more=has_more_reviews
    )


def opened(visit: Visit) -> Response:
    """Open a review of a branch, or go to its open review."""
    form = visit.form
    review = visit.call(
        "review_open",
        source_branch=form.get("source", ""),
        target_branch=form.get("target") or None,
        title=form.get("title") or None,
    )
    return visit.go(address(review["id"]))


def review(visit: Visit) -> Response:
    """Show what a review would merge now."""
    return _shown(visit, visit.request.path_params["id"], visit.number("offset"))


def _shown(
    visit: Visit, review_id: str, offset: int, problem: Day1Error | None = None, was: str = ""
) -> Response:
    shown_review = visit.call("review_show", review_id=review_id, offset=offset, limit=_PAGE)
    end_offset = offset + len(shown_review["rows"])
    return visit.page(
        "review.html",
        200 if problem is None else visit.site.server.status_of(type(problem)),
        review=shown_review,
        groups=_grouped(shown_review["rows"], offset, visit.form),
        names=GROUPS,
        taken=TAKEN,
        keys=KEYS,
        tiers=TIERS,
        offset=offset,
        before=max(offset - _PAGE, 0) if offset else None,
        after=end_offset if end_offset < shown_review["total"] else None,
        problem=None if problem is None else str(problem),
        was=was if was != shown_review["summary"] else "",
    )


def _grouped(
    rows: list[dict[str, Any]], offset: int, form: Mapping[str, str]
) -> list[tuple[str, list[dict[str, Any]]]]:
    """Group a page's rows, and add to each its differences and possible decisions.

    `form` is a refused form, whose typed values are shown again.
    """
    rows_by_group: dict[str, list[dict[str, Any]]] = {}
    for row_number, row in enumerate(rows, start=offset + 1):
        difference_by_column = _delta(row)
        page_row = {
            **row,
            "place": row_number,
            "says": _says(row),
            # A column in conflict is shown at its decision instead.
            "delta": [
                difference
                for column, difference in difference_by_column.items()
                if column not in row["clashes"]
            ],
            # The text is shown even if only another column is in conflict.
            "leads": "*" not in row["clashes"]
            and TEXTS.isdisjoint({*row["clashes"], *difference_by_column}),
            "points": [
                _point(row, cell, difference_by_column.get(cell), form)
                for cell in row["clashes"] or ["*"]
            ],
        }
        rows_by_group.setdefault(row["group"], []).append(page_row)
    return list(rows_by_group.items())


def _says(row: dict[str, Any]) -> str:
    existing_side = row["theirs"] or row["ours"] or row["base"] or {}
    return said({**existing_side, "type": row["type"]})


def _delta(row: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the columns in which the sides differ; none unless both sides have the row."""
    ours, theirs = row["ours"] or row["base"], row.get("merged") or row["theirs"]
    if ours is None or theirs is None:
        return {}
    return {
        column: {
            "column": column,
            "before": ours.get(column),
            "after": theirs.get(column),
            "words": row["words"] if column in TEXTS else None,
        }
        for column in {**ours, **theirs}
        if ours.get(column) != theirs.get(column)
    }


def _point(
    row: dict[str, Any], cell: str, delta: dict[str, Any] | None, form: Mapping[str, str]
) -> dict[str, Any]:
    """Describe one decision to make: both sides of a cell or row, and the decision so far."""
    form_fields = fields(BY_NAME[row["type"]], cell)
    cell_decisions = [decision for decision in row["decisions"] if decision["cell"] in {cell, "*"}]
    last_decision = cell_decisions[0] if cell_decisions else None
    ours, theirs = row["ours"] or {}, row["theirs"] or {}
    initial_value_by_column = {**ours, **theirs, **((last_decision or {}).get("value") or {})}
    typed_by_column = _typed(form) if form.get("row") == row["id"] else {}
    point_fields = [
        (field, typed_by_column.get(field.column, initial_value_by_column.get(field.column)))
        for field in form_fields
        if initial_value_by_column.get(field.column) not in MARKS  # a hidden text cannot be edited
    ]
    return {
        "cell": cell,
        "place": f"{row['id']}.{'row' if cell == '*' else cell}",
        "why": REASONS.get(row["clashes"].get(cell, "")),
        "clashes": cell in row["clashes"] and row["clashes"][cell] != "belongs_to",
        "decided": last_decision,
        "fields": point_fields,
        "typed": any(field.column in typed_by_column for field, _ in point_fields),
        "ours": ours.get(cell),
        "delta": delta or {"words": None, "before": ours.get(cell), "after": theirs.get(cell)},
        "base": (row["base"] or {}).get(cell),
    }


def decide(visit: Visit) -> Response:
    """Save a decision, and return to its row in the review."""
    form, review_id = visit.form, visit.request.path_params["id"]
    offset = visit.number("offset")
    cell, decision_action = form.get("cell") or "*", form.get("take", "")
    decision: dict[str, Any] = {"id": form.get("row", ""), "cell": cell, "take": decision_action}
    try:
        if decision_action == "value":
            decision["value"] = _value(form)
        if decision_action != "clear":
            decision["seen"] = form.get("seen") or None
        visit.call("review_decide", review_id=review_id, decisions=[decision])
    except (Conflict, InvalidRequest) as problem:
        return _shown(visit, review_id, offset, problem)
    anchor = f"{form.get('id', '')}.{'row' if cell == '*' else cell}"
    return visit.go(address(review_id, offset, quote(anchor)))


def _typed(form: Mapping[str, str]) -> dict[str, str]:
    """Return the texts that an edit form has for columns; none if another button was pressed."""
    if form.get("take") != "value":
        return {}
    return {
        # Browsers send a newline as two characters.
        field_name.removeprefix(_VALUE_PREFIX): field_text.replace("\r\n", "\n")
        for field_name, field_text in form.items()
        if field_name.startswith(_VALUE_PREFIX)
    }


def _value(form: Mapping[str, str]) -> dict[str, Any]:
    """Read the new values of columns from a form; an empty line clears its column.

    Raises:
        InvalidRequest: the text for a column of numbers is not a number.
    """
    value_by_column: dict[str, Any] = {}
    for column, field_text in _typed(form).items():
        value_by_column[column] = field_text or None
        if column in NUMBERS:
            try:
                value_by_column[column] = float(field_text)
            except ValueError as exc:
                raise InvalidRequest(f"The {column} must be a number from 0 to 1.") from exc
    return value_by_column


def merge(visit: Visit) -> Response:
    """Ask for confirmation, or merge exactly the plan that the page showed."""
    review_id = visit.request.path_params["id"]
    if visit.request.method == "GET":
        review = visit.call("review_show", review_id=review_id, limit=1)
        if review["status"] != "open":
            return visit.go(address(review_id))
        return visit.page("merge.html", review=review)
    form = visit.form
    try:
        visit.call("review_merge", review_id=review_id, expect=form.get("expect", ""))
    except Conflict as problem:
        return _shown(visit, review_id, 0, problem, form.get("was", ""))
    return visit.go(address(review_id))


def approve(visit: Visit) -> Response:
    """Approve exactly the plan that the page showed, or withdraw an approval."""
    form, review_id = visit.form, visit.request.path_params["id"]
    arguments = {"expect": form.get("expect", ""), "withdraw": form.get("take") == "withdraw"}
    try:
        visit.call("review_approve", review_id=review_id, **arguments)
    except (Conflict, Refused) as problem:
        return _shown(visit, review_id, 0, problem, form.get("was", ""))
    return visit.go(address(review_id, place="looks"))


def close(visit: Visit) -> Response:
    """Close a review without merging."""
    review_id = visit.request.path_params["id"]
    visit.call("review_close", review_id=review_id, reason=visit.form.get("reason") or None)
    return visit.go(address(review_id))


def revert(visit: Visit) -> Response:
    """Show what the revert of a commit would change, or revert exactly that."""
    form = visit.form
    if visit.request.method == "GET":
        commit_id, branch_name, return_path = (
            visit.asked("commit"),
            visit.asked("branch"),
            visit.asked("back"),
        )
    else:
        commit_id, branch_name, return_path = (
            form.get("commit"),
            form.get("branch"),
            form.get("back"),
        )
    problem: Conflict | None = None
    if visit.request.method == "POST":
        try:
            revert_answer = visit.call(
                "memory_revert", commit=commit_id, branch=branch_name, expect=form.get("expect", "")
            )
            return visit.page(
                "reverted.html", done=revert_answer, branch=branch_name, back=inside(return_path)
            )
        except Conflict as exc:
            problem = exc
    revert_preview = visit.call("memory_revert", commit=commit_id, branch=branch_name, preview=True)
    return visit.page(
        "revert.html",
        200 if problem is None else visit.site.server.status_of(type(problem)),
        seen=revert_preview,
        commit=commit_id,
        branch=branch_name,
        back=inside(return_path),
        problem=None if problem is None else str(problem),
    )
