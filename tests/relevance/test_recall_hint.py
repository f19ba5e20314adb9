"""The recall hint on prompts that have nothing to do with memory, and on questions to it.

`unrelated.txt` has 200 prompts: what people say to a coding agent, and questions about the world.
The thresholds of `services.prime.hinting` were taken from these figures.
"""

from contextlib import ExitStack
from pathlib import Path
from statistics import fmean

import pytest

from day1.services.prime.hinting import CHARACTERS, ROWS, hint_of
from day1.services.prime.seen import Seen
from day1.settings import Settings
from tests.relevance.figures import measuring
from tests.relevance.written import HERE, questions
from tests.sampling import sampled

pytestmark = pytest.mark.xdist_group("relevance")

OF_FACTS = ("main", "office", "people", "versions", "user")
"""The branches of facts by which the thresholds were chosen."""
LEAST_SILENT = 0.95
"""Of the prompts, on average of the branches."""
LEAST_OF_HALVES = 0.945
"""Of every other prompt, by which the thresholds were chosen, and of the rest."""
LEAST_SPOKEN = {"hybrid": 0.83, "keyword": 0.72}
"""Of the questions; 0.85 and 0.74 of them were spoken to when the thresholds were chosen."""


def unrelated() -> list[str]:
    return (HERE / "unrelated.txt").read_text("utf-8").splitlines()


def test_there_are_200_unrelated_prompts() -> None:
    assert len(set(unrelated())) == 200


@pytest.mark.parametrize("way", sampled(("hybrid", "keyword"), {"keyword"}))
def test_it_is_silent_where_nothing_is_near_and_speaks_where_something_is(
    way: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if way == "hybrid" and not Settings().embedder.model_dir:
        pytest.skip("no embedding model: set DAY1_EMBEDDER__MODEL_DIR")
    silent: dict[str, float] = {}
    halves: list[tuple[float, float]] = []
    spoken = right = 0
    with ExitStack() as opened:
        if way == "hybrid":
            store = request.getfixturevalue("written")
        else:
            monkeypatch.delenv("DAY1_EMBEDDER__MODEL_DIR", raising=False)
            store = opened.enter_context(measuring(tmp_path / "store"))

        def hinted(branch: str, prompt: str) -> set[str]:
            ports, found = store._ports[branch], store._branches[branch]
            hint = hint_of(ports, found, None, prompt, Seen())
            assert len(hint.ids) <= ROWS
            assert len(hint.text) <= CHARACTERS
            assert bool(hint.text) == bool(hint.ids)
            return {row_id.partition("_")[2] for row_id in hint.ids}

        for branch in OF_FACTS:
            silences = [not hinted(branch, prompt) for prompt in unrelated()]
            silent[branch] = fmean(silences)
            halves.append((fmean(silences[::2]), fmean(silences[1::2])))
        related = [asked for asked in questions() if asked.branch in OF_FACTS]
        for asked in related:
            ids = hinted(asked.branch, asked.question)
            spoken += bool(ids)
            right += bool(ids & asked.relevant)
    with capsys.disabled():
        shares = ", ".join(f"{branch} {share:.3f}" for branch, share in silent.items())
        print(f"\nrecall hint, {way}: silent on unrelated prompts: {shares};", end=" ")
        print(f"spoke to {spoken / len(related):.3f} of {len(related)} questions,", end=" ")
        print(f"with an answer to {right / len(related):.3f}")
    assert fmean(silent.values()) >= LEAST_SILENT
    assert all(fmean(half) >= LEAST_OF_HALVES for half in zip(*halves, strict=True))
    assert spoken / len(related) >= LEAST_SPOKEN[way]
