"""Values of 8 MiB go wherever others go, and one byte more is refused before anything is written."""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from day1.app.archives import copying
from day1.app.archives import files as archives
from day1.errors import ValueTooLarge
from day1.interfaces.heads import ProcessHead, caller_of
from day1.interfaces.open_store import OpenStore
from day1.model.redaction.mask import REDACTED
from day1.model.values.parts import MOST_VALUE
from day1.services.access.calls import now
from day1.services.branches.lookup import find
from day1.services.exchange.backup import back_up, restore_backup
from day1.services.exchange.exporting import export_store
from day1.services.exchange.own_import import import_own
from day1.services.exchange.store_copy import copy_store, unchanged
from day1.toolsets.over_http import TOOLSETS
from tests.engine import needs_files
from tests.flows.copied_store import ends
from tests.flows.opened_store import call, no_file_beyond, opened, refused, write
from tests.flows.test_python_processes import QUIET, environment
from tests.forkserver import python

LINE = "The lathe in hall three needs oil every Friday before noon.\n"
WORD = "plover4711"
FILES = "files:notes"


def longest(start: str = "") -> str:
    """A text of lines whose value `{"text": TEXT}` has exactly 8 MiB."""
    count = (MOST_VALUE - size({"text": start})) // (len(LINE) + 1)  # a line feed is two bytes
    text = start + LINE * count
    return text + "x" * (MOST_VALUE - size({"text": text}))


def size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def ask(store: OpenStore, operation: str, branch: str = "main", **arguments: Any) -> dict[str, Any]:
    """Call an operation for programs, as the Python library does."""
    caller = caller_of(store.settings, ProcessHead(store.repo, branch), None)
    tool = TOOLSETS.tool(f"keyed.{operation}")
    assert tool is not None
    answer: dict[str, Any] = tool.call(store.context(caller), arguments)
    return answer


def put(store: OpenStore, text: str, branch: str = "main", key: str = "k") -> str:
    entry = {"key": key, "space": FILES, "value": {"text": text}}
    (row_id,) = ask(store, "entry_put", branch, entries=[entry])["ids"]
    return str(row_id)


def got(store: OpenStore, branch: str = "main", key: str = "k", **more: Any) -> str | None:
    keys = [{"key": key, "space": FILES}]
    (entry,) = ask(store, "entry_get", branch, keys=keys, **more)["entries"]
    return None if entry is None else str(entry["value"]["text"])


def append(store: OpenStore, structure: str, branch: str = "main") -> None:
    message = {"role": "tool", "content": "A picture.", "structure": structure}
    ask(store, "message_append", branch, key="talk", messages=[message])


def structures(store: OpenStore) -> list[str | None]:
    listed = ask(store, "message_list", key="talk")["messages"]
    return [message.get("structure") for message in listed]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[OpenStore]:
    with opened(tmp_path / "store", create=True) as store:
        yield store


def test_a_value_of_8_mib_is_kept_and_one_byte_more_is_refused(store: OpenStore) -> None:
    text = longest()
    assert size({"text": text}) == MOST_VALUE
    put(store, text)
    assert got(store) == text
    tip = store.repo.history.branches()["main"]
    with pytest.raises(ValueTooLarge, match=r"8,388,609 bytes.*divide it") as refused:
        put(store, text + "x")
    assert refused.value.code == "value_too_large"
    with pytest.raises(ValueTooLarge):
        put(store, text + "x", key="other")
    structure = json.dumps({"text": text}, separators=(",", ":"))
    append(store, structure)
    with pytest.raises(ValueTooLarge, match=r"8,388,609 bytes.*in a file"):
        append(store, structure.replace("x", "xx", 1))
    assert (got(store), got(store, key="other")) == (text, None)
    assert structures(store) == [structure]
    assert store.repo.history.branches()["main"] == tip


