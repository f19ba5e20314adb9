"""The calls of gwt by which a limited token looks for what is hidden from it."""

from typing import Any, Final

GWT_CALLS: Final[dict[str, Any]] = {
    "gwt.gwt_store": {"content": "Tea is at four.", "tags": ["tea"]},
    "gwt.gwt_link": lambda ids: [
        {"source_id": ids["shared"], "target_id": ids["lesson"]},
        {"source_id": ids["shared"], "target_id": ids["fact"]},
    ],
    "gwt.gwt_query": {"query": "Who likes tea?", "k": 50},
    "gwt.gwt_set_goal": {"description": "Find who likes tea."},
    "gwt.gwt_collection_query": {"operation": "count"},
    "gwt.gwt_resolve": {"question": "Who likes tea?", "planner": "hybrid"},
    "gwt.gwt_attend": {"question": "Who likes tea?", "passes": 2},
    "gwt.gwt_trace_explain": {},
    "gwt.gwt_bus_inspect": {},
    "gwt.gwt_compete": {},
    "gwt.gwt_broadcast": {},
    "gwt.gwt_inspect": {"target": "workspace"},
    "gwt.gwt_export_memory": [{}, {"memory_type": "semantic"}, {"tag": "tea"}],
    "gwt.gwt_backup_memory": {},
    "gwt.gwt_memory_profile": {},
    "gwt.gwt_readiness_check": {},
    "gwt.gwt_import_memory": lambda ids: {
        "jsonl": f'{{"id": "{ids["fact"]}", "content": "Tea number 3, secret."}}'
    },
    "gwt.gwt_compact_working_memory": [{}, {"max_items": 0, "dry_run": True}],
    "gwt.gwt_restore_memory": {"jsonl": '{"content": "Tea number 4, secret."}'},
    "gwt.gwt_reset": [
        {"scope": "runtime", "confirm": "RESET_RUNTIME"},
        {"scope": "workspace", "confirm": "RESET_WORKSPACE"},
        {"scope": "persistent", "confirm": "RESET_PERSISTENT"},
    ],
    "gwt.gwt_evict": lambda ids: [{"item_id": ids["shared"]}, {"item_id": ids["lesson"]}],
}
"""Arguments by operation, in an order in which each can be called; as `CALLS`."""
