"""The pickled start of a worker: the worker imports this module before it can answer.

So it imports nothing that takes long: the supervisor counts a worker that does not answer as hung.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from day1.settings import Settings


@dataclass(frozen=True, slots=True)
class WorkerStart:
    """Makes the app of a worker, in the worker's process."""

    settings: Settings
    folder: Path
    """The folder with the files that all workers of the server use."""

    def __call__(self) -> Starlette:
        """Open the store and make the app; the process exits if the store cannot be opened."""
        from day1.app.worker import worker_app

        return worker_app(self.settings, self.folder)
