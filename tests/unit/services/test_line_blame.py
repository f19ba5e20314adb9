"""Who wrote each line of a text, by the versions of its row."""

from collections.abc import Sequence

import pytest

from day1.errors import InvalidRequest
from day1.model.contexts.content import as_value, text_of_entry
from day1.model.rows.kind import FACT, OBSERVATION, Row
from day1.services.history.line_blame import line_versions
from day1.services.history.tracing import Version


def version(at: int, text: str | None, *, file: bool = True) -> Version:
    """A version of a file, or of a fact; None: it was removed."""
    row: Row | None = None
    if text is not None:
        value = {"text": text}
        row = {
            "fact_text": text,
            "summary": text_of_entry(value),
            "structure": as_value(value),
            "space": "files:notes" if file else None,
            "observation_type": "context",
        }
    return Version("changed", at, row, (), None, None, None)


def times(*texts: str | None, file: bool = True) -> list[int]:
    """The time of the version that brought each line; the texts are given oldest first."""
    versions = [version(at, text, file=file) for at, text in enumerate(texts)]
    return [v.at for v in line_versions(OBSERVATION if file else FACT, versions[::-1])]


@pytest.mark.parametrize(
    ("texts", "lines"),
    [
        (["a\nb\n"], [0, 0]),
        (["a\nb\n", "a\nB\n"], [0, 1]),
        (["a\nb\n", "x\na\nb\n", "x\na\nb\ny"], [1, 0, 0, 2]),
        (["a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n"], [1, 0, 2]),  # a merge of two
        (["a\nb\n", "a\n", "a\nb\n"], [0, 0]),  # a line that came back
        (["a\nb\n", None, "a\nb\nc\n"], [0, 0, 2]),
        (["a\na\n", "a\na\na\n"], [0, 0, 1]),
        (["a\n", "b\n", "c\n"], [2]),
        (["a", ""], []),
        (["", "a"], [1]),
        ([None], []),
        ([], []),
    ],
)
def test_a_line_is_of_the_version_that_brought_it(
    texts: Sequence[str | None], lines: list[int]
) -> None:
    assert times(*texts) == lines


def test_the_lines_of_any_text_are_followed() -> None:
    assert times("a\nb", "a\nb\nc", file=False) == [0, 1, 1]  # a line has its line feed


def test_texts_that_differ_in_most_lines_share_those_that_each_has_once() -> None:
    before = ["same\n", "twice\n", "twice\n", *(f"old {number}\n" for number in range(300))]
    after = [*(f"new {number}\n" for number in range(300)), "same\n", "twice\n"]
    assert times("".join(before), "".join(after)) == [1] * 300 + [0, 1]


def test_a_long_history_is_followed_to_its_begin() -> None:
    texts = ["".join(f"{line}\n" for line in range(count)) for count in range(1, 60)]
    assert times(*texts) == [*range(59)]


def test_the_lines_of_a_text_of_too_many_lines_are_not_told_apart() -> None:
    with pytest.raises(InvalidRequest, match=r"500,001 lines.*without `lines`"):
        times("\n" * 500_001)
