"""For every tool, arguments with which it succeeds: those it needs, and a branch."""

from typing import Any

from tests.wires.mcp_session import Session

Arguments = dict[str, Any]


def least(fact: str, branch: str, source: str) -> dict[str, Arguments]:
    """Arguments by tool, in an order in which all of them can be called.

    `fact` is the id of a fact on `branch`, and `source` was forked from it afterwards.
    """
    both = {"source_branch": source, "target_branch": branch}
    here = {"branch": branch}
    return {
        "memory_write_fact": {"fact_text": "Ada drinks tea.", **here},
        "memory_write_observation": {"observation_type": "insight", "summary": "Tea.", **here},
        "memory_write_relation": {
            "source_entity": "Ada",
            "target_entity": "tea",
            "relation_type": "drinks",
            **here,
        },
        "memory_search": {"query": "tea", **here},
        "memory_graph_query": {"entity": "Ada", **here},
        "memory_timeline": here,
        "memory_branch_create": {"branch_name": f"{branch}/least", "parent_branch": branch},
        "memory_branch_list": {},
        "memory_branch_switch": {"branch_name": "main"},
        "memory_branch_diff": both,
        "memory_branch_merge": {**both, "strategy": "auto"},
        "memory_snapshot": here,
        "memory_snapshot_list": here,
        "memory_time_travel": {"timestamp": "2100-01-01", "query": "tea", **here},
        "memory_branch_topology": {"root_branch": branch},
        "memory_branch_enrich": {"branch_name": branch},
        "memory_update_fact": {"fact_id": fact, "category": "drinks", **here},
        "memory_supersede_fact": {"fact_id": fact, "fact_text": "Ada drinks mate.", **here},
        "memory_retract_fact": {"fact_id": fact, **here},
        "memory_restore": {"to": "2100-01-01", "confirm": branch, **here},
        "memory_merge_preview": both,
        "memory_held": here,
    }


LEAST = least("fact_1", "main", "empty")
"""The same without a store, for what is refused before one is looked at."""


def prepared(core: Session, branch: str) -> dict[str, Arguments]:
    """`least` on an empty branch."""
    fact = core.ok("memory_write_fact", fact_text="Ada drinks milk.", branch=branch)["id"]
    source = f"{branch}/source"
    core.ok("memory_branch_create", branch_name=source, parent_branch=branch)
    core.ok("memory_write_fact", fact_text="Bo drinks milk.", branch=source)
    return least(fact, branch, source)
