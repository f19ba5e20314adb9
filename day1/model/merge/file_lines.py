"""Merging two edits of one file line by line, where they touch different places.

A file is an entry whose value is `{"text": TEXT}`, in a space `files:NAME`. All other cells are
merged as wholes.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from day1.model.contexts.content import (
    JsonTooLong,
    as_value,
    entry_of_text,
    from_kept,
    text_of_entry,
)
from day1.model.contexts.keyed import CONTEXT
from day1.model.merge.line_diff import MOST_LINES, Same, equal_runs, lines_of
from day1.model.rows.kind import Row, complete, kind_of

_SPACES: Final = "files:"


def merged_file(base: Row | None, ours: Row | None, theirs: Row | None) -> Row | None:
    """Merge the edits that two sides made of a file.

    Returns:
        The columns of the merged text; None if a row is no file, or if the edits touch the same
        or neighbouring lines, or if the merged text is too long for an entry.
    """
    file_texts = [text_of_file(row) for row in (base, ours, theirs)]
    if base is None or None in file_texts:
        return None
    merged_text = merge_lines(*(str(text) for text in file_texts))
    if merged_text is None:
        return None
    file_value = {"text": merged_text}
    try:
        columns: Row = {
            "summary": text_of_entry(file_value),
            "structure": as_value(file_value),
        }
    except JsonTooLong:
        return None
    return complete(kind_of(str(base["id"])), columns)


def text_of_file(row: Row | None) -> str | None:
    """Return the text of a file; None if the row is no file, or if its search text is another."""
    if row is None or row.get("observation_type") != CONTEXT:
        return None
    if not str(row["space"]).startswith(_SPACES):
        return None
    summary, structure = str(row["summary"]), row["structure"]
    entry_value = entry_of_text(summary) if structure is None else from_kept(str(structure))
    if not isinstance(entry_value, dict) or entry_value.keys() != {"text"}:
        return None
    text = entry_value["text"]
    is_plain_file = isinstance(text, str) and summary == text_of_entry(entry_value)
    return text if is_plain_file else None


def merge_lines(base: str, ours: str, theirs: str) -> str | None:
    """Merge two edits of a text; lines end with a line feed.

    Returns:
        The merged text; None if both edits touch the same or neighbouring lines, differently, or if
        a text has too many lines.
    """
    if any(text.count("\n") > MOST_LINES for text in (base, ours, theirs)):
        return None
    base_lines, our_lines, their_lines = line_lists = [
        lines_of(text) for text in (base, ours, theirs)
    ]
    our_runs, their_runs = equal_runs(base_lines, our_lines), equal_runs(base_lines, their_lines)
    if our_runs is None or their_runs is None:
        return None
    merged_lines: list[str] = []
    for base_chunk, our_chunk, their_chunk in _chunks(line_lists, _overlaps(our_runs, their_runs)):
        if our_chunk in (base_chunk, their_chunk):
            merged_lines += their_chunk
        elif their_chunk == base_chunk:
            merged_lines += our_chunk
        else:
            return None
    return "".join(merged_lines)


def _chunks(
    texts: Sequence[list[str]], overlaps: Iterable[tuple[Same, Same]]
) -> Iterator[tuple[list[str], list[str], list[str]]]:
    """Yield the chunks of the base and of both sides, in order.

    A chunk is a run of lines that all three have, or what they have between two such runs.
    """
    base_lines, our_lines, their_lines = texts
    base_start = our_start = their_start = 0
    for our_run, their_run in overlaps:
        run_start, run_size = our_run.base, our_run.size
        yield (
            base_lines[base_start:run_start],
            our_lines[our_start : our_run.text],
            their_lines[their_start : their_run.text],
        )
        same_lines = base_lines[run_start : run_start + run_size]
        yield same_lines, same_lines, same_lines
        base_start, our_start = run_start + run_size, our_run.text + run_size
        their_start = their_run.text + run_size
    yield base_lines[base_start:], our_lines[our_start:], their_lines[their_start:]


def _overlaps(ours: list[Same], theirs: list[Same]) -> Iterator[tuple[Same, Same]]:
    """Yield the runs of base lines that both sides have, as runs of each side."""
    our_index = their_index = 0
    while our_index < len(ours) and their_index < len(theirs):
        our_run, their_run = ours[our_index], theirs[their_index]
        overlap_start = max(our_run.base, their_run.base)
        our_end, their_end = our_run.base + our_run.size, their_run.base + their_run.size
        overlap_size = min(our_end, their_end) - overlap_start
        if overlap_size > 0:
            yield (
                Same(overlap_start, our_run.text + overlap_start - our_run.base, overlap_size),
                Same(overlap_start, their_run.text + overlap_start - their_run.base, overlap_size),
            )
        our_index += our_end <= their_end
        their_index += their_end <= our_end
