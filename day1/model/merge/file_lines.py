"""Merging two edits of one file line by line, where they touch different places.

A file is an entry whose value is `{"text": TEXT}`, in a space `files:NAME`. All other cells are
merged as wholes.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from day1.model.contexts.content import as_value, entry_of_text, from_kept, text_of_entry
from day1.model.contexts.keyed import CONTEXT
from day1.model.merge.line_diff import MOST_LINES, Same, equal_runs, lines_of
from day1.model.rows.kind import Row, complete, kind_of
from day1.model.values.parts import TooLong

_SPACES: Final = "files:"


def merged_file(base: Row | None, ours: Row | None, theirs: Row | None) -> Row | None:
    """Merge the edits that two sides made of a file.

    Returns:
        The columns of the merged text; None if a row is no file, or if the edits touch the same
        or neighbouring lines, or if the merged text is too long for an entry.
    """
    texts = [text_of_file(row) for row in (base, ours, theirs)]
    if base is None or None in texts:
        return None
    merged_text = merge_lines(*(str(text) for text in texts))
    if merged_text is None:
        return None
    value = {"text": merged_text}
    try:
        columns: Row = {"summary": text_of_entry(value), "structure": as_value(value)}
    except TooLong:
        return None
    return complete(kind_of(str(base["id"])), columns)


def text_of_file(row: Row | None) -> str | None:
    """Return the text of a file; None if the row is no file, or if its search text is another."""
    if row is None or row.get("observation_type") != CONTEXT:
        return None
    if not str(row["space"]).startswith(_SPACES):
        return None
    summary, structure = str(row["summary"]), row["structure"]
    value = entry_of_text(summary) if structure is None else from_kept(str(structure))
    if not isinstance(value, dict) or value.keys() != {"text"}:
        return None
    text = value["text"]
    is_whole = isinstance(text, str) and summary == text_of_entry(value)
    return text if is_whole else None


def merge_lines(base: str, ours: str, theirs: str) -> str | None:
    """Merge two edits of a text; lines end with a line feed.

    Returns:
        The merged text; None if both edits touch the same or neighbouring lines, differently, or if
        a text has too many lines.
    """
    if any(text.count("\n") > MOST_LINES for text in (base, ours, theirs)):
        return None
    base_lines, our_lines, their_lines = texts = [lines_of(text) for text in (base, ours, theirs)]
    our_runs, their_runs = equal_runs(base_lines, our_lines), equal_runs(base_lines, their_lines)
    if our_runs is None or their_runs is None:
        return None
    merged: list[str] = []
    for old, our_new, their_new in _chunks(texts, _overlaps(our_runs, their_runs)):
        if our_new in (old, their_new):
            merged += their_new
        elif their_new == old:
            merged += our_new
        else:
            return None
    return "".join(merged)


def _chunks(
    texts: Sequence[list[str]], overlaps: Iterable[tuple[Same, Same]]
) -> Iterator[tuple[list[str], list[str], list[str]]]:
    """Yield the chunks of the base and of both sides, in order.

    A chunk is a run of lines that all three have, or what they have between two such runs.
    """
    base, ours, theirs = texts
    base_start = our_start = their_start = 0
    for our_same, their_same in overlaps:
        start, size = our_same.base, our_same.size
        yield (
            base[base_start:start],
            ours[our_start : our_same.text],
            theirs[their_start : their_same.text],
        )
        same_lines = base[start : start + size]
        yield same_lines, same_lines, same_lines
        base_start, our_start = start + size, our_same.text + size
        their_start = their_same.text + size
    yield base[base_start:], ours[our_start:], theirs[their_start:]


def _overlaps(ours: list[Same], theirs: list[Same]) -> Iterator[tuple[Same, Same]]:
    """Yield the runs of base lines that both sides have, as runs of each side."""
    our_number = their_number = 0
    while our_number < len(ours) and their_number < len(theirs):
        our_run, their_run = ours[our_number], theirs[their_number]
        start = max(our_run.base, their_run.base)
        our_end, their_end = our_run.base + our_run.size, their_run.base + their_run.size
        size = min(our_end, their_end) - start
        if size > 0:
            yield (
                Same(start, our_run.text + start - our_run.base, size),
                Same(start, their_run.text + start - their_run.base, size),
            )
        our_number += our_end <= their_end
        their_number += their_end <= our_end
