"""The calls of Compose by which a limited token looks for what is hidden from it."""

from typing import Any, Final

from day1.services.skills.promoting import skill_id

OF_W: Final = {"agentWallet": "w"}
SESSION: Final = {"sessionId": "s1", "threadId": "th", **OF_W}
TURN: Final = {**SESSION, "turnId": "t1"}
SAID: Final = {"role": "user", "content": "Is there tea?"}
COMPOSE_CALLS: Final[dict[str, Any]] = {
    "compose.remember": {"agentWallet": "w", "content": "Tea at six."},
    "compose.graph_add": {"messages": [{"role": "user", "content": "Tea at seven."}]},
    "compose.graph_search": {"query": "tea"},
    "compose.list": {"agentWallet": "w"},
    "compose.transcript_get": [{"id": "s1", **OF_W}, {"id": "th", "type": "threadId", **OF_W}],
    "compose.sessions_working_get": {"sessionId": "s1", **OF_W},
    "compose.turn_record": {**TURN, "userMessage": "Tea?"},
    "compose.transcript_store": {**SESSION, "messages": [SAID], "tokenCount": 1},
    "compose.transcripts_index": {
        **SESSION,
        "messages": [SAID],
        "totalTokens": 2,
        "rememberWorkingMemory": True,
    },
    "compose.sessions_working_update": {"sessionId": "s1", "context": ["Tea."], **OF_W},
    "compose.context_assemble": [
        {"agentWallet": "ann", "query": query, "includeRaw": True}
        for query in ("likes tea", "gate")
    ],
    "compose.layers_search": {"agentWallet": "ann", "query": "likes tea"},
    "compose.items_search": {"query": "the deploy job"},
    "compose.rerank": {"query": "tea", "documents": [{"text": "black tea"}, {"text": "milk"}]},
    "compose.evals_run": {
        "agentWallet": "ann",
        "testCases": [{"query": "likes tea", "expected": "black tea"}],
    },
    "compose.vector_search": {"query": "tea", "agentWallet": "w"},
    "compose.vector_index": {"content": "Tea at eight.", "agentWallet": "w", "source": "fact"},
    "compose.items_get": lambda ids: [{"id": ids["shared"]}, {"id": ids["message"]}],
    "compose.items_update": lambda ids: {"id": ids["shared"], "metadata": {"by": "w"}},
    "compose.items_delete": lambda ids: [
        {"id": ids["shared"]},
        {"id": ids["lesson"], "hardDelete": True},
    ],
    "compose.conflicts_resolve": lambda ids: {"id": ids["old"], "resolution": "keep"},
    "compose.stats_get": {"agentWallet": "w"},
    "compose.loop": {"step": "pre_turn", "query": "tea", "agentWallet": "ann", "layers": ["scene"]},
    "compose.loops_list": {},
    "compose.loops_get": {"loopId": "agent_memory_loop"},
    "compose.patterns_list": {"agentWallet": "ann"},
    "compose.patterns_get": lambda ids: {"patternId": ids["pattern"], "agentWallet": "ann"},
    "compose.patterns_validate": lambda ids: {"patternId": ids["pattern"]},
    "compose.patterns_promote": lambda ids: {
        "patternId": ids["pattern"],
        "skillName": "Fix",
        "validationData": {
            "valid": True,
            "confidence": 0.3,
            "occurrences": 2,
            "successRate": 1,
            "toolSequence": [],
        },
    },
    "compose.skills_list": {"agentWallet": "ann"},
    "compose.skills_get": lambda ids: {"skillId": skill_id(ids["pattern"]), "agentWallet": "ann"},
    "compose.archives_sync": lambda ids: [
        {"archiveId": archive, "agentWallet": "ann"} for archive in (ids["archive"], "fact_1")
    ],
    "compose.sessions_compress": [
        {"sessionId": session, "agentWallet": "ann", "coordinatorModel": "any"}
        for session in ("t1", "t3")
    ],
    "compose.schedules_list": [{}, {"agentWallets": ["ann"]}],
    "compose.jobs_get": lambda ids: {"jobId": ids["job"]},
    "compose.jobs_create": [
        {"type": "consolidate", "agentWallet": "ann"},
        {"type": "patterns_extract", "agentWallet": "ann"},
        {"type": "cleanup", "agentWallet": "ann"},
    ],
    "compose.schedules_create": {"agentWallets": ["ann"]},
    "compose.schedules_pause": lambda ids: [
        {"scheduleId": name} for name in ("cleanup:ann", ids["schedule"])
    ],
    "compose.schedules_resume": lambda ids: {"scheduleId": ids["schedule"]},
    "compose.schedules_trigger": lambda ids: {"scheduleId": ids["schedule"]},
    "compose.schedules_delete": {"agentWallets": ["ann"]},
}
"""Arguments by operation, in an order in which each can be called; as `CALLS`."""