def test_lists_differences_and_histories_stay_short(store: OpenStore) -> None:
    text = longest("Quokkas live on the island.\n")
    write(store, *(f"Note {number} about the mill." for number in range(8)))
    row_id = put(store, text)
    append(store, json.dumps({"text": text}, separators=(",", ":")))
    call(store, "memory_branch_create", branch_name="side")
    put(store, text[:-1] + "y", "side")
    answers = [
        call(store, "memory_list", type="observation"),
        call(store, "memory_list", type="message"),
        call(store, "memory_get", id=row_id),
        call(store, "memory_timeline"),
        call(store, "memory_search", query="quokkas", types=["observation"]),
        call(store, "memory_branch_diff", source_branch="side", target_branch="main"),
        call(store, "memory_history", id=row_id, branch="side"),
        call(store, "memory_blame", id=row_id),
        call(store, "memory_merge_preview", source_branch="side", target_branch="main"),
    ]
    assert max(len(json.dumps(answer)) for answer in answers) < 200_000
    (listed,) = answers[0]["rows"]
    assert listed["structure"].startswith("[JSON of 8,388,608 characters, left out: ")
    (changed,) = (row for row in answers[5]["changed"] if row["id"] == row_id)
    assert changed["before"]["structure"] != changed["after"]["structure"]
    assert row_id in {hit["id"] for hit in answers[4]["result"]}


def test_a_secret_at_the_end_of_a_long_value_is_noticed(store: OpenStore) -> None:
    entry = {"key": "k", "value": {"text": longest()[:-40] + " AKIA" + "A" * 16}}
    (note,) = ask(store, "entry_put", entries=[entry])["written"]["notes"]
    assert "an AWS access key" in note
    message = {"role": "tool", "content": "x", "structure": json.dumps(entry["value"])}
    (note,) = ask(store, "message_append", key="talk", messages=[message])["written"]["notes"]
    assert "an AWS access key" in note


def test_a_merge_joins_lines_or_holds_the_whole_and_a_revert_brings_it_back(
    store: OpenStore,
) -> None:
    text = longest()
    put(store, text)
    call(store, "memory_branch_create", branch_name="side")
    first, last = text.replace("Friday", "Monday", 1), text[:-1] + "y"
    put(store, first, "side")
    put(store, last)
    merged = call(store, "memory_branch_merge", source_branch="side", target_branch="main",
                  strategy="auto")  # fmt: skip
    assert got(store) == first[:-1] + "y"
    call(store, "memory_revert", commit=merged["written"]["commit"])
    assert got(store) == last
    put(store, text.replace("Friday", "Sunday", 1), "side")
    put(store, last.replace("Friday", "Midday", 1))
    call(store, "memory_branch_merge", source_branch="side", target_branch="main", strategy="auto")
    (item,) = call(store, "memory_held")["items"]
    assert "Midday" in (got(store) or "")
    call(store, "memory_held", action="take", id=item["id"])
    assert got(store) == text.replace("Friday", "Sunday", 1)


def test_they_go_out_and_come_back_whole(store: OpenStore, tmp_path: Path) -> None:
    text = longest()
    structure = json.dumps({"picture": text[:-40]}, separators=(",", ":"))
    put(store, text)
    append(store, structure)
    lines = list(export_store(store.repo))
    with opened(tmp_path / "imported", create=True) as other:
        import_own(other.repo, find(other.repo, "main"), lines, now(), lambda *_: None)
        assert (got(other), structures(other)) == (text, [structure])
        assert set(export_store(other.repo)) == set(lines)


def test_a_backup_and_a_copy_have_them(tmp_path: Path) -> None:
    needs_files()
    text = longest()
    with opened(tmp_path / "store", create=True) as store:
        put(store, text[:-1] + "y")
        put(store, text)
        source = copying(store.settings, store.folder)
        back_up(store.repo, source, archives(), tmp_path / "backup.tar.gz", now())
    restore_backup(archives(), tmp_path / "backup.tar.gz", tmp_path / "restored")
    with ends(tmp_path / "store", tmp_path / "copied") as (store, seen, made):
        copy_store(seen, made, unchanged, lambda *_: None)
    for folder in ("restored", "copied"):
        with opened(tmp_path / folder) as other:
            assert got(other) == text


def test_a_bundle_carries_what_a_message_was_made_from(store: OpenStore) -> None:
    structure = json.dumps({"picture": longest()[:-40]}, separators=(",", ":"))
    call(store, "memory_branch_create", branch_name="side")
    append(store, structure, "side")
    bundle = call(
        store, "knowledge_bundle_create", name="long", source_branch="side", only_verified=False
    )
    call(store, "knowledge_bundle_import", bundle_id=bundle["id"], target_branch="main")
    assert structures(store) == [structure]


