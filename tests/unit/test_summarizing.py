"""Summaries by rules: which sentences are chosen, and what counts as a name."""

import pytest

from day1.model.search.passages import sentences
from day1.model.search.summarizing import MOST_CHARACTERS, names_in, summarize


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("One. Two!  Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("A line\n\nand  another\n", ["A line", "and another"]),
        ("v1.2 is out. Get it.", ["v1.2 is out.", "Get it."]),
        ('He said "no." Then he left.', ['He said "no."', "Then he left."]),
        ("\u4f60\u597d\u3002\u518d\u89c1\u3002", ["\u4f60\u597d\u3002", "\u518d\u89c1\u3002"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_the_sentences_of_a_text(text: str, parts: list[str]) -> None:
    assert sentences(text) == parts


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        (["We asked Ada Lovelace, and Grace."], ["Ada Lovelace", "Grace"]),
        (["We met Ada. Bo left."], ["Ada"]),
        (["Bo left.", "We saw Bo."], ["Bo"]),
        (["Deploy it.", "We deploy The thing."], []),
        (["We use src/app.py and parseUrl, not 3.5 or snake_case."], ["src/app.py", "parseUrl", "snake_case"]),
        (["See https://example.org/a."], ["https://example.org/a"]),
        (["We go to (New York) now."], ["New York"]),
        (["We like Ada, Bo and Cy."], ["Ada", "Bo", "Cy"]),
        (["We like \u00c9mile and \u00d6rn."], ["\u00c9mile", "\u00d6rn"]),
        (["We like Ada and Ada."], ["Ada"]),
        (["We like it, I think, and a ... b."], []),
        (["We like (Ada Bo) Cy."], ["Ada Bo", "Cy"]),
    ],
)  # fmt: skip
def test_the_names_in_texts(texts: list[str], names: list[str]) -> None:
    assert names_in(texts) == names


def test_sentences_with_names_and_numbers_come_in_order() -> None:
    texts = [
        "Well then. The gateway Kestrel restarts every 45 seconds. Fine.",
        "Okay. We asked Ada, who set the limit to 12 and told Bo. Thanks.",
    ]
    chosen = summarize(texts, 110)
    assert [(q.text, q.sentence) for q in chosen] == [
        (0, "The gateway Kestrel restarts every 45 seconds."),
        (1, "We asked Ada, who set the limit to 12 and told Bo."),
    ]
    assert [q.sentence for q in summarize(texts, 60)] == [texts[1].split(". ")[1] + "."]


def test_a_number_counts_once_and_as_much_as_a_name() -> None:
    texts = ["It is 5 and 5 and 5. It is 6 and 7."]
    assert [q.sentence for q in summarize(texts, 20)] == ["It is 6 and 7."]


def test_the_first_of_equal_sentences_counts() -> None:
    chosen = summarize(["We saw Ada.", "we saw  Ada", "We saw Bo."])
    assert [(q.text, q.sentence) for q in chosen] == [(0, "We saw Ada."), (2, "We saw Bo.")]


def test_a_summary_is_no_longer_than_asked() -> None:
    assert [len(" ".join(q.sentence for q in summarize(["abcd. efgh. ijkl."], most))) for most in (4, 5, 10, 11, 17)] == [0, 5, 5, 11, 17]  # fmt: skip
    long = summarize(["x" * 1_000])
    assert [len(q.sentence) for q in long] == [400]
    many = summarize([f"Sentence {n} of many." for n in range(50)])
    assert len(many) == 12
    assert [q.text for q in many] == list(range(12))
    words = summarize([f"{'word ' * 30}{n}." for n in range(50)])
    assert sum(len(q.sentence) + 1 for q in words) <= MOST_CHARACTERS + 1
    assert len(words) == 7


def test_nothing_gives_nothing() -> None:
    assert summarize([]) == summarize(["", "!!!"]) == []
