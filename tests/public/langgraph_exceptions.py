"""Tests of LangGraph's suites that `Day1Store` does not pass, and why; one that passes fails the run."""

from typing import Final

_EMBEDS = "the caller's own embedder (`embed`, `dims`) is refused: the memory embeds"
_SQLITE = "it reads SQLite's tables or statements"
_LOOP = "a call on the running loop works, and is not refused"

EXCEPTIONS: Final = {
    "test_store.py": {
        **dict.fromkeys(
            (
                "test_vector_store_initialization",
                "test_vector_insert_with_auto_embedding",
                "test_vector_update_with_embedding",
                "test_vector_search_with_filters",
                "test_vector_search_pagination",
                "test_vector_search_edge_cases",
                "test_embed_with_path",
                "test_embed_with_path_operation_config",
                "test_scores",
                "test_basic_store_operations",
                "test_list_namespaces_operations",
                "test_search_items",
                "test_non_ascii",
            ),
            _EMBEDS,
        ),
        "test_nonnull_migrations": _SQLITE,
    },
    "test_async_store.py": {
        **dict.fromkeys(
            (
                "test_vector_store_initialization",
                "test_vector_insert_with_auto_embedding",
                "test_vector_update_with_embedding",
                "test_vector_search_with_filters",
                "test_vector_search_pagination",
                "test_vector_search_edge_cases",
                "test_embed_with_path",
                "test_basic_store_ops",
                "test_list_namespaces",
                "test_search_items",
            ),
            _EMBEDS,
        ),
        "test_no_running_loop": _LOOP,
    },
    "test_ttl.py": {},
    "memory/test_store.py": dict.fromkeys(
        (
            "test_vector_store_initialization",
            "test_vector_insert_with_auto_embedding",
            "test_async_vector_insert_with_auto_embedding",
            "test_vector_update_with_embedding",
            "test_async_vector_update_with_embedding",
            "test_vector_search_with_filters",
            "test_async_vector_search_with_filters",
            "test_async_batched_vector_search_concurrent",
            "test_vector_search_pagination",
            "test_async_vector_search_pagination",
            "test_vector_search_scores_every_item",
            "test_embed_with_path",
            "test_non_ascii",
        ),
        _EMBEDS,
    ),
}
"""Reasons by the name of a test function, by its file."""
