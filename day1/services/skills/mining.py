"""Patterns: mining them from the tool calls of a wallet's threads, and counting how they ran.

A pattern's fact says which tools follow one another. How often it ran, and with which outcome, is
counted in the threads of its own space on every request; no row holds a counter.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from day1.model.branches.branch import Branch
from day1.model.layers.row_detail import detail_of
from day1.model.rows.change import CommitId, Message, Query, ReadState, Ref
from day1.model.rows.kind import CONVERSATION, FACT, MESSAGE, Row, text_of
from day1.model.rows.origin import Origin
from day1.model.skills.mined import (
    Counts,
    Mined,
    Spoken,
    Steps,
    ToolUse,
    added,
    uses_of,
)
from day1.model.skills.structure import PATTERN, Structure, of_tools, read_structure
from day1.model.values.ids import derived_id
from day1.model.values.wallet_space import Owner
from day1.ports.reading import Reading
from day1.services.repository.repository import Repository, keep_newest
from day1.services.rows.bulk_writes import edits_of, was_removed
from day1.services.rows.recording import NewFact, fact_row
from day1.services.rows.spaces import spaces_below

MOST: Final = 50
"""Maximum number of patterns that one extraction writes: those in the most threads."""
_MAX_CACHED: Final = 64
"""Maximum number of states whose tool calls are cached in memory."""
_COLUMNS: Final = ("created_at", "id", "conversation_id", "role", "tool_calls", "happened_at")


@dataclass(frozen=True, slots=True)
class Counted:
    """A pattern or skill: its row, its structure, and how it ran."""

    row: Row
    structure: Structure
    counts: Counts
    """The runs in the threads of the pattern's own space, at any time."""
    used: Counts
    """The runs in all threads that the caller sees, since the row was written."""


@dataclass(frozen=True, slots=True)
class CountedRows:
    """Patterns or skills, best first, and the state that they were read from."""

    rows: list[Counted]
    state: ReadState


def mined(repo: Repository, reading: Reading, space: str | None) -> Mined:
    """Read the tool calls of the threads in a space and below it; None: threads without space."""
    cache_key = (space, reading.branch, reading.tip, reading.pending, reading.mask)
    mined_calls = repo.mined.get(cache_key)
    if mined_calls is None:
        mined_calls = Mined(_threads(reading, spaces_below(reading, space)))
        keep_newest(repo.mined, cache_key, mined_calls, _MAX_CACHED)
    return mined_calls


def _threads(reading: Reading, spaces: Sequence[str | None]) -> dict[str, tuple[ToolUse, ...]]:
    space_query = Query(among={"space": list(spaces)})
    conversation_ids = [row[0] for row in reading.scan(CONVERSATION, ("id",), space_query)]
    messages_by_thread: dict[str, list[Spoken]] = {}
    columns = (*_COLUMNS, "agent_id")
    messages_query = Query(among={"conversation_id": conversation_ids})
    rows = reading.scan(MESSAGE, columns, messages_query) if conversation_ids else []
    for created_at, _, thread_id, role, tool_calls, happened_at, agent_id in sorted(
        rows, key=lambda row: row[:2]
    ):
        happened_or_created = int((created_at if happened_at is None else happened_at) or 0)
        message = Spoken(str(role), tool_calls, happened_or_created, text_of(agent_id))
        messages_by_thread.setdefault(str(thread_id), []).append(message)
    return {
        thread_id: tool_uses
        for thread_id in sorted(messages_by_thread)
        if (tool_uses := uses_of(messages_by_thread[thread_id]))
    }


def read_counted(
    repo: Repository, branch: Branch, category: str, spaces: Sequence[str | None] | None
) -> CountedRows:
    """Read the patterns or skills of some spaces, those with the highest confidence first.

    Args:
        repo: the memory.
        branch: the branch to read.
        category: `PATTERN` or `SKILL`.
        spaces: the spaces that the caller sees, None for rows without one; None for all spaces.
    """
    with repo.store.reading(repo.shown(Ref(branch=branch.name))) as reading:
        rows = counted_rows(repo, reading, category, spaces)
        return CountedRows(rows, reading.state)


