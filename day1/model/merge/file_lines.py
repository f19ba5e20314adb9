"""Merging two edits of one file line by line, where they touch different places.

A file is an entry whose value is `{"text": TEXT}`, in a space `files:NAME`. All other cells are
merged as wholes.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from day1.model.contexts.content import as_kept, flattened, from_kept
from day1.model.contexts.keyed import CONTEXT
from day1.model.rows.kind import Row, complete, kind_of
from day1.model.values.parts import MOST_VALUE, TooLong

_SPACES: Final = "files:"
_MOST_CHANGES: Final = 200
"""The most lines that one side may add and remove. More are not merged: the time to find them grows
with the square of their number (at worst 0.3 s here)."""


def merged_file(base: Row | None, ours: Row | None, theirs: Row | None) -> Row | None:
    """Merge the edits that two sides made of a file.

    Returns:
        The columns of the merged text; None if a row is no file, or if the edits touch the same
        or neighbouring lines, or if the merged text is too long for an entry.
    """
    texts = [_text_of_file(row) for row in (base, ours, theirs)]
    if base is None or None in texts:
        return None
    merged_text = merge_lines(*(str(text) for text in texts))
    if merged_text is None:
        return None
    value = {"text": merged_text}
    try:
        columns: Row = {"summary": flattened(value), "structure": as_kept(value, MOST_VALUE)}
    except TooLong:
        return None
    return complete(kind_of(str(base["id"])), columns)


def _text_of_file(row: Row | None) -> str | None:
    """Return the text of a file; None if the row is no file, or was given another text by hand."""
    if row is None or row.get("observation_type") != CONTEXT or row["structure"] is None:
        return None
    if not str(row["space"]).startswith(_SPACES):
        return None
    value = from_kept(str(row["structure"]))
    if (
        not isinstance(value, dict)
        or value.keys() != {"text"}
        or row["summary"] != flattened(value)
    ):
        return None
    text = value["text"]
    return text if isinstance(text, str) else None


def merge_lines(base: str, ours: str, theirs: str) -> str | None:
    """Merge two edits of a text; lines end with a line feed.

    Returns:
        The merged text; None if both edits touch the same or neighbouring lines, differently.
    """
    base_lines, *_ = texts = [_lines(text) for text in (base, ours, theirs)]
    head = _shared(texts)
    texts = [lines[head:] for lines in texts]
    tail = _shared([lines[::-1] for lines in texts])
    texts = [lines[: len(lines) - tail] for lines in texts]
    old_lines, our_lines, their_lines = texts
    our_runs, their_runs = _runs(old_lines, our_lines), _runs(old_lines, their_lines)
    if our_runs is None or their_runs is None:
        return None
    merged = base_lines[:head]
    for old, our_new, their_new in _chunks(texts, _overlaps(our_runs, their_runs)):
        if our_new in (old, their_new):
            merged += their_new
        elif their_new == old:
            merged += our_new
        else:
            return None
    return "".join(merged + base_lines[len(base_lines) - tail :])


def _lines(text: str) -> list[str]:
    """Divide a text into lines with their line feeds; the last one may have none."""
    lines = text.split("\n")
    return [*(f"{line}\n" for line in lines[:-1]), *filter(None, lines[-1:])]


def _shared(texts: Sequence[Sequence[str]]) -> int:
    """Count the lines that all texts begin with."""
    count = 0
    for lines in zip(*texts, strict=False):
        if lines.count(lines[0]) < len(lines):
            break
        count += 1
    return count


class _Same(NamedTuple):
    """A run of lines that a text has from the base."""

    base: int
    text: int
    size: int


def _chunks(
    texts: Sequence[list[str]], overlaps: Iterable[tuple[_Same, _Same]]
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


def _overlaps(ours: list[_Same], theirs: list[_Same]) -> Iterator[tuple[_Same, _Same]]:
    """Yield the runs of base lines that both sides have, as runs of each side."""
    our_number = their_number = 0
    while our_number < len(ours) and their_number < len(theirs):
        our_run, their_run = ours[our_number], theirs[their_number]
        start = max(our_run.base, their_run.base)
        our_end, their_end = our_run.base + our_run.size, their_run.base + their_run.size
        size = min(our_end, their_end) - start
        if size > 0:
            yield (
                _Same(start, our_run.text + start - our_run.base, size),
                _Same(start, their_run.text + start - their_run.base, size),
            )
        our_number += our_end <= their_end
        their_number += their_end <= our_end


def _runs(base: list[str], text: list[str]) -> list[_Same] | None:
    """List the runs of lines that a text has from the base, by a shortest edit (Myers).

    None if the edit adds and removes more lines than are merged.
    """
    ends = {1: 0}
    """The furthest place in the base by diagonal; the diagonal is that place minus the text's."""
    steps: list[dict[int, int]] = []
    for changes in range(_MOST_CHANGES + 1):
        steps.append(ends.copy())
        for diagonal in range(-changes, changes + 1, 2):
            is_added = diagonal == -changes or (
                diagonal != changes and ends[diagonal - 1] < ends[diagonal + 1]
            )
            at = ends[diagonal + 1] if is_added else ends[diagonal - 1] + 1
            while at < len(base) and at - diagonal < len(text) and base[at] == text[at - diagonal]:
                at += 1
            ends[diagonal] = at
            if at >= len(base) and at - diagonal >= len(text):
                return _traced(steps, len(base), len(text))
    return None


def _traced(steps: list[dict[int, int]], at: int, text_at: int) -> list[_Same]:
    """Follow a shortest edit back from the ends of both texts; list the runs of equal lines."""
    runs: list[_Same] = []
    for changes, ends in reversed(list(enumerate(steps))):
        diagonal = at - text_at
        is_added = diagonal == -changes or (
            diagonal != changes and ends[diagonal - 1] < ends[diagonal + 1]
        )
        before = ends[diagonal + 1] if is_added else ends[diagonal - 1] + 1
        start = max(before, 0)
        if at > start:
            runs.append(_Same(start, start - diagonal, at - start))
        at = before if is_added else before - 1
        text_at = before - diagonal - 1 if is_added else before - diagonal
    return runs[::-1]
