"""Backups: taken while others write, checked before they count, restored whole or not at all."""

import gzip
import io
import json
import os
import resource
import signal
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from day1.adapters.archive.file_copy import StoreCopying
from day1.adapters.archive.files import FileArchives
from day1.app.engines import archives, copying
from day1.app.open import now
from day1.interfaces.open_store import OpenStore
from day1.model.files.backup import Content, Manifest
from day1.services.exchange.backup import Backup, back_up, check_backup, restore_backup
from tests.flows import killed_process
from tests.flows.kill_scenarios import Process, check_doctor, fact_id, facts_on
from tests.flows.opened_store import MERGE, call, digest, facts, make, mounted, opened, refused
from tests.flows.test_bad_days import no_file_beyond

ROOT = Path(__file__).parents[2]
OFFLINE = {"DAY1_EMBEDDER__KIND": "none", "DAY1_SEARCH__CHROMA": "false"}


def backed_up(opened_store: OpenStore, file: Path) -> Backup:
    return back_up(
        opened_store.repo,
        copying(opened_store.settings, opened_store.folder),
        archives(),
        file,
        now(),
    )


def restored(file: Path, folder: Path) -> Manifest:
    return restore_backup(archives(), file, folder)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    make(tmp_path / "store")
    return tmp_path / "store"


@pytest.fixture
def backup(store: Path) -> Path:
    file = store.with_name("backup.tar.gz")
    with opened(store) as opened_store:
        backed_up(opened_store, file)
    return file


# While others write


def test_all_that_was_acknowledged_before_is_in_it_and_nobody_fails(tmp_path: Path) -> None:
    opened_store = killed_process.opened(tmp_path / "store")
    peers = [Process(tmp_path / "store") for _ in range(3)]
    done: dict[str, str] = {}
    ended = threading.Event()
    failed: list[BaseException] = []

    def write(number: int) -> None:
        turn = 0
        try:
            while not ended.is_set():
                turn += 1
                deed = {"deed": "write", "branch": "main", "id": fact_id(), "text": f"{number}"}
                peers[number].do(deed)
                done[deed["id"]] = deed["text"]
                if number == 0 and turn % 20 == 0:
                    name = f"work/{turn}"
                    peers[0].do({"deed": "fork", "name": name, "parent": "main"})
                    peers[0].do({**deed, "id": fact_id(), "branch": name})
                    peers[0].do({"deed": "merge", "source": name, "target": "main"})
                if number == 1 and turn % 30 == 0:
                    peers[1].do({**deed, "deed": "change", "text": "changed"})
                    done[deed["id"]] = "changed"
        except BaseException as exc:
            failed.append(exc)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    before, made = [], []
    for number in range(3):
        before.append(dict(done))
        made.append(backed_up(opened_store, tmp_path / f"{number}.tar.gz"))
    ended.set()
    for thread in threads:
        thread.join()
    assert not failed
    assert [peer.end() for peer in peers] == [(0, "")] * 3
    after = facts_on(opened_store, "main")
    opened_store.close()
    assert len(before[0]) < len(before[1]) < len(before[2])
    for number, acknowledged in enumerate(before):
        folder = tmp_path / f"restored-{number}"
        assert restored(tmp_path / f"{number}.tar.gz", folder) == made[number].manifest
        copy = killed_process.opened(folder)
        found = facts_on(copy, "main")
        assert acknowledged.keys() <= found.keys() <= after.keys()
        check = made[number].manifest.content.branches
        assert {b.name: b.commit for b in check} == copy.repo.history.branches()
        list(copy.repo.ledger.branches())
        for branch in copy.repo.history.branches():
            call(copy, "memory_search", query="changed", branch=branch)
        check_doctor(copy, folder)
        copy.close()


