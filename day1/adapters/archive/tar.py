"""The archive as one file: a gzipped tar, which any machine can open.

Nothing in an archive is trusted when it is read. The manifest must come first, then exactly the
files that day1 keeps, with the sizes and hashes that the manifest names. Each header is one block
and is read here: links, paths and tar extensions are never followed, and a size other than the
manifest's is refused.
"""

import gzip
import hashlib
import io
import os
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter

from day1.adapters.failures import of_system
from day1.errors import StoreDamaged, StoreFull, StoreVersionUnknown
from day1.model.files.backup import FILES, FORMAT, Manifest, Part

MANIFEST: Final = "manifest.json"
_MAX_BYTES: Final = 64 * 1024 * 1024
"""Maximum number of bytes of a manifest: enough for 200,000 branches."""
_CHUNK: Final = 1024 * 1024
_END: Final = 2 * tarfile.BLOCKSIZE + tarfile.RECORDSIZE
"""Maximum number of bytes after the last member: two empty blocks and padding."""
_SPARE: Final = 1024 * 1024
_manifests: Final = TypeAdapter(Manifest)
_format: Final = TypeAdapter(dict[str, object])


def parts(folder: Path) -> tuple[Part, ...]:
    """Return the name, size and hash of each file of a copy."""
    parts_of_copy = []
    for name in FILES:
        with (folder / name).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            parts_of_copy.append(Part(name, file.tell(), digest))
    return tuple(parts_of_copy)


def pack(folder: Path, manifest: Manifest, archive: Path) -> None:
    """Write manifest and files to an archive that only its owner can read, durably."""
    manifest_json = _manifests.dump_json(manifest)
    try:
        archive_handle = os.open(
            archive, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600
        )
        with os.fdopen(archive_handle, "wb") as archive_file:
            with (
                gzip.GzipFile(
                    fileobj=archive_file, mode="wb", filename="", compresslevel=6
                ) as gzip_file,
                tarfile.open(fileobj=gzip_file, mode="w", format=tarfile.GNU_FORMAT) as tar_file,
            ):
                modified_s = manifest.created_at // 1_000_000
                tar_file.addfile(
                    _header(MANIFEST, len(manifest_json), modified_s), io.BytesIO(manifest_json)
                )
                for part in manifest.files:
                    with (folder / part.name).open("rb") as part_file:
                        tar_file.addfile(_header(part.name, part.bytes, modified_s), part_file)
            archive_file.flush()
            os.fsync(archive_file.fileno())
    except OSError as exc:
        raise of_system(exc, archive, writing=True) from exc


def _header(name: str, size: int, modified_s: int) -> tarfile.TarInfo:
    header = tarfile.TarInfo(name)
    header.size, header.mtime, header.mode = size, modified_s, 0o600
    return header


def unpack(archive: Path, to: Path) -> Manifest:
    """Write the files of an archive into a new folder, durably."""
    with (
        _sound(archive),
        archive.open("rb") as archive_file,
        gzip.GzipFile(fileobj=archive_file) as gzip_file,
    ):
        manifest = _manifest(_Members(gzip_file))
        bytes_needed = sum(part.bytes for part in manifest.files) + _SPARE
        if bytes_needed > shutil.disk_usage(to.parent).free:
            raise StoreFull(
                f"{archive.name} holds {bytes_needed // 1_000_000} MB, and the disk has less room.",
                file=archive.name,
            )
        to.mkdir(mode=0o700)
        members = _Members(gzip_file)
        for part in manifest.files:
            _write(members, part, to / part.name)
        members.end()
    return manifest


class _Members:
    """The members of a tar, one after another."""

    def __init__(self, packed: gzip.GzipFile) -> None:
        self._packed = packed

    def open(self, name: str, max_bytes: int) -> int:
        """Go to the next member, which must be this file; returns its size."""
        header = tarfile.TarInfo.frombuf(self._packed.read(512), "utf-8", "strict")
        is_expected_file = header.name == name and header.isreg() and not header.linkname
        if not is_expected_file or not 0 <= header.size <= max_bytes:
            raise ValueError(name)
        return header.size

    def read(self, size: int) -> bytes:
        """Read a part of a member."""
        block = self._packed.read(size)
        if len(block) != size:
            raise EOFError
        return block

    def skip(self, size: int) -> None:
        """Skip the padding after a member of this size."""
        if any(self.read(-size % 512)):
            raise ValueError

    def end(self) -> None:
        """Check that only padding follows; reading up to the end also checks gzip's checksum."""
        padding = self._packed.read(_END + 1)
        if len(padding) > _END or any(padding):
            raise ValueError


def _manifest(members: _Members) -> Manifest:
    """Read the manifest, and check that it names the files of a store and no others."""
    manifest_size = members.open(MANIFEST, _MAX_BYTES)
    manifest_json = members.read(manifest_size)
    members.skip(manifest_size)
    format_version = _format.validate_json(manifest_json).get("format")
    if isinstance(format_version, int) and format_version > FORMAT:
        raise StoreVersionUnknown(
            f"A later day1 wrote this backup: its format is {format_version}, and this day1 reads "
            f"{FORMAT}. Restore it with that later day1.",
            format=format_version,
        )
    manifest = _manifests.validate_json(manifest_json)
    if tuple(part.name for part in manifest.files) != FILES:
        raise ValueError
    return manifest


def _write(members: _Members, part: Part, path: Path) -> None:
    """Write one file, and check its size and hash against the manifest."""
    if members.open(part.name, part.bytes) != part.bytes:
        raise ValueError
    sha256, bytes_left = hashlib.sha256(), part.bytes
    file_handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(file_handle, "wb") as file:
        while bytes_left:
            chunk = members.read(min(_CHUNK, bytes_left))
            sha256.update(chunk)
            bytes_left -= file.write(chunk)
        file.flush()
        os.fsync(file.fileno())
    members.skip(part.bytes)
    if sha256.hexdigest() != part.sha256:
        raise ValueError


@contextmanager
def _sound(archive: Path) -> Iterator[None]:
    """Report whatever is wrong with an archive as one error."""
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error, tarfile.TarError, ValueError) as exc:
        raise StoreDamaged(
            f"{archive.name} is not a day1 backup, or is damaged: nothing was restored. "
            "Use another.",
            file=archive.name,
        ) from exc
    except OSError as exc:
        raise of_system(exc, archive, writing=True) from exc
