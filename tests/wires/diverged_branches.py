"""Two branches that went apart, and what tests ask of them."""

from typing import Any, NamedTuple

from tests.wires.mcp_session import Session


class Pair(NamedTuple):
    """A source forked from a target, and the ids of what both had then."""

    source: str
    target: str
    kept: str
    changed: str
    removed: str
    conflict: str


def facts(core: Session, branch: str) -> dict[str, str]:
    """The texts of a branch's facts and observations by id."""
    return {m["id"]: m["content"] for m in core.found("memory_timeline", branch=branch, limit=500)}


def merge(core: Session, pair: Pair, strategy: str = "auto", **more: Any) -> dict[str, Any]:
    return core.ok(
        "memory_branch_merge",
        source_branch=pair.source,
        target_branch=pair.target,
        strategy=strategy,
        **more,
    )


def refused(core: Session, code: str, pair: Pair, strategy: str, **more: Any) -> dict[str, Any]:
    return core.refused(
        "memory_branch_merge",
        code,
        source_branch=pair.source,
        target_branch=pair.target,
        strategy=strategy,
        **more,
    )


def item(core: Session, name: str) -> dict[str, Any]:
    (found,) = [b for b in core.found("memory_branch_list") if b["branch_name"] == name]
    return found


def preview(core: Session, pair: Pair, **more: Any) -> dict[str, Any]:
    return core.ok(
        "memory_merge_preview", source_branch=pair.source, target_branch=pair.target, **more
    )
