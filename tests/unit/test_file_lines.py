"""Edits of a file that are merged line by line, as `git merge-file` does."""

import shutil
import subprocess
from itertools import chain
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from day1.model.contexts.content import as_value, text_of_entry
from day1.model.merge.file_lines import merge_lines, merged_file
from day1.model.merge.row_merge import Held, PlanRow, merge_row
from day1.model.rows.kind import OBSERVATION, Row, complete

FILE: Final = "one\ntwo\nthree\nfour\n"


@pytest.mark.parametrize(
    ("ours", "theirs", "merged"),
    [
        ("ONE\ntwo\nthree\nfour\n", "one\ntwo\nthree\nFOUR\n", "ONE\ntwo\nthree\nFOUR\n"),
        ("two\nthree\nfour\n", "one\ntwo\nthree\nfour\nfive\n", "two\nthree\nfour\nfive\n"),
        ("ONE\ntwo\nthree\nfour\n", "ONE\ntwo\nthree\n4\n", "ONE\ntwo\nthree\n4\n"),
        ("one\nTWO\nthree\nfour\n", "one\ntwo\nTHREE\nfour\n", None),  # neighbours
        ("ONE\ntwo\nthree\nfour\n", "Uno\ntwo\nthree\nfour\n", None),
        (f"{FILE}a\n", f"{FILE}b\n", None),  # both at one place
        (f"{FILE}a\n", f"{FILE}a\n", f"{FILE}a\n"),
        ("one\ntwo\nthree\nfour", f"zero\n{FILE}", "zero\none\ntwo\nthree\nfour"),
        ("", f"{FILE}more\n", None),
        ("", "", ""),
        ("one\r\ntwo\nthree\nfour\n", f"{FILE}\t \n", "one\r\ntwo\nthree\nfour\n\t \n"),
    ],
)
def test_places_that_differ_are_merged(ours: str, theirs: str, merged: str | None) -> None:
    assert merge_lines(FILE, ours, theirs) == merged
    assert merge_lines(FILE, theirs, ours) == merged


@st.composite
def edited(draw: st.DrawFn, base: list[str], side: str) -> list[str]:
    """The lines of a base, some of them removed, replaced or followed by new ones."""
    lines: list[str] = []
    for number, line in enumerate(base):
        kind = draw(st.sampled_from(["keep"] * 5 + ["remove", "replace", "add"]))
        lines += {"keep": [line], "add": [line, f"{side}{number}"]}.get(kind, [])
        lines += [f"{side} for {line}"] if kind == "replace" else []
    return lines


