"""Other tools' files, opened for reading only: folders without links out of them, text, JSON."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from day1.errors import ImportBroken, Json

MOST_BYTES = 64 << 20
"""Of one file of text: far more than a memory, far less than fills a machine."""

_NOT_NOTES = frozenset(
    (".git", ".hg", ".day1", "node_modules", ".venv", "venv", "site-packages", "__pycache__")
)


def files_below(
    folder: Path, wanted: Callable[[Path], bool], leads_out: Callable[[Path], None]
) -> Iterator[Path]:
    """The files of a folder in order of their names, each with its links resolved.

    A link that leads out of the folder is passed by, and `leads_out` is told: a folder of a
    stranger's names no files of one's own.
    """
    top = folder.resolve()
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - _NOT_NOTES)
        for name in sorted(names):
            file = Path(place, name)
            if not wanted(file) or not file.is_file():
                continue
            if (real := file.resolve()).is_relative_to(top):
                yield real
            else:
                leads_out(file)


def broken(path: Path, line: int, why: str) -> ImportBroken:
    """The refusal of a file for one of its lines."""
    return ImportBroken(
        f"{path}, line {line}: {why}. Mend the file or leave it out, and import again.",
        path=str(path),
        line=line,
    )


def bytes_of(path: Path) -> bytes:
    """A whole file.

    Raises:
        ImportBroken: it cannot be read, or is larger than 64 MB.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as exc:
        raise broken(path, 1, f"the file cannot be read ({exc.strerror})") from exc
    if len(data) > MOST_BYTES:
        raise broken(path, 1, f"the file is larger than {MOST_BYTES >> 20} MB")
    return data


def text_of(path: Path) -> str:
    """A file of UTF-8 text, with LF at the ends of its lines.

    Raises:
        ImportBroken: it cannot be read so; `details` names the line.
    """
    return decoded(bytes_of(path), path)


def decoded(data: bytes, path: Path) -> str:
    """Bytes of a file as text; the same refusals."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        raise broken(path, line, "it is not UTF-8 text") from exc
    return text.replace("\r\n", "\n").replace("\r", "\n")


def json_of(text: str, path: Path, line: int = 0) -> Json:
    """The JSON value that a text is, which is the whole file or its line `line`.

    Raises:
        ImportBroken: it is cut off, nested too deeply, or none; `details` names the line.
    """
    try:
        found: Json = json.loads(text)
        # json reads escaped lone surrogates, which are no text.
        json.dumps(found, ensure_ascii=False).encode()
    except json.JSONDecodeError as exc:
        raise broken(path, line or exc.lineno, f"it is cut off or no JSON ({exc.msg})") from exc
    except (ValueError, RecursionError) as exc:
        raise broken(path, line or 1, "its JSON is nested too deeply or holds no text") from exc
    return found
