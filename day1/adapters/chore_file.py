"""The file `chores.json`: the chores that fail now in processes that use a store's folder."""

import json
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

FILE: Final = "chores.json"
FORMAT: Final = 1
_MOST_READ: Final = 64 * 1024
_OPEN_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class ChoreFile:
    """The file of failing chores, by process. It may be lost; failures to write it are ignored."""

    def __init__(self, folder: Path) -> None:
        """Set the file in a store's folder; it is not made before a chore fails."""
        self._path = folder / FILE
        self._errors: dict[str, str] = {}
        self._guard = threading.Lock()

    def failing(self) -> list[tuple[str, str]]:
        """List the failing chores of living processes, each with the code of its error."""
        failing_chores = {
            chore_and_error
            for error_by_chore in self._read().values()
            for chore_and_error in error_by_chore.items()
        }
        return sorted(failing_chores)

    def note(self, errors: Mapping[str, str | None]) -> None:
        """Store the errors of this process's chores by name; None: the chore works again."""
        with self._guard:
            errors = {**self._errors, **errors}
            self._errors = {chore: error for chore, error in errors.items() if error is not None}
            self._write({**self._read(), str(os.getpid()): self._errors})

    def _write(self, processes: Mapping[str, Mapping[str, str]]) -> None:
        processes = {
            process_id: error_by_chore
            for process_id, error_by_chore in processes.items()
            if error_by_chore
        }
        with suppress(OSError):
            if not processes:
                self._path.unlink(missing_ok=True)
                return
            new_file = self._path.with_name(f"{FILE}.{os.getpid()}.new")
            file_handle = os.open(
                new_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600
            )
            with os.fdopen(file_handle, "w", encoding="utf-8") as file:
                json.dump({"format": FORMAT, "processes": processes}, file)
            new_file.replace(self._path)

    def _read(self) -> dict[str, dict[str, str]]:
        """Read the errors of each living process; none if the file is missing or damaged."""
        try:
            with os.fdopen(os.open(self._path, _OPEN_FLAGS), "rb") as file:
                errors_by_process: Any = json.loads(file.read(_MOST_READ))["processes"]
            return {
                process_id: {str(chore): str(error) for chore, error in error_by_chore.items()}
                for process_id, error_by_chore in errors_by_process.items()
                if _is_alive(int(process_id))
            }
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return {}


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # the process is another user's
        return True
    return True