@pytest.mark.skipif(shutil.which("git") is None, reason="no git on the PATH")
@given(data=st.data())
def test_lines_are_merged_as_git_merges_them(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    base = [f"line {number}" for number in range(data.draw(st.integers(0, 12)))]
    sides = [base, data.draw(edited(base, "ours")), data.draw(edited(base, "theirs"))]
    texts = [
        "\n".join(lines) + (data.draw(st.sampled_from(["\n", "\n", ""])) if lines else "")
        for lines in sides
    ]
    folder = tmp_path_factory.mktemp("lines")
    files = [folder / name for name in ("base", "ours", "theirs")]
    for file, text in zip(files, texts, strict=True):
        file.write_bytes(text.encode())
    assert merge_lines(*texts) == by_git(*files)


def by_git(base: Path, ours: Path, theirs: Path) -> str | None:
    command = ["git", "merge-file", "-p", str(ours), str(base), str(theirs)]
    done = subprocess.run(command, capture_output=True, check=False)
    return done.stdout.decode() if done.returncode == 0 else None


LETTERS: Final = st.lists(st.sampled_from("abc"), max_size=9)


@given(base=LETTERS, ours=LETTERS, data=st.data())
def test_no_line_is_lost_or_doubled(base: list[str], ours: list[str], data: st.DataObject) -> None:
    """One side edits lines that are often equal; the other only adds lines of its own."""
    added = [data.draw(st.lists(st.sampled_from("xyz"), max_size=2)) for _ in range(len(base) + 1)]
    theirs = [*added[0]]
    for line, after in zip(base, added[1:], strict=True):
        theirs += [line, *after]
    texts = ["".join(f"{line}\n" for line in lines) for lines in (base, ours, theirs)]
    merged = merge_lines(*texts)
    if merged is not None:
        assert [line for line in merged.split() if line in "abc"] == ours
        assert [line for line in merged.split() if line in "xyz"] == [*chain(*added)]
    assert merge_lines(texts[0], texts[1], texts[0]) == texts[1]
    assert merge_lines(texts[0], texts[0], texts[2]) == texts[2]


def test_texts_with_too_many_changes_are_not_merged() -> None:
    lines = [f"{number}\n" for number in range(1_000)]
    ours = ["!\n", *lines[1:]]
    few, many = ["".join([*lines[:-count], "!\n"]) for count in (190, 210)]
    assert merge_lines("".join(lines), "".join(ours), few) == f"!\n{few[2:]}"
    assert merge_lines("".join(lines), "".join(ours), many) is None


def test_changes_that_lie_too_far_apart_are_not_merged() -> None:
    """A long text is compared between its first changed line and its last one."""
    lines = ["x\n"] * 60_000
    near, far = ["a\n", *lines], ["a\n", *lines[:20_000], "b\n", *lines[20_001:]]
    theirs = [*lines[:-1], "t\n"]
    assert merge_lines("".join(lines), "".join(near), "".join(theirs)) == f"a\n{''.join(theirs)}"
    assert merge_lines("".join(lines), "".join(far), "".join(theirs)) is None


def test_texts_of_too_many_lines_are_not_merged() -> None:
    """Four million line feeds, which fit a value, would take a gigabyte."""
    lines = "x\n" * 500_000
    assert merge_lines(lines, f"a{lines}", f"{lines}t") == f"a{lines}t"
    assert merge_lines(lines, f"a\n{lines}", f"{lines}t") is None


def row(text: object, **columns: object) -> Row:
    value = {"text": text}
    kept: Row = {"summary": text_of_entry(value), "structure": as_value(value)}
    return complete(
        OBSERVATION,
        {
            **dict.fromkeys(OBSERVATION.columns),
            "id": f"obs_{1:026}",
            "observation_type": "context",
            "space": "files:notes",
            **kept,
            **columns,  # type: ignore[dict-item]  # the test names columns
        },
    )


OURS, THEIRS, MERGED = FILE.replace("one", "ONE"), FILE.replace("four", "4"), "ONE\ntwo\nthree\n4\n"


def planned(base: Row | None, source: Row, target: Row, held: Held | None = None) -> PlanRow:
    plan_row = PlanRow(OBSERVATION, str(target["id"]), base, source, target, target)
    merge_row(plan_row, held or Held(), {})
    return plan_row


def test_a_file_is_merged_with_its_search_text_and_hash() -> None:
    done = planned(row(FILE), row(THEIRS), row(OURS))
    assert (done.result, done.brought) == (row(MERGED), row(MERGED))
    assert (done.joined, done.held, done.effect) == (True, {}, "changed")


def test_a_text_that_a_person_gave_is_merged_too() -> None:
    by_hand = row(OURS, structure=None)
    done = planned(row(FILE), row(THEIRS), by_hand)
    assert (done.result, done.joined) == (row(MERGED), True)
    done = planned(row(FILE), row(THEIRS), row(OURS, summary='{"a": 1}', structure=None))
    assert done.held == {"summary": "both_changed"}


def test_both_sides_with_one_edit_are_not_merged_anew() -> None:
    done = planned(row(FILE), row(THEIRS), row(THEIRS))
    assert (done.joined, done.effect) == (False, "kept")


@pytest.mark.parametrize(
    ("base", "source", "target"),
    [
        (row(FILE), row(FILE.replace("one", "1")), row(OURS)),
        (None, row(THEIRS), row(OURS)),  # two files of one name
        (row(FILE), row(THEIRS), row(OURS, space="project:notes")),
        (row(FILE, space=None), row(THEIRS, space=None), row(OURS, space=None)),
        (row(FILE), row(THEIRS), row(OURS, structure='{"text":"a","b":1}')),
        (row(FILE), row(THEIRS), row(OURS, structure="[]")),
        (row(FILE), row(THEIRS), row(OURS, summary="by hand")),
        (row(FILE), row(THEIRS), row(OURS, observation_type="insight")),
        (row([FILE]), row([THEIRS]), row([OURS])),
    ],
)
def test_what_is_no_file_is_held(base: Row | None, source: Row, target: Row) -> None:
    done = planned(base, source, target)
    assert done.held["summary"] == "both_changed"
    assert (done.joined, (done.result or {})["summary"]) == (False, target["summary"])


def test_an_open_item_keeps_a_file_from_being_merged() -> None:
    done = planned(row(FILE), row(THEIRS), row(OURS), Held(frozenset({"summary"})))
    assert done.held == {"summary": "both_changed"}


def test_a_merged_text_that_is_too_long_is_held() -> None:
    long = "x" * 4_194_310
    base = row(f"a\n{FILE}")
    done = planned(base, row(f"a\n{FILE}{long}"), row(f"{long}\na\n{FILE}"))
    assert done.held == {"summary": "both_changed"}


def test_only_edits_of_one_text_are_compared() -> None:
    assert merged_file(None, row(OURS), row(THEIRS)) is None
    assert merged_file(row(FILE), None, row(THEIRS)) is None
