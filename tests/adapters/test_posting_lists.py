"""Posting lists in memory give the scores that FTS5 gives, whatever was written or forgotten."""

import random
import sqlite3
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from day1.adapters.index import posting_lists, words
from day1.adapters.index.bm25 import decoded_sizes, decoded_varints, integers
from day1.adapters.index.database import edition_of
from day1.adapters.index.index import LocalIndex
from day1.model.rows.kind import FACT, MESSAGE
from day1.model.search.wording import all_of, any_of, phrase
from day1.model.values.ids import content_hash
from tests.suites.index_suite import IndexSuite, learn
from tests.suites.index_suite import embedder as embedder  # noqa: PLC0414 - a fixture

WORDS = ("gateway", "gateways", "very", "call", "Ünïcode", "8", "the", "drops", "it's", "e-mail")
TERMS = (*WORDS, "very very", "the call", "calling", "gateway drops", "nothing", "!", "")


@pytest.fixture
def at_once(monkeypatch):
    """Posting lists are used for any number of texts, from the first question on."""
    monkeypatch.setattr(words, "_MANY", 0)
    monkeypatch.setattr(words, "_PATIENCE", 0)


@pytest.mark.usefixtures("at_once")
class TestPostingLists(IndexSuite):
    pass


def has_lists(index: LocalIndex) -> bool:
    return index.words._lists is not None


def drawn_texts(draw: random.Random, number: int) -> list[str]:
    return [" ".join(draw.choices(WORDS, k=draw.randrange(1, 40))) for _ in range(number)]


def answers(index: LocalIndex, terms: list[str], numbers: list[int]) -> list[dict[int, float]]:
    """The best texts, the scores of some texts by each term, and their sums."""
    some = numbers[::3]
    return [
        index.words.best(FACT, any_of(*terms), 20),
        *index.words.each(FACT, terms, some),
        index.words.scores(FACT, terms, some),
    ]


def same_as_fts5(index: LocalIndex, terms: list[str], numbers: list[int]) -> bool:
    """Whether posting lists answer as FTS5 does, in the same order."""
    mine = answers(index, terms, numbers)
    index.words._asked = -(10**6)  # so that FTS5 is asked
    theirs = answers(index, terms, numbers)
    index.words._asked = 0
    assert mine == [pytest.approx(each, rel=1e-12) for each in theirs], terms
    return list(mine[0]) == list(theirs[0])


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("seed", range(12))
def test_scores_and_order_are_those_of_fts5(tmp_path, seed, monkeypatch):
    monkeypatch.setattr(posting_lists, "_MAX_ADDED", 12)
    monkeypatch.setattr(posting_lists, "_MAX_POSTINGS", 300)
    draw, index, numbers = random.Random(seed), LocalIndex(tmp_path), []
    for _ in range(8):
        added = dict.fromkeys(drawn_texts(draw, draw.choice((1, 5, 60))))
        numbers += learn(index, *added)
        learn(index, *drawn_texts(draw, 2), kind=MESSAGE)
        if draw.random() < 0.3:
            gone = draw.sample(numbers, 1)
            hashes = index.words.hashes(FACT, gone).values()
            index.forget(list(hashes))
        for _ in range(3):
            terms = draw.sample(TERMS, draw.randrange(1, 6))
            assert same_as_fts5(index, terms, numbers)
    index.close()


@settings(max_examples=60, deadline=None)
@given(
    texts=st.lists(st.text(max_size=30), min_size=1, max_size=8, unique=True),
    terms=st.lists(st.text(max_size=6), min_size=1, max_size=4),
)
def test_any_characters_are_scored_as_fts5_does(tmp_path_factory, texts, terms):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words, "_MANY", 0)
        patch.setattr(words, "_PATIENCE", 0)
        index = LocalIndex(tmp_path_factory.mktemp("any"))
        numbers = learn(index, *texts)
        terms = [term.replace("\0", " ") for term in terms]
        assert same_as_fts5(index, terms, numbers)
        index.close()


@pytest.mark.usefixtures("at_once")
def test_a_match_of_all_words_is_asked_of_fts5(tmp_path):
    index = LocalIndex(tmp_path)
    first, _ = learn(index, "The gateway drops a call.", "A call.")
    assert list(index.words.best(FACT, all_of("gateway", "call"), 9)) == [first]
    assert not has_lists(index)
    assert len(index.words.best(FACT, phrase("call"), 9)) == 2
    assert has_lists(index)
    index.close()