def counted_rows(
    repo: Repository, reading: Reading, category: str, spaces: Sequence[str | None] | None
) -> list[Counted]:
    """Count the runs of a reading's patterns or skills, those with the highest confidence first."""
    space_condition = {} if spaces is None else {"space": list(spaces)}
    required_values: Row = {"category": category, "status": "active"}
    query = Query(equal=required_values, among=space_condition, alive_at=repo.clock(), public=True)
    counted_patterns = []
    for row in reading.find(FACT, query):
        structure = read_structure(row["structure"])
        if structure is not None:
            run_counts = mined(repo, reading, text_of(row["space"])).counts(structure.steps)
            later_run_counts = _used(repo, reading, row, structure.steps, spaces)
            counted_patterns.append(Counted(row, structure, run_counts, later_run_counts))
    return sorted(counted_patterns, key=_surest_first)


def _surest_first(counted: Counted) -> tuple[float, int, str]:
    return -counted.counts.confidence, -counted.counts.runs, str(counted.row["id"])


def _used(
    repo: Repository,
    reading: Reading,
    row: Row,
    steps: Steps,
    spaces: Sequence[str | None] | None,
) -> Counts:
    """Count the runs since a row was written, in all threads that the caller sees."""
    visible_spaces = {text_of(row["space"])} if spaces is None else {*spaces}
    topmost_spaces = [
        space
        for space in visible_spaces
        if not any(_is_space_below(space, other_space) for other_space in visible_spaces)
    ]
    created_at = int(row["created_at"] or 0)
    return added(
        [mined(repo, reading, space).counts(steps, created_at) for space in topmost_spaces]
    )


def _is_space_below(space: str | None, other: str | None) -> bool:
    return space is not None and other is not None and space.startswith(f"{other}/")


@dataclass(frozen=True, slots=True)
class Extraction:
    """What to extract patterns from, where to write them, and who writes."""

    branch: Branch
    owner: Owner
    """The owner of the patterns: the threads of all users of this owner's wallet are mined."""
    origin: Origin
    least_confidence: float = 0.0
    """Patterns with a lower bound of success below this are left out."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """The result of an extraction: the new patterns, and the commit that has them."""

    added: tuple[str, ...] = ()
    """Ids of the new patterns."""
    present: int = 0
    """Patterns that the branch has already, or that somebody removed from it."""
    commit: CommitId | None = None
    """None: nothing was to be written."""


def extract_patterns(repo: Repository, extraction: Extraction) -> Extracted:
    """Write the runs of tools that recur in a wallet's threads as patterns, in one commit or none.

    A pattern that was archived or removed does not come back.

    Raises:
        UnknownBranch: there is no such branch.
    """
    space = Owner(extraction.owner.wallet).space
    with repo.store.reading(Ref(branch=extraction.branch.name)) as reading:
        tool_calls = mined(repo, reading, space)
        recurring_steps = tool_calls.recurring(MOST)
        planned_steps = [
            steps
            for steps in recurring_steps
            if tool_calls.counts(steps).confidence >= extraction.least_confidence
        ]
        steps_by_id = {pattern_id(space, steps): steps for steps in planned_steps}
        new_ids = _absent(reading, list(steps_by_id))
    if not new_ids:
        return Extracted(present=len(planned_steps))
    with repo.store.changing(extraction.branch.name) as unit_of_work:
        new_ids = _absent(unit_of_work, new_ids)  # another process may have written some since
        if not new_ids:
            return Extracted(present=len(planned_steps))
        pattern_rows = [
            _pattern(new_id, steps_by_id[new_id], extraction, unit_of_work.now)
            for new_id in new_ids
        ]
        unit_of_work.add(FACT, pattern_rows)
        repo.point("patterns.written")
        commit_id = unit_of_work.commit(Message("change", f"extract {len(pattern_rows)} patterns"))
    return Extracted(tuple(new_ids), len(planned_steps) - len(new_ids), commit_id)


def pattern_id(space: str | None, steps: Steps) -> str:
    """Make the id of a pattern: equal steps in one wallet have one id on every branch."""
    return derived_id(FACT.prefix, None, PATTERN, space or "", *steps)


def _absent(reading: Reading, ids: Sequence[str]) -> list[str]:
    """Return the ids of rows that a branch does not have and never removed."""
    present_rows = reading.get(FACT, ids)
    absent_ids = [row_id for row_id in ids if row_id not in present_rows]
    edits_by_row = edits_of(reading, absent_ids)
    return [row_id for row_id in absent_ids if not was_removed(edits_by_row.get(row_id, ()))]


def _pattern(row_id: str, steps: Steps, extraction: Extraction, now: int) -> Row:
    structure, owner = of_tools(steps), Owner(extraction.owner.wallet)
    new_fact = NewFact(structure.text, PATTERN, space=owner.space)
    columns: Row = {"structure": structure.cell, "detail": detail_of(owner)}
    return fact_row(row_id, new_fact, extraction.origin, now) | columns
