"""Two branches under review, and what reviewers do with them."""

from dataclasses import replace

from day1.model.branches.branch import MAIN
from day1.model.merge.row_merge import Choice, Take
from day1.model.records.review import Review
from day1.model.rows.origin import Origin
from day1.services.merges.merging import Merged
from day1.services.merges.reviews import (
    Examined,
    NewDecision,
    decide,
    examine,
    find_review,
    merge_review,
    open_review,
)
from tests.unit.services.conftest import Bench
from tests.unit.services.writers import SIDE, correct, write

DAN = ("dan", "token_dan")
BOTH = "fact_both"
"""A fact of which both branches changed the category."""


def set_up(bench: Bench) -> None:
    """Two branches with one conflict, and something new on the source."""
    write(bench, BOTH, MAIN)
    write(bench, "fact_kept", MAIN)
    bench.fork(SIDE)
    for branch in (SIDE, MAIN):
        correct(bench, BOTH, branch, category=branch)
    write(bench, "fact_new")


def opened(
    bench: Bench, source: str = SIDE, target: str = MAIN, said: tuple[str | None, ...] = ()
) -> Review:
    bench.now += 1
    ends = bench.branch(source), bench.branch(target)
    title, description = said or (None, None)
    return open_review(bench.repo, ends, (title, description), ("opal", "token_opal"), bench.now)


def again(bench: Bench, review: Review) -> Review:
    return find_review(bench.repo, review.id)


def seen(bench: Bench, review: Review) -> Examined:
    return examine(bench.repo, again(bench, review))


def give(
    bench: Bench,
    review: Review,
    take: Take | None,
    row: str = BOTH,
    cell: str = "category",
    **more: object,
) -> Examined:
    """Dan decides a cell of a row, or takes his decision back."""
    choice = None if take is None else Choice(row, take, cell)
    given = replace(NewDecision(row, cell, take, choice), **more)  # type: ignore[arg-type]  # by name
    return decide(bench.repo, review, [given], DAN, bench.now)


def merged(bench: Bench, review: Review, expect: str | None = None) -> Merged:
    bench.now += 1
    by = Origin("mia"), "token_mia"
    return merge_review(bench.repo, again(bench, review), ("auto", expect), by, bench.now)
