"""The lines of items: what they look like, and what of a file can be used."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from day1.errors import InvalidRequest, Refused
from day1.model.files import item_lines
from day1.model.files.item_lines import ItemLine, read_lines, written_lines
from day1.model.values.instant import FIRST, LAST

KEYS = ["activation_state", "content", "created_at", "id", "last_accessed", "linked_ids"]
KEYS += ["memory_type", "source", "summary", "tags"]
LABELS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=9).filter(str.strip)  # fmt: skip
TIMES = st.integers(FIRST, LAST)
ITEMS = st.builds(
    ItemLine,
    content=LABELS,
    memory_type=st.sampled_from(["semantic", "episodic", "procedural", "working"]),
    tags=st.lists(LABELS, max_size=3, unique=True).map(tuple),
    source=LABELS,
    id=LABELS,
    linked_ids=st.lists(LABELS, max_size=3).map(tuple),
    created_at=TIMES,
    last_accessed=TIMES,
    expires_at=st.none() | TIMES,
    valid_until=st.none() | TIMES,
)


def line(**more: Any) -> str:
    return json.dumps({"content": "Herons fish.", **more})


def why(text: str) -> str:
    """Why a line cannot be used."""
    (bad,) = read_lines(text).bad
    assert bad.number == 1
    return bad.error


def test_a_line_has_the_ten_keys_in_order() -> None:
    written = ItemLine("Herons fish.", id="fact_1", created_at=0).written
    assert list(json.loads(written)) == KEYS
    assert json.loads(written) == {
        "id": "fact_1",
        "content": "Herons fish.",
        "summary": "",
        "memory_type": "semantic",
        "activation_state": "long_term",
        "source": "",
        "tags": [],
        "linked_ids": [],
        "created_at": "1970-01-01T00:00:00.000000+00:00",
        "last_accessed": "1970-01-01T00:00:00.000000+00:00",
    }


def test_only_an_item_that_ends_says_when() -> None:
    ends = json.loads(ItemLine("Herons fish.", expires_at=1, valid_until=2).written)
    assert set(ends) - set(KEYS) == {"expires_at", "valid_until"}


@given(ITEMS)
def test_a_line_is_read_as_it_was_written(item: ItemLine) -> None:
    read = read_lines(item.written)
    assert read.bad == []
    assert [each.item for each in read.items] == [item]
    assert item.written.isascii()
    assert len(item.written.splitlines()) == 1


def test_lines_are_in_the_order_of_their_times_and_ids() -> None:
    items = [ItemLine("a", id="b", created_at=2), ItemLine("a", id="c", created_at=1)]
    items.append(ItemLine("a", id="a", created_at=2))
    ids = [json.loads(each)["id"] for each in written_lines(items).split("\n")]
    assert ids == ["c", "a", "b"]
    assert written_lines([]) == ""


def test_more_bytes_than_an_answer_has_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    items = [ItemLine("a", id=str(number)) for number in range(3)]
    size = len(written_lines(items)) + 1
    monkeypatch.setattr(item_lines, "MOST_BYTES", size)
    written_lines(items)
    monkeypatch.setattr(item_lines, "MOST_BYTES", size - 1)
    with pytest.raises(Refused, match="day1 export") as refused:
        written_lines(items)
    assert refused.value.details == {"item_count": 3, "bytes": size}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"content": "a"', "it is cut off, or not JSON"),
        ("[" * 100_000, "it is cut off, or not JSON"),
        ('{"content": ' * 100_000, "it is cut off, or not JSON"),
        ('{"content": "\ud800"}', "it is cut off, or not JSON"),
        ("7" * 5_000, "it is cut off, or not JSON"),
        ('["a"]', "it is not a JSON object"),
        ("{}", "it has no text under `content`"),
        (line(content=7), "it has no text under `content`"),
        (line(content=" \n"), "its `content` must not be empty"),
        (line(content="a\0"), "its `content` must not contain NUL characters"),
        (line(content="\ud800"), "its `content` must not contain half a character"),
        (line(content="a" * 32_769), "its `content` "),
        (line(memory_type="Semantic"), "its `memory_type` must be one of semantic, episodic"),
        (line(memory_type=["semantic"]), "its `memory_type` must be one of semantic, episodic"),
        (line(id=7), "its `id` is not a text of at most 255 characters"),
        (line(source="a" * 256), "its `source` is not a text of at most 255 characters"),
        (line(source=" "), "its `source` must not be empty"),
        (line(tags="a"), "its `tags` is not a list of at most 100 texts"),
        (line(tags=["a"] * 101), "its `tags` is not a list of at most 100 texts"),
        (line(tags=["a", 1]), "its `tags` must hold only texts of at most 255 characters"),
        (line(tags=[""]), "its `tags` must not be empty"),
        (line(linked_ids={"a": 1}), "its `linked_ids` is not a list"),
        (line(created_at="yesterday"), "its `created_at` is not an ISO 8601 time"),
        (line(last_accessed=17), "its `last_accessed` is not an ISO 8601 time"),
        (line(expires_at="soon"), "its `expires_at` is not an ISO 8601 time"),
    ],
)
def test_a_bad_line_says_why_without_its_words(text: str, problem: str) -> None:
    said = why(text)
    assert said.startswith(problem)
    assert "Herons" not in said


def test_a_bad_line_does_not_stop_the_others() -> None:
    read = read_lines(f"{line(id='a')}\n\n \r\nno\n{line(id='b')}\r\n{{}}\n")
    assert [(each.number, each.item.id) for each in read.items] == [(1, "a"), (5, "b")]
    assert [bad.number for bad in read.bad] == [4, 6]


@pytest.mark.parametrize("empty", ["", "\n \n\t\r\n"])
def test_a_file_without_lines_is_refused(empty: str) -> None:
    with pytest.raises(InvalidRequest, match="has no line"):
        read_lines(empty)


def test_empty_parts_are_absent_and_other_keys_do_not_count() -> None:
    text = line(id="", source=None, tags=None, linked_ids=None, created_at="", summary="x", y=[1])
    (read,) = read_lines(text, "working").items
    assert read.item == ItemLine("Herons fish.", "working")


def test_each_item_gets_more_tags_once() -> None:
    (read,) = read_lines(line(tags=["a", "b", "a"]), "semantic", ["b", "c"]).items
    assert read.item.tags == ("a", "b", "c")
    many = [str(number) for number in range(100)]
    assert (
        read_lines(line(tags=["a"]), "semantic", many).bad[0].error == "it has more than 100 tags"
    )


def test_equal_items_have_the_same_words_source_and_tags() -> None:
    key = ItemLine("a  b\n c", tags=("y", "x", "y"), source="s").key
    assert key == ItemLine(" a b c ", "working", ("x", "y"), "s", id="z", created_at=4).key
    assert key != ItemLine("a b c", tags=("x",), source="s").key
    assert key != ItemLine("a b c", tags=("x", "y")).key
    assert key != ItemLine("a b C", tags=("x", "y"), source="s").key
