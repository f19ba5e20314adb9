"""A memory to import into, and what the tests ask of it."""

import subprocess
from collections.abc import Iterable
from pathlib import Path

from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import EDIT, FACT, KINDS, OBSERVATION, RELATION, Kind, Row
from day1.model.rows.origin import Origin
from day1.ports.source import Source
from day1.services.branches.lookup import find
from day1.services.exchange.exporting import export_branch, export_store
from day1.services.exchange.imported import Imported
from day1.services.exchange.importing import import_foreign
from day1.services.exchange.own_import import import_own
from tests.forkserver import python
from tests.suites.engine_memory import EngineMemory

ROOT = Path(__file__).parents[2]


class Stopped(BaseException):
    """The person at the keyboard has had enough."""


class ImportedMemory(EngineMemory):
    """`EngineMemory` with imports and exports."""

    reports: list[tuple[int, int | None]]

    def take(self, source: Source, branch: str = "main", stop_after: int | None = None) -> Imported:
        """Import a foreign source; with `stop_after` break off after so many units."""
        self.reports = []

        def report(done: int, total: int | None) -> None:
            self.reports.append((done, total))
            if len(self.reports) == stop_after:
                raise Stopped

        return import_foreign(self.repo, find(self.repo, branch), source, Origin("ada"), report)

    def take_own(self, lines: Iterable[bytes], branch: str = "main") -> Imported:
        return import_own(self.repo, find(self.repo, branch), lines, self.clock(), lambda *_: None)

    def export(self, branch: str = "main") -> bytes:
        return b"".join(export_branch(self.store, Ref(branch=branch)))

    def export_all(self) -> bytes:
        return b"".join(export_store(self.repo))

    def rows(self, kind: Kind, branch: str = "main") -> list[Row]:
        with self.store.reading(Ref(branch=branch)) as reading:
            return reading.find(kind, Query())

    def facts(self, branch: str = "main") -> list[Row]:
        return self.rows(FACT, branch)

    def observations(self) -> list[Row]:
        return self.rows(OBSERVATION)

    def edits(self) -> list[Row]:
        return self.rows(EDIT)

    def triples(self) -> set[tuple[str, str, str]]:
        return {
            (str(r["source_entity"]), str(r["relation_type"]), str(r["target_entity"]))
            for r in self.rows(RELATION)
        }

    def contents(self) -> dict[str, Row]:
        """Every row without its `created_at`, by id."""
        return {
            str(row["id"]): {c: v for c, v in row.items() if c != "created_at"}
            for kind in KINDS
            for row in self.rows(kind)
        }


def killed_import(folder: Path, form: str, file: Path, unit_rows: int, units: int) -> int:
    """Import in another process, kill -9 it after so many units, give the number it said."""
    command = [*python(), "-m", "tests.flows.killed_import"]
    command += [str(folder), form, str(file), str(unit_rows)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        said = ""
        for unit in range(units):
            said = child.stdout.readline()
            if unit < units - 1:
                child.stdin.write("\n")
                child.stdin.flush()
        child.kill()
    return int(said.removeprefix("done "))
