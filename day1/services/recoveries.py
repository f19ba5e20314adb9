"""The list of all operations that use intents, each with its recovery after a killed process."""

from collections.abc import Callable, Mapping
from typing import Final

from day1.model.records.intent import Intent
from day1.services.branches.deleting import DELETE
from day1.services.branches.forking import FILL, FORK
from day1.services.branches.retiring import RETIRE, REVIVE
from day1.services.merges.merging import MERGE
from day1.services.redaction.purging import PURGE
from day1.services.redaction.redacting import REDACT
from day1.services.repository.repository import Repository

RECOVERIES: Final[Mapping[str, Callable[[Repository, Intent], None]]] = {
    operation.name: operation.recover
    for operation in (FORK, FILL, DELETE, MERGE, RETIRE, REVIVE, REDACT, PURGE)
}


def recover(repo: Repository, intent: Intent) -> None:
    """Finish or withdraw an operation whose process is gone; doing that twice is harmless."""
    RECOVERIES[intent.op](repo, intent)
