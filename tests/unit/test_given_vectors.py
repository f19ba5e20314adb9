"""Vectors that callers give: what is refused, and how they are kept and compared."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from day1.model.contexts.given_vector import (
    MAX_DIMENSION,
    MAX_NUMBERS,
    as_kept,
    cosine,
    dimension_of,
    from_kept,
    sound_vector,
    sound_vectors,
)

FLOATS = st.floats(-1e6, 1e6, width=32)


@given(st.lists(FLOATS, min_size=1, max_size=40))
def test_a_vector_is_kept_as_it_was_given(values: list[float]) -> None:
    kept = as_kept(values)
    assert list(from_kept(kept)) == values
    assert dimension_of(kept) == len(values)


@pytest.mark.parametrize(
    "values",
    [
        [],
        [0.0, 0.0],
        [1e-40],
        [math.nan, 1.0],
        [1.0, math.inf],
        [1e39],
        [1.0] * (MAX_DIMENSION + 1),
    ],
)
def test_a_vector_without_direction_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="must"):
        sound_vector(values)


def test_a_sound_vector_need_not_have_length_one() -> None:
    assert sound_vector([3.0, 4.0]) == [3.0, 4.0]
    assert sound_vector([1.0] * MAX_DIMENSION)


def test_the_cosine_of_two_vectors_tells_their_direction_alone() -> None:
    assert cosine([3.0, 4.0], [6.0, 8.0]) == pytest.approx(1)
    assert cosine([1.0, 0.0], [0.0, 2.0]) == 0
    assert cosine([1.0, 0.0], [-5.0, 0.0]) == pytest.approx(-1)
    with pytest.raises(ValueError, match="argument"):
        cosine([1.0], [1.0, 2.0])


def test_several_vectors_are_kept_one_after_the_other() -> None:
    kept = as_kept([1.0, 2.0], [3.0, 4.0])
    assert (dimension_of(kept), list(from_kept(kept))) == (2, [1.0, 2.0, 3.0, 4.0])
    assert as_kept([1.0, 2.0]) != kept


def test_vectors_that_cannot_be_kept_together_are_refused() -> None:
    together = [[1.0] * MAX_DIMENSION] * (MAX_NUMBERS // MAX_DIMENSION)
    assert sound_vectors(together) == together
    with pytest.raises(ValueError, match="at most 65,536"):
        sound_vectors([*together, [1.0] * MAX_DIMENSION])
    with pytest.raises(ValueError, match="same number"):
        sound_vectors([[1.0], [1.0, 2.0]])
