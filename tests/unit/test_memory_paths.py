"""Paths of the memory tool are resolved as texts; keys, and texts of files."""

import pytest

pytest.importorskip("anthropic.lib.tools", reason="the extra `anthropic` is not installed")

from anthropic.lib.tools import ToolError

from day1.integrations.anthropic.listing import listed
from day1.integrations.anthropic.paths import directories_above, is_below, key_of, parent_of
from day1.integrations.anthropic.texts import inserted, replaced, shown, shown_size


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("/memories", ""), ("/memories/", ""), ("/memories//", ""), ("/memories/.", ""),
        ("/memories/a/..", ""), ("/memories/../memories", ""), ("/memories/a.txt", "a.txt"),
        ("/memories/a.txt/", "a.txt"), ("/memories//a//./b", "a/b"), ("/memories/a/../b", "b"),
        ("/memories/../memories/a", "a"), ("/memories/%2e%2e/a", "%2e%2e/a"),
        ("/memories/..\\a", "..\\a"), ("/memories/\\..\\..", "\\..\\.."), ("/memories/...", "..."),
        ("/memories/ a ", " a "), ("/memories/~", "~"), ("/memories/e\u0301", "e\u0301"),
        ("/memories/é", "é"), ("/memories/a\nb", "a\nb"), ("/memories/\u2024\u2024/a", "\u2024\u2024/a"),
        ("/memories/" + "x" * 1_023, "x" * 1_023),
    ],
)  # fmt: skip
def test_a_path_has_a_key(path: str, key: str) -> None:
    assert key_of(path) == key


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("", "must start with /memories"), ("memories/a", "must start with /memories"),
        ("/memoriesx", "must start with /memories"), ("/memories\\a", "must start with /memories"),
        ("/MEMORIES/a", "must start with /memories"), ("/memories../a", "must start with /memories"),
        ("//memories/a", "must start with /memories"), ("/", "must start with /memories"),
        ("/memories/..", "would escape"), ("/memories/../x", "would escape"),
        ("/memories/a/../../b", "would escape"), ("/memories/../memoriesx/a", "would escape"),
        ("/memories/../../memories/a", "would escape"), ("/memories/../../../etc", "would escape"),
        ("/memories/a\0", "has a NUL"), ("/memories/\ud800", "half a character"),
        ("/memories/" + "x" * 1_024, "is too long"), ("/memories/" + "x/" * 6_000, "is too long"),
    ],
)  # fmt: skip
def test_a_path_that_is_none_of_a_file_is_refused(path: str, why: str) -> None:
    with pytest.raises(ToolError, match=why):
        key_of(path)


def test_what_is_below_a_directory_goes_by_names_and_not_by_letters() -> None:
    assert directories_above("a/b/c") == ["a", "a/b"]
    assert directories_above("a") == []
    assert (parent_of("a/b"), parent_of("a")) == ("a", "")
    assert is_below("a/b", "a")
    assert is_below("a/", "a")
    assert is_below("a", "")
    assert not is_below("ab", "a")
    assert not is_below("a", "a")


def test_a_file_of_too_many_lines_is_not_shown() -> None:
    assert shown("/memories/a", "\n" * 999_998, [999_999, -1]).endswith(":\n999999\t")
    with pytest.raises(ToolError, match="exceeds maximum line limit of 999,999 lines"):
        shown("/memories/a", "\n" * 999_999, [1, 1])


def test_a_part_that_overlaps_itself_is_found_at_each_place() -> None:
    with pytest.raises(ToolError, match=r"in lines: 1, 1, 1, 2\. Please"):
        replaced("/memories/a", "aaaa\naa", "aa", "b")
    assert replaced("/memories/a", "aaa", "aa", "b")[0] == "ba"


def test_an_insertion_ends_with_the_end_of_a_line() -> None:
    assert inserted("", 0, "") == "\n"
    assert inserted("a\r\nb", 1, "x\n\n") == "a\r\nx\nb\n"
    assert inserted("\n", 1, "x") == "\nx\n"
    for line in (-1, 2):
        with pytest.raises(ToolError, match=r"range \[0, 1\]"):
            inserted("a\n", line, "x")


@pytest.mark.parametrize(
    ("count", "written"),
    [(0, "0B"), (1, "1B"), (1_023, "1023B"), (1_024, "1K"), (1_536, "1.5K"), (1_048_575, "1024.0K"),
     (1_048_576, "1M"), (1 << 30, "1G"), (1 << 40, "1024G")],
)  # fmt: skip
def test_a_size_is_written_as_the_sdk_writes_it(count: int, written: str) -> None:
    assert shown_size(count) == written


def test_a_list_leaves_out_hidden_names_and_names_that_no_path_leads_to() -> None:
    texts = {
        "d/": "", "d/b": "é", "d/.h": "xxx", "d/.g/x": "", "d/e/f/g": "1234", "d/e/.k": "",
        "d//x": "", "d/../x": "", "./x": "", "/": "", "dx": "", "d/b/": "", "D": "",
    }  # fmt: skip
    sizes = {key: len(text.encode()) for key, text in texts.items()}
    assert listed("/memories/d", "d", sizes).split("\n")[1:] == [
        "9B\t/memories/d", "2B\t/memories/d/b", "0B\t/memories/d/b/", "4B\t/memories/d/e/",
        "4B\t/memories/d/e/f/",
    ]  # fmt: skip
    assert [line.split("\t")[1] for line in listed("/memories", "", sizes).split("\n")[2:]] == [
        "/memories/D", "/memories/d/", "/memories/d/b", "/memories/d/b/", "/memories/d/e/",
        "/memories/dx",
    ]  # fmt: skip
