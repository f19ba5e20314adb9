"""A day1 of a later schema: a copy of this one with one more column of facts and of branches.

As a program it opens a store, and does what each line of its input says; `later` is the column.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from day1.adapters.ledger.tables import VERSION

ROOT = Path(__file__).parents[2]
_EDITS = {
    "adapters/rows/tables.py": [("SCHEMA_VERSION = 3\n", "SCHEMA_VERSION = 4\n")],
    "model/rows/kind.py": [
        (
            '(Column("sensitivity", since=2),),\n',
            '(Column("sensitivity", since=2),),\n    (_L,),\n',
        ),
        ("_KEPT: Final = (\n", '_L = Column("later", since=4)\n_KEPT: Final = (\n'),
    ],
}
_LEDGER_EDITS = {
    "adapters/ledger/tables.py": [
        (f"VERSION: Final = {VERSION}\n", f"VERSION: Final = {VERSION + 1}\n")
    ],
    "model/branches/branch.py": [
        (
            "    protection: ",
            '    later: str | None = None\n    """A later field."""\n    protection: ',
        )
    ],
}


def build(folder: Path, *, rows: bool = True, ledger: bool = False) -> Path:
    """Make the later day1 in a folder; a PYTHONPATH that begins with it runs it."""
    shutil.copytree(ROOT / "day1", folder / "day1")
    for edits in ([_EDITS] if rows else []) + ([_LEDGER_EDITS] if ledger else []):
        for name, replaced in edits.items():
            file = folder / "day1" / name
            text = file.read_text(encoding="utf-8")
            for old, new in replaced:
                assert text.count(old) == 1, (name, old)
                text = text.replace(old, new)
            file.write_text(text, encoding="utf-8")
    return folder


class LaterDay1:
    """A process of the later day1 on a store."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        """Speak to a process that runs this file."""
        self._process = process

    def do(self, deed: str, **arguments: Any) -> Any:
        """Do one thing; gives its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"deed": deed, **arguments}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "it ended"
        return json.loads(line)


@contextmanager
def later_day1(made: Path, where: str | Path) -> Iterator[LaterDay1]:
    """A later day1 that has opened a store."""
    line = [sys.executable, "-m", "tests.flows.later_day1", str(where)]
    paths = {"PYTHONPATH": f"{made}{os.pathsep}{ROOT}"}
    with subprocess.Popen(
        line,
        cwd=made,
        env={**os.environ, **paths},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "opened\n"
            yield LaterDay1(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
    assert process.returncode == 0


def main(where: str) -> None:
    """Answer each line of the input."""
    from day1.interfaces.open_store import OpenStore
    from day1.model.rows.change import Message, Query, Ref
    from day1.model.rows.kind import FACT
    from tests.flows.random_store import opened_at

    def ids(store: OpenStore, branch: str) -> dict[str, Any]:
        with store.repo.store.reading(Ref(branch=branch)) as reading:
            return {str(i): later for i, later in reading.scan(FACT, ("id", "later"), Query())}

    with opened_at(where) as store:
        print("opened", flush=True)
        for line in sys.stdin:
            asked = json.loads(line)
            answer: Any = None
            match asked.pop("deed"):
                case "write":  # into the column that the present day1 does not know
                    branch = asked["branch"]
                    facts = asked.get("facts") or list(ids(store, branch))
                    with store.repo.store.changing(branch) as work:
                        for fact in facts:
                            work.change(FACT, fact, {"later": f"{branch}/{fact}"})
                        answer = work.commit(Message("change", "later"))
                case "read":
                    names = store.repo.history.branches()
                    answer = {name: ids(store, name) for name in names}
                case "note":  # into the field of a branch that the present day1 does not know
                    ledger = store.repo.ledger
                    for branch in ledger.branches():
                        ledger.put_branch(replace(branch, **asked))
                case "noted":
                    answer = {b.name: asdict(b) for b in store.repo.ledger.branches()}
                case tool:
                    answer = _called(store, tool, asked)
            print(json.dumps(answer), flush=True)


def _called(store: Any, tool: str, arguments: dict[str, Any]) -> Any:
    """The answer of a tool, or the code of its refusal."""
    from day1.errors import Day1Error
    from tests.flows.opened_store import call

    try:
        return call(store, tool, **arguments)
    except Day1Error as error:
        return error.code


if __name__ == "__main__":
    main(sys.argv[1])
