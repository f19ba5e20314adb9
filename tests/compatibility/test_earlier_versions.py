"""What an earlier day1 wrote opens and answers the same: a store, a backup, an export, a bundle.

Each folder `made_by_*` here is of one version; make_fixture.py made it with that version's code.
No answer to a question asked there was changed on purpose since, save those of `CHANGED`.
"""

import json
import lzma
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from day1.services.recoveries import RECOVERIES
from tests.compatibility.archives import unpack
from tests.wires.command_line import CommandLine

Answers = list[dict[str, Any]]
CHANGED = {
    # An installed model would change nothing, so it is not advised any more.
    "keyword only: no embedding model; run `day1 model install`": (
        "keyword only: embedding is switched off (DAY1_EMBEDDER__KIND=none)"
    ),
}
"""Texts of recorded answers, and what is said in their place now."""
VERSIONS = sorted(Path(__file__).parent.glob("made_by_*"))


@pytest.fixture(params=VERSIONS, ids=lambda folder: folder.name)
def made(request: pytest.FixtureRequest) -> Path:
    """The folder of what one version made."""
    folder: Path = request.param
    return folder


@pytest.fixture
def day1(tmp_path: Path) -> CommandLine:
    """The present command line in an empty folder: what is tested are files, so no server."""
    line = CommandLine(tmp_path)
    line.env.pop("DAY1_STORE__URL", None)
    return line


@pytest.fixture
def store(made: Path, day1: CommandLine) -> CommandLine:
    """The earlier version's store, unpacked."""
    unpack(made / "store.tar.xz", day1.folder)
    return day1


def text_of(file: Path) -> str:
    return lzma.decompress(file.read_bytes()).decode()


def recorded(made: Path, of: str) -> Answers:
    answers: Answers = json.loads(text_of(made / "answers.json.xz"))[of]
    return answers


def answers_as_recorded(day1: CommandLine, answers: Answers) -> None:
    """Ask in the same order, since a search lets the index follow."""
    for one in answers:
        now = json.loads(day1(*one["ask"]).out)
        assert differences(one["answer"], now) == [], one["ask"]


def differences(then: Any, now: Any, at: str = "") -> list[str]:
    """Where an answer is another than the recorded one; a field may have been added since.

    A hit's score is not compared, its place is: how hits are scored is no part of a store.
    """
    if at.endswith("/score"):
        return []
    if isinstance(then, dict) and isinstance(now, dict):
        gone = [f"{at}/{name}: gone" for name in then if name not in now]
        both = [name for name in then if name in now]
        return gone + [d for n in both for d in differences(then[n], now[n], f"{at}/{n}")]
    if isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        pairs = enumerate(zip(then, now, strict=True))
        return [d for i, (old, new) in pairs for d in differences(old, new, f"{at}/{i}")]
    expected = CHANGED.get(then, then) if isinstance(then, str) else then
    return [] if expected == now else [f"{at}: {then!r} became {now!r}"]


def doctor_finds_all_well(day1: CommandLine) -> None:
    findings = day1.json("doctor")["findings"]
    assert {finding["level"] for finding in findings} == {"ok"}, findings


def test_a_store_of_an_earlier_version_gives_the_recorded_answers(
    made: Path, store: CommandLine
) -> None:
    answers_as_recorded(store, recorded(made, "store"))
    doctor_finds_all_well(store)


def test_a_store_of_an_earlier_version_takes_writes_and_merges(store: CommandLine) -> None:
    before = held(store)
    new = store.add("Written by the present version.", "-b", "review-me")
    store("merge", "review-me", "--into", "main", "--yes", code=3)
    assert [hit["id"] for hit in store.json("search", "present", "-b", "main")["result"]] == [new]
    assert len(before) == 1
    assert len(held(store)) == 2, "the merge held what conflicts"
    store("held", "take", before[0], "-b", "main")
    assert before[0] not in held(store)
    store("gc", "--purge-redacted")
    assert len(store.json("history", new, "-b", "main")["versions"]) == 1
    doctor_finds_all_well(store)


def test_a_store_of_an_earlier_version_exports_the_same_bytes(
    made: Path, store: CommandLine
) -> None:
    assert exported(store) == text_of(made / "export.jsonl.xz")


def test_an_export_of_an_earlier_version_imports_to_the_same_bytes(
    made: Path, day1: CommandLine
) -> None:
    day1("init")
    export = text_of(made / "export.jsonl.xz")
    day1("import", "jsonl", "-", stdin=export)
    assert exported(day1) == export
    doctor_finds_all_well(day1)


def test_a_backup_of_an_earlier_version_restores_to_the_recorded_answers(
    made: Path, day1: CommandLine
) -> None:
    day1("backup", str(made / "backup.tar.gz"), "--restore")
    answers_as_recorded(day1, recorded(made, "store"))
    doctor_finds_all_well(day1)


def test_a_bundle_of_an_earlier_version_imports_to_the_recorded_rows(
    made: Path, day1: CommandLine
) -> None:
    day1("init")
    day1("bundle", "import", "-", stdin=text_of(made / "bundle.jsonl.xz"))
    answers_as_recorded(day1, recorded(made, "bundle"))


def test_what_a_killed_process_of_an_earlier_version_left_is_finished_as_that_version_would(
    made: Path, tmp_path: Path, day1: CommandLine
) -> None:
    """The notes of what was begun are in the ledger as that version wrote them."""
    recorded = json.loads(text_of(made / "interrupted.json.xz"))
    unpack(made / "interrupted.tar.xz", tmp_path)
    noted = {of["operation"]: noted_in(tmp_path / of["operation"]) for of in recorded}
    assert noted == {name: [name] for name in RECOVERIES}
    for of in recorded:
        day1.folder = tmp_path / of["operation"]
        answers_as_recorded(day1, of["answers"])
        assert noted_in(day1.folder) == []
        doctor_finds_all_well(day1)


def noted_in(folder: Path) -> list[str]:
    """The operations that a ledger has as begun."""
    with closing(sqlite3.connect(folder / ".day1" / "ledger.db")) as ledger:
        return [op for (op,) in ledger.execute("SELECT op FROM intents")]


def exported(day1: CommandLine) -> str:
    return day1("export", "--all", "--with-thinking").out


def held(day1: CommandLine) -> list[str]:
    return [item["id"] for item in day1.json("held", "-b", "main")["items"]]
