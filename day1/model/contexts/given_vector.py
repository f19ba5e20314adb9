"""Vectors that a caller made with its own model: their check, storage and comparison.

A vector cannot be made again without that model, so it is kept with the text, as truth. Nobody can
tell from a vector which model made it; so those of other lengths are never compared, and one that
equals day1's own vector of the text is not kept at all.
"""

import base64
import json
import math
import sys
from array import array
from collections.abc import Sequence
from typing import Final

MAX_DIMENSION: Final = 4_096
MAX_NUMBERS: Final = 65_536
"""Maximum number of numbers in all vectors of one row."""
SAME: Final = 0.98
"""The lowest cosine of two vectors of one text that count as made by one model."""
_LEAST: Final = 1e-18
"""The least length of a vector; a shorter one has no direction in 32-bit numbers."""


def sound_vector(values: list[float]) -> list[float]:
    """Check that a vector has a direction, also in 32-bit numbers, and return it.

    Raises:
        ValueError: it has none, is too long, or holds what is no number.
    """
    if not 0 < len(values) <= MAX_DIMENSION:
        raise ValueError(f"must have 1 to {MAX_DIMENSION:,} numbers")
    if not all(math.isfinite(value) for value in values):
        raise ValueError("must hold finite numbers only")
    try:
        norm = math.hypot(*array("f", values))
    except OverflowError:
        norm = math.inf
    if not _LEAST < norm < math.inf:
        raise ValueError("must have a length above zero, and fit into 32-bit numbers")
    return values


def as_kept(*vectors: Sequence[float]) -> str:
    """Write vectors of one dimension for the column `vector`: 32-bit floats in base64."""
    joined_values = [value for vector in vectors for value in vector]
    return json.dumps(
        {"dimension": len(vectors[0]), "values": base64.b64encode(_little(joined_values)).decode()},
        separators=(",", ":"),
    )


def sound_vectors(vectors: list[list[float]]) -> list[list[float]]:
    """Check that vectors, each of which is sound, can be kept together, and return them.

    Raises:
        ValueError: they differ in length, or are too many.
    """
    if len({len(vector) for vector in vectors}) > 1:
        raise ValueError("must all have the same number of numbers")
    if sum(map(len, vectors)) > MAX_NUMBERS:
        raise ValueError(f"must have at most {MAX_NUMBERS:,} numbers in all")
    return vectors


def dimension_of(stored: str) -> int:
    """Return the dimension of a kept vector."""
    return int(json.loads(stored)["dimension"])


def from_kept(stored: str) -> list[float]:
    """Return the numbers of a kept vector; those of several vectors one after the other."""
    numbers = array("f", base64.b64decode(json.loads(stored)["values"]))
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tolist()


def _little(values: Sequence[float]) -> bytes:
    floats = array("f", values)
    if sys.byteorder == "big":
        floats.byteswap()
    return floats.tobytes()


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Compute the cosine of two vectors of one dimension."""
    dot_product = math.fsum(a * b for a, b in zip(one, other, strict=True))
    product_of_norms = math.sqrt(math.fsum(a * a for a in one) * math.fsum(b * b for b in other))
    return max(-1.0, min(1.0, dot_product / product_of_norms))
