"""A comparison of two branches has no words that neither of them shows."""

import json
import time
from itertools import product
from pathlib import Path

import pytest

from tests.sampling import sampled
from tests.wires.drawn_copies import BRANCHES, Copies, copies

HIDES = ("expire", "remove", "make_secret")
WAYS = sampled(product(HIDES, HIDES), {("expire", "expire"), ("remove", "make_secret")})


def compared(made: Copies) -> dict[str, str]:
    """What every comparison of the two branches says, by the tool and its source."""
    said = {}
    for source, target in (BRANCHES, BRANCHES[::-1]):
        both = {"source_branch": source, "target_branch": target}
        for tool in ("memory_branch_diff", "memory_merge_preview", "verify_merge_gate"):
            said[f"{tool} {source}"] = json.dumps(made.call(tool, **both), default=str)
        review = made.call("review_open", **both)["id"]
        said[f"review {source}"] = json.dumps(made.call("review_show", review_id=review))
        made.call("memory_branch_merge", **both, strategy="auto")
        said[f"held {target}"] = json.dumps(made.call("memory_held", branch=target), default=str)
    return said


def on_both(made: Copies, write: str) -> str:
    """Write a row to main and merge it to the other branch; returns its mark."""
    getattr(made, write)("main")
    made.call("memory_branch_merge", source_branch="main", target_branch="side", strategy="auto")
    return made.sources[0].mark


@pytest.mark.parametrize("write", ["write_fact", "write_observation"])
@pytest.mark.parametrize("ways", WAYS)
def test_words_that_are_hidden_on_both_branches_are_in_no_comparison(
    tmp_path: Path, write: str, ways: tuple[str, str]
) -> None:
    with copies(tmp_path / "store", 1) as made:
        mark = on_both(made, write)
        for way, branch in zip(ways, BRANCHES, strict=True):
            getattr(made, way)(branch)
        time.sleep(0.03)  # what was to expire has
        assert [what for what, said in compared(made).items() if mark in said] == []


@pytest.mark.parametrize("way", HIDES)
def test_what_one_branch_hides_is_compared_as_the_other_shows_it(tmp_path: Path, way: str) -> None:
    """A secret is one on both branches; who reads a branch sees what is over on another."""
    with copies(tmp_path / "store", 1) as made:
        mark = on_both(made, "write_fact")
        getattr(made, way)("main")
        time.sleep(0.03)
        both = {"source_branch": "main", "target_branch": "side"}
        said = json.dumps(made.call("memory_merge_preview", **both))
        assert (mark in said) == (way != "make_secret")


def test_a_row_that_both_branches_removed_is_no_difference(tmp_path: Path) -> None:
    with copies(tmp_path / "store", 1) as made:
        mark = on_both(made, "hear")
        both = {"source_branch": "main", "target_branch": "side"}
        made.remove("main")
        assert mark in json.dumps(made.call("memory_branch_diff", **both)["removed"])
        made.remove("side")
        assert made.call("memory_branch_diff", **both)["removed"] == []
