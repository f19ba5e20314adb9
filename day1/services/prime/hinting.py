"""A hint at what memory has near a prompt, which nobody asked for: little, or nothing.

Who is told something that is not asked for pays for it and may be led astray. So two things decide:

- *Whether* it speaks: if one memory is clearly near, or the best three are fairly near on average.
  A word that one memory happens to share with the prompt is neither. What the session was told
  before counts here too.
- *What* it tells: the best that the session was not told before, unless they are far away.

The thresholds were taken from the written memories and 200 prompts that have nothing to do with
them (`tests/relevance`).
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
"""The score of one memory, and the mean of three: taken from every other of the unrelated prompts,
so that a hint is silent for 95 of 100, and as silent for the rest of them."""
_FAR: Final = 0.25
"""A lower score is that of a memory about something else."""
_LOOKED_AT: Final = 10
"""Facts among which those are that a session does not have yet."""
_LENGTHS: Final = PassageLimits(passage_characters=300, passages_characters=6_000)
"""How much of long facts a hint may have, before they share its room."""
_ASKED: Final = 1_000
"""Characters of a prompt that are looked at: what comes later is mostly pasted."""


@dataclass(frozen=True, slots=True)
class Hint:
    """What is told, and the state that it was read from."""

    text: str
    """Empty where nothing is near."""
    ids: tuple[str, ...]
    commit: CommitId
    pending: int
    mode: Mode


def hint_of(
    engine: SearchEngine, branch: Branch, space: str | None, prompt: str, seen: Seen
) -> Hint:
    """The facts near a prompt, of those that all share and of one space, but for those told before.

    Each is noted as shown, and as told.

    Raises:
        UnknownBranch: the branch was deleted meanwhile.
    """
    spaces = tuple(dict.fromkeys((None, space)))
    asked = SearchRequest(query=prompt[:_ASKED], limit=_LOOKED_AT, spaces=spaces)
    answer = search(engine, Ref(branch=branch.name), branch.id, asked)
    hits = answer.hits
    texts = [
        text.quotation or text.text
        for text in quote(asked.query, [hit.text for hit in hits], _LENGTHS)
    ]
    new = [
        (hit.row, text)
        for hit, text in zip(hits, texts, strict=True)
        if hit.score >= _FAR and not seen.has(text)
    ]
    speaks = _is_near([hit.score for hit in hits], answer.mode_used)
    near = new[:ROWS] if speaks else []
    seen.add(text for _, text in near)
    ids = tuple(str(row["id"]) for row, _ in near)
    engine.uses.shown(ids, engine.clock(), branch.id)
    rows = [(text, when(row)) for row, text in near]
    text = hint_text(branch.name, answer.commit, rows, CHARACTERS)
    return Hint(text, ids, answer.commit, answer.pending.count, answer.mode_used)


def _is_near(scores: Sequence[float], mode: Mode) -> bool:
    """Whether memories with these scores, best first, are worth telling; too few count as 0."""
    best = scores[:ROWS]
    return bool(best) and (best[0] >= CLEARLY[mode] or sum(best) / ROWS >= FAIRLY[mode])
