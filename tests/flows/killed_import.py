"""A process that imports until it is killed: says `done N` after each durable unit, then waits.

Arguments: store folder, `graph` or `own`, file, rows in a unit.
"""

import sys
from pathlib import Path

from day1.adapters.sources.graph import GraphSource
from day1.model.rows.origin import Origin
from day1.services.branches.lookup import find
from day1.services.exchange import importing, own_import
from tests.suites.engine_memory import EngineMemory


def report(done: int, _total: int | None) -> None:
    print(f"done {done}", flush=True)
    sys.stdin.readline()


def main() -> None:
    folder, form, file, unit_rows = sys.argv[1:]
    importing.UNIT_ROWS = own_import.UNIT_ROWS = int(unit_rows)  # type: ignore[attr-defined,misc]  # a constant
    memory = EngineMemory(Path(folder))
    if form == "graph":
        source = GraphSource(Path(file))
        importing.import_foreign(
            memory.repo, find(memory.repo, "main"), source, Origin("killed"), report
        )
    else:
        with Path(file).open("rb") as lines:
            own_import.import_own(
                memory.repo, find(memory.repo, "main"), lines, memory.clock(), report
            )


if __name__ == "__main__":
    main()
