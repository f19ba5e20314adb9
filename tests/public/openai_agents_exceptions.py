"""Tests of the OpenAI SDK's suites that `Day1Session` does not pass, and why; one that passes fails."""

from typing import Final

_SQLITE: Final = "it reads the tables, the connections or the locks of SQLite"
_WORDS: Final = "a closed session says so in an error of day1, and not as SQLiteSession"
_OF_SQLITE: Final = tuple(
    f"test_sqlite_session_{name}"
    for name in (
        "close_closes_worker_thread_connections",
        "reaps_connections_from_exited_worker_threads",
        "closes_retired_connections_before_the_next_allocation",
        "keeps_connections_of_live_worker_threads",
        "pop_item_skips_corrupt_most_recent",
        "pop_item_returns_none_after_dropping_only_corrupt_rows",
        "get_items_limit_skips_corrupt_newest_rows",
        "get_items_session_settings_limit_skips_corrupt_rows",
        "file_lock_is_shared_across_instances",
        "failed_add_items_releases_write_lock",
        "failed_clear_session_rolls_back",
        "failed_pop_item_releases_write_lock",
        "rollback_failure_evicts_connection",
        "close_retries_quarantined_connection",
        "post_commit_cancellation_propagates_after_known_outcome",
    )
)

EXCEPTIONS: Final[dict[str, dict[str, str]]] = {
    "test_session.py": {
        **dict.fromkeys(_OF_SQLITE, _SQLITE),
        "test_sqlite_session_closed_rejects_empty_add_items": _WORDS,
    },
    "test_session_limit.py": {},
}
"""Reasons by the name of a test function, by its file."""
