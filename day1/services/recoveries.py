"""The list of all operations that use intents, each with its recovery after a killed process."""

from typing import Final

from day1.services.branches.deleting import DELETE
from day1.services.branches.forking import FILL, FORK
from day1.services.merges.merging import MERGE
from day1.services.redaction.purging import PURGE
from day1.services.redaction.redacting import REDACT
from day1.services.repository.repository import Recoveries
from day1.services.upkeep.retiring import RETIRE, REVIVE

RECOVERIES: Final[Recoveries] = {
    operation.name: operation.recover
    for operation in (FORK, FILL, DELETE, MERGE, RETIRE, REVIVE, REDACT, PURGE)
}
