"""The signs of vectors find nearly all that an exact comparison finds."""

import numpy as np
import pytest
from numpy.typing import NDArray

from day1.adapters.index import sign_bits
from day1.adapters.index.sign_bits import SignBits

Matrix = NDArray[np.float32]


def groups_of_vectors(rows: int, dimension: int) -> Matrix:
    """Vectors of length 1 around fifty centres, as texts of fifty subjects have them."""
    numbers = np.random.default_rng(dimension)
    centres = numbers.standard_normal((50, dimension), dtype=np.float32)
    noise = numbers.standard_normal((rows, dimension), dtype=np.float32)
    vectors = centres[numbers.integers(50, size=rows)] + noise
    lengths: Matrix = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / lengths


def exactly_nearest(matrix: Matrix, vector: Matrix, count: int) -> set[int]:
    return set(np.argsort(-(matrix @ vector), kind="stable")[:count].tolist())


@pytest.mark.parametrize("dimension", [384, 100, 1_536, 5_000])
def test_nearly_all_of_the_nearest_rows_are_among_ten_times_as_many(dimension: int) -> None:
    matrix = groups_of_vectors(4_000, dimension)
    signs = SignBits(dimension)
    found = 0
    for asked in range(0, 400, 20):
        rows = signs.nearest(matrix, matrix[asked], 200).tolist()
        assert rows == sorted(set(rows))
        assert len(rows) == 200
        found += len(exactly_nearest(matrix, matrix[asked], 20) & set(rows))
    assert found / (20 * 20) >= 0.99


def test_sizes_count_and_not_only_signs() -> None:
    """A large number of another sign is worse than three small ones."""
    vector = np.array([0.9, 0.1, 0.1, 0.1], np.float32)
    matrix = np.array([[-1, 1, 1, 1], [1, -1, -1, -1]], np.float32)
    assert SignBits(4).nearest(matrix, vector, 1).tolist() == [1]
    assert SignBits(4).nearest(matrix, -vector, 1).tolist() == [0]


def test_rows_that_come_later_are_found_beside_the_earlier_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sign_bits, "BLOCK", 7)
    matrix = groups_of_vectors(100, 64)
    growing, whole = SignBits(64), SignBits(64)
    for row_count in (1, 6, 7, 8, 20, 50, 100):
        rows = growing.nearest(matrix[:row_count], matrix[0], 5)
        assert rows.tolist() == SignBits(64).nearest(matrix[:row_count], matrix[0], 5).tolist()
        assert growing.row_count == (row_count if row_count > 5 else 0)  # else no choice
    whole.nearest(matrix, matrix[0], 5)
    for asked in (3, 33, 99):
        expected = whole.nearest(matrix, matrix[asked], 9).tolist()
        assert growing.nearest(matrix, matrix[asked], 9).tolist() == expected
        assert asked in expected


def test_an_older_matrix_has_its_own_rows_only() -> None:
    matrix = groups_of_vectors(50, 64)
    signs = SignBits(64)
    signs.nearest(matrix, matrix[40], 5)
    assert max(signs.nearest(matrix[:30], matrix[40], 5).tolist()) < 30


@pytest.mark.parametrize("count", [3, 4])
def test_all_rows_are_returned_where_no_more_are_there(count: int) -> None:
    matrix = groups_of_vectors(3, 10)
    assert SignBits(10).nearest(matrix, matrix[0], count).tolist() == [0, 1, 2]


def test_a_vector_of_zeros_is_no_failure() -> None:
    matrix = groups_of_vectors(20, 10)
    assert len(SignBits(10).nearest(matrix, np.zeros(10, np.float32), 5)) == 5
    assert SignBits(10).nearest(np.empty((0, 10), np.float32), matrix[0], 5).tolist() == []
