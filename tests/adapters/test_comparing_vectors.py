"""Comparing a vector with many others, on one thread or two."""

import numpy as np
import pytest

from day1.adapters.index import space_snapshot
from day1.adapters.index.space_snapshot import _dots_of_all


@pytest.mark.parametrize("rows", [0, 1, 4_096, 4_097, 30_000, 30_001, 70_000])
def test_the_parts_of_a_matrix_give_what_the_whole_gives(rows: int) -> None:
    numbers = np.random.default_rng(rows)
    matrix = numbers.standard_normal((rows, 8), dtype=np.float32)
    vector = numbers.standard_normal(8, dtype=np.float32)
    assert _dots_of_all(matrix, vector).tobytes() == np.vecdot(matrix, vector).tobytes()


def test_a_failure_of_the_other_thread_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing:
        """An executor whose thread does no part."""

        def __init__(self, _: int) -> None:
            from concurrent.futures import Future

            self.failed: Future[None] = Future()
            self.failed.set_exception(MemoryError())

        def __enter__(self) -> "Failing":
            return self

        def __exit__(self, *_: object) -> None:
            return None

        def submit(self, _: object) -> object:
            return self.failed

    monkeypatch.setattr(space_snapshot, "ThreadPoolExecutor", Failing)
    matrix = np.ones((40_000, 2), np.float32)
    with pytest.raises(MemoryError):
        _dots_of_all(matrix, matrix[0])
