"""Labels name spaces to the letter: no two lists of labels name the same space."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from day1.errors import InvalidRequest
from day1.model.contexts.space_path import labels_of_space, space_of_labels
from day1.model.values.space import MAX_SPACE, is_within, names_below, space_name

LABEL = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12
)
LABELS = st.lists(LABEL, min_size=1, max_size=4).map(lambda labels: ["app", *labels])


@pytest.mark.parametrize(
    ("labels", "name"),
    [
        (["app", "users", "ann"], "app:users/ann"),
        (["app", "Users"], "app:%55sers"),
        (["app", "a/b", "c"], "app:a%2fb/c"),
        (["app", "a%2fb"], "app:a%252fb"),
        (["app", "a\nb", " c "], "app:a%0ab/%20c%20"),
        (["app", "x:y.z"], "app:x:y.z"),
        (["app", "müller"], "app:müller"),
        (["app", "MÜLLER"], "app:%4d%c3%9c%4c%4c%45%52"),
        (["app", "straße"], "app:stra%c3%9fe"),
    ],
)
def test_labels_are_written_as_a_name_and_read_again(labels, name):
    assert space_of_labels(labels) == name
    assert labels_of_space(name) == labels


@given(LABELS)
@example(["app", "e\u0301"])
@example(["app", "%", "41"])
@example(["app", "\u1100\u1161"])
@example(["app", "ſ", "ẞ", "İ"])
def test_every_label_comes_back_and_its_name_is_one_of_a_space(labels):
    try:
        name = space_of_labels(labels)
    except InvalidRequest:  # too long together
        return
    assert labels_of_space(name) == labels
    assert space_name(name) == name


@given(LABELS, LABELS)
def test_a_space_is_below_another_only_if_its_labels_begin_with_the_others(one, other):
    try:
        first, second = space_of_labels(one), space_of_labels(other)
    except InvalidRequest:
        return
    assert is_within(first, second) == (one[: len(other)] == other)
    low, high = names_below(second)
    assert (low <= first < high) == (one[: len(other)] == other and one != other)


@pytest.mark.parametrize(
    "labels",
    [
        [],
        ["app"],
        ["App", "x"],
        ["a:b", "x"],
        ["app", ""],
        ["", "x"],
        ["app", "a\0"],
        ["app", "\ud800"],
    ],
)
def test_what_is_no_list_of_labels_is_refused(labels):
    with pytest.raises(InvalidRequest):
        space_of_labels(labels)


def test_labels_that_are_too_long_are_refused_with_their_length():
    with pytest.raises(InvalidRequest, match="255") as refused:
        space_of_labels(["app", "x" * 252])
    assert refused.value.details == {"length": 256}
    assert len(space_of_labels(["app", "x" * 251])) == MAX_SPACE


def test_a_name_that_a_person_wrote_has_labels_too():
    assert labels_of_space("agent:writer/user:ann") == ["agent", "writer", "user:ann"]
    assert labels_of_space("project:100%") == ["project", "100%"]
    assert labels_of_space("project:%ff") == ["project", "%ff"]
    assert labels_of_space(None) == []
