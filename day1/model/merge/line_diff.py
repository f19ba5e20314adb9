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
    head_count = _count_equal(base, text)
    tail_count = _count_equal(base[head_count:][::-1], text[head_count:][::-1])
    base_end, text_end = len(base) - tail_count, len(text) - tail_count
    if max(base_end, text_end) - head_count > _MOST_LINES:
        return None
    middle_runs = _runs(base[head_count:base_end], text[head_count:text_end])
    if middle_runs is None:
        return None
    shifted_runs = (
        Same(run.base + head_count, run.text + head_count, run.size) for run in middle_runs
    )
    runs = [Same(0, 0, head_count), *shifted_runs, Same(base_end, text_end, tail_count)]
    return [run for run in runs if run.size]


def _count_equal(one: list[str], other: list[str]) -> int:
    """Count the equal lines at the beginning of two texts."""
    numbered_pairs = enumerate(zip(one, other, strict=False))
    shorter_length = min(len(one), len(other))
    return next(
        (index for index, (line, other_line) in numbered_pairs if line != other_line),
        shorter_length,
    )


def _runs(base: list[str], text: list[str]) -> list[Same] | None:
    """List the runs by a shortest edit; None if it changes too many lines."""
    end_by_diagonal = {1: 0}
    """The furthest place in the base by diagonal; the diagonal is that place minus the text's."""
    ends_by_step: list[dict[int, int]] = []
    for change_count in range(_MOST_CHANGES + 1):
        ends_by_step.append(end_by_diagonal.copy())
        for diagonal in range(-change_count, change_count + 1, 2):
            is_added = diagonal == -change_count or (
                diagonal != change_count
                and end_by_diagonal[diagonal - 1] < end_by_diagonal[diagonal + 1]
            )
            base_place = (
                end_by_diagonal[diagonal + 1] if is_added else end_by_diagonal[diagonal - 1] + 1
            )
            while (
                base_place < len(base)
                and base_place - diagonal < len(text)
                and base[base_place] == text[base_place - diagonal]
            ):
                base_place += 1
            end_by_diagonal[diagonal] = base_place
            if base_place >= len(base) and base_place - diagonal >= len(text):
                return _traced(ends_by_step, len(base), len(text))
    return None


def _traced(steps: list[dict[int, int]], at: int, text_at: int) -> list[Same]:
    """Follow a shortest edit back from the ends of both texts; list the runs of equal lines."""
    runs: list[Same] = []
    for change_count, end_by_diagonal in reversed(list(enumerate(steps))):
        diagonal = at - text_at
        is_added = diagonal == -change_count or (
            diagonal != change_count
            and end_by_diagonal[diagonal - 1] < end_by_diagonal[diagonal + 1]
        )
        place_after_edit = (
            end_by_diagonal[diagonal + 1] if is_added else end_by_diagonal[diagonal - 1] + 1
        )
        run_start = max(place_after_edit, 0)
        if at > run_start:
            runs.append(Same(run_start, run_start - diagonal, at - run_start))
        at = place_after_edit if is_added else place_after_edit - 1
        text_at = place_after_edit - diagonal - 1 if is_added else place_after_edit - diagonal
    return runs[::-1]
