"""A prepared statement: Python values in, rows of Python values out.

The driver spends its time in these loops, so they are written for speed: each C function is called
as seldom as correctness allows. `driver.py` uses this module and maps its errors to PEP 249's.
"""

import ctypes
import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from day1.adapters.versioned.doltlite.dbapi.library import (
    FLOAT,
    INTEGER,
    NULL,
    OK,
    ROW,
    TEXT,
    Library,
)

RowTuple = tuple[Any, ...]
Description = tuple[tuple[Any, ...], ...]

LONGEST = 1_000_000_000
"""Maximum number of bytes of a text or blob, the engine's own limit."""

_LOW, _HIGH = -(2**31), 2**31 - 1
_LOWEST, _HIGHEST = -(2**63), 2**63 - 1
_PERSISTENT, _REPREPARED = 0x01, 5
_BLANK = re.compile(rb"(?:[\s;]++|--[^\n]*+|/\*.*?(?:\*/|\Z))*+", re.DOTALL)
_FIRST_WORD = re.compile(r"(?:\s++|--[^\n]*+\n|/\*.*?\*/)*+(\w+)", re.DOTALL)
_CHANGING = {"INSERT", "UPDATE", "DELETE", "REPLACE"}


class Result(NamedTuple):
    """The result of a statement, with the fields of a PEP 249 cursor."""

    rows: Sequence[RowTuple] = ()
    description: Description | None = None
    rowcount: int = -1
    lastrowid: int | None = None


class Statement:
    """A prepared statement; while it runs, only one call may use it."""

    __slots__ = (
        "_description",
        "_lib",
        "_prepared",
        "changes_rows",
        "columns",
        "handle",
        "parameters",
    )

    def __init__(self, lib: Library, handle: Any, sql: str) -> None:
        self._lib = lib
        self.handle: Final = handle
        self.parameters: Final[int] = lib.bind_parameter_count(handle)
        self.columns: Final[int] = lib.column_count(handle)
        """The number of columns when first prepared; a new schema may change it, except from 0."""
        word_match = _FIRST_WORD.match(sql)
        first_word = word_match[1].upper() if word_match else ""
        self.changes_rows: Final[bool] = first_word in _CHANGING or (
            first_word == "WITH" and not lib.stmt_readonly(handle)
        )
        self._prepared = -1
        self._description: Description | None = None

    def description(self) -> Description | None:
        """Return the column names in the form of PEP 249; None without columns.

        Remembered until the engine prepares the statement anew after a change of schema: call this
        after the first step.
        """
        lib, handle = self._lib, self.handle
        reprepare_count = lib.stmt_status(handle, _REPREPARED, 0)
        if reprepare_count != self._prepared:
            column_names = [
                lib.column_name(handle, index).decode() for index in range(lib.column_count(handle))
            ]
            self._description = tuple((name, *(None,) * 6) for name in column_names) or None
            self._prepared = reprepare_count
        return self._description

    def bind(self, values: Sequence[Any], first: int = 1) -> list[bytes]:
        """Bind values to the parameters from `first` on; parameters are NULL until bound.

        Returns the buffers that the engine now points into: they must live until the statement
        has run. Results of the C calls are ignored, since all bad values are refused before.

        Raises:
            TypeError: a value of a type that the engine does not have.
            OverflowError: an integer beyond 64 bits, or a text or blob too long.
            UnicodeEncodeError: text with a lone surrogate, which UTF-8 cannot encode.
        """
        lib, handle = self._lib, self.handle
        buffers = []
        for index, value in enumerate(values, first):
            if value is None:
                continue
            value_type = type(value)
            if value_type is str:
                encoded_text = value.encode()
                buffers.append(encoded_text)
                lib.bind_text(handle, index, encoded_text, _length(encoded_text), None)
            elif value_type is int:
                if _LOW <= value <= _HIGH:
                    lib.bind_int(handle, index, value)
                elif _LOWEST <= value <= _HIGHEST:
                    lib.bind_int64(handle, index, ctypes.c_int64(value))
                else:
                    raise OverflowError(f"parameter {index}: an integer of more than 64 bits")
            elif value_type is float:
                lib.bind_double(handle, index, ctypes.c_double(value))
            elif value_type is bytes:
                buffers.append(value)
                lib.bind_blob(handle, index, value, _length(value), None)
            else:
                buffers += self.bind((_plain(value, index),), index)
        return buffers

    def fetch(self, width: int) -> tuple[int, list[RowTuple]]:
        """Read the statement's current row and all later rows.

        Returns the last result code, and the rows of `width` values each.

        Raises:
            UnicodeDecodeError: a text in the database is not UTF-8.
        """
        lib, handle = self._lib, self.handle
        kind_of, int_of = lib.column_type, lib.column_int64
        text_of, size_of = lib.column_text, lib.column_bytes
        column_indexes, step, code = range(width), lib.next_step, ROW
        rows: list[RowTuple] = []
        while code == ROW:
            row: list[Any] = []
            for column in column_indexes:
                value_type = kind_of(handle, column)
                if value_type == TEXT:
                    text_bytes = text_of(handle, column)  # up to the first NUL
                    if size_of(handle, column) != len(text_bytes):
                        text_bytes = self._bytes(column)
                    row.append(text_bytes.decode())
                elif value_type == INTEGER:
                    row.append(int_of(handle, column))
                elif value_type == NULL:
                    row.append(None)
                elif value_type == FLOAT:
                    row.append(lib.column_double(handle, column))
                else:
                    row.append(self._bytes(column))
            rows.append(tuple(row))
            code = step(handle)
        return code, rows

    def _bytes(self, column: int) -> bytes:
        data_address = self._lib.column_blob(self.handle, column)
        size = self._lib.column_bytes(self.handle, column)
        return ctypes.string_at(data_address, size) if data_address else b""


def prepare(lib: Library, connection: Any, sql: str) -> tuple[int, Statement | None]:
    """Compile one statement.

    Returns the result code, and the statement if the code is OK and `sql` is not just a comment.

    Raises:
        ValueError: `sql` holds a NUL, a lone surrogate or a second statement.
    """
    sql_bytes = sql.encode()
    if b"\0" in sql_bytes:
        raise ValueError("SQL holds a NUL character")
    handle, tail = ctypes.c_void_p(), ctypes.c_char_p()
    handle_out, tail_out = ctypes.byref(handle), ctypes.byref(tail)
    result_code = lib.prepare_v3(
        connection, sql_bytes, len(sql_bytes) + 1, _PERSISTENT, handle_out, tail_out
    )
    if result_code == OK and not _BLANK.fullmatch(tail.value or b""):
        lib.finalize(handle)
        raise ValueError("one statement at a time")
    if not handle.value:
        return result_code, None
    return result_code, Statement(lib, ctypes.c_void_p.from_param(handle.value), sql)


def _length(data: bytes) -> int:
    if len(data) > LONGEST:
        raise OverflowError(f"a text or blob of {len(data)} bytes; {LONGEST} are the limit")
    return len(data)


def _plain(value: Any, index: int) -> Any:
    """Convert a value of a subclass (enum, numpy's float) to its base type, a buffer to bytes."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    raise TypeError(f"parameter {index}: type {type(value).__name__} is not supported")