def test_a_redacted_value_is_nowhere_and_the_next_is_another(store: OpenStore) -> None:
    text = longest(f"{WORD}\n")
    row_id = put(store, text)
    tip = store.repo.store.commit_pending("main")
    call(store, "memory_redact", id=row_id, confirm=row_id)
    assert got(store) is None
    assert got(store, at=tip) is None
    assert call(store, "memory_get", id=row_id)["row"]["summary"] == REDACTED
    assert WORD not in str(call(store, "memory_get", id=row_id, at=tip))
    assert not [line for line in export_store(store.repo) if WORD.encode() in line]


def test_a_purge_leaves_no_word_of_a_value_in_any_file(tmp_path: Path) -> None:
    needs_files()
    folder = tmp_path / "store"
    with opened(folder, create=True) as store:
        row_id = put(store, longest(f"{WORD}\n"))
        store.repo.store.commit_pending("main")
        call(store, "memory_redact", id=row_id, confirm=row_id)
    purge = [*python(), "-m", "day1", "gc", "--purge-redacted"]
    done = subprocess.run(purge, env=environment(DAY1_HOME=str(folder)), capture_output=True)
    assert done.returncode == 0, done.stderr
    holding = [f for f in folder.rglob("*") if f.is_file() and WORD.encode() in f.read_bytes()]
    assert holding == []


@pytest.mark.weekly
def test_a_full_disk_refuses_a_value_and_keeps_the_one_before(tmp_path: Path) -> None:
    needs_files()
    text = longest()
    with opened(tmp_path / "store", create=True) as store:
        put(store, text)
        file_size = (tmp_path / "store" / "memory.db").stat().st_size
        for slack in (0, 4_096, 1_000_000, 8_000_000):
            with no_file_beyond(file_size + slack):
                refused(lambda: put(store, text[:-1] + "y"), "store_full")
                refused(lambda: put(store, text, key="other"), "store_full")
                assert (got(store), got(store, key="other")) == (text, None)
        put(store, text[:-1] + "y")
        assert got(store) == text[:-1] + "y"
        assert store.repo.store.check() == []


WRITING = f"""
import sys
import day1

memory = day1.connect(sys.argv[1], settings={QUIET!r})
text = open(sys.argv[2]).read()
memory.set(sys.argv[3], {{"text": text}}, space="{FILES}")
"""


@pytest.mark.parametrize(
    ("point", "done"),
    [
        ("add.before_commit", False),
        ("add.after_commit", True),
        ("change.before_commit", False),
        ("change.after_commit", True),
    ],
)
def test_a_killed_write_is_whole_or_not_there(tmp_path: Path, point: str, done: bool) -> None:
    needs_files()
    folder, file, text = tmp_path / "store", tmp_path / "text", longest()
    file.write_text(text, encoding="utf-8")
    before = text[:-1] + "y" if point.startswith("change") else None
    with opened(folder, create=True) as store:
        if before is not None:
            put(store, before)
    line = [*python(), "-c", WRITING, str(folder), str(file), "k"]
    killed = subprocess.run(line, env=environment(DAY1_KILL_AT=point), capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    with opened(folder) as store:
        assert got(store) == (text if done else before)
        assert store.repo.store.check() == []
        put(store, text)
        assert got(store) == text


@pytest.mark.weekly
def test_two_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    needs_files()
    folder, text = tmp_path / "store", longest()
    with opened(folder, create=True):
        pass
    running = []
    for name in ("a", "b"):
        (tmp_path / name).write_text(name + text[1:], encoding="utf-8")
        line = [*python(), "-c", WRITING, str(folder), str(tmp_path / name)]
        running += [subprocess.Popen([*line, key], env=environment()) for key in (name, "same")]
    assert [process.wait(300) for process in running] == [0] * len(running)
    with opened(folder) as store:
        assert [got(store, key=name) for name in ("a", "b")] == ["a" + text[1:], "b" + text[1:]]
        assert got(store, key="same") in {"a" + text[1:], "b" + text[1:]}
