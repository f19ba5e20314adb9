"""The difference of two texts by lines: which lines of one are lines of the other."""

from typing import Final, NamedTuple

_MOST_CHANGES: Final = 200
"""The most lines that a text may add and remove. The time to find them grows with the square of
their number, and with the number of lines."""
_MOST_LINES: Final = 20_000
"""The most lines that are compared, beside those that both texts begin and end with; it takes at
worst 0.1 s here."""

MOST_LINES: Final = 500_000
"""The most lines of a text whose lines are told apart: a line takes 100 bytes of memory and more,
and a text of 8 MiB can have four million."""


class Same(NamedTuple):
    """A run of lines that a text has from the base."""

    base: int
    text: int
    size: int


def lines_of(text: str) -> list[str]:
    """Divide a text into lines. Each ends with its line feed, perhaps except the last."""
    lines = text.split("\n")
    return [*(f"{line}\n" for line in lines[:-1]), *filter(None, lines[-1:])]


def equal_runs(base: list[str], text: list[str]) -> list[Same] | None:
    """List the runs of lines that a text has from the base, by a shortest edit (Myers).

    None if the edit adds and removes more than `_MOST_CHANGES` lines, or if more than `_MOST_LINES`
    are to be compared.
    """
    head = _count_equal(base, text)
    tail = _count_equal(base[head:][::-1], text[head:][::-1])
    base_end, text_end = len(base) - tail, len(text) - tail
    if max(base_end, text_end) - head > _MOST_LINES:
        return None
    between = _runs(base[head:base_end], text[head:text_end])
    if between is None:
        return None
    moved_runs = (Same(run.base + head, run.text + head, run.size) for run in between)
    runs = [Same(0, 0, head), *moved_runs, Same(base_end, text_end, tail)]
    return [run for run in runs if run.size]


def _count_equal(one: list[str], other: list[str]) -> int:
    """Count the equal lines at the beginning of two texts."""
    pairs = enumerate(zip(one, other, strict=False))
    shorter = min(len(one), len(other))
    return next((place for place, (line, other_line) in pairs if line != other_line), shorter)


def _runs(base: list[str], text: list[str]) -> list[Same] | None:
    """List the runs by a shortest edit; None if it changes too many lines."""
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


def _traced(steps: list[dict[int, int]], at: int, text_at: int) -> list[Same]:
    """Follow a shortest edit back from the ends of both texts; list the runs of equal lines."""
    runs: list[Same] = []
    for changes, ends in reversed(list(enumerate(steps))):
        diagonal = at - text_at
        is_added = diagonal == -changes or (
            diagonal != changes and ends[diagonal - 1] < ends[diagonal + 1]
        )
        before = ends[diagonal + 1] if is_added else ends[diagonal - 1] + 1
        start = max(before, 0)
        if at > start:
            runs.append(Same(start, start - diagonal, at - start))
        at = before if is_added else before - 1
        text_at = before - diagonal - 1 if is_added else before - diagonal
    return runs[::-1]
