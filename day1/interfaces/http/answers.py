"""The answer of an operation as an HTTP response: its status, its headers and its body."""

from __future__ import annotations

import json
from collections.abc import Mapping
from string import Formatter
from typing import Any, Final
from urllib.parse import quote

from starlette.responses import JSONResponse, Response
from typing_extensions import override

from day1.call.toolset import Answer, Namespace, Route

STATES: Final = ("read", "written")
"""Names of the answer fields that hold the branch and commit that were read or written."""
STATE_HEADERS: Final[Mapping[str, str]] = {
    "Day1-Branch": "The branch that was read or written.",
    "Day1-Commit": "The commit that the branch was at.",
    "Day1-Pending": "How many rows no commit holds yet.",
    "Day1-Notes": "Notes about the answer: a JSON list of texts in ASCII.",
}
"""Headers that carry the branch and commit of an answer, with their descriptions."""
CREATED: Final = 201
"""The HTTP status of a request that made something."""
_NO_CONTENT: Final = 204


class Utf8JSONResponse(JSONResponse):
    """A response in JSON; half of a surrogate pair, which UTF-8 cannot encode, becomes `?`."""

    @override
    def render(self, content: Any) -> bytes:
        json_text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return json_text.encode("utf-8", "replace")


def answered(answer: Answer, route: Route, namespace: Namespace) -> Response:
    """Make the response of a route from the answer of its operation."""
    status_code = route.status_of(answer)
    extra_headers = {}
    if route.location is not None and status_code == CREATED:
        extra_headers["Location"] = namespace.prefix + _filled(route.location, answer)
    if namespace.state == "headers":
        extra_headers |= _state(answer)
        answer = {name: value for name, value in answer.items() if name not in STATES}
    if status_code == _NO_CONTENT:
        return Response(status_code=status_code, headers=extra_headers)
    only_field = route.binding.only
    return Utf8JSONResponse(
        answer if only_field is None else answer[only_field], status_code, extra_headers
    )


def _filled(path: str, answer: Answer) -> str:
    """Fill the placeholders of a path with fields of an answer."""
    field_names = [name for _, name, _, _ in Formatter().parse(path) if name]
    return path.format_map({name: quote(str(answer[name]), safe="") for name in field_names})


def _state(answer: Answer) -> dict[str, str]:
    """Return the branch, commit and notes of an answer as headers, without empty ones."""
    branch_state: Any = next((answer[name] for name in STATES if answer.get(name)), {})
    has_commit = bool(branch_state.get("commit"))
    value_by_header = {
        "Day1-Branch": branch_state.get("branch"),
        "Day1-Commit": branch_state.get("commit") or None,
        "Day1-Pending": branch_state.get("pending") if has_commit else None,
        "Day1-Notes": json.dumps(branch_state["notes"]) if branch_state.get("notes") else None,
    }
    return {name: str(value) for name, value in value_by_header.items() if value is not None}
