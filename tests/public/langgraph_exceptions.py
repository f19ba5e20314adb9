"""Tests of LangGraph's suites that `Day1Store` does not pass, and why; one that passes fails the run."""

from typing import Final

_SQLITE = "it reads SQLite's tables or statements"
_LOOP = "a call on the running loop works, and is not refused"

EXCEPTIONS: Final = {
    "test_store.py": dict.fromkeys(
        ("test_vector_store_initialization", "test_nonnull_migrations"), _SQLITE
    ),
    "test_async_store.py": {"test_no_running_loop": _LOOP},
    "test_ttl.py": {},
    "memory/test_store.py": {},
}
"""Reasons by the name of a test function, by its file."""
