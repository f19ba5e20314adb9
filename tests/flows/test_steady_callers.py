"""Callers without a pause: `scripts/endurance` lets them call for an hour, this test for a minute."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.engine import needs_files
from tests.flows.steady_callers import call_without_a_pause

MINUTES = 1.0


@pytest.mark.weekly
@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="/proc has no sizes")
@pytest.mark.skipif(
    "DAY1_EMBEDDER__MODEL_DIR" not in os.environ,
    reason="no embedding model: set DAY1_EMBEDDER__MODEL_DIR",
)
def test_no_call_of_six_without_a_pause_fails(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    needs_files()
    record_property("summary", call_without_a_pause(tmp_path / "steady", MINUTES))
