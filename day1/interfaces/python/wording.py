"""Word the next step that an error or a note advises as a call in Python."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from day1.errors import Step

METHODS: Final[Mapping[str, str]] = {
    "memory_blame": "memory.blame(id)",
    "memory_branch_create": "memory.create_branch(name)",
    "memory_branch_delete": "memory.branch(name).drop()",
    "memory_branch_diff": "memory.diff(into)",
    "memory_branch_list": "memory.branches()",
    "memory_branch_merge": "memory.merge(into)",
    "memory_branch_protect": "memory.protect(requires)",
    "memory_branch_switch": "memory.branch(name)",
    "memory_get": "memory.row(id)",
    "memory_graph_query": "memory.graph(entity)",
    "memory_held": "memory.held()",
    "memory_history": "memory.history(id)",
    "memory_list": "memory.rows(kind)",
    "memory_list_conversations": "memory.conversations()",
    "memory_log": "memory.log()",
    "memory_log_message": "memory.say(conversation_id, role, content)",
    "memory_merge_preview": "memory.preview(into)",
    "memory_prime": "memory.prime()",
    "memory_redact": "memory.redact(id)",
    "memory_restore": "memory.restore(to)",
    "memory_retract_fact": "memory.retract(id)",
    "memory_revert": "memory.revert(commit)",
    "memory_search": "memory.search(query)",
    "memory_search_messages": "memory.search_messages(query)",
    "memory_snapshot": "memory.snapshot(label)",
    "memory_snapshot_list": "memory.snapshots()",
    "memory_supersede_fact": "memory.supersede(id, text)",
    "memory_time_travel": "memory.as_of(when).search(query)",
    "memory_timeline": "memory.timeline()",
    "memory_update_fact": "memory.update(id)",
    "memory_write_fact": "memory.add(text)",
    "memory_write_observation": "memory.observe(summary, kind)",
    "memory_write_relation": "memory.relate(source, relation, target)",
    "review_approve": "review.approve(expect)",
    "review_close": "review.close()",
    "review_decide": "review.decide(decisions)",
    "review_list": "memory.reviews()",
    "review_merge": "review.merge()",
    "review_open": "memory.review(into)",
    "review_show": "review.show()",
}
"""Operation -> the Python call of its method; `memory.call` calls any other operation."""

_ROUTE: Final = re.compile(r"\bPOST /api/v1/(\w+)(?: with (\w+=[^,:;.\s]+(?:, \w+=[^,:;.\s]+)*))?")
"""Pattern of an HTTP route, as the messages of a server advise it."""


def call_of(step: Step) -> str:
    """Return a step in the form that a program has: a method, an argument, or a whole call."""
    if step.whole:
        arguments_text = "".join(f", {name}={value!r}" for name, value in step.arguments.items())
        return f"`memory.call({step.operation!r}{arguments_text})`"
    if step.arguments:
        return ", ".join(f"`{name}={value!r}`" for name, value in step.arguments.items())
    return f"`{METHODS.get(step.operation, f'memory.call({step.operation!r})')}`"


def from_http(text: str) -> str:
    """Replace the routes in the message of a server by calls in Python."""
    return _ROUTE.sub(_call, text)


def _call(found: re.Match[str]) -> str:
    call = call_of(Step(found[1]))
    return f"{call} with {found[2]}" if found[2] else call
