"""Archives of backups are checked before they count: damaged, later, made wrong."""

import gzip
import io
import json
import tarfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from day1.adapters.archive.file_copy import StoreCopying
from day1.adapters.archive.files import FileArchives
from day1.app.archives import copying
from day1.app.archives import files as archives
from day1.model.files.backup import Content, Manifest
from day1.services.access.calls import now
from day1.services.exchange.backup import back_up, check_backup
from tests.flows.backed_up_store import backed_up, restored
from tests.flows.opened_store import call, digest, opened, refused


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
