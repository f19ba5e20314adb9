"""The written memories and questions through the real search: it fails when ranking gets worse.

The committed figures are those of the real model. All questions together may lose a point; those
of one type or branch, of which there are a few dozen, may lose four.
"""

import pytest

from day1.settings import Settings
from tests.relevance.figures import Figures, Table, committed, measured
from tests.relevance.written import BRANCHES, memories, questions

pytestmark = pytest.mark.xdist_group("relevance")

WAYS = {
    "hybrid": "by meaning and by words",
    "vector": "by meaning",
    "keyword": "by words",
    "short": "hybrid, with so few candidates that most are on one list only",
    "waiting": "hybrid, while half of the memories have no vector",
}
SLACK, SLACK_OF_FEW = 0.01, 0.04


@pytest.fixture(scope="module")
def table(tmp_path_factory) -> Table:
    return measured(tmp_path_factory.mktemp("relevance"))


def lost(found: dict[str, Figures], wanted: dict[str, Figures]) -> list[str]:
    """The groups whose figures are lower than committed, with both."""
    worse = []
    for group, figures in wanted.items():
        slack = SLACK if group == "all" else SLACK_OF_FEW
        if any(now < then - slack for now, then in zip(found[group], figures, strict=True)):
            worse.append(f"{group}: {found[group]} after {figures}")
    return worse


@pytest.mark.parametrize("way", WAYS)
def test_search_is_no_less_relevant_than_committed(way: str, table: Table, capsys) -> None:
    if way != "keyword" and not Settings().embedder.model_dir:
        pytest.skip("no embedding model: set DAY1_EMBEDDER__MODEL_DIR")
    with capsys.disabled():
        print(f"\nrelevance, {way} ({WAYS[way]}): {table[way]['all']}")
    assert not lost(table[way], committed()[way])


def test_every_question_is_answered_by_memories_of_its_branch() -> None:
    ids = {branch: {line["id"] for line in memories(branch)} for branch in BRANCHES}
    assert sum(map(len, ids.values())) >= 400
    assert len({asked.question for asked in questions()}) == len(questions()) >= 300
    for asked in questions():
        assert asked.relevant, asked
        assert asked.relevant <= ids[asked.branch], asked
