"""Tests of the Anthropic SDK's suite that `Day1MemoryTool` does not pass, and why; one that passes fails."""

from typing import Final

_DISK: Final = "it makes links in the folder, or reads the modes of directories: memory has neither"

EXCEPTIONS: Final[dict[str, str]] = {
    **dict.fromkeys(
        (
            "test_mkdir_parents_not_world_writable_under_permissive_umask",
            "test_validate_path_returns_resolved_path_not_symlink_target",
            "test_read_rejects_symlink_created_after_validation",
            "test_read_rejects_file_replaced_with_symlink_before_open",
            "test_view_rejects_directory_symlink_created_after_validation",
            "test_view_lists_symlinks_only_when_they_stay_inside_memories",
            "test_symlink_validation_reject_symlink_pointing_outside_memories",
            "test_symlink_validation_reject_creating_files_through_symlink_pointing_outside",
            "test_symlink_validation_reject_parent_directory_that_is_symlink_pointing_outside",
        ),
        _DISK,
    ),
}
"""Reasons by the name of a test function; both classes of the suite, sync and async, have it."""
