"""The text and the JSON in other tools' files; `day1.foreign_files` opens them."""

import json
from pathlib import Path

from day1.errors import Json
from day1.foreign_files import broken, bytes_of


def text_of(path: Path) -> str:
    """Read a file of UTF-8 text; line ends become LF.

    Raises:
        ImportBroken: it cannot be read so; `details` names the line.
    """
    return decoded(bytes_of(path), path)


def decoded(data: bytes, path: Path) -> str:
    """Decode the bytes of a file; it refuses what `text_of` refuses."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line_number = data.count(b"\n", 0, exc.start) + 1
        raise broken(path, line_number, "it is not UTF-8 text") from exc
    return text.replace("\r\n", "\n").replace("\r", "\n")


def json_of(text: str, path: Path, line: int = 0) -> Json:
    """Parse a text as JSON; it is the whole file or its line `line`.

    Raises:
        ImportBroken: it is cut off, nested too deeply, has a key twice, or is no JSON; `details`
            names the line.
    """
    try:
        value: Json = json.loads(text, object_pairs_hook=_object)
        # json reads escaped lone surrogates, which are no text.
        json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as exc:
        raise broken(
            path, line or exc.lineno, f"it is cut off, or is not JSON ({exc.msg})"
        ) from exc
    except _RepeatedKeyError as exc:
        raise broken(path, line or 1, "an object in it has one key twice") from exc
    except (ValueError, RecursionError) as exc:
        raise broken(
            path, line or 1, "its JSON is nested too deeply, or has a text that is not Unicode"
        ) from exc
    return value


class _RepeatedKeyError(Exception):
    """An object has a key twice: one of its values would be lost."""


def _object(pairs: list[tuple[str, Json]]) -> Json:
    object_values = dict(pairs)
    if len(object_values) < len(pairs):
        raise _RepeatedKeyError
    return object_values
