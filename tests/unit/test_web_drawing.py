"""Pictures of branches and relations, and texts made inert."""

from typing import Any

import pytest

from day1.interfaces.web.drawing import tree, web
from day1.interfaces.web.rendering import became, inert, marked, plain, query


def branch(name: str, parent: str | None, forked: str, moved: str) -> dict[str, Any]:
    made = {"branch": name, "parent": parent, "forked_at": forked, "moved_at": moved}
    return {**made, "status": "active"}


def merge(source: str, target: str, at: str) -> dict[str, Any]:
    return {"source": source, "target": target, "at": at, "merged_count": 1}


def test_a_branch_stands_below_its_parent_and_begins_where_it_was_forked():
    drawn = tree(
        [
            branch("main", None, "01", "09"),
            branch("late", "main", "05", "06"),
            branch("early", "main", "02", "08"),
            branch("early/child", "early", "03", "04"),
        ],
        [merge("early", "main", "07")],
    )
    assert [lane.name for lane in drawn.lanes] == ["main", "early", "early/child", "late"]
    lanes = {lane.name: lane for lane in drawn.lanes}
    assert lanes["main"].fork is None
    assert lanes["main"].start < lanes["early"].start < lanes["early/child"].start
    assert lanes["early/child"].end < lanes["late"].start
    (join,) = drawn.joins
    assert (join.y, join.source) == (lanes["main"].y, "early")
    assert lanes["late"].end < join.x < lanes["early"].end
    assert max(lane.end for lane in drawn.lanes) <= drawn.width
    assert max(lane.y for lane in drawn.lanes) < drawn.height


def test_of_many_branches_main_and_the_latest_are_drawn():
    many = [branch(f"b{n:02}", "main", f"{n:03}", f"{n:03}") for n in range(40)]
    drawn = tree([branch("main", None, "000", "000"), *many], [])
    names = {lane.name for lane in drawn.lanes}
    assert "main" in names
    assert "b39" in names
    assert "b00" not in names
    assert len(names) == 24


def test_a_merge_from_a_branch_that_is_gone_is_left_out():
    drawn = tree([branch("main", None, "01", "02")], [merge("", "main", "02")])
    assert drawn.joins == []
    assert tree([], []).lanes == []


def test_equal_relations_are_one_line_and_places_are_the_same_each_time():
    triples = [("a", "to", "b"), ("a", "to", "b"), ("a", "also", "b"), ("b", "to", "a")]
    drawn = web([*triples, ("a", "is", "a")])
    assert sorted(edge.label for edge in drawn.edges) == ["is", "to", "to, also"]
    assert drawn == web([*triples, ("a", "is", "a")])
    for entity in drawn.entities:
        assert 0 < entity.x < drawn.width
        assert 0 < entity.y < drawn.height


def test_entities_with_few_relations_are_left_out_of_a_large_picture():
    drawn = web([("hub", "has", f"part {n}") for n in range(100)])
    assert len(drawn.entities) == 40
    assert drawn.left_out == 101 - 40
    assert "hub" in {entity.name for entity in drawn.entities}
    assert web([]).entities == []


@pytest.mark.parametrize(
    "mark", ["\u202e", "\u2066", "\u200b", "\ufeff", "\x00", "\x1b", "\U000e0041"]
)
def test_a_mark_that_nobody_sees_is_named(mark: str):
    shown = marked(f"a{mark}b")
    assert mark not in shown
    assert f"U+{ord(mark):04X}" in shown
    assert mark not in plain(f"a{mark}b")


def test_letters_of_any_script_and_emoji_stay_as_they_are():
    text = "שלום مرحبا 漢字 👩\u200d💻 क्\u200dष\t\n"
    assert str(marked(text)) == text


def test_a_text_is_escaped_so_that_it_becomes_no_tag():
    assert "<b>" not in inert("<b>")
    assert "<b>" not in inert("<b>" * 1_000)
    assert "<b>" not in became("<b> one", "<b> two")
    assert inert(None) == '<span class="none">none</span>'


def test_a_query_keeps_what_is_given_and_leaves_out_what_is_empty():
    assert query({"a": 1, "b": None, "c": ""}, d="x&y") == "?a=1&d=x%26y"
    assert query({}) == ""
