"""What judgements do to the relevance of other questions: their effect is bounded."""

from pathlib import Path

import pytest

from day1.model.search.worth import Vote, asked_words
from day1.settings import Settings
from tests.relevance.figures import Measuring, measuring
from tests.relevance.written import questions

pytestmark = pytest.mark.xdist_group("relevance")


@pytest.mark.parametrize("way", ["hybrid", "keyword"])
def test_judging_half_of_the_questions_costs_the_other_half_nothing(
    way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if way == "hybrid" and not Settings().embedder.model_dir:
        pytest.skip("no embedding model: set DAY1_EMBEDDER__MODEL_DIR")
    asked = questions()
    judged, others = asked[::2], asked[1::2]
    with measuring(tmp_path / "store", half_waits=False) as store:
        before = store.recall(way, others), store.recall(way, judged)
        votes: dict[str, dict[str, Vote]] = {}
        for number, question in enumerate(judged):
            words = asked_words(question.question)
            for row_id, useful in store.found(way, question):
                score = 0.9 if useful else 0.2
                votes.setdefault(row_id, {})[str(number)] = Vote(score, words)
        rated = Measuring(store.opened)
        rated.weigh(votes)
        after = rated.recall(way, others), rated.recall(way, judged)
    with capsys.disabled():
        print(f"\n{way}: recall@10 of the others {before[0]:.4f} -> {after[0]:.4f}, ", end="")
        print(f"of the judged {before[1]:.4f} -> {after[1]:.4f}")
    assert after[0] >= before[0]
    assert after[1] >= before[1]
