"""The written memories and questions through the real search: it fails when ranking gets worse.

The committed figures are those of the real model, and the same on every machine but for rounding.
So little is lost before a test fails: of all questions a third of a point, of those of one type or
to one branch, of which there are a few dozen, a point. Who changes the ranking on purpose commits
new figures, with the reason.
"""

from collections.abc import Iterator

import pytest

from day1.settings import Settings
from tests.relevance.figures import HALVES, WAYS, Groups, Measuring, committed, measuring
from tests.relevance.written import BRANCHES, memories, questions
from tests.sampling import sampled

pytestmark = pytest.mark.xdist_group("relevance")

SLACK, SLACK_OF_FEW = 0.0035, 0.012
"""How much lower figures of all questions, and of a group, may be: processors round the last bits of
vectors differently, which moves one of the ninety questions of a group by a place."""


@pytest.fixture(scope="module")
def waiting(tmp_path_factory) -> Iterator[Measuring]:
    with measuring(tmp_path_factory.mktemp("half"), halves=HALVES["waiting"]) as made:
        yield made


@pytest.fixture(scope="module")
def fresh(tmp_path_factory) -> Iterator[Measuring]:
    with measuring(tmp_path_factory.mktemp("none"), halves=HALVES["fresh"]) as made:
        yield made


def lost(found: Groups, wanted: Groups) -> list[str]:
    """The groups whose figures are lower than committed, with both."""
    worse = []
    for group, figures in wanted.items():
        slack = SLACK if group == "all" else SLACK_OF_FEW
        if any(now < then - slack for now, then in zip(found[group], figures, strict=True)):
            worse.append(f"{group}: {found[group]} after {figures}")
    return worse


@pytest.mark.parametrize("way", sampled(WAYS, {"hybrid", "keyword"}))
def test_search_is_no_less_relevant_than_committed(way: str, request, capsys) -> None:
    if way != "keyword" and not Settings().embedder.model_dir:
        pytest.skip("no embedding model: set DAY1_EMBEDDER__MODEL_DIR")
    store = request.getfixturevalue(way if way in HALVES else "written")
    found = store.groups(way)
    with capsys.disabled():
        print(f"\nrelevance, {way} ({WAYS[way]}): {found['all']}")
    assert not lost(found, committed()[way])


def test_right_after_writing_vectors_and_words_find_no_less_than_words_alone() -> None:
    fresh, words = committed()["fresh"], committed()["keyword"]
    for branch in BRANCHES:
        assert fresh[branch].recall_at_10 >= words[branch].recall_at_10, branch
        assert fresh[branch].mrr >= words[branch].mrr - SLACK, branch


def test_every_question_is_answered_by_memories_of_its_branch() -> None:
    ids = {branch: {line["id"] for line in memories(branch)} for branch in BRANCHES}
    assert sum(map(len, ids.values())) >= 400
    assert len({(asked.branch, asked.question) for asked in questions()}) == len(questions()) >= 300
    for asked in questions():
        assert asked.relevant, asked
        assert asked.relevant <= ids[asked.branch], asked
