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
        encoded_fields = []
        for field_number, value_start, value_end, field_start in _fields(data, 0, len(data)):
            encoded_fields.append(
                as_bytes(_GRAPH, _graph(data, value_start, value_end, export.name))
                if field_number == _GRAPH
                else data[field_start:value_end]
            )
        return b"".join(encoded_fields)


def exported_tensors(export: Path) -> dict[str, Tensor]:
    """Find where each tensor of the model lies in an export, by the tensor's name in the model.

    An exporter keeps the names of all tensors but the weights of linear layers. Those are found by
    the bias that is added to their product, and lie as (in, out).

    Raises:
        ValueError, IndexError: the file is no ONNX graph.
        OSError: the file cannot be read.
    """
    tensor_by_exported_name: dict[str, Tensor] = {}
    weight_by_output: dict[str, str] = {}
    input_names_of_sums: list[list[str]] = []
    with export.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        graph_fields = [field for field in _fields(data, 0, len(data)) if field[0] == _GRAPH]
        for field_number, value_start, value_end, _ in (
            inner_field
            for graph_field in graph_fields
            for inner_field in _fields(data, graph_field[1], graph_field[2])
        ):
            if field_number == _INITIALIZER:
                tensor_by_exported_name |= _tensor(data, value_start, value_end)
            elif field_number == _NODE:
                operator, input_names, output_name = _operator(data, value_start, value_end)
                if operator == "MatMul":
                    weight_by_output[output_name] = input_names[1]
                elif operator == "Add":
                    input_names_of_sums.append(input_names)
    tensor_by_model_name = {
        _in_model(name): tensor for name, tensor in tensor_by_exported_name.items()
    }
    for input_names in input_names_of_sums:
        bias_name = next((name for name in input_names if name.endswith(".bias")), None)
        weight_name = next(
            (weight_by_output[name] for name in input_names if name in weight_by_output), None
        )
        if bias_name is not None and weight_name in tensor_by_exported_name:
            tensor_by_model_name[_in_model(bias_name).removesuffix("bias") + "weight"] = (
                tensor_by_exported_name[weight_name]
            )
    return tensor_by_model_name


def _in_model(name: str) -> str:
    """Remove an exporter's prefix from a tensor's name."""
    prefix_ends = (name.find(module_prefix) for module_prefix in ("encoder.layer.", "embeddings."))
    return name[max(0, *prefix_ends) :]


def _tensor(data: mmap.mmap, start: int, end: int) -> dict[str, Tensor]:
    """Return a tensor by its name; an empty mapping if its numbers do not lie in one piece."""
    shape: list[int] = []
    name, offset_and_length = "", None
    for field_number, value_start, value_end, field_start in _fields(data, start, end):
        if field_number == _DIMS and data[field_start] & 7 == _VARINT:
            shape.append(_varint(data, value_start)[0])
        elif field_number == _DIMS:  # packed
            position = value_start
            while position < value_end:
                size, position = _varint(data, position)
                shape.append(size)
        elif field_number == _NAME:
            name = data[value_start:value_end].decode()
        elif field_number == _RAW:
            offset_and_length = value_start, value_end - value_start
    return {} if offset_and_length is None else {name: Tensor(shape, *offset_and_length)}


def _operator(data: mmap.mmap, start: int, end: int) -> tuple[str, list[str], str]:
    """Read an operator's name, its inputs, and its first output."""
    strings_by_field: dict[int, list[str]] = {_INPUT: [], _OUTPUT: [], _OPERATOR: []}
    for field_number, value_start, value_end, _ in _fields(data, start, end):
        if field_number in strings_by_field:
            strings_by_field[field_number].append(data[value_start:value_end].decode())
    return strings_by_field[_OPERATOR][0], strings_by_field[_INPUT], strings_by_field[_OUTPUT][0]


def _graph(data: mmap.mmap, start: int, end: int, name: str) -> bytes:
    encoded_fields = []
    for field_number, value_start, value_end, field_start in _fields(data, start, end):
        if field_number == _INITIALIZER and value_end - value_start > _LARGE:
            encoded_fields.append(
                as_bytes(_INITIALIZER, _weight(data, value_start, value_end, name))
            )
        else:
            encoded_fields.append(data[field_start:value_end])
    return b"".join(encoded_fields)


def _weight(data: mmap.mmap, start: int, end: int, name: str) -> bytes:
    encoded_fields = []
    for field_number, value_start, value_end, field_start in _fields(data, start, end):
        if field_number == _RAW:
            encoded_fields.append(reference(name, value_start, value_end - value_start))
        else:
            encoded_fields.append(data[field_start:value_end])
    return b"".join(encoded_fields)


def _fields(data: mmap.mmap, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Iterate over a message's fields: number, start and end of the value, start of the field."""
    position = start
    while position < end:
        field_start = position
        tag, position = _varint(data, position)
        wire_type = tag & 7
        if wire_type == _LENGTH:
            length, position = _varint(data, position)
            field_end = position + length
        elif wire_type == _VARINT:
            _, field_end = _varint(data, position)
        elif wire_type in _FIXED:
            field_end = position + _FIXED[wire_type]
        else:
            raise ValueError("this is no ONNX graph")
        if field_end > end:
            raise ValueError("this is no ONNX graph: it is cut short")
        yield tag >> 3, position, field_end, field_start
        position = field_end


def _varint(data: mmap.mmap, at: int) -> tuple[int, int]:
    """Read an integer of seven bits to a byte; also return where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:  # noqa: PLR2004 - the last one
            return value, at
