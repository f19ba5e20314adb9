"""Hints: a few memories near a user's prompt, given unasked; often none.

An unasked hint costs tokens and may mislead the agent. So two rules decide:

- *Whether* to hint: if one memory is clearly near, or the best three are fairly near on average.
  A single word in common is not enough. Memories that the session has seen count here too.
- *What* to show: the best memories that the session has not seen, unless they are far away.

The thresholds were measured with a set of memories and 200 unrelated prompts (`tests/relevance`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from day1.model.branches.branch import Branch
from day1.model.prime.wording import hint_text
from day1.model.rows.change import CommitId, Ref
from day1.model.rows.kind import when
from day1.model.search.passages import PassageLimits, quote
from day1.model.search.ranking import Mode
from day1.services.prime.seen import Seen
from day1.services.search.request import SearchRequest
from day1.services.search.search_engine import SearchEngine
from day1.services.search.searching import search

ROWS: Final = 3
CHARACTERS: Final = 600
CLEARLY: Final[dict[Mode, float]] = {"hybrid": 0.46, "vector": 0.46, "keyword": 0.53}
FAIRLY: Final[dict[Mode, float]] = {"hybrid": 0.315, "vector": 0.315, "keyword": 0.37}
"""Least score of one memory (`CLEARLY`) and least mean of three (`FAIRLY`) for a hint, by mode.

Measured on half of the unrelated prompts: 95 of 100 get no hint, and so in the other half."""
_MIN_SCORE: Final = 0.25
"""Least score of a memory in a hint; a lower score means another subject."""
_MAX_HITS: Final = 10
"""Number of facts to search for: the session may have seen some of them already."""
_LENGTHS: Final = PassageLimits(passage_characters=300, passages_characters=6_000)
"""Limits for quotations from long facts in a hint."""
_MAX_PROMPT: Final = 1_000
"""Number of first characters of a prompt to search with; later text is mostly pasted."""


@dataclass(frozen=True, slots=True)
class Hint:
    """A hint, the facts in it, and the state that they were read from."""

    text: str
    """The text to show; empty if no fact is near."""
    ids: tuple[str, ...]
    commit: CommitId
    pending: int
    mode: Mode


def hint_of(
    engine: SearchEngine, branch: Branch, space: str | None, prompt: str, seen: Seen
) -> Hint:
    """Build a hint: facts near a prompt, of one space or none, that the session has not seen.

    Each fact is counted as shown and remembered as seen by the session.

    Raises:
        UnknownBranch: the branch was deleted meanwhile.
    """
    spaces = tuple(dict.fromkeys((None, space)))
    request = SearchRequest(query=prompt[:_MAX_PROMPT], limit=_MAX_HITS, spaces=spaces)
    search_result = search(engine, Ref(branch=branch.name), branch.id, request)
    hits = search_result.hits
    hit_texts = [
        text.quotation or text.text
        for text in quote(request.query, [hit.text for hit in hits], _LENGTHS)
    ]
    new_hits = [
        (hit.row, text)
        for hit, text in zip(hits, hit_texts, strict=True)
        if hit.score >= _MIN_SCORE and not seen.has(text)
    ]
    is_worth_a_hint = _is_near([hit.score for hit in hits], search_result.mode_used)
    shown_hits = new_hits[:ROWS] if is_worth_a_hint else []
    seen.add(text for _, text in shown_hits)
    shown_ids = tuple(str(row["id"]) for row, _ in shown_hits)
    engine.uses.shown(shown_ids, engine.clock(), branch.id)
    texts_with_times = [(text, when(row)) for row, text in shown_hits]
    text = hint_text(branch.name, search_result.commit, texts_with_times, CHARACTERS)
    return Hint(
        text, shown_ids, search_result.commit, search_result.pending.count, search_result.mode_used
    )


def _is_near(scores: Sequence[float], mode: Mode) -> bool:
    """Whether memories with these scores, best first, are worth a hint; missing ones count as 0."""
    best_scores = scores[:ROWS]
    return bool(best_scores) and (
        best_scores[0] >= CLEARLY[mode] or sum(best_scores) / ROWS >= FAIRLY[mode]
    )
