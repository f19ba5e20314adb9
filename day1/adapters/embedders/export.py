"""The graph of a published export without its weights, and where the weights lie in its file.

onnxruntime copies weights that lie inside a graph. Weights in a file beside it are mapped, so
processes share them: 47 MB for each process on a machine but the first. Here the graph is read
from `model.onnx`, and each large weight is replaced by a reference (offset and length) into it.

Fields: onnx.proto3 of the ONNX project.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path

from day1.adapters.embedders.graph import Tensor, as_bytes, reference

_GRAPH, _INITIALIZER, _RAW = 7, 5, 9
"""Fields of ModelProto, GraphProto and TensorProto."""
_NODE, _INPUT, _OUTPUT, _OPERATOR = 1, 1, 2, 4
"""Fields of GraphProto and NodeProto."""
_DIMS, _NAME = 1, 8
"""Field numbers in TensorProto: the tensor's shape and its name."""
_VARINT, _LENGTH = 0, 2
_FIXED = {1: 8, 5: 4}
_LARGE = 1 << 16
"""Smallest size in bytes of weights that are left out of the graph."""


def graph_of(export: Path) -> bytes:
    """Return the graph of an export, its large weights replaced by references into the file.

    onnxruntime must be told the folder of the file: session option
    `session.model_external_initializers_file_folder_path`.

    Raises:
        ValueError, IndexError: the file is no ONNX graph.
        OSError: the file cannot be read.
    """
    with export.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        parts = []
        for number, start, end, field_start in _fields(data, 0, len(data)):
            parts.append(
                as_bytes(_GRAPH, _graph(data, start, end, export.name))
                if number == _GRAPH
                else data[field_start:end]
            )
        return b"".join(parts)


def exported_tensors(export: Path) -> dict[str, Tensor]:
    """Find where each tensor of the model lies in an export, by the tensor's name in the model.

    An exporter keeps the names of all tensors but the weights of linear layers. Those are found by
    the bias that is added to their product, and lie as (in, out).

    Raises:
        ValueError, IndexError: the file is no ONNX graph.
        OSError: the file cannot be read.
    """
    tensors: dict[str, Tensor] = {}
    weights: dict[str, str] = {}
    inputs_of_sums: list[list[str]] = []
    with export.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        graphs = [field for field in _fields(data, 0, len(data)) if field[0] == _GRAPH]
        for number, start, end, _ in (f for g in graphs for f in _fields(data, g[1], g[2])):
            if number == _INITIALIZER:
                tensors |= _tensor(data, start, end)
            elif number == _NODE:
                operator, inputs, output = _operator(data, start, end)
                if operator == "MatMul":
                    weights[output] = inputs[1]
                elif operator == "Add":
                    inputs_of_sums.append(inputs)
    tensor_by_name = {_in_model(name): tensor for name, tensor in tensors.items()}
    for inputs in inputs_of_sums:
        bias_name = next((name for name in inputs if name.endswith(".bias")), None)
        weight = next((weights[name] for name in inputs if name in weights), None)
        if bias_name is not None and weight in tensors:
            tensor_by_name[_in_model(bias_name).removesuffix("bias") + "weight"] = tensors[weight]
    return tensor_by_name


def _in_model(name: str) -> str:
    """Remove an exporter's prefix from a tensor's name."""
    prefix_ends = (name.find(part) for part in ("encoder.layer.", "embeddings."))
    return name[max(0, *prefix_ends) :]


def _tensor(data: mmap.mmap, start: int, end: int) -> dict[str, Tensor]:
    """Return a tensor by its name; an empty mapping if its numbers do not lie in one piece."""
    sizes: list[int] = []
    name, offset_and_length = "", None
    for number, inside, after, field_start in _fields(data, start, end):
        if number == _DIMS and data[field_start] & 7 == _VARINT:
            sizes.append(_varint(data, inside)[0])
        elif number == _DIMS:  # packed
            at = inside
            while at < after:
                size, at = _varint(data, at)
                sizes.append(size)
        elif number == _NAME:
            name = data[inside:after].decode()
        elif number == _RAW:
            offset_and_length = inside, after - inside
    return {} if offset_and_length is None else {name: Tensor(sizes, *offset_and_length)}


def _operator(data: mmap.mmap, start: int, end: int) -> tuple[str, list[str], str]:
    """Read an operator's name, its inputs, and its first output."""
    strings: dict[int, list[str]] = {_INPUT: [], _OUTPUT: [], _OPERATOR: []}
    for number, inside, after, _ in _fields(data, start, end):
        if number in strings:
            strings[number].append(data[inside:after].decode())
    return strings[_OPERATOR][0], strings[_INPUT], strings[_OUTPUT][0]


def _graph(data: mmap.mmap, start: int, end: int, name: str) -> bytes:
    parts = []
    for number, inside, after, field_start in _fields(data, start, end):
        if number == _INITIALIZER and after - inside > _LARGE:
            parts.append(as_bytes(_INITIALIZER, _weight(data, inside, after, name)))
        else:
            parts.append(data[field_start:after])
    return b"".join(parts)


def _weight(data: mmap.mmap, start: int, end: int, name: str) -> bytes:
    parts = []
    for number, inside, after, field_start in _fields(data, start, end):
        if number == _RAW:
            parts.append(reference(name, inside, after - inside))
        else:
            parts.append(data[field_start:after])
    return b"".join(parts)


def _fields(data: mmap.mmap, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Iterate over a message's fields: number, start and end of the value, start of the field."""
    at = start
    while at < end:
        field_start = at
        key, at = _varint(data, at)
        kind = key & 7
        if kind == _LENGTH:
            length, at = _varint(data, at)
            field_end = at + length
        elif kind == _VARINT:
            _, field_end = _varint(data, at)
        elif kind in _FIXED:
            field_end = at + _FIXED[kind]
        else:
            raise ValueError("this is no ONNX graph")
        if field_end > end:
            raise ValueError("this is no ONNX graph: it is cut short")
        yield key >> 3, at, field_end, field_start
        at = field_end


def _varint(data: mmap.mmap, at: int) -> tuple[int, int]:
    """Read an integer of seven bits to a byte; also return where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:  # noqa: PLR2004 - the last one
            return value, at
