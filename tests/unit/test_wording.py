import sqlite3
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from day1.adapters.index.database import fts5_expression
from day1.model.search.wording import (
    MAX_KEYWORDS,
    STOP_WORDS,
    Match,
    all_of,
    any_of,
    asked_about,
    content_words,
    dates,
    embedding_query,
    excerpt,
    keyword_terms,
    likeness_by_words,
    phrase,
    subject,
    usual,
)

words = st.text() | st.lists(
    st.sampled_from(
        ["don't", '"', "*", "NEAR(", "AND", "caf\u00e9", "v2.3", "the", "\x00", "🦉", "-"]
    )
).map(" ".join)


@pytest.fixture(scope="module")
def texts():
    """An index as the search has it: case, accents and stems are folded by FTS5."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE texts USING fts5(body, tokenize='porter unicode61')")
    yield connection
    connection.close()


def keyword_query(question, **options):
    terms = keyword_terms(question, **options)
    return fts5_expression(any_of(*terms)) if terms else ""


def found(texts, body, question, **options):
    texts.execute("DELETE FROM texts")
    texts.execute("INSERT INTO texts VALUES (?)", (body,))
    query = keyword_query(question, **options)
    return bool(
        query and texts.execute("SELECT 1 FROM texts WHERE texts MATCH ?", (query,)).fetchone()
    )


# --- words


def test_content_words_are_lower_case_once_and_without_stop_words():
    assert content_words("Where does the Kestrel gateway, our gateway, don't retry?") == [
        "kestrel",
        "gateway",
        "retry",
    ]


def test_a_keyword_query_asks_for_any_word_that_says_something():
    assert keyword_query("What is the timeout of Heron?") == '"timeout" OR "heron"'


def test_a_compound_is_asked_for_whole_and_in_parts():
    assert (
        keyword_query("write-ahead in v2.3.1")
        == '"write ahead" OR "write" OR "ahead" OR "v2 3 1" OR "v2"'
    )


def test_stop_words_alone_leave_nothing_unless_they_are_wanted():
    assert keyword_query("who is it?") == ""
    assert keyword_query("who is it?", all_words=True) == '"who" OR "is" OR "it"'


def test_a_pasted_page_does_not_become_a_huge_query():
    page = " ".join(f"word{number}" for number in range(10_000))
    assert keyword_query(page).count(" OR ") == MAX_KEYWORDS - 1


@pytest.mark.parametrize(
    ("body", "question"),
    [
        ("Heron retried the payments", "why is it retrying a payment?"),
        ("The Café is closed", "cafe"),
        ("the cafe is closed", "CAFE\u0301"),
        ("see test_sync_conflict", "test_sync_conflict"),
        ("a conflict of sync", "sync-conflict"),
        ("Lantern 3.1 shipped", "what was in 3.1?"),
        ('say "hello"', '"hello'),
    ],
)
def test_words_are_found_through_the_index(texts, body, question):
    assert found(texts, body, question)


def test_a_version_is_not_found_by_its_digits_apart(texts):
    assert not found(texts, "1 of 3 replicas", "3.1")


@given(words)
@example('" OR "')
@example("NEAR(a b, 1) AND NOT c*")
@example("body : x ^y {a b}")
@example("nul\x00byte \ud800")
def test_any_input_is_a_query_and_its_content_words_find_no_more_than_all(texts, question):
    bodies = ("a kestrel near c", "OR and NOT", "x y body", "nul byte")
    texts.execute("DELETE FROM texts")
    texts.executemany("INSERT INTO texts VALUES (?)", [(body,) for body in bodies])

    def rows(*, all_words):
        query = keyword_query(question, all_words=all_words)
        select = "SELECT rowid FROM texts WHERE texts MATCH ?"
        return set(texts.execute(select, (query,))) if query else set()

    assert rows(all_words=False) <= rows(all_words=True)


@given(
    st.lists(st.sampled_from(["kestrel", "Heron", "don't", "the", "v2.3", "naïve", "İzmir", "x"]))
)
def test_a_text_is_found_by_itself_when_it_says_anything(texts, chosen):
    text = " ".join(chosen)
    assert found(texts, text, text) == bool(content_words(text))


@given(words)
def test_a_query_is_empty_only_when_no_content_word_is_left(question):
    assert bool(keyword_query(question)) == bool(content_words(question))


# --- what is embedded


def test_openers_and_names_are_not_embedded():
    words = frozenset({"lantern", "board"})
    assert embedding_query("What is Lantern's newest board for guests?", words) == (
        "What is newest for guests?"
    )


def test_a_question_of_such_words_only_is_kept():
    assert embedding_query("What is Lantern?", frozenset({"lantern"})) == "What is Lantern?"


@given(words)
def test_without_words_to_leave_out_the_question_keeps_its_words(question):
    assert embedding_query(question, frozenset()).split() == question.split()


def test_a_name_is_not_embedded_although_few_memories_have_it():
    assert embedding_query("Where does Dora live?", frozenset({"dora"})) == "Where does live?"


# --- what is usual


PEOPLE = ("Ada", "Bela", "Cleo", "Dora", "Emil")


def some_memories():
    said = [f"{name} said thing{number} in town" for name in PEOPLE for number in range(5)]
    return [*said, "Deploy on Mondays", "Deploy at noon", "Deploy twice", "We deploy seldom"]


def test_words_of_more_than_a_quarter_are_common():
    assert usual(some_memories()).common == {"said", "town"}


def test_a_name_opens_three_memories_and_is_written_small_in_none():
    assert usual(some_memories()).names == {name.lower() for name in PEOPLE}
    twice = [text for text in some_memories() if text not in ("Ada said thing1 in town",) * 3]
    assert "ada" in usual(twice).names
    assert "ada" not in usual([*twice, "an ada of few bits"]).names
    few = [text for text in some_memories() if not text.startswith("Ada")]
    assert "ada" not in usual([*few, "Ada is here", "Ada is there"]).names


def test_an_opener_is_a_word_with_which_a_quarter_of_the_memories_open():
    told = [f"The user likes {number} of these" for number in range(10)]
    others = [f"A walk of the user, number {number}" for number in range(29)]
    assert usual([*told, *others]).openers == {"user", "walk"}
    assert usual([*told, *others, others[0], others[1]]).openers == {"walk"}
    assert "user" in usual([*told, *others, others[0], others[1]]).common


def test_in_few_memories_nothing_is_usual():
    found = usual(some_memories()[:19])
    assert (found.common, found.names) == (frozenset(), frozenset())


def test_texts_are_alike_by_their_rare_words_and_not_by_names():
    told = ["Ada paints the boat", "Bela saw the boat", "Ada saw the rain", "Bela paints at noon"]
    pairs = [(told[0], told[1]), (told[0], told[0]), (told[0], told[2]), (told[2], told[3])]
    some, same, by_name, none = likeness_by_words(pairs, frozenset({"ada", "bela"}))
    assert same == pytest.approx(1)
    assert 0 < some < same
    assert by_name == none == 0
    assert likeness_by_words(pairs, frozenset())[2] > 0


def test_texts_without_words_are_not_alike():
    assert likeness_by_words([("", ""), ("the", "the"), ("rain", "")], frozenset()) == [0, 0, 0]
    assert likeness_by_words([], frozenset()) == []


# --- what is asked about


@pytest.mark.parametrize(
    ("question", "names", "about"),
    [
        ("When does Kestrel retry?", (), {"kestrel"}),
        ("Kestrel timeout", (), set()),
        ("Kestrel timeout", ("kestrel",), {"kestrel"}),
        ("what does dora like?", ("dora", "emil"), {"dora"}),
        ("How do we deploy?", ("dora",), set()),
        ("Does It work for Us and for Dora's mother?", (), {"dora"}),
        ("", ("dora",), set()),
    ],
)
def test_a_question_is_about_its_capitalised_words_and_the_names(question, names, about):
    assert asked_about(question, frozenset(names)) == about


# --- an excerpt


def test_an_excerpt_begins_shortly_before_the_first_word_of_the_question():
    passage = " ".join(f"word{number}" for number in range(200))
    quoted = excerpt(passage, "where is word100?")
    assert "word100" in quoted
    assert len(quoted) < 320
    assert quoted.startswith("\u2026 ")
    assert quoted.endswith(" \u2026")
    assert excerpt("A short one.", "word") == "A short one."


LONG_WORDS = " ".join(f"word{number:03}" for number in range(100))


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("zebra", 0),
        ("word000", 0),
        ("word010", 0),
        ("WORD050", 37),
        ("word050 word060", 37),
        ("word060 word050", 37),
        ("zebra word050", 37),
        ("word099", 86),
    ],
)
def test_an_excerpt_is_of_whole_words_from_a_third_before(question, first):
    """A word with its blank has 8 characters, an excerpt 300, so 100 of them stand before."""
    last = min(first + 36, 99)
    words = " ".join(f"word{number:03}" for number in range(first, last + 1))
    before, after = "\u2026 " * (first > 0), " \u2026" * (last < 99)
    assert excerpt(LONG_WORDS, question) == before + words + after


def test_a_condition_of_several_is_joined_and_of_one_is_itself():
    assert any_of("tea") == all_of("tea") == phrase("tea") == Match("phrase", "tea")
    both = all_of("tea", any_of("milk", "sugar"))
    assert (both.how, both.words, both.parts[0]) == ("all", "", phrase("tea"))
    assert both.parts[1] == Match("any", parts=(phrase("milk"), phrase("sugar")))


# --- subject


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Kestrel drops an upstream call", "kestrel"),
        ("The Kestrel gateway drops a call", "kestrel"),
        ("  \u201cKestrel\u201d drops", "kestrel"),
        ("gRPC is used inside", "grpc"),
        ("The gateway drops a call", None),
        ("We met Kestrel", None),
        ("30 seconds is the limit of Kestrel", None),
        ("", None),
        ("!?", None),
    ],
)
def test_the_subject_is_the_capitalised_word_a_text_opens_with(text, expected):
    assert subject(text) == expected


@given(words)
def test_a_subject_is_never_a_stop_word(text):
    assert subject(text) not in STOP_WORDS


# --- dates


def day(text):
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1_000_000


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("on 2024-05-06", "2024-05-06", "2024-05-07"),
        ("at 2024-12-31T23:59:59Z", "2024-12-31", "2025-01-01"),
        ("in 2024/02", "2024-02-01", "2024-03-01"),
        ("on 6 May 2024?", "2024-05-06", "2024-05-07"),
        ("the 6th of May, 2024", "2024-05-06", "2024-05-07"),
        ("MAY 6TH, 2024", "2024-05-06", "2024-05-07"),
        ("Feb. 29 2024", "2024-02-29", "2024-03-01"),
        ("in March 2024", "2024-03-01", "2024-04-01"),
        ("since sept 2024", "2024-09-01", "2024-10-01"),
        ("early in December, 2024", "2024-12-01", "2025-01-01"),
        ("what was decided in 2024?", "2024-01-01", "2025-01-01"),
        ("the 2024 roadmap", "2024-01-01", "2025-01-01"),
        ("in winter 2024", "2024-01-01", "2025-01-01"),
    ],
)
def test_a_date_with_a_year_is_one_span(text, start, end):
    assert dates(text) == [(day(start), day(end))]
    assert dates(text, ()) == [(day(start), day(end))]


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("on 5 May", "-05-05", "-05-06"),
        ("what happened on may 5?", "-05-05", "-05-06"),
        ("in may", "-05-01", "-06-01"),
        ("In mid-March?", "-03-01", "-04-01"),
        ("the August figures", "-08-01", "-09-01"),
        ("on 3 feb", "-02-03", "-02-04"),
    ],
)
def test_a_date_without_a_year_is_one_span_a_year(text, start, end):
    assert dates(text, (2023, 2024)) == [
        (day(f"{year}{start}"), day(f"{year}{end}")) for year in (2023, 2024)
    ]
    assert dates(text, ()) == []


@pytest.mark.parametrize(
    "text",
    [
        "May I march on?",
        "it may 5 times fail",
        "at least 5 may fail",
        "Mar a wall",
        "dec to hex",
        "31 February 2024",
        "2024-13-01",
        "wait 2000 ms",
        "after 2000 requests",
        "port 2024",
        "version 3.2024.1",
        "commit 20240506",
        "",
    ],
)
def test_what_only_looks_like_a_date_is_none(text):
    assert dates(text, (2024,)) == []


def test_several_dates_come_sorted_and_once():
    text = "between 3 June 2024 and 2024-05-06, so after May 6, 2024"
    assert dates(text) == [
        (day("2024-05-06"), day("2024-05-07")),
        (day("2024-06-03"), day("2024-06-04")),
    ]


def test_a_day_that_only_leap_years_have():
    assert dates("on 29 February", range(2021, 2029)) == [
        (day("2024-02-29"), day("2024-03-01")),
        (day("2028-02-29"), day("2028-03-01")),
    ]


@given(st.dates(min_value=datetime(1970, 1, 1).date(), max_value=datetime(2099, 12, 31).date()))
def test_every_way_to_write_a_day_is_the_same_day(date):
    ways = ["%Y-%m-%d", "%d %B %Y", "%B %d, %Y", "on %d %b %Y", "%d of %B %Y"]
    spans = [dates(date.strftime(way)) for way in ways]
    assert spans == [[(day(date.isoformat()), day(date.isoformat()) + 86_400_000_000)]] * len(ways)


@given(words)
def test_spans_are_never_empty(text):
    assert all(span.start_us < span.end_us for span in dates(text))
