"""docs/gwt.md adds up: the score by hand, the weights, and the figures of the team test."""

import math
import re
from pathlib import Path

from day1.model.workspace.scoring import ALONE, IGNITION, PARTS, PULL
from tests.relevance.team_tasks import BUDGETS, best_call, committed

PAGE = (Path(__file__).parents[2] / "docs" / "gwt.md").read_text(encoding="utf-8")


def test_the_scores_on_the_page_add_up_by_the_weights_in_force() -> None:
    rows = re.findall(r"^\| (\w+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", PAGE, re.M)
    assert {name: float(weight) for name, weight, *_ in rows} == dict(ALONE)
    assert [name for name, *_ in rows] == list(PARTS)
    (stated,) = re.findall(
        r"^\| \*\*score\*\* \| \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", PAGE, re.M
    )
    for note, score in enumerate(stated):
        total = math.fsum(float(row[1]) * float(row[2 + note]) for row in rows)
        assert round(total, 3) == float(score)
    relevance = [float(value) for value in rows[0][2:]]
    links = [float(value) for value in rows[2][2:]]
    assert links[1] == round(PULL * relevance[0], 1)
    assert [max(both) >= IGNITION for both in zip(relevance, links, strict=True)] == [
        *(True, True),
        False,
    ]


def test_the_page_tells_the_committed_figures_of_the_team_test() -> None:
    figures = committed("team")
    stated = re.findall(r"^\| ([\w,]+ \w+) \| ([\d.]+) \| ([\d.]+) \|$", PAGE, re.M)
    assert [name for name, *_ in stated] == list(BUDGETS)
    for name, best, told in stated:
        assert float(best) == round(best_call(figures, name), 1)
        assert float(told) == round(figures[f"workspace, {name}"]["must_know"], 1)
