"""Which part of a long text is quote, and how long the parts of one answer are."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from day1.model.search.passages import LEAST, FoundText, PassageLimits, Span, quote

LIMITS = PassageLimits()
FILLER = "The quick report was filed on time and nobody had any remarks about it. "


def filled(*sentences: tuple[int, str], length: int = 4_000) -> str:
    """A text of filler with sentences at about their places."""
    text = ""
    for place, sentence in sentences:
        text += FILLER * ((place - len(text)) // len(FILLER)) + sentence + " "
    return (text + FILLER * ((length - len(text)) // len(FILLER))).strip()


def one(question: str, text: str, near: Span | None = None, limits: PassageLimits = LIMITS):
    (shown,) = quote(question, [FoundText(text, near)], limits)
    return shown


def test_a_text_of_a_thousand_characters_is_whole_and_a_longer_one_is_not():
    text = ("word " * 200)[:999] + "."
    assert len(text) == 1_000
    assert (one("word", text).text, one("word", text).span) == (text, None)
    assert one("word", text + ".").span is not None


def test_a_part_says_where_it_lies_and_how_long_the_text_is():
    text = filled((2_000, "Kestrel keys rotate on Fridays."))
    shown = one("When do kestrel keys rotate?", text)
    assert shown.length == len(text)
    assert shown.text == f"… {text[shown.span.start : shown.span.end]} …"
    assert "Kestrel keys rotate on Fridays." in shown.text
    assert 600 < shown.span.end - shown.span.start <= 800


@pytest.mark.parametrize(("place", "marks"), [(0, (False, True)), (4_000, (True, False))])
def test_a_mark_stands_only_where_something_is_left_out(place, marks):
    text = filled((place, "Kestrel rotates."))
    shown = one("kestrel", text)
    assert (shown.text.startswith("… "), shown.text.endswith(" …")) == marks


def test_the_rarest_words_decide_and_not_the_first_that_occurs():
    text = filled((300, "The service has users."), (3_000, "Kestrel is the service."))
    others = [FoundText(f"Users of the service {n}.") for n in range(8)]
    shown = quote("Which users has the kestrel service?", [FoundText(text), *others], LIMITS)
    assert "Kestrel is the service." in shown[0].text


def test_most_words_in_one_place_win_over_one_word_many_times():
    text = filled((200, "Keys keys keys keys keys."), (3_000, "The keys rotate every Friday."))
    assert "rotate every Friday" in one("Do keys rotate on a Friday?", text).text


@pytest.mark.parametrize(
    ("asked", "said"),
    [("moved", "moving"), ("replies", "reply"), ("deploy", "deployments"), ("KEYS", "key")],
)
def test_a_word_counts_with_another_ending(asked, said):
    text = filled((3_000, f"Here is {said} at last."))
    assert f"Here is {said} at last." in one(f"What about {asked}?", text).text


def test_a_word_does_not_count_within_another():
    text = filled((200, "The teammates met."), (3_000, "Tea is served."))
    assert "Tea is served." in one("tea", text).text


def test_the_nearest_passage_by_meaning_is_where_the_part_lies():
    text = filled((300, "Kestrel rotates."), (3_000, "Nothing else."))
    near = Span(2_000, 2_900)
    part = one("kestrel", text, near).span
    assert near.start <= part.start < part.end <= near.end
    few = one("kestrel", text, Span(3_950, 4_000)).span
    assert few.start >= len(text) - 800
    assert few.end == len(text)


def test_a_part_begins_and_ends_with_a_sentence_or_line():
    text = filled((2_000, "Kestrel rotates."))
    shown = one("kestrel", text)
    assert shown.text.startswith("… The quick")
    assert shown.text.endswith("about it. …")
    lines = "\n".join(f"- point {n} of the long list without any stop" for n in range(100))
    shown = one("where is point 50?", lines)
    assert shown.text.startswith("… - point")
    assert shown.text.endswith("stop …")
    assert "point 50 " in shown.text
    words = "word " * 500 + "kestrel " + "word " * 500
    assert set(one("kestrel", words).text.split()) == {"…", "word", "kestrel"}


@pytest.mark.parametrize(
    "letter", ["e\u0301", "\U0001f44d\U0001f3fd", "\U0001f468\u200d\U0001f469", "日"]
)
def test_a_letter_is_not_parted_from_its_accents(letter):
    for lead in range(4):
        text = "x" * lead + letter * 2_000
        part = one("nothing", text, Span(900, 1_800)).span
        assert text[part.start :].startswith(letter)
        assert text[: part.end].endswith(letter)


def test_the_first_of_many_long_texts_get_more_and_all_get_some():
    text = filled((2_000, "Kestrel rotates."))
    sizes = [
        [len(s.text) - 4 for s in quote("kestrel", [FoundText(text)] * n, LIMITS)]
        for n in (2, 10, 30)
    ]
    assert min(sizes[0]) > 600
    assert sum(sizes[1]) <= 2_000
    assert sizes[1][0] > 2 * LEAST >= 2 * max(sizes[1][1:])
    assert max(sizes[2]) <= LEAST
    assert all("Kestrel" in s.text for s in quote("kestrel", [FoundText(text)] * 30, LIMITS))


def test_short_texts_take_nothing_from_long_ones():
    long = FoundText(filled((2_000, "Kestrel rotates.")))
    short = FoundText("Kestrel is a service.")
    shown = quote("kestrel", [short, long, *[short] * 8], LIMITS)
    assert len(shown[1].text) > 600
    assert [s.text for s in shown if s.span is None] == [short.text] * 9


def test_a_passage_as_long_as_the_text_is_the_whole_text():
    text = " " * 300 + "word " * 150 + "\n" * 300
    assert (one("word", text).span, one("word", text).text) == (None, text)
    wide = PassageLimits(100, 5_000, 9_000)
    assert one("word", "word " * 900, limits=wide).span is None


PIECES = st.lists(
    st.sampled_from(
        [
            "kestrel",
            "rotates",
            "x",
            ". ",
            "\n",
            " ",
            "e\u0301",
            "\u0301",
            "\u200d",
            "日。",
            "!",
            "\t",
        ]
    ),
    min_size=1,
    max_size=400,
)


@given(PIECES, st.integers(0, 900), st.integers(1, 400), st.integers(1, 120))
def test_a_part_is_a_piece_of_the_text_and_no_longer_than_it_may_be(pieces, at, wide, size):
    text = "".join(pieces)
    near = Span(at, at + wide) if at + wide <= len(text) else None
    limits = PassageLimits(20, size, size)
    shown = one("Does kestrel rotate?", text, near, limits)
    if shown.span is None:
        assert len(text.strip()) <= max(20, size)
        assert shown.text == text
    else:
        start, end = shown.span
        assert 0 <= start < end <= len(text)
        assert end - start <= size
        assert text[start:end] in shown.text


@given(st.text(max_size=300), st.text(max_size=60))
def test_any_question_of_any_text_is_answered(text, question):
    shown = one(question, text, None, PassageLimits(10, 40, 40))
    assert unicodedata.normalize("NFC", shown.text) is not None
    assert shown.length == len(text)
