"""Which part of a long text is quote, and how long the parts of one answer are."""

import unicodedata
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from day1.model.rows.kind import Row
from day1.model.search.passages import (
    LEAST,
    FoundText,
    PassageLimits,
    Span,
    best_rows,
    part_in,
    passage_at,
    quote,
    text_key,
)
from day1.model.search.ranking import Candidate, Scored
from day1.model.values.parts import Part, part_id

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


NUMBERS = "One two three. Four five six. Seven eight nine. Ten eleven twelve."
GREEK = "alpha beta gamma delta epsilon"
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@pytest.mark.parametrize(
    ("question", "text", "size", "near", "expected"),
    [
        # whole sentences where they fit, else whole words
        ("four", NUMBERS, 20, None, "… Four five six. …"),
        ("six", NUMBERS, 20, None, "… five six. Seven …"),
        ("seven", NUMBERS, 20, None, "… Seven eight nine. …"),
        ("one", NUMBERS, 14, None, "One two three. …"),
        ("one", NUMBERS, 30, None, "One two three. Four five six. …"),
        ("four", NUMBERS, 40, None, "One two three. Four five six. …"),
        ("six", NUMBERS, 40, None, "… Four five six. Seven eight nine. …"),
        ("six", NUMBERS, 30, None, "… Four five six. Seven eight …"),
        ("twelve", NUMBERS, 20, None, "… Ten eleven twelve."),
        ("twelve", NUMBERS, 40, None, "… Seven eight nine. Ten eleven twelve."),
        ("five eight", NUMBERS, 30, None, "… five six. Seven eight nine. …"),
        ("beta", GREEK, 12, None, "… beta gamma …"),
        ("gamma", GREEK, 12, None, "… gamma delta …"),
        ("epsilon", GREEK, 12, None, "… epsilon"),
        ("beta", GREEK.replace(" ", "\n"), 12, None, "… beta\ngamma …"),
        ("kites", 'A kite "flies!" Now. Then it lands again.', 20, None, 'A kite "flies!" Now. …'),
        # no word of the question: the begin, or the nearest passage by meaning
        ("zebra", NUMBERS, 20, None, "One two three. …"),
        ("zebra", NUMBERS, 20, (0, 3), "One two three. …"),
        ("zebra", NUMBERS, 20, (30, 48), "… Seven eight nine. …"),
        ("zebra", NUMBERS, 20, (28, 34), "… six. Seven eight …"),
        ("zebra", NUMBERS, 20, (60, 66), "… Ten eleven twelve."),
        # a word of the question outside of the nearest passage does not count
        ("five", NUMBERS, 20, (30, 48), "… Seven eight nine. …"),
        ("five", NUMBERS, 20, (0, 66), "… Four five six. …"),
        ("eight", NUMBERS, 20, (30, 66), "… Seven eight nine. …"),
        # the first of equally good places; more words win over fewer
        ("two eight", NUMBERS, 30, None, "One two three. Four five six. …"),
        ("key", f"key key {'x ' * 20}key", 12, None, "key key x x …"),
        ("key rotates", f"key key key {'x ' * 20}keys rotate", 12, None, "… keys rotate"),
        ("cat dog", f"cat cat {'x ' * 20}dog {'x ' * 20}cat dog", 12, None, "… x x cat dog"),
        # scripts and words without blanks
        ("zebra", "一。二。三。四。五。六。", 6, None, "一。二。三。 …"),
        ("zebra", LETTERS, 10, None, "abcdefghij …"),
        ("kestrel", "kestrel kestrel", 6, None, "kestre …"),
        ("word", f"{LETTERS} word {LETTERS}", 12, None, "… word abcdefg …"),
        # blanks around a text are no part of a passage
        ("zebra", f"   {NUMBERS}   ", 20, None, "One two three. …"),
        ("twelve", f"   {NUMBERS}   ", 20, None, "… Ten eleven twelve."),
        ("zebra", f"alpha{' ' * 40}beta", 9, (0, 20), "alpha …"),
    ],
)
def test_which_passage_of_a_text_is_quoted(question, text, size, near, expected):
    limits = PassageLimits(size, size, size)
    found = one(question, text, near and Span(*near), limits)
    assert found.text == expected
    assert text[found.span.start : found.span.end] == expected.strip("… ")


def test_a_passage_within_a_run_of_blanks_is_still_a_passage():
    text = f"alpha{' ' * 40}beta"
    start, end = one("zebra", text, Span(20, 30), PassageLimits(9, 9, 9)).span
    assert 5 <= start < end <= start + 9