def test_what_a_killed_writer_left_is_overwritten_between_the_two_parts(tmp_path: Path) -> None:
    opened_store = killed_process.opened(tmp_path / "store")
    write = {"deed": "write", "branch": "main", "id": fact_id(), "text": "written between"}
    with (tmp_path / "store" / "memory.db").open("ab") as file:
        file.write(b"\0" * 20_000)
    again = []

    class Interrupted(StoreCopying):
        def ahead(self, to: Path) -> None:
            if not to.exists():
                super().ahead(to)
                killed_process.write(opened_store, write)

        def rest(self, to: Path) -> Any:
            again.append(to.name)
            return super().rest(to)

    made = Interrupted(tmp_path / "store", 10.0)
    back_up(opened_store.repo, made, archives(), tmp_path / "b", now())
    opened_store.close()
    assert again == ["store", "again"]
    restored(tmp_path / "b", tmp_path / "restored")
    with opened(tmp_path / "restored") as copy:
        assert facts(copy) == ["written between"]


def test_a_compaction_between_the_two_parts_harms_nothing(store: Path, tmp_path: Path) -> None:
    parts: list[Any] = []
    afterwards: list[Any] = []
    with opened(store) as opened_store:

        class Interrupted(StoreCopying):
            def ahead(self, to: Path) -> None:
                super().ahead(to)
                opened_store.repo.store.compact()
                afterwards.append(f"afterwards {len(afterwards)}")
                call(opened_store, "memory_write_fact", fact_text=afterwards[-1], branch="side")

            def rest(self, to: Path) -> Any:
                parts.append(to.name)
                return super().rest(to)

        back_up(opened_store.repo, Interrupted(store, 10.0), archives(), tmp_path / "b", now())
    assert parts == ["store"], "it is seen at once, not by a copy that is not whole"
    restored(tmp_path / "b", tmp_path / "restored")
    with opened(tmp_path / "restored") as copy:
        assert facts(copy, "side") == [
            *("one", "two", "three", "aside"),
            *("afterwards 0", "afterwards 1"),
        ]


def test_writers_wait_for_what_is_new_only(store: Path, tmp_path: Path) -> None:
    """What is copied under the lock is what was written since; so it is brief at any size."""
    sizes = []
    with opened(store) as opened_store:

        class Watched(StoreCopying):
            def _copy(self, to: Path, found: os.stat_result) -> None:
                there = to / "memory.db"
                had = there.stat().st_size if there.exists() else 0
                super()._copy(to, found)
                sizes.append(there.stat().st_size - had)

        back_up(opened_store.repo, Watched(store, 10.0), archives(), tmp_path / "b", now())
    assert sizes[0] > 0
    assert sizes[1:] == [0, 0]


# Restored


def everything(store: Path) -> tuple[list[Any], dict[str, str]]:
    """Live through what a store is for; answers what reads it, and ids."""
    with opened(store) as opened_store:
        before = call(opened_store, "memory_timeline", limit=1)["result"][0]["timestamp"]
        fact = call(opened_store, "memory_timeline", limit=1)["result"][0]["id"]
        secret = call(opened_store, "memory_write_fact", fact_text="the vault opens with plover")[
            "id"
        ]
        for branch in ("side", "main"):
            call(
                opened_store,
                "memory_update_fact",
                fact_id=fact,
                fact_text=f"on {branch}",
                branch=branch,
            )
        call(opened_store, "memory_branch_merge", **MERGE)
        task = call(opened_store, "memory_task_create", name="Task", task_type="x")["task_id"]
        call(opened_store, "memory_task_join", task_id=task, agent_id="ada", assigned_objectives=[])
        call(opened_store, "memory_redact", id=secret, confirm=secret)
        call(
            opened_store,
            "memory_write_observation",
            observation_type="discovery",
            summary="waiting",
        )
    reads = [
        *(("memory_search", {"query": q}) for q in ("one", "plover", "side", "waiting")),
        ("memory_search", {"query": "two", "branch": "side"}),
        ("memory_timeline", {"limit": 100}),
        ("memory_time_travel", {"timestamp": before, "query": "three"}),
        ("memory_held", {"action": "list"}),
        ("memory_history", {"id": fact}),
        ("memory_blame", {"id": fact}),
        ("memory_history", {"id": secret}),
        ("memory_branch_topology", {}),
        ("memory_snapshot_list", {}),
        ("memory_task_status", {"task_id": task}),
    ]
    return reads, {"secret": secret, "fact": fact}


