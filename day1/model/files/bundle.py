"""A bundle as a file: JSON Lines with a header that states their number and hash.

    {"format":"day1-bundle","version":1,"id":…,"source_commit":…,"sha256":…,"checksum":…,"counts":…}
    {"id":…,"kind":"facts",…}             by table, then by id

`sha256` is over the canonical JSON of every row's line, each with its line end; `checksum` over
that of the first line without `checksum`. The version is the least one that can hold the rows
(`model.files.export`).
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from day1.errors import ImportBroken, InvalidRequest, Json
from day1.model.files.export import (
    RowLine,
    check_version,
    is_id,
    is_learned,
    is_text,
    json_line,
    json_object,
    parsed_row,
    row_line,
    version_of,
)
from day1.model.records.sharing import Bundle
from day1.model.rows.kind import CONVERSATION, FACT, MESSAGE, RELATION, Kind, Row

_FORMAT: Final = "day1-bundle"
_HEAD_FIELDS: Final = ("id", "name", "description", "source_branch", "source_commit", "sha256")


@dataclass(frozen=True, slots=True)
class BundleFile:
    """A bundle that was read whole and checked."""

    id: str
    name: str
    description: str | None
    tags: tuple[str, ...]
    source_branch: str
    source_commit: str
    verified_only: bool
    sha256: str
    created_at: int
    rows: Mapping[Kind, Sequence[Row]]


def digest(rows: Mapping[Kind, Sequence[Row]]) -> str:
    """Return the SHA-256 of the rows' lines, in hex."""
    hasher = hashlib.sha256()
    for line in _rows(rows):
        hasher.update(line)
    return hasher.hexdigest()


def counted(rows: Mapping[Kind, Sequence[Row]]) -> dict[str, Any]:
    """Count the rows by kind, in the form that a bundle's header has."""
    kinds = (FACT, RELATION, CONVERSATION, MESSAGE)
    return {f"{kind.name}_count": len(rows.get(kind, ())) for kind in kinds}


def format_of(rows: Mapping[Kind, Sequence[Row]]) -> str:
    """Return the name of the format in which these rows are written, with its version."""
    return f"{_FORMAT} {_version(rows)}"


def bundle_lines(bundle: Bundle, rows: Mapping[Kind, Sequence[Row]]) -> Iterator[bytes]:
    """Yield the lines of a bundle's file: its header, then its rows."""
    header: dict[str, object] = {
        "format": _FORMAT,
        "version": _version(rows),
        **{name: getattr(bundle, name) for name in _HEAD_FIELDS},
        "tags": list(bundle.tags),
        "only_verified": bundle.verified_only,
        "created_at": bundle.created_at,
        "counts": counted(rows),
    }
    yield json_line({**header, "checksum": _checksum(header)})
    yield from _rows(rows)


def _version(rows: Mapping[Kind, Sequence[Row]]) -> int:
    """Return the lowest file version that can hold these rows."""
    return max(
        (version_of(kind, row) for kind, kind_rows in rows.items() for row in kind_rows), default=1
    )


def _checksum(head: Mapping[str, object]) -> str:
    return hashlib.sha256(json_line(head)).hexdigest()


def _rows(rows: Mapping[Kind, Sequence[Row]]) -> Iterator[bytes]:
    for kind in sorted(rows, key=lambda kind: kind.table):
        for row in sorted(rows[kind], key=lambda row: str(row["id"])):
            yield row_line(kind, row)


def read_bundle(lines: Iterable[bytes]) -> BundleFile:
    """Read a whole bundle, and check its rows against its header.

    Raises:
        ImportBroken: a line does not fit, or the hash or the counts differ; use no row of it.
    """
    rows_by_kind: dict[Kind, list[Row]] = {}
    header: Mapping[str, Json] = {}
    line_number = 0
    for line_number, line in enumerate(lines, start=1):
        try:
            if line_number == 1:
                header = _header(line)
                continue
            parsed_line: RowLine = parsed_row(line)
        except (ValueError, InvalidRequest) as exc:
            raise _broken(line_number, str(exc)) from exc
        rows_by_kind.setdefault(parsed_line.kind, []).append(parsed_line.row)
    if not line_number:
        raise _broken(1, "the file is empty")
    if counted(rows_by_kind) != header["counts"]:
        raise _broken(line_number + 1, "the numbers of rows differ from those in the first line")
    if digest(rows_by_kind) != header["sha256"]:
        raise _broken(1, "the rows do not match the hash in the first line")
    return _file(header, rows_by_kind)


def _header(line: bytes) -> Mapping[str, Json]:
    header = json_object(line)
    checksum = header.pop("checksum", None)
    if header.get("format") != _FORMAT:
        raise ValueError("it does not begin as a day1 bundle does")
    check_version(header.get("version"), "bundle")
    if checksum != _checksum(header):
        raise ValueError("it does not match its checksum, so it was changed or damaged")
    required_values = [header.get(name) for name in _HEAD_FIELDS if name != "description"]
    description, tags, created_at = (
        header.get(name) for name in ("description", "tags", "created_at")
    )
    is_valid = (
        all(isinstance(value, str) and value and is_text(value) for value in required_values)
        and is_id("bundle", str(header.get("id")))
        and (description is None or (isinstance(description, str) and is_text(description)))
        and isinstance(tags, list)
        and all(isinstance(tag, str) and is_text(tag) for tag in tags)
        and isinstance(header.get("only_verified"), bool)
        and type(created_at) is int
        and is_learned(created_at)
        and isinstance(header.get("counts"), dict)
    )
    if not is_valid:
        raise ValueError("it lacks fields of a bundle's first line, or has wrong ones")
    return header


def _file(head: Mapping[str, Json], rows: Mapping[Kind, Sequence[Row]]) -> BundleFile:
    tags = head["tags"]
    return BundleFile(
        id=str(head["id"]),
        name=str(head["name"]),
        description=None if head["description"] is None else str(head["description"]),
        tags=tuple(map(str, tags)) if isinstance(tags, list) else (),
        source_branch=str(head["source_branch"]),
        source_commit=str(head["source_commit"]),
        verified_only=bool(head["only_verified"]),
        sha256=str(head["sha256"]),
        created_at=int(str(head["created_at"])),
        rows=rows,
    )


def _broken(number: int, why: str) -> ImportBroken:
    return ImportBroken(
        f"Line {number} of the bundle cannot be used: {why}. Nothing was imported: get a complete "
        "copy of the bundle, and import that.",
        line=number,
    )
