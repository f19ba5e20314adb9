"""Memory as a file: JSON Lines, one row a line with every column, the same bytes for the same rows.

    {"format":"day1-export","version":1}  the least version that can hold the rows
    {"branch":{"name":…,"parent":…,…}}    before each branch's rows, in the export of a store
    {"id":…,"kind":"facts",…}             by table, then by id
    {"end":{"rows":…}}                    a file without it was cut off

Nothing says when, where or at which commit it was written. Times are whole microseconds since 1970
UTC. A row with a column that version 2 of the schema brought, or with a time before 1684 or after
2255, needs version 2 of the file; earlier versions of day1 refuse such a row.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Final

from day1.errors import ImportBroken, InvalidRequest, Json
from day1.model.branches.branch import MAX_TTL_DAYS
from day1.model.branches.names import check_name
from day1.model.rows.column import Column
from day1.model.rows.kind import BY_TABLE, KINDS, Cell, Kind, Row, canonical, written
from day1.model.values.ids import content_hash
from day1.model.values.instant import LAST_LEARNED, in_range

_FORMAT: Final = "day1-export"
_WIDE: Final = 2
"""The file version that allows times `_FAR` or more away from 1970."""
_FAR: Final = 2**53
NEWEST_VERSION: Final = max(_WIDE, *(c.since for kind in KINDS for c in kind.column.values()))
"""The newest version that this day1 reads."""
_LONGEST_ID: Final = 64
_ID: Final = re.compile("[0-9A-Za-z_-]+")
"""The part of an id after its prefix; URLs and command lines hold it without quoting."""


@dataclass(frozen=True, slots=True)
class BranchLine:
    """The branch of the rows that follow, with its notes."""

    name: str
    parent: str | None = None
    description: str | None = None
    purpose: str | None = None
    owner: str | None = None
    ttl_days: int | None = None
    tags: tuple[str, ...] = ()
    archived: bool = False
    closed: bool = False


@dataclass(frozen=True, slots=True)
class RowLine:
    """One row of one table."""

    kind: Kind
    row: Row


@cache
def version_columns(kind: Kind) -> tuple[str, ...]:
    """Return the columns whose values decide which file version can hold a row."""
    return tuple(
        name for name, column in kind.column.items() if column.since > 1 or column.type == "time"
    )


def version_of(kind: Kind, row: Mapping[str, Cell]) -> int:
    """Return the lowest file version that can hold a row; the `version_columns` are enough."""
    version = 1
    for name in version_columns(kind):
        value = row[name]
        if value is not None:
            column = kind.column[name]
            is_far = column.type == "time" and not -_FAR < int(value) < _FAR
            version = max(version, column.since, _WIDE if is_far else 1)
    return version


def check_version(version: object, what: str) -> None:
    """Check that this day1 can read the version of a file; `what` names the file.

    Raises:
        ImportBroken: the version is newer than this day1 reads, or no version.
    """
    if type(version) is not int or not 1 <= version <= NEWEST_VERSION:
        raise ImportBroken(
            f"Line 1 of the {what} says version {version}, and this day1 reads versions 1 to "
            f"{NEWEST_VERSION}. Nothing was imported: install a newer day1, then import it.",
            line=1,
        )


def header_line(version: int, *, with_secrets: bool = False) -> bytes:
    """Return the first line: the version of the file, and whether secret rows follow."""
    secrets_field = {"secrets": True} if with_secrets else {}
    return json_line({"format": _FORMAT, "version": version, **secrets_field})


def branch_line(branch: BranchLine) -> bytes:
    """Return the line before a branch's rows."""
    return json_line({"branch": asdict(branch)})


def row_line(kind: Kind, row: Mapping[str, Cell]) -> bytes:
    """Write one row with every column; columns of later versions only where they have a value."""
    return json_line({"kind": kind.table, **written(kind, row, row)})


def end_line(rows: int) -> bytes:
    """Return the last line: how many rows came before it."""
    return json_line({"end": {"rows": rows}})


def json_line(value: Mapping[str, object]) -> bytes:
    """Return one object as a line of canonical JSON."""
    return canonical(value).encode() + b"\n"


def parsed(lines: Iterable[bytes]) -> Iterator[BranchLine | RowLine]:
    """Read an export, line by line.

    Raises:
        ImportBroken: a line is cut off or invalid, or the last one is missing;
            `details["line"]` names it. What came before was given.
    """
    line_number, row_count, has_ended = 0, 0, False
    for line_number, line in enumerate(lines, start=1):
        try:
            parsed_line = _read(line) if line_number > 1 else _header(line)
            has_ended = _is_end(parsed_line, row_count, ended=has_ended)
        except (ValueError, InvalidRequest) as exc:
            raise _broken(line_number, str(exc)) from exc
        if isinstance(parsed_line, BranchLine | RowLine):
            row_count += isinstance(parsed_line, RowLine)
            yield parsed_line
    if not has_ended:
        raise _broken(line_number + 1, "the file ends before its last line")


def _is_end(entry: object, rows: int, *, ended: bool) -> bool:
    if ended:
        raise ValueError("the file goes on after its end")
    if isinstance(entry, int) and entry != rows:
        raise ValueError(f"it says that the file has {entry} rows, but {rows} came before it")
    return isinstance(entry, int)


