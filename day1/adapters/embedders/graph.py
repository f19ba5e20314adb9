"""The ONNX graph of all-MiniLM-L6-v2, written over a safetensors file.

onnxruntime reads graphs and the packaged weights are no graph. So the graph is written here, in
the standard operators of opset 20, and each of its weights is a reference (offset and length) into
`model.safetensors`: 31 kB in memory instead of a second file of 90 MB, and no `onnx` package.
Only the few protobuf fields in use are written; equal weights give equal bytes.

Fields: onnx.proto3 of the ONNX project. Layers: "BERT", Devlin et al. 2018, with exact GELU.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

_LAYERS, _HEADS, _WIDTH = 6, 12, 384
_HEAD_WIDTH = _WIDTH // _HEADS
_EPSILON = 1e-12
_IR_VERSION, _OPSET = 9, 20
_PREFIX = 8  # bytes before the header, holding its length
_FLOAT, _INT64 = 1, 7  # TensorProto.DataType
_SHAPE = (("batch", "sequence"), ("batch", "sequence", _WIDTH))
_MASKED = -1e9  # so far below any score that softmax makes it exactly 0

Attribute = int | float | list[int]


def graph_over(weights: Path) -> bytes:
    """Write the graph whose weights lie in the safetensors file `weights`.

    Inputs `input_ids` and `attention_mask`, int64 of shape (batch, sequence); output
    `last_hidden_state`, float32 of shape (batch, sequence, 384). onnxruntime must be told the
    folder of the file: session option `session.model_external_initializers_file_folder_path`.

    Raises:
        ValueError: the file is not safetensors, or lacks a tensor of the model.
        OSError: the file cannot be read.
    """
    return Graph(weights.name, packaged_tensors(weights)).model()


@dataclass(frozen=True, slots=True)
class Tensor:
    """Where the numbers of a float32 tensor lie in a file of weights."""

    shape: list[int]
    offset: int  # bytes from the start of the file
    length: int  # bytes


def packaged_tensors(weights: Path) -> dict[str, Tensor]:
    """Find where each float32 tensor lies: an 8-byte length, a JSON header, then the raw numbers.

    Raises:
        ValueError: the file is not safetensors.
        OSError: the file cannot be read.
    """
    with weights.open("rb") as file:
        header_length = int.from_bytes(file.read(_PREFIX), "little")
        data_start = _PREFIX + header_length
        if data_start > weights.stat().st_size:
            raise ValueError(f"{weights.name} is not a safetensors file")
        header = json.loads(file.read(header_length))
    return {
        name: Tensor(entry["shape"], data_start + entry["data_offsets"][0], _length(entry))
        for name, entry in header.items()
        if name != "__metadata__" and entry["dtype"] == "F32"
    }


def _length(entry: dict[str, list[int]]) -> int:
    start, end = entry["data_offsets"]
    return end - start


@dataclass(slots=True)
class Graph:
    """An ONNX graph being built: its encoded nodes and weights, in the order of their adding."""

    file: str
    tensors: dict[str, Tensor]
    nodes: list[bytes] = field(default_factory=list)
    initializers: dict[str, bytes] = field(default_factory=dict)
    opsets: tuple[tuple[str, int], ...] = (("", _OPSET),)

    def model(self) -> bytes:
        """Write the whole model as an ONNX ModelProto.

        Raises:
            ValueError: a tensor of the model is missing.
        """
        hidden = self.embeddings()
        hidden_mask = self.mask()
        for layer in range(_LAYERS):
            hidden = self.layer(f"encoder.layer.{layer}", hidden, hidden_mask)
        self.node("Identity", [hidden], "last_hidden_state")
        return self.encoded()

    def node(self, kind: str, inputs: list[str], output: str = "", **attributes: Attribute) -> str:
        """Add one operator and return the name of its output.

        An operator that is no standard one has its domain before a colon.
        """
        output = output or f"{kind}_{len(self.nodes)}"
        encoded_names = b"".join(_text(1, name) for name in inputs) + _text(2, output)
        encoded_attributes = b"".join(_attribute(name, value) for name, value in attributes.items())
        domain, _, operator = kind.rpartition(":")
        self.nodes.append(
            encoded_names + _text(4, operator) + encoded_attributes + _text(7, domain)
        )
        return output

    def weight(self, name: str) -> str:
        """Add a reference to a tensor of the file, and return the tensor's name."""
        tensor = self.tensor(name)
        encoded_head = (
            b"".join(_int(1, axis_size) for axis_size in tensor.shape)
            + _int(2, _FLOAT)
            + _text(8, name)
        )
        self.initializers[name] = encoded_head + reference(self.file, tensor.offset, tensor.length)
        return name

    def tensor(self, name: str) -> Tensor:
        """Return where a tensor of the file lies.

        Raises:
            ValueError: the file has no such tensor.
        """
        tensor = self.tensors.get(name)
        if tensor is None:
            raise ValueError(f"{self.file} has no float32 tensor {name}")
        return tensor

    def constant(self, name: str, kind: int, shape: Sequence[int], raw: bytes) -> str:
        """Add numbers that lie in the graph itself, and return their name.

        `kind` is a TensorProto.DataType.
        """
        encoded_head = b"".join(_int(1, axis_size) for axis_size in shape) + _int(2, kind)
        self.initializers[name] = encoded_head + _text(8, name) + as_bytes(9, raw)
        return name

    def integers(self, name: str, values: list[int]) -> str:
        """Add a small list of integers that lies in the graph itself, and return its name."""
        packed_integers = struct.pack(f"<{len(values)}q", *values)
        return self.constant(name, _INT64, [len(values)], packed_integers)

    def number(self, name: str, value: float) -> str:
        """Add one float32 that lies in the graph itself, and return its name."""
        return self.constant(name, _FLOAT, [], struct.pack("<f", value))

    def dense(self, name: str, hidden: str) -> str:
        """Add the nodes of a linear layer, and return the name of its output.

        Its weight is stored as (out, in).
        """
        transposed_weight = self.node("Transpose", [self.weight(f"{name}.weight")], perm=[1, 0])
        product = self.node("MatMul", [hidden, transposed_weight])
        return self.node("Add", [product, self.weight(f"{name}.bias")])

    def norm(self, name: str, hidden: str) -> str:
        """Add layer normalisation over the last axis, and return the name of its output."""
        weight_names = [self.weight(f"{name}.weight"), self.weight(f"{name}.bias")]
        return self.node("LayerNormalization", [hidden, *weight_names], axis=-1, epsilon=_EPSILON)

    def embeddings(self) -> str:
        """Add the nodes that sum word, position and type vectors; return the output's name.

        The type is always 0, so it is no input.
        """
        word_vectors = self.node(
            "Gather", [self.weight("embeddings.word_embeddings.weight"), "input_ids"]
        )
        zero, sequence_length = (
            self.integers("zero", [0]),
            self.node("Shape", ["input_ids"], start=1, end=2),
        )
        position_vectors = self.weight("embeddings.position_embeddings.weight")
        position_vectors = self.node("Slice", [position_vectors, zero, sequence_length])
        token_type_weights = self.weight("embeddings.token_type_embeddings.weight")
        type_vectors = self.node("Gather", [token_type_weights, zero])
        position_and_type_vectors = self.node("Add", [position_vectors, type_vectors])
        return self.norm(
            "embeddings.LayerNorm", self.node("Add", [word_vectors, position_and_type_vectors])
        )

    def mask(self) -> str:
        """Add the nodes that turn `attention_mask` into an additive mask; return the output's name.

        Shape (batch, 1, 1, sequence): 0 at a token, a large negative number at padding.
        """
        mask = self.node("Cast", ["attention_mask"], to=_FLOAT)
        mask = self.node("Unsqueeze", [mask, self.integers("axes", [1, 2])])
        padding_mask = self.node("Sub", [self.number("one", 1.0), mask])
        return self.node("Mul", [padding_mask, self.number("masked", _MASKED)])

    def layer(self, name: str, hidden: str, mask: str) -> str:
        """Add the nodes of one encoder layer, and return the name of their output.

        Attention, then two dense layers; each is added to what came in.
        """
        head_shape = self.integers("split", [0, 0, _HEADS, _HEAD_WIDTH])
        heads = [
            self.node(
                "Reshape", [self.dense(f"{name}.attention.self.{projection}", hidden), head_shape]
            )
            for projection in ("query", "key", "value")
        ]
        permutations = ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])
        query, key, value = (
            self.node("Transpose", [head], perm=permutation)
            for head, permutation in zip(heads, permutations, strict=True)
        )
        scores = self.node("MatMul", [query, key])
        scores = self.node("Mul", [scores, self.number("scale", _HEAD_WIDTH**-0.5)])
        attention = self.node("Softmax", [self.node("Add", [scores, mask])], axis=-1)
        attended_vectors = self.node(
            "Transpose", [self.node("MatMul", [attention, value])], perm=[0, 2, 1, 3]
        )
        attended_vectors = self.node(
            "Reshape", [attended_vectors, self.integers("join", [0, 0, _WIDTH])]
        )
        attended_vectors = self.dense(f"{name}.attention.output.dense", attended_vectors)
        hidden = self.norm(
            f"{name}.attention.output.LayerNorm", self.node("Add", [attended_vectors, hidden])
        )
        widened_vectors = self.node("Gelu", [self.dense(f"{name}.intermediate.dense", hidden)])
        narrowed_vectors = self.dense(f"{name}.output.dense", widened_vectors)
        return self.norm(f"{name}.output.LayerNorm", self.node("Add", [narrowed_vectors, hidden]))

    def encoded(self) -> bytes:
        """Return the nodes and weights added so far as an encoded ONNX ModelProto."""
        (ids_shape, hidden_shape) = _SHAPE
        encoded_graph = b"".join(as_bytes(1, node) for node in self.nodes)
        encoded_graph += _text(2, "all-MiniLM-L6-v2")
        encoded_graph += b"".join(as_bytes(5, weight) for weight in self.initializers.values())
        encoded_graph += as_bytes(11, _port("input_ids", _INT64, ids_shape))
        encoded_graph += as_bytes(11, _port("attention_mask", _INT64, ids_shape))
        encoded_graph += as_bytes(12, _port("last_hidden_state", _FLOAT, hidden_shape))
        encoded_model = _int(1, _IR_VERSION) + _text(2, "day1") + as_bytes(7, encoded_graph)
        return encoded_model + b"".join(
            as_bytes(8, _text(1, domain) + _int(2, version)) for domain, version in self.opsets
        )


