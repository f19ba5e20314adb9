"""The calls of Compose by which a limited token looks for what is hidden from it."""

from typing import Any, Final

from day1.services.skills.promoting import skill_id

COMPOSE_CALLS: Final[dict[str, Any]] = {
    "compose.remember": {"agentWallet": "w", "content": "Tea at six."},
    "compose.graph_add": {"messages": [{"role": "user", "content": "Tea at seven."}]},
    "compose.graph_search": {"query": "tea"},
    "compose.list": {"agentWallet": "w"},
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
