"""The graph of a published export without its weights, which stay in the file.

onnxruntime copies weights that lie inside a graph. Weights in a file beside it are mapped, so
processes share them: 47 MB for each process on a machine but the first. Here the graph is read
from `model.onnx`, and each large weight is replaced by a reference (offset and length) into it.

Fields: onnx.proto3 of the ONNX project.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path

from day1.adapters.embedders.graph import as_bytes, reference

_GRAPH, _INITIALIZER, _RAW = 7, 5, 9
"""Fields of ModelProto, GraphProto and TensorProto."""
_VARINT, _LENGTH = 0, 2
_FIXED = {1: 8, 5: 4}
_LARGE = 1 << 16
"""Bytes; smaller weights stay in the graph."""


def graph_of(export: Path) -> bytes:
    """The graph of an export, its large weights replaced by references into the file.

    onnxruntime must be told the folder of the file: session option
    `session.model_external_initializers_file_folder_path`.

    Raises:
        ValueError, IndexError: the file is no ONNX graph.
        OSError: the file cannot be read.
    """
    with export.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        parts = []
        for number, start, end, whole in _fields(data, 0, len(data)):
            parts.append(
                as_bytes(_GRAPH, _graph(data, start, end, export.name))
                if number == _GRAPH
                else data[whole:end]
            )
        return b"".join(parts)


def _graph(data: mmap.mmap, start: int, end: int, name: str) -> bytes:
    parts = []
    for number, inside, after, whole in _fields(data, start, end):
        if number == _INITIALIZER and after - inside > _LARGE:
            parts.append(as_bytes(_INITIALIZER, _weight(data, inside, after, name)))
        else:
            parts.append(data[whole:after])
    return b"".join(parts)


def _weight(data: mmap.mmap, start: int, end: int, name: str) -> bytes:
    parts = []
    for number, inside, after, whole in _fields(data, start, end):
        if number == _RAW:
            parts.append(reference(name, inside, after - inside))
        else:
            parts.append(data[whole:after])
    return b"".join(parts)


def _fields(data: mmap.mmap, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Each field of a message: its number, where its value begins and ends, where it begins."""
    at = start
    while at < end:
        whole = at
        key, at = _varint(data, at)
        kind = key & 7
        if kind == _LENGTH:
            length, at = _varint(data, at)
            after = at + length
        elif kind == _VARINT:
            _, after = _varint(data, at)
        elif kind in _FIXED:
            after = at + _FIXED[kind]
        else:
            raise ValueError("this is no ONNX graph")
        if after > end:
            raise ValueError("this is no ONNX graph: it is cut short")
        yield key >> 3, at, after, whole
        at = after


def _varint(data: mmap.mmap, at: int) -> tuple[int, int]:
    """An integer of seven bits to a byte, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:  # noqa: PLR2004 - the last one
            return value, at