def reference(file: str, offset: int, length: int) -> bytes:
    """Build the reference of a TensorProto to numbers in a file; units: bytes."""
    location = (("location", file), ("offset", offset), ("length", length))
    entries = b"".join(
        as_bytes(13, _text(1, key) + _text(2, str(location_value)))
        for key, location_value in location
    )
    return entries + _int(14, 1)  # 1: the numbers are elsewhere


def _port(name: str, kind: int, shape: tuple[str | int, ...]) -> bytes:
    """Encode a ValueInfoProto: an input or output with the names or sizes of its axes."""
    encoded_axes = [_int(1, axis) if isinstance(axis, int) else _text(2, axis) for axis in shape]
    dimensions = b"".join(as_bytes(1, axis) for axis in encoded_axes)
    return _text(1, name) + as_bytes(2, as_bytes(1, _int(1, kind) + as_bytes(2, dimensions)))


def _attribute(name: str, value: Attribute) -> bytes:
    """Encode an AttributeProto; field 20 tells which of the value fields counts."""
    match value:
        case float():
            return as_bytes(5, _text(1, name) + b"\x15" + struct.pack("<f", value) + _int(20, 1))
        case int():
            return as_bytes(5, _text(1, name) + _int(3, value) + _int(20, 2))
        case _:
            encoded_values = b"".join(_int(8, item) for item in value)
            return as_bytes(5, _text(1, name) + encoded_values + _int(20, 7))


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1  # negative numbers take their two's complement
    encoded = bytearray()
    while value > 0x7F:  # noqa: PLR2004 - seven bits to a byte
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _int(number: int, value: int) -> bytes:
    """Encode a protobuf field that holds an integer."""
    return _varint(number << 3) + _varint(value)


def as_bytes(number: int, value: bytes) -> bytes:
    """Encode a protobuf field that holds bytes or a message."""
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _text(number: int, value: str) -> bytes:
    return as_bytes(number, value.encode())
