"""A store whose main has tiers, and what agents and people do with it."""

from typing import Any

from day1.interfaces.open_store import OpenStore
from day1.model.access.permissions import Access, Scope
from day1.services.access.caller import Caller
from tests.flows.opened_store import TOOLS, call

RULES = ["none category=note", "two category=policy"]


def protect(store: OpenStore, *rules: str, requires: tuple[str, ...] = ("tiers",)) -> None:
    given = {"branch_name": "main", "requires": [*requires], "tiers": [*rules]}
    call(store, "memory_branch_protect", **given)


def by(
    store: OpenStore,
    token: str | None,
    tool: str,
    scope: Scope = "merge",
    /,
    **arguments: Any,
) -> dict[str, Any]:
    """Call a tool as the bearer of a token does, whose agent is of the same name."""
    caller = Caller(agent_id=token, access=Access(token, scope, agent_id=token))
    answer: dict[str, Any] = TOOLS[tool].call(store.context(caller), arguments)
    return answer


def person(store: OpenStore, tool: str, /, **arguments: Any) -> dict[str, Any]:
    """Call a tool as somebody at the command line does."""
    answer: dict[str, Any] = TOOLS[tool].call(store.context(Caller(source="user")), arguments)
    return answer


def fact(store: OpenStore, text: str, category: str | None, token: str = "ann") -> str:
    given = {"fact_text": text, "category": category, "branch": "side"}
    made: str = by(store, token, "memory_write_fact", "write", **given)["id"]
    return made


def merge(store: OpenStore, token: str = "ann", **more: Any) -> dict[str, Any]:
    """Merge with the least rights that write."""
    given = {"source_branch": "side", "strategy": "auto", **more}
    return by(store, token, "memory_branch_merge", "write", **given)


def opened_review(store: OpenStore) -> str:
    made: str = merge(store)["review_id"]
    return made


def shown(store: OpenStore, review: str, token: str = "dan") -> dict[str, Any]:
    return by(store, token, "review_show", review_id=review)


def approve(store: OpenStore, token: str, review: str, **more: Any) -> dict[str, Any]:
    given = {"review_id": review, "expect": shown(store, review)["digest"], **more}
    return by(store, token, "review_approve", **given)


def merge_review(store: OpenStore, review: str, token: str = "dan") -> dict[str, Any]:
    return by(store, token, "review_merge", review_id=review)