@pytest.mark.parametrize(
    ("limits", "lengths"),
    [
        (PassageLimits(10, 300, 1_000), [300, 300, 240, 160]),
        (PassageLimits(10, 200, 5_000), [200] * 4),
        (PassageLimits(10, 300, 0), [LEAST] * 4),
        (PassageLimits(10, 100, 5_000), [100] * 4),
        (PassageLimits(10, 300, 4 * LEAST + 1), [LEAST + 1, LEAST, LEAST, LEAST]),
    ],
)
def test_how_many_characters_each_passage_may_have(limits, lengths):
    hits = [FoundText("x" * 999)] * 4
    spans = [quoted.span or Span(0, 0) for quoted in quote("zebra", hits, limits)]
    assert [span.end - span.start for span in spans] == lengths


def test_a_whole_text_has_a_short_quotation_of_its_nearest_passage():
    text = "Kestrel rotates. " + FILLER * 4
    assert one("kestrel", text).quotation is None
    assert one("kestrel", text, Span(0, len(text))).quotation != text
    near = one("kestrel", text, Span(17, 88)).quotation
    assert near.startswith("The quick report")
    assert one("kestrel", "Short.", Span(0, 6)).quotation is None
    assert [q.text for q in quote("kestrel", [FoundText(text * 40)], None)] == [text * 40]


@pytest.mark.parametrize(
    ("number", "span"),
    [(0, (0, 3)), (1, (4, 7)), (2, (8, 11)), (3, None), (4, None)],
)
def test_the_place_of_each_passage_even_of_equal_ones(number, span):
    assert passage_at(["one"] * 3, "one one one", number) == span


# --- one hit for all parts of a text


def part(number: int, **columns: str) -> Row:
    """One of nine parts of a fact."""
    text = f"words\n[part {number} of 9 of fact_whole]"
    return {"id": part_id("fact_whole", number), "fact_text": text, **columns}


def shown_best(
    rows: list[Row], limit: int, hidden: frozenset[str] = frozenset()
) -> tuple[list[str], list[int]]:
    """The best of some rows, which are given best first, and how many were asked for each time."""
    candidates = [Candidate(str(row["id"]), 0, None, None, 0.0) for row in rows]
    asked: list[int] = []

    def order(some: Iterable[Candidate], most: int) -> list[Scored]:
        asked.append(most)
        return [Scored(one.row_id, 0.5, None, 0.0) for one in some][:most]

    def show(ids: Iterable[str]) -> dict[str, Row]:
        wanted = {*ids} - hidden
        return {str(row["id"]): row for row in rows if row["id"] in wanted}

    best, best_by_id = best_rows(candidates, limit, order, show)
    assert {scored.row_id for scored in best} <= best_by_id.keys()
    return [scored.row_id for scored in best], asked


PLAIN: list[Row] = [{"id": f"fact_{n}", "fact_text": "words"} for n in range(9)]


def test_hidden_rows_leave_their_places_to_others() -> None:
    hidden = frozenset({"fact_0", "fact_2"})
    assert shown_best(PLAIN, 3) == (["fact_0", "fact_1", "fact_2"], [3])
    assert shown_best(PLAIN, 3, hidden)[0] == ["fact_1", "fact_3", "fact_4"]
    assert shown_best(PLAIN[:3], 3, hidden)[0] == ["fact_1"]
    assert shown_best([], 3) == ([], [3])


def test_the_best_part_of_a_text_stands_for_all_of_them() -> None:
    parts = [part(number) for number in range(1, 10)]
    assert shown_best([*parts, *PLAIN], 2) == ([part(1)["id"], "fact_0"], [2, 8, 32])
    assert shown_best([PLAIN[0], *parts[4:], PLAIN[1]], 3)[0] == ["fact_0", part(5)["id"], "fact_1"]
    assert shown_best(parts, 2) == ([part(1)["id"]], [2, 8, 32])


def test_parts_of_one_text_have_one_key() -> None:
    assert part_in(part(2)) == Part("fact_whole", 2, 9)
    assert text_key(part(1)) == text_key(part(9)) != text_key(part(2, conversation_id="conv_1"))
    copied = part(2, id="fact_copy", origin_id=part_id("fact_whole", 2))
    assert text_key(copied) == text_key(part(2))
    message: Row = {"id": "msg_1", "content": "words\n[part 1 of 2 of msg_1]"}
    assert part_in(message) == Part("msg_1", 1, 2)
    assert part_in(part(2, id="fact_other")) is None, "a mark of another row counts nothing"


def test_a_row_without_a_mark_is_no_part():
    row: Row = {"id": "fact_1", "fact_text": "Part 1 of 2."}
    assert part_in(row) is None
    assert text_key(row) == "fact_1"
    assert part_in({"id": "rel_1"}) is None


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