def test_a_restored_store_answers_as_the_one_that_was_backed_up(
    store: Path, tmp_path: Path
) -> None:
    reads, _ = everything(store)
    with opened(store) as opened_store:
        said = answers(opened_store, reads)
        tokens = call_admin(opened_store, "token_create", name="ada", scope="read")
        backed_up(opened_store, tmp_path / "b")
    assert any(one.get("items") for one in said), (
        "nothing is held: the test shows less than it says"
    )
    restored(tmp_path / "b", tmp_path / "restored")
    with opened(tmp_path / "restored") as copy:
        assert answers(copy, reads) == said
        assert "the vault" not in json.dumps(said)
        assert [t["name"] for t in call_admin(copy, "token_list")["result"]] == ["ada"]
        assert admitted(copy, tokens["secret"]) == "read"
        merged = call(copy, "memory_branch_merge", **MERGE)
        assert merged["merged_count"] == 0, "the restored store knows what was merged"


def answers(opened_store: OpenStore, reads: list[Any]) -> list[Any]:
    """What the reads give. A score is of the index, which knows other texts when it is new."""
    found = [call(opened_store, tool, **arguments) for tool, arguments in reads]
    for one in found:
        hits = [hit for hit in one.get("result", ()) if hit.pop("score", None) is not None]
        if hits:
            one["result"] = sorted(hits, key=lambda hit: str(hit["id"]))
    return found


def call_admin(opened_store: OpenStore, tool: str, /, **arguments: Any) -> dict[str, Any]:
    from day1.call.context import Caller
    from day1.toolsets import operations

    operation = next(o for o in operations("admin") if o.name == tool)
    answer: dict[str, Any] = operation.call(opened_store.context(Caller()), arguments)
    return answer


def admitted(opened_store: OpenStore, secret: str) -> str:
    from day1.services.access.authentication import Authenticator

    return Authenticator(opened_store.repo, closed=True).admit(secret, now()).scope


def test_only_the_owner_may_read_what_is_made(backup: Path, tmp_path: Path) -> None:
    restored(backup, tmp_path / "new")
    assert backup.stat().st_mode & 0o777 == 0o600
    assert {p.name: p.stat().st_mode & 0o777 for p in (tmp_path / "new").iterdir()} == {
        "memory.db": 0o600,
        "ledger.db": 0o600,
    }
    assert not list(tmp_path.glob("*.tmp"))


def test_nothing_that_is_there_is_overwritten(store: Path, backup: Path, tmp_path: Path) -> None:
    before = digest(store), backup.read_bytes()
    with opened(store) as opened_store:
        refused(lambda: backed_up(opened_store, backup), "refused", "is there already")
    refused(lambda: restored(backup, store), "refused", "is there already")
    only_locks = tmp_path / "locks"
    only_locks.mkdir()
    (only_locks / "lock").touch()
    refused(lambda: restored(backup, only_locks), "refused")
    assert (digest(store), backup.read_bytes()) == before
    (tmp_path / "empty").mkdir()
    assert restored(backup, tmp_path / "empty")


def test_somebody_elses_folder_is_not_taken_for_what_a_killed_one_left(
    backup: Path, tmp_path: Path
) -> None:
    (tmp_path / "new.tmp").mkdir()
    (tmp_path / "new.tmp" / "thesis").touch()
    refused(lambda: restored(backup, tmp_path / "new"), "refused", "in the way")
    assert (tmp_path / "new.tmp" / "thesis").exists()


def test_two_that_make_the_same_store_do_not_meet(backup: Path, tmp_path: Path) -> None:
    with archives().staging(tmp_path / "new", folder=True):
        refused(lambda: restored(backup, tmp_path / "new"), "refused", "Another process")