def test_few_texts_need_no_lists(tmp_path):
    index = LocalIndex(tmp_path)
    learn(index, "The gateway drops a call.")
    for _ in range(9):
        index.words.best(FACT, phrase("call"), 9)
    assert not has_lists(index)
    index.close()


def test_the_first_questions_need_no_lists(tmp_path, monkeypatch):
    monkeypatch.setattr(words, "_MANY", 1)
    index = LocalIndex(tmp_path)
    learn(index, "The gateway drops a call.")
    for asked in range(words._PATIENCE + 1):
        assert not has_lists(index), asked
        index.words.best(FACT, phrase("call"), 9)
    assert has_lists(index)
    index.close()


@pytest.mark.usefixtures("at_once")
def test_while_another_thread_reads_lists_fts5_answers(tmp_path, monkeypatch):
    index = LocalIndex(tmp_path)
    (number,) = learn(index, "The gateway drops a call.")
    entered, go_on = threading.Event(), threading.Event()

    def waits(connection):
        entered.set()
        assert go_on.wait(30)
        return edition_of(connection)

    monkeypatch.setattr(posting_lists, "edition_of", waits)
    answered = []
    thread = threading.Thread(
        target=lambda: answered.append(index.words.best(FACT, phrase("call"), 9))
    )
    thread.start()
    assert entered.wait(30)
    assert index.words.best(FACT, phrase("call"), 9).keys() == {number}
    assert index.words.each(FACT, ["call"], [number])[0].keys() == {number}
    assert not answered
    go_on.set()
    thread.join()
    assert answered[0].keys() == {number}
    index.close()


@pytest.mark.usefixtures("at_once")
def test_a_forgotten_text_is_in_no_list(tmp_path):
    """Another process forgets it: the edition that this one reads is another then."""
    index, other = LocalIndex(tmp_path), LocalIndex(tmp_path)
    numbers = learn(index, "The gateway drops a call.", "A call.", "It waits.")
    assert index.words.best(FACT, phrase("call"), 9).keys() == set(numbers[:2])
    other.forget([content_hash("A call.")])
    assert index.words.best(FACT, phrase("call"), 9).keys() == {numbers[0]}
    assert index.words.each(FACT, ["call"], numbers)[0].keys() == {numbers[0]}
    index.close()
    other.close()


@pytest.mark.parametrize("sizes", [[], [0], [5, 127, 128, 0, 16_383, 16_384, 300, 2_097_152]])
def test_sizes_are_decoded_together_as_one_by_one(sizes):
    records = [encoded(size) + encoded(7) for size in sizes]
    assert decoded_sizes(records).tolist() == sizes
    assert [decoded_varints(record)[0] for record in records] == sizes


def encoded(number: int) -> bytes:
    """An integer as SQLite writes it: seven bits in each byte, the highest first."""
    digits = [number & 0x7F]
    while number := number >> 7:
        digits.append(number & 0x7F | 0x80)
    return bytes(reversed(digits))


def test_columns_of_integers_are_read_at_once():
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE pairs (a INTEGER, b INTEGER)")
    query = "SELECT group_concat(a), group_concat(b) FROM pairs WHERE a > ?"
    assert [column.tolist() for column in integers(connection, query, 0)] == [[], []]
    connection.executemany("INSERT INTO pairs VALUES (?, ?)", [(1, -5), (2, 2**40)])
    assert [column.tolist() for column in integers(connection, query, 0)] == [[1, 2], [-5, 2**40]]


def test_lists_of_terms_that_were_asked_long_ago_are_forgotten(tmp_path, at_once, monkeypatch):
    monkeypatch.setattr(posting_lists, "_MAX_POSTINGS", 4)
    monkeypatch.setattr(posting_lists, "_MAX_EACH", 0)
    index = LocalIndex(tmp_path)
    learn(index, "gateway drops", "gateway calls", "billing drops", "stork calls")
    for term in ("gateway", "drops", "calls", "gateway"):
        assert len(index.words.best(FACT, phrase(term), 9)) == 2
        lists = index.words._posting_lists()
        assert lists._posting_count == sum(len(each.texts) for each in lists._postings.values())
        assert lists._posting_count <= 4
    lists = index.words._posting_lists()
    assert [term for _, term in lists._postings] == ["calls", "gateway"]
    index.close()
