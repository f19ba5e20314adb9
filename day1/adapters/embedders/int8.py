"""The graph of all-MiniLM-L6-v2 with its linear layers in integers: less than half of the work.

The weights are those of the float32 file. They are rounded to 7 bits when the graph is written,
which takes some 0.1 s: so no second file can be missing, damaged or of another version. Each output
of a layer has a scale of its own. What goes into a layer is rounded to 8 bits, by a scale that does
not depend on the text. So the vector of a text is the same whatever it is embedded with.

Weights have 7 bits and not 8, since processors without VNNI add two products in 16 bits: 2 x 255 x
63 is below 2^15. The sums are then exact, and the same on every processor.

A few channels have values many times as large as the others. A scale for them would leave the
others some 10 steps, so what goes in is divided by a factor for these channels, and their weights
are multiplied by it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from day1.adapters.embedders.export import exported_tensors
from day1.adapters.embedders.graph import Graph, packaged_tensors

_FLOAT, _UINT8, _INT8 = 1, 2, 3  # TensorProto.DataType
_STEPS = 63  # integers on either side of 0 that a weight is rounded to
_LEVELS = 255
_CONTRIBUTED = "com.microsoft"

# The largest magnitudes of what goes into layers, measured on 557 texts: facts, dialogue, long
# documents, code, and a few in other languages or of signs only. What is larger is cut off there.
_LARGEST = {
    "attention.self": (-6.5, 6.5),
    "attention.output.dense": (-3.5, 3.5),
    "intermediate.dense": (-6.5, 6.5),
    "output.dense": (-0.17, 6.5),  # the smallest value of GELU
}
# The channels that have larger ones.
_OUTLIERS = {
    "0.intermediate.dense": {63: 11.5, 99: 28.5, 267: 7.5, 303: 6.6},
    "0.output.dense": {856: 24.8},
    "1.attention.self": {99: 8.1, 157: 7.4},
    "1.intermediate.dense": {63: 8.7, 99: 30.3, 157: 8.4, 223: 8.0, 267: 7.8},
    "1.output.dense": {251: 7.5, 607: 20.4},
    "2.attention.self": {99: 8.0, 157: 6.6},
    "2.intermediate.dense": {63: 8.0, 99: 27.7, 157: 7.9, 223: 14.5},
    "2.output.dense": {218: 14.6, 805: 6.6, 1004: 17.5, 1309: 6.8},
    "3.attention.self": {99: 9.7, 157: 7.1},
    "3.intermediate.dense": {63: 10.4, 99: 28.9, 157: 7.5, 223: 16.6},
    "3.output.dense": {201: 6.7, 358: 13.7, 750: 7.3},
    "4.attention.self": {99: 10.5, 157: 8.0, 338: 6.8},
    "4.intermediate.dense": {63: 8.8, 99: 21.6, 127: 14.2, 157: 7.0, 223: 15.4},
    "4.output.dense": {192: 7.3, 637: 8.0, 716: 7.2, 1089: 7.3, 1097: 7.4, 1321: 7.4, 1357: 7.3},
    "5.attention.self": {99: 9.9, 157: 7.2, 338: 6.6},
    "5.intermediate.dense": {99: 13.6, 127: 8.1, 223: 13.5, 319: 9.3},
    "5.output.dense": {1302: 8.3},
}


def int8_graph(weights: Path, *, packaged: bool) -> bytes:
    """Write the graph over the packaged weights or an export; equal weights give equal numbers.

    Inputs, output and the session's option are those of `graph.graph_over`.

    Raises:
        ValueError, IndexError: the file lacks a tensor of the model, or is damaged.
        OSError: the file cannot be read.
    """
    tensors = packaged_tensors(weights) if packaged else exported_tensors(weights)
    file_bytes = np.memmap(weights, np.uint8, "r")
    graph = _Int8Graph(weights.name, tensors, numbers=file_bytes, turned=packaged)
    graph.opsets += ((_CONTRIBUTED, 1),)
    return graph.model()


@dataclass(frozen=True, slots=True)
class _Rounded:
    """Quantised values: the names of the integers, of their scale and of their zero point."""

    values: str
    scale: str
    zero: str


@dataclass(slots=True)
class _Int8Graph(Graph):
    numbers: NDArray[np.uint8] = field(kw_only=True)
    """The content of the weights file."""
    turned: bool = field(kw_only=True)
    """Whether the file stores the weights of linear layers as (out, in)."""
    rounded: dict[str, _Rounded] = field(default_factory=dict)
    """The quantised input by layer input: queries, keys and values share one."""

    @override
    def dense(self, name: str, hidden: str) -> str:
        layer_number, _, layer_part = name.removeprefix("encoder.layer.").partition(".")
        if layer_part.startswith("attention.self."):
            layer_part = "attention.self"
        weight = self._weight(name)
        outlier_factors = np.ones(len(weight), np.float32)
        for channel, largest_value in _OUTLIERS.get(f"{layer_number}.{layer_part}", {}).items():
            outlier_factors[channel] = largest_value / _LARGEST[layer_part][1]
        if hidden not in self.rounded:
            self.rounded[hidden] = self._round(hidden, outlier_factors, *_LARGEST[layer_part])
        quantized_input = self.rounded[hidden]
        weight = weight * outlier_factors[:, None]
        scales = np.maximum(weight.max(0), -weight.min(0)) / np.float32(_STEPS)
        scales[scales == 0] = 1
        weight /= scales
        quantized_weight = np.rint(weight, out=weight).astype(np.int8)
        operands = [
            quantized_input.values,
            self.constant(
                f"{name}.steps", _INT8, quantized_weight.shape, quantized_weight.tobytes()
            ),
            quantized_input.scale,
            self._floats(f"{name}.scales", scales),
            quantized_input.zero,
            "",  # weights of 0 are 0
            self.weight(f"{name}.bias"),
        ]
        return self.node(f"{_CONTRIBUTED}:MatMulIntegerToFloat", operands)

    def _round(
        self, hidden: str, outlier_factors: NDArray[np.float32], minimum: float, maximum: float
    ) -> _Rounded:
        """Round the input of a layer to 8 bits."""
        step_size = np.float32((maximum - minimum) / _LEVELS)
        zero_point = np.uint8(np.rint(-minimum / step_size)).tobytes()
        if (outlier_factors != 1).any():
            hidden = self.node(
                "Mul", [hidden, self._floats(f"{hidden}.factors", np.reciprocal(outlier_factors))]
            )
        scale_name = self._floats(f"{hidden}.scale", np.array(step_size, np.float32))
        zero_point_name = self.constant(f"{hidden}.zero", _UINT8, [], zero_point)
        quantized_name = self.node("QuantizeLinear", [hidden, scale_name, zero_point_name])
        return _Rounded(quantized_name, scale_name, zero_point_name)

    def _weight(self, name: str) -> NDArray[np.float32]:
        """Return the weight of a linear layer as (in, out)."""
        tensor = self.tensor(f"{name}.weight")
        weight_bytes = self.numbers[tensor.offset : tensor.offset + tensor.length]
        weight = weight_bytes.view(np.float32).reshape(tensor.shape)
        return weight.T if self.turned else weight

    def _floats(self, name: str, values: NDArray[np.float32]) -> str:
        return self.constant(name, _FLOAT, values.shape, values.astype("<f4").tobytes())
