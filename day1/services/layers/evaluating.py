"""Evaluating the prompts of a store: whether known questions find their memories."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final

from day1.model.branches.branch import Branch
from day1.model.layers.budget import budget_of
from day1.model.layers.eval_run import EvalRun
from day1.model.layers.packing import Packed
from day1.model.rows.change import Pending
from day1.model.values.ids import short_hash
from day1.services.layers.assembling import assemble
from day1.services.layers.layers import LayersQuery
from day1.services.repository.repository import Repository
from day1.services.search.search_engine import SearchEngine

_WORD: Final = re.compile(r"\w+")
_DIGITS: Final = 6
"""Decimal places of scores."""


@dataclass(frozen=True, slots=True)
class Case:
    """A question, and the text or row (with both: either of them) that its prompt must show."""

    query: str
    expected: str | None = None
    expected_id: str | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of a case."""

    hit: bool
    returned: int
    """Items of the prompt."""
    characters: int
    """Characters of the prompt."""


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of an evaluation; K is the number of items that a prompt has by default.

    Recall is the part of the cases that are hits. Precision is the number of hits by that of all
    items returned: each case has one right answer, and all other items are noise.
    """

    recall: float
    precision: float
    characters: float
    """Characters of a prompt, on average."""
    cases: int


@dataclass(frozen=True, slots=True)
class Evaluation:
    """An evaluation that was recorded."""

    run: EvalRun
    scores: Scores
    results: list[Result]
    pending: Pending
    notes: list[str]
    milliseconds: float
    """The time of a search, on average."""


def evaluate(
    repo: Repository,
    engine: SearchEngine,
    branch: Branch,
    layers_query: LayersQuery,
    cases: Sequence[Case],
) -> Evaluation:
    """Assemble a prompt for each case, compare it with what is expected, and record the scores.

    Nothing counts as shown. `layers_query` says whose layers are searched; each case has
    its own query.

    Raises:
        UnknownBranch: the branch was deleted meanwhile.
    """
    start_time, budget = time.perf_counter(), budget_of(None)
    prompts = [
        assemble(repo, engine, branch, replace(layers_query, query=case.query), budget)
        for case in cases
    ]
    mean_ms = (time.perf_counter() - start_time) * 1_000 / len(cases)
    results = [_result(case, prompt.packed) for case, prompt in zip(cases, prompts, strict=True)]
    scores, now, last_found = _scores(results), repo.clock(), prompts[-1].found
    eval_run = EvalRun(
        id=repo.new_id("eval", now),
        branch_id=branch.id,
        commit=last_found.commit,
        scores=asdict(scores),
        results=tuple(
            {"query": short_hash(case.query), **asdict(result)}
            for case, result in zip(cases, results, strict=True)
        ),
        created_at=now,
    )
    repo.ledger.put(eval_run)
    notes = list(dict.fromkeys(note for prompt in prompts for note in prompt.found.notes))
    return Evaluation(eval_run, scores, results, last_found.pending, notes, round(mean_ms, 3))


def _result(case: Case, packed: Packed) -> Result:
    shown_ids = {packed_item.item.id for packed_item in packed.items}
    has_row = case.expected_id is not None and case.expected_id in shown_ids
    shows_words = case.expected is not None and any(
        _has_words(packed_item.text, case.expected) for packed_item in packed.items
    )
    return Result(has_row or shows_words, len(packed.items), packed.characters)


def _has_words(text: str, expected: str) -> bool:
    """Whether a text has all words of another; in scripts without spaces, as parts of words."""
    folded_text, expected_words = text.casefold(), _WORD.findall(expected.casefold())
    text_words = set(_WORD.findall(folded_text))
    if not expected_words:
        return expected.casefold() in folded_text
    return all(
        word in text_words or (not word.isascii() and word in folded_text)
        for word in expected_words
    )


def _scores(results: Sequence[Result]) -> Scores:
    hit_count = sum(result.hit for result in results)
    returned_count = sum(result.returned for result in results)
    return Scores(
        recall=round(hit_count / len(results), _DIGITS),
        precision=round(hit_count / returned_count, _DIGITS) if returned_count else 0.0,
        characters=round(sum(result.characters for result in results) / len(results), _DIGITS),
        cases=len(results),
    )
