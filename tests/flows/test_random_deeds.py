"""Random pairs of deeds on a few branches by threads of two nodes: nobody waits for long.

`scripts/endurance` does a hundred thousand pairs.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.flows.random_deeds import Plan, do_pairs
from tests.sampling import sampled

PAIRS = sampled((64, 1_600), {64})


@pytest.mark.parametrize("pairs", PAIRS)
def test_pairs_of_deeds_on_a_folder(
    tmp_path: Path, pairs: int, record_property: Callable[[str, object], None]
) -> None:
    record_property("summary", do_pairs(tmp_path / "store", "", Plan(pairs)))


@pytest.mark.parametrize("pairs", PAIRS)
def test_pairs_of_deeds_on_a_server(
    tmp_path: Path, dolt_database: str, pairs: int, record_property: Callable[[str, object], None]
) -> None:
    record_property("summary", do_pairs(tmp_path / "nodes", dolt_database, Plan(pairs)))
