"""What judgements do to the relevance of other questions: their effect is bounded."""

import pytest

from day1.settings import Settings
from tests.relevance.figures import Measuring, half_judged
from tests.sampling import sampled

LOST = 0.001
"""Recall that may be lost: of 417 questions, one may lose one of several right memories."""
pytestmark = pytest.mark.xdist_group("relevance")


@pytest.mark.parametrize("way", sampled(("hybrid", "keyword"), {"keyword"}))
def test_judging_half_of_the_questions_costs_the_other_half_next_to_nothing(
    way: str, written: Measuring, capsys: pytest.CaptureFixture[str]
) -> None:
    if way == "hybrid" and not Settings().embedder.model_dir:
        pytest.skip("no embedding model: set DAY1_EMBEDDER__MODEL_DIR")
    found = half_judged(written, way)
    with capsys.disabled():
        told = [f"{before:.4f} -> {after:.4f}" for before, after in found]
        print(f"\n{way}: recall@10 of the others {told[0]}, of the judged {told[1]}")
    assert found.others[1] >= found.others[0] - LOST
    assert found.judged[1] >= found.judged[0]
