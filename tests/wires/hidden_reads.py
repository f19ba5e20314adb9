"""A call for each tool that reads, with the ids of the scene of hidden rows."""

from collections.abc import Callable
from typing import Any

from day1.services.skills.promoting import skill_id
from tests.wires.hidden_scene import BOTH

OF_W = {"agentWallet": "w"}
READS: dict[str, Callable[[dict[str, str]], dict[str, Any]]] = {
    "memory_search": lambda _: {
        "query": "quokka numbat bandicoot potoroo gone",
        "types": ["fact", "observation"],
        "include_inactive": True,
    },
    "memory_time_travel": lambda _: {"timestamp": "2100-01-01", "query": "quokka bandicoot"},
    "memory_timeline": lambda _: {},
    "memory_graph_query": lambda _: {"entity": "quokka"},
    "memory_list": lambda _: {"type": "fact"},
    "memory_branch_diff": lambda _: BOTH,
    "memory_merge_preview": lambda _: {**BOTH, "hold_duplicates": True},
    "verify_merge_gate": lambda _: BOTH,
    "memory_session_context": lambda _: {"session_id": "s1"},
    "memory_agent_timeline": lambda _: {"agent_id": "ada"},
    "memory_search_task": lambda ids: {"task_id": ids["task"], "query": "quokka bandicoot PIN"},
    "memory_replay_task_type": lambda _: {"task_type": "bug_fix"},
    "memory_handoff_get": lambda ids: {"handoff_id": ids["handoff"]},
    "memory_log": lambda _: {},
    "memory_get": lambda ids: {"id": ids["secret"]},
    "memory_history": lambda ids: {"id": ids["secret"]},
    "memory_blame": lambda ids: {"id": ids["secret"]},
    "review_show": lambda ids: {"review_id": ids["review"]},
    "review_list": lambda _: {},
    "memory_revert": lambda ids: {"commit": ids["commit"], "preview": True},
    "memory_template_list": lambda _: {},
    "memory_prime": lambda _: {},
    "memory_consolidate": lambda ids: {"level": "task", "task_id": ids["task"]},
    "memory_graph": lambda _: {},
    "memory_recall_hint": lambda _: {"prompt": "What of the PIN of the quokka and the numbat?"},
    "recall_context": lambda _: {"namespace": "shared"},
    "search_memory": lambda _: {"namespace": "shared", "query": {"text": "quokka bandicoot PIN"}},
    "engram.memory_search": lambda _: {"query": "quokka numbat bandicoot potoroo gone"},
    "engram.memory_export": lambda _: {},
    "engram.memory_status": lambda _: {},
    "engram.memory_consolidate_preview": lambda _: {"stale_days": 0},
    "engram.memory_consolidate": lambda _: {"stale_days": 0},
    "engram.memory_insights": lambda _: {"action": "generate"},
    "gwt_collection_query": lambda _: {"operation": "count"},
    "compose.context_assemble": lambda _: {**OF_W, "query": "quokka numbat bandicoot potoroo"},
    "compose.layers_search": lambda _: {**OF_W, "query": "quokka numbat bandicoot potoroo"},
    "compose.items_search": lambda _: {**OF_W, "query": "quokka numbat bandicoot potoroo"},
    "compose.graph_search": lambda _: {**OF_W, "query": "quokka numbat bandicoot potoroo"},
    "compose.vector_search": lambda _: {**OF_W, "query": "quokka numbat bandicoot potoroo"},
    "compose.list": lambda _: OF_W,
    "compose.stats_get": lambda _: OF_W,
    "compose.transcript_get": lambda _: {**OF_W, "id": "t1"},
    "compose.sessions_working_get": lambda _: {**OF_W, "sessionId": "t1"},
    "compose.items_get": lambda ids: {**OF_W, "id": ids["secret"]},
    "compose.patterns_list": lambda _: OF_W,
    "compose.patterns_validate": lambda ids: {"patternId": ids["pattern"]},
    "compose.skills_list": lambda _: OF_W,
    "gwt_compete": lambda _: {},
    "gwt_resolve": lambda _: {"question": "What is the PIN, and who is gone?", "planner": "hybrid"},
    "gwt_bus_inspect": lambda _: {},
    "gwt_inspect": lambda _: {"target": "buffer"},
    "gwt_export_memory": lambda _: {},
    "gwt_memory_profile": lambda _: {},
    "gwt_readiness_check": lambda _: {},
    "gwt_backup_memory": lambda _: {},
}
NOT_THERE: dict[str, Callable[[dict[str, str]], dict[str, Any]]] = {
    "compose.patterns_get": lambda ids: {**OF_W, "patternId": ids["pattern"]},
    "compose.skills_get": lambda ids: {**OF_W, "skillId": skill_id(ids["pattern"])},
}
"""Tools that answer for a hidden row as for none."""
WITHOUT_WORDS = {
    *("memory_branch_list", "memory_branch_topology", "memory_snapshot_list", "memory_task_status"),
    *("memory_list_conversations", "memory_search_messages", "knowledge_bundle_list", "token_list"),
    "gwt_trace_explain",
    *("embed_text", "warm_cache", "engram.memory_config"),
    *("compose.loops_list", "compose.loops_get", "compose.jobs_get", "compose.schedules_list"),
    "compose.rerank",
}
"""Tools that read, and tell nothing of facts and observations."""