def test_where_a_disk_is_mounted_a_folder_in_it_is_asked_for(backup: Path, tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=9m", "tmpfs") as disk:
        refused(lambda: restored(backup, disk), "refused", "name a folder in it")
        assert restored(backup, disk / "store")


# Killed, and the disk is full


def run(store: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "day1", "backup", *arguments],
        cwd=ROOT,
        env={**os.environ, **OFFLINE, "DAY1_HOME": str(store), **env},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("point", ["ahead", "copied", "packed", "checked"])
def test_a_backup_that_is_killed_leaves_no_file_and_the_next_one_works(
    store: Path, point: str
) -> None:
    file = store.with_name("b.tar.gz")
    killed = run(store, str(file), DAY1_KILL_AT=f"backup.{point}")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not file.exists()
    with opened(store) as opened_store:
        call(opened_store, "memory_write_fact", fact_text="afterwards")
    assert run(store, str(file)).returncode == 0
    assert {path.name for path in store.parent.iterdir()} == {"store", "b.tar.gz"}
    restored(file, store.with_name("new"))
    with opened(store.with_name("new")) as copy:
        assert facts(copy)[-1] == "afterwards"


def test_a_restore_that_is_killed_leaves_no_store_and_the_next_one_works(
    store: Path, backup: Path
) -> None:
    new = store.with_name("new")
    arguments = (str(backup), "--restore", "--into", str(new))
    killed = run(store, *arguments, DAY1_KILL_AT="restore.checked")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not new.exists()
    killed = run(store, *arguments, DAY1_KILL_AT="restore.published")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    with opened(new) as opened_store:
        assert facts(opened_store, "side") == ["one", "two", "three", "aside"]


@pytest.mark.parametrize("most", [0, 5_000, 60_000, 150_000])
def test_on_a_full_disk_nothing_is_left(
    store: Path, backup: Path, tmp_path: Path, most: int
) -> None:
    before = {path.name for path in tmp_path.iterdir()}
    with opened(store) as opened_store, no_file_beyond(most):
        refused(lambda: backed_up(opened_store, tmp_path / "b"), "store_full")
    with no_file_beyond(most):
        refused(lambda: restored(backup, tmp_path / "new"), "store_full")
    assert {path.name for path in tmp_path.iterdir()} == before
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


# Archives that are not what they should be


def repacked(
    backup: Path,
    change: Callable[[list[tuple[tarfile.TarInfo, bytes]]], Any],
    kind: int = tarfile.GNU_FORMAT,
) -> bytes:
    """The archive with other members."""
    with tarfile.open(backup) as tar:
        members = [(m, tar.extractfile(m).read()) for m in tar.getmembers()]  # type: ignore[union-attr]  # files
    change(members)
    body = io.BytesIO()
    with tarfile.open(fileobj=body, mode="w:gz", format=kind) as tar:
        for info, content in members:
            tar.addfile(info, io.BytesIO(content) if info.isreg() else None)
    return body.getvalue()


def edited(backup: Path, change: Callable[[dict[str, Any]], Any]) -> bytes:
    """The archive with another manifest."""

    def edit(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
        manifest = json.loads(members[0][1])
        change(manifest)
        body = json.dumps(manifest).encode()
        members[0][0].size = len(body)
        members[0] = (members[0][0], body)

    return repacked(backup, edit)


def renamed(members: list[tuple[tarfile.TarInfo, bytes]], name: str) -> None:
    members[1][0].name = name


def linked(members: list[tuple[tarfile.TarInfo, bytes]], kind: bytes) -> None:
    members[1][0].type, members[1][0].linkname, members[1][0].size = kind, "/etc/passwd", 0


def more(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    info = tarfile.TarInfo("../outside")
    info.size = 3
    members.append((info, b"out"))


def flipped(body: bytes, at: float) -> bytes:
    place = int(len(body) * at)
    return body[:place] + bytes([body[place] ^ 0x55]) + body[place + 1 :]


def unzipped(backup: Path) -> bytes:
    return gzip.decompress(backup.read_bytes())


def cut_at(part: float, backup: Path) -> bytes:
    return backup.read_bytes()[: int(backup.stat().st_size * part)]


def flipped_at(part: float, backup: Path) -> bytes:
    return flipped(backup.read_bytes(), part)


def flipped_inside(part: float, backup: Path) -> bytes:
    return gzip.compress(flipped(unzipped(backup), part))


DAMAGES: dict[str, Callable[[Path], bytes]] = {
    "empty": lambda b: b"",
    "no archive": lambda b: b"my holiday" * 1000,
    "an archive of something else": lambda b: gzip.compress(b"my holiday" * 1000),
    "not compressed": unzipped,
    **{f"cut at {at}": partial(cut_at, at) for at in (0.01, 0.5, 0.9)},
    "without its end": lambda b: b.read_bytes()[:-1],
    **{f"flipped at {at}": partial(flipped_at, at) for at in (0.0, 0.3, 0.6, 0.999)},
    **{f"flipped inside at {at}": partial(flipped_inside, at) for at in (0.2, 0.5)},
    "something behind it": lambda b: gzip.compress(unzipped(b) + b"x" * 20_000),
    "a path outside": lambda b: repacked(b, lambda m: renamed(m, "../memory.db")),
    "an absolute path": lambda b: repacked(b, lambda m: renamed(m, "/tmp/memory.db")),
    "a symbolic link": lambda b: repacked(b, lambda m: linked(m, tarfile.SYMTYPE)),
    "a hard link": lambda b: repacked(b, lambda m: linked(m, tarfile.LNKTYPE)),
    "a device": lambda b: repacked(b, lambda m: linked(m, tarfile.CHRTYPE)),
    "one member more": lambda b: repacked(b, more),
    "one member less": lambda b: repacked(b, lambda m: m.pop()),
    "another order": lambda b: repacked(b, lambda m: m.reverse()),
    "extended headers": lambda b: repacked(b, lambda m: renamed(m, "é" * 300), tarfile.PAX_FORMAT),
    "no manifest": lambda b: repacked(b, lambda m: m.pop(0)),
    "another path in the manifest": lambda b: edited(b, lambda m: m["files"][0].update(name="../x")),
    "another size": lambda b: edited(b, lambda m: m["files"][0].update(bytes=10)),
    "a size below nothing": lambda b: edited(b, lambda m: m["files"][0].update(bytes=-1)),
    "another hash": lambda b: edited(b, lambda m: m["files"][1].update(sha256="0" * 64)),
    "another memory than it says": lambda b: edited(
        b, lambda m: m["content"]["branches"][0].update(sha256="0" * 64)
    ),
    "another commit than it says": lambda b: edited(
        b, lambda m: m["content"]["branches"][0].update(commit="0" * 40)
    ),
    "another count than it says": lambda b: edited(
        b, lambda m: m["content"]["records"].update(snapshots=9)
    ),
    "a manifest that is none": lambda b: edited(b, lambda m: m.clear()),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_archive_is_refused_and_leaves_nothing(
    backup: Path, tmp_path: Path, damage: str
) -> None:
    body = DAMAGES[damage](backup)
    backup.write_bytes(body)
    before = digest(tmp_path)
    refused(lambda: restored(backup, tmp_path / "new"), "store_damaged", "backup.tar.gz")
    refused(lambda: check_backup(archives(), backup, tmp_path / "aside"), "store_damaged")
    assert digest(tmp_path) == before
    assert not (tmp_path / "new").exists()


def test_a_bomb_is_refused_before_it_is_unpacked(backup: Path, tmp_path: Path) -> None:
    backup.write_bytes(edited(backup, lambda m: m["files"][0].update(bytes=1 << 60)))
    refused(lambda: restored(backup, tmp_path / "new"), "store_full", "less room")
    huge = tarfile.TarInfo("manifest.json")
    huge.size = 1 << 40
    backup.write_bytes(gzip.compress(huge.tobuf(tarfile.GNU_FORMAT) + b" " * (1 << 20)))
    refused(lambda: restored(backup, tmp_path / "new"), "store_damaged")
    deep = b'{"format":' + b"[" * 1_000_000
    deep_info = tarfile.TarInfo("manifest.json")
    deep_info.size = len(deep)
    filled = deep + b"\0" * (-len(deep) % 512)
    backup.write_bytes(gzip.compress(deep_info.tobuf(tarfile.GNU_FORMAT) + filled))
    refused(lambda: restored(backup, tmp_path / "new"), "store_damaged")


def test_a_backup_of_a_later_day1_names_the_way(backup: Path, tmp_path: Path) -> None:
    backup.write_bytes(edited(backup, lambda m: m.update(format=99, new="field")))
    refused(lambda: restored(backup, tmp_path / "new"), "store_version_unknown", "later day1")


def test_a_store_that_is_not_whole_is_not_backed_up(store: Path, tmp_path: Path) -> None:
    """A backup of it would look like one, and push a good one out of the row."""
    with opened(store) as opened_store:
        real = copying(opened_store.settings, opened_store.folder)

        class Spoiling(StoreCopying):
            def rest(self, to: Path) -> Any:
                found = real.rest(to)
                return Spoiled(found, to)

        refused(
            lambda: back_up(
                opened_store.repo, Spoiling(store, 10.0), archives(), tmp_path / "b", now()
            ),
            "store_damaged",
        )
    assert not (tmp_path / "b").exists()


class Spoiled:
    """Leaves a hole in the copy."""

    def __init__(self, inner: Any, to: Path) -> None:
        self.inner, self.to = inner, to

    def __enter__(self) -> None:
        self.inner.__enter__()
        file = self.to / "memory.db"
        body = bytearray(file.read_bytes())
        body[len(body) // 2 : len(body) // 2 + 300] = b"\0" * 300
        file.write_bytes(body)

    def __exit__(self, *exc: object) -> None:
        self.inner.__exit__(*exc)


def test_the_manifest_speaks_of_every_branch_and_what_waits(store: Path, tmp_path: Path) -> None:
    with opened(store) as opened_store:
        call(opened_store, "memory_write_fact", fact_text="waits", branch="side")
        made = backed_up(opened_store, tmp_path / "b").manifest
        tips = opened_store.repo.history.branches()
    found = {b.name: (b.commit, b.rows, b.waiting > 0) for b in made.content.branches}
    assert found == {"main": (tips["main"], 3, False), "side": (tips["side"], 5, True)}
    hashes = {b.sha256 for b in made.content.branches}
    assert len(hashes) == 2
    assert made.content.records["snapshots"] == 1
    assert replace(made, files=()) == replace(restored(tmp_path / "b", tmp_path / "new"), files=())


def test_an_archive_that_came_out_wrong_never_gets_its_name(store: Path, tmp_path: Path) -> None:
    class Flipping(FileArchives):
        """On a disk that writes something else than it was given."""

        def pack(self, folder: Path, manifest: Manifest, archive: Path) -> None:
            FileArchives.pack(folder, manifest, archive)
            archive.write_bytes(flipped(archive.read_bytes(), 0.7))

    before = {path.name for path in tmp_path.iterdir()}
    with opened(store) as opened_store:
        made = tmp_path / "b"
        refused(
            lambda: back_up(
                opened_store.repo,
                copying(opened_store.settings, opened_store.folder),
                Flipping(),
                made,
                now(),
            ),
            "store_damaged",
        )
    assert {path.name for path in tmp_path.iterdir()} == before


def test_an_archive_of_any_size_is_read_back(tmp_path: Path) -> None:
    """A tar is filled up to its record, with more or less behind its last file."""
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "ledger.db").write_bytes(b"ledger")
    for blocks in range(tarfile.RECORDSIZE // tarfile.BLOCKSIZE + 1):
        (tmp_path / "copy" / "memory.db").write_bytes(b"m" * blocks * tarfile.BLOCKSIZE)
        parts = archives().parts(tmp_path / "copy")
        manifest = Manifest(1, "0", "none", 0, Content((), {}), parts)
        archive, out = tmp_path / f"{blocks}.tar.gz", tmp_path / str(blocks)
        archives().pack(tmp_path / "copy", manifest, archive)
        assert archives().unpack(archive, out) == manifest
        assert digest(out) == digest(tmp_path / "copy")