def _broken(number: int, why: str) -> ImportBroken:
    return ImportBroken(
        f"Line {number} of the import file cannot be used: {why}. The rows before it are imported: "
        "repair the file, or get a complete one, and import it again.",
        line=number,
    )


def json_object(line: bytes) -> dict[str, Json]:
    """Parse a line that must be a JSON object.

    Raises:
        ValueError: the line is no JSON object, or holds invalid text or numbers.
    """
    try:
        value = json.loads(line.decode())
    except (ValueError, RecursionError):
        raise ValueError("it is cut off, or not JSON") from None
    if not isinstance(value, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 - the one error of a line
    return value


def _header(line: bytes) -> Mapping[str, Json]:
    header = json_object(line)
    if header.get("format") != _FORMAT:
        raise ValueError("it does not begin as a day1 export does")
    check_version(header.get("version"), "import file")
    return header


def _read(line: bytes) -> BranchLine | RowLine | int:
    """Parse a line after the first: a branch, a row, or the number of rows at the end."""
    line_object = json_object(line)
    match line_object:
        case {"kind": str()}:
            return _row_line(line_object)
        case {"branch": dict(branch_note)}:
            return _branch(branch_note)
        case {"end": {"rows": int(row_count)}}:
            return row_count
    raise ValueError("it is neither a row, nor a branch, nor the end line")


def parsed_row(line: bytes) -> RowLine:
    """Parse the line of a row.

    Raises:
        ValueError: it is not a row, or a value is not of its column's type.
    """
    return _row_line(json_object(line))


def _row_line(value: Mapping[str, Json]) -> RowLine:
    kind = BY_TABLE.get(str(value.get("kind")))
    if kind is None:
        raise ValueError("its `kind` is not a table of day1")
    return RowLine(
        kind,
        _row(
            kind,
            {column_name: cell for column_name, cell in value.items() if column_name != "kind"},
        ),
    )


def _branch(note: Mapping[str, Json]) -> BranchLine:
    """Check the notes of a branch.

    Raises:
        ValueError, InvalidRequest: a note has the wrong type or is out of its range, or the name
            breaks the rule.
    """
    match note:
        case {
            "name": str(name),
            "parent": None | str() as parent,
            "description": None | str() as description,
            "purpose": None | str() as purpose,
            "owner": None | str() as owner,
            "ttl_days": None | int() as ttl_days,
            "tags": list(tags),
            "archived": bool(archived),
            "closed": bool(closed),
        } if len(note) == len(BranchLine.__slots__) and all(isinstance(tag, str) for tag in tags):
            texts = (parent, description, purpose, owner, *map(str, tags))
            is_days = ttl_days is None or (type(ttl_days) is int and 1 <= ttl_days <= MAX_TTL_DAYS)
            if is_days and all(text is None or is_text(text) for text in texts):
                return BranchLine(
                    check_name(name),
                    parent,
                    description,
                    purpose,
                    owner,
                    ttl_days,
                    tuple(map(str, tags)),
                    archived,
                    closed,
                )
    raise ValueError("it does not describe a branch")


def _row(kind: Kind, columns: Mapping[str, Json]) -> Row:
    """Check a row against its kind: its columns, each with a value of its type."""
    if not set(kind.columns) - kind.younger <= columns.keys() <= set(kind.columns):
        raise ValueError(f"its columns are not those of a {kind.name}")
    row: Row = {}
    for name, column in kind.column.items():
        value = columns.get(name)
        if not _fits(kind, column, value):
            year_note = "; a time is in the years 1 to 9999 of UTC" if column.type == "time" else ""
            raise ValueError(f"the value of column {name} is not of its type{year_note}")
        row[name] = value  # type: ignore[assignment]  # no list or mapping fits a column
    if kind.text is not None and row["content_hash"] != content_hash(str(row[kind.text])):
        raise ValueError("content_hash is not the hash of its text")
    return row


def _fits(kind: Kind, column: Column, value: Json) -> bool:
    if value is None:
        return not column.required and not column.among
    if column.type == "time":
        return type(value) is int and _is_time(column, value)
    if column.type == "real":
        return isinstance(value, float) and math.isfinite(value)
    if not isinstance(value, str) or not is_text(value):
        return False
    if column.name == "id":
        return is_id(kind.prefix, value)
    return not column.among or value in column.among


def _is_time(column: Column, value: int) -> bool:
    if column.name == "created_at":
        return is_learned(value)
    try:
        return in_range(value) == value
    except ValueError:
        return False


def is_id(prefix: str, value: str) -> bool:
    """Whether a text is an id with a prefix."""
    start, _, id_body = value.partition("_")
    return start == prefix and len(value) <= _LONGEST_ID and bool(_ID.fullmatch(id_body))


def is_learned(value: int) -> bool:
    """Whether day1 can have written something at a time; it was not there before 1970."""
    return 0 <= value <= LAST_LEARNED


def is_text(value: str) -> bool:
    """Whether every engine can store a text: no NUL, and no half of a surrogate pair."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in value
