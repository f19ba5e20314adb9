"""What every index must do: words and vectors of distinct texts, whatever branch they are on.

A test class inherits `IndexSuite` and gives the fixture `index`, an empty one; it never overrides
a test.
"""

import threading
from collections.abc import Callable

import numpy as np
import pytest

from day1.model.rows.kind import FACT, MESSAGE, OBSERVATION
from day1.model.search.wording import all_of, any_of, phrase
from day1.model.values.ids import content_hash
from day1.ports.index import Cursor, EmbedFirst, Index, TextId
from tests.fakes.hashing_embedder import HashingEmbedder

TEXTS = [
    "The gateway drops a call after thirty seconds.",
    "We deploy on Tuesdays before noon.",
    "The billing service retries a payment three times.",
    "Alice deploys the gateway with a script.",
]


def learn(index: Index, *texts: str, kind=FACT) -> list[TextId]:
    """Index texts; returns their numbers in the same order."""
    index.words.learn(kind, {content_hash(text): text for text in texts})
    known = index.words.known(kind, [content_hash(text) for text in texts])
    return [known[content_hash(text)] for text in texts]


def embed_all(index: Index, embedder: HashingEmbedder) -> None:
    while index.vectors.embed(embedder, 100, wait=True):
        pass


def vector(embedder: HashingEmbedder, text: str) -> np.ndarray:
    return embedder.embed([text])[0]


def with_vectors(index: Index, embedder: HashingEmbedder, numbers: list[TextId]) -> list[TextId]:
    """Those of some texts that have their vectors."""
    return list(index.vectors.cosines(embedder, vector(embedder, "any"), numbers))


def after(steps: int) -> Callable[[], bool]:
    """Says that it is enough when it is asked so often."""
    answers = iter([False] * (steps - 1) + [True])
    return lambda: next(answers)


def long_text(*words: str) -> str:
    """A text of as many passages, in the middle of each of which is one of `words`."""
    parts = [["filler"] * 80 + [word] + ["filler"] * 79 for word in words]
    return " ".join(" ".join(part) for part in parts)


@pytest.fixture
def embedder() -> HashingEmbedder:
    return HashingEmbedder()


class IndexSuite:
    def test_a_text_is_learned_once(self, index):
        first = learn(index, *TEXTS)
        assert len(set(first)) == len(TEXTS)
        assert learn(index, *TEXTS) == first
        assert index.words.known(FACT, ["unknown"]) == {}

    def test_texts_of_one_kind_are_not_found_as_another_kind(self, index):
        (fact,) = learn(index, TEXTS[0])
        (observed,) = learn(index, TEXTS[0], kind=OBSERVATION)
        assert fact != observed
        assert list(index.words.best(FACT, phrase("gateway"), 9)) == [fact]
        assert index.words.best(MESSAGE, phrase("gateway"), 9) == {}
        assert index.words.texts(OBSERVATION, [fact, observed]).keys() == {observed}

    def test_a_text_is_given_back_as_it_was(self, index):
        text = "Ünïcode 'quoted' \n second line 🧪"
        (number,) = learn(index, text)
        assert index.words.texts(FACT, [number, 99]) == {number: text}
        assert index.words.hashes(FACT, [number, 99]) == {number: content_hash(text)}
        assert index.words.hashes(MESSAGE, [number]) == {}

    def test_words_are_stemmed_and_the_best_come_first(self, index):
        numbers = learn(index, *TEXTS)
        best = list(index.words.best(FACT, any_of("deploying", "gateway"), 9))
        assert best[0] == numbers[3]
        assert set(best) == {numbers[0], numbers[1], numbers[3]}
        assert list(index.words.best(FACT, any_of("deploy", "gateway"), 1)) == best[:1]

    def test_scores_are_those_of_the_order_and_of_matching_texts_only(self, index):
        numbers = learn(index, *TEXTS)
        terms = ["gateway", "alice"]
        match = any_of(*terms)
        scores = index.words.scores(FACT, terms, numbers)
        assert scores.keys() == {numbers[0], numbers[3]}
        assert scores[numbers[3]] > scores[numbers[0]] > 0
        assert list(index.words.best(FACT, match, 9).items()) == [
            (numbers[3], scores[numbers[3]]),
            (numbers[0], scores[numbers[0]]),
        ]
        assert index.words.scores(FACT, terms, numbers[:1]) == {numbers[0]: scores[numbers[0]]}

    def test_the_newest_texts_with_all_of_some_words_are_found_without_scores(self, index):
        numbers = learn(index, *TEXTS)
        both = [numbers[3], numbers[0]]
        assert index.words.newest(FACT, any_of("gateway", "alice"), 9) == both
        assert index.words.newest(FACT, any_of("gateway", "alice"), 1) == both[:1]
        assert (
            index.words.newest(FACT, any_of(all_of("gateway", "nothing"), "alice"), 9) == both[:1]
        )
        assert index.words.newest(MESSAGE, phrase("gateway"), 9) == []

    def test_the_score_of_several_words_is_the_sum_of_each_one_s(self, index):
        numbers = learn(index, *TEXTS)
        terms = ["alice", "deploy", "tuesday before", "before noon", "gateway", "none"]
        each = index.words.each(FACT, terms, numbers)
        assert len(each) == len(terms)
        summed = {n: sum(found.get(n, 0) for found in each) for n in numbers}
        scores = index.words.scores(FACT, terms, numbers)
        assert scores == pytest.approx({n: score for n, score in summed.items() if score})
        assert len(scores) == 3
        assert index.words.each(FACT, ["deploy"], numbers[:2]) == [
            {numbers[1]: each[terms.index("deploy")][numbers[1]]}
        ]
        assert index.words.each(FACT, [], numbers) == []

    def test_few_texts_that_are_asked_for_again_have_the_same_scores(self, index):
        beside = (
            f'Gateway {number} waits, "very" {"very " * (number % 4)}long.' for number in range(190)
        )
        numbers = learn(index, *TEXTS, "", *beside)
        few = [*numbers[:5], *numbers[7:9], -1]
        terms = [
            "gateways",
            "very very",
            "alice",
            "call after thirty",
            "none",
            "8",
            "!",
        ]
        for _ in range(2):
            again = index.words.each(FACT, terms, few, again=True)
            for mine, theirs in zip(again, index.words.each(FACT, terms, few), strict=True):
                assert mine == pytest.approx(theirs)
            assert index.words.scores(FACT, terms[:2], few, again=True) == pytest.approx(
                index.words.scores(FACT, terms[:2], few)
            )
            learn(index, *(f"Alice has a gateway {number}." for number in range(190)))
        index.forget([content_hash(TEXTS[3])])
        found = index.words.scores(FACT, ["alice", "gateway"], few, again=True)
        assert numbers[3] not in found
        assert numbers[0] in found

    def test_the_edition_changes_when_texts_are_taken_out(self, index):
        learn(index, *TEXTS)
        made, before = index.generation(), index.edition()
        index.forget([content_hash("no text of it")])
        assert index.edition() == before
        seen = {before}
        for text in TEXTS[:2]:
            index.forget([content_hash(text)])
            seen.add(index.edition())
        assert len(seen) == 3
        assert index.generation() == made

    def test_a_cursor_moves_and_the_last_moved_comes_first(self, index):
        assert index.words.cursor("main") is None
        index.words.move("main", Cursor("c1", None))
        index.words.move("side", Cursor("c2", 7))
        index.words.move("main", Cursor("c3", 9))
        assert index.words.cursor("main") == Cursor("c3", 9)
        assert index.words.cursors() == [Cursor("c3", 9), Cursor("c2", 7)]

    def test_the_newest_texts_get_their_vectors_first(self, index, embedder):
        numbers = learn(index, *TEXTS)
        assert index.vectors.pending(embedder) == 4
        assert index.vectors.embed(embedder, 1) == 3
        cosines = index.vectors.cosines(embedder, vector(embedder, TEXTS[3]), numbers)
        assert cosines == {numbers[3]: pytest.approx(1)}
        embed_all(index, embedder)
        assert index.vectors.pending(embedder) == 0

    def test_texts_that_are_named_get_their_vectors_before_the_newest(self, index, embedder):
        numbers = learn(index, *TEXTS)
        named = EmbedFirst([numbers[1], 99, numbers[0]])
        assert index.vectors.embed(embedder, 1, first=named) == 3
        asked = vector(embedder, TEXTS[0])
        assert index.vectors.cosines(embedder, asked, numbers).keys() == {numbers[1]}
        assert index.vectors.embed(embedder, 2, first=named) == 1  # the first of these has one
        assert numbers[2] not in index.vectors.cosines(embedder, asked, numbers)

    def test_embedding_ends_when_it_is_enough_and_keeps_what_is_done(self, index, embedder):
        numbers = learn(index, *TEXTS)
        assert index.vectors.embed(embedder, 9, enough=after(2)) == 2
        assert with_vectors(index, embedder, numbers) == numbers[2:]
        assert index.vectors.embed(embedder, 9, enough=after(9)) == 0

    def test_what_fits_into_a_stride_is_embedded_in_one_go(self, index):
        class Endpoint(HashingEmbedder):
            stride = len(TEXTS[3]) + len(TEXTS[2])

            def embed(self, texts):
                asked.append(len(texts))
                return super().embed(texts)

        asked: list[int] = []
        learn(index, *TEXTS)
        assert index.vectors.embed(Endpoint(), 9, enough=after(1)) == 2
        assert index.vectors.embed(Endpoint(), 9) == 0
        assert asked == [2, 2]

    def test_a_long_text_is_embedded_bit_by_bit(self, index, embedder):
        (number,) = learn(index, long_text("crane", "heron", "stork"))
        assert index.vectors.embed(embedder, 9, enough=after(2)) == 1
        assert index.vectors.waiting(embedder, [number]) == [number]
        (other,) = learn(index, TEXTS[0])
        index.vectors.embed(embedder, 9, enough=after(1))
        assert index.vectors.waiting(embedder, [number, other]) == [number]
        embedder.embedded = 0
        assert index.vectors.embed(embedder, 9, enough=after(1)) == 0
        assert embedder.embedded == 1  # the others are kept from before
        asked = vector(embedder, "stork")
        assert index.vectors.best_passages(embedder, asked, [number]) == {number: 2}

    def test_the_passage_that_matches_a_question_is_embedded_first(self, index, embedder):
        texts = [long_text("crane", "heron", "stork"), long_text("finch", "robin", "stork")]
        numbers = learn(index, *texts, TEXTS[0])
        asked = vector(embedder, "stork")
        first = EmbedFirst(numbers[:2], ["stork", "none"])
        assert index.vectors.embed(embedder, 9, first=first, enough=after(2)) == 3
        cosines = index.vectors.cosines(embedder, asked, numbers)
        for text, number in zip(texts, numbers[:2], strict=True):
            last = embedder.embed(embedder.passages(text)[-1:])[0]
            assert cosines[number] == pytest.approx(float(last @ asked))
        assert cosines.keys() == {*numbers[:2]}
        nearest, missing = index.vectors.nearest(embedder, asked, numbers, 9)
        assert nearest == pytest.approx(cosines)
        assert missing == 3
        assert len(index.vectors.nearest(embedder, asked, numbers, 1)[0]) == 1
        assert index.vectors.waiting(embedder, numbers) == numbers
        index.forget([content_hash(texts[0])])
        assert index.vectors.cosines(embedder, asked, numbers[:1]) == {}
        embed_all(index, embedder)
        assert index.vectors.nearest(embedder, asked, numbers[1:], 9)[1] == 0

    def test_a_text_is_embedded_once(self, index, embedder):
        learn(index, *TEXTS)
        embed_all(index, embedder)
        learn(index, *TEXTS, "And another.")
        embed_all(index, embedder)
        assert embedder.embedded == len(TEXTS) + 1

    def test_cosines_are_true_and_the_nearest_come_first(self, index, embedder):
        numbers = learn(index, *TEXTS)
        embed_all(index, embedder)
        asked = vector(embedder, "gateway seconds")
        expected = embedder.embed(TEXTS) @ asked
        cosines = index.vectors.cosines(embedder, asked, numbers)
        assert cosines == pytest.approx(dict(zip(numbers, expected, strict=True)), abs=1e-6)
        nearest, missing = index.vectors.nearest(embedder, asked, numbers, 3)
        assert missing == 0
        assert list(nearest) == [numbers[n] for n in np.argsort(-expected)[:3]]
        assert nearest == pytest.approx({text: cosines[text] for text in nearest})

    def test_the_closest_of_a_kind_are_found_among_all(self, index, embedder):
        texts = [*TEXTS, long_text("gateway", "heron", "crane")]
        numbers = learn(index, *texts)
        learn(index, *(f"gateway {number}" for number in range(20)), kind=OBSERVATION)
        asked = vector(embedder, "gateway")
        assert index.vectors.closest(FACT, embedder, asked, 5) == []
        embed_all(index, embedder)
        nearest, _ = index.vectors.nearest(embedder, asked, numbers, 9)
        assert index.vectors.closest(FACT, embedder, asked, 9) == list(nearest)
        assert index.vectors.closest(FACT, embedder, asked, 2) == list(nearest)[:2]
        assert index.vectors.closest(MESSAGE, embedder, asked, 2) == []

    def test_only_given_texts_are_compared_and_those_without_vector_counted(self, index, embedder):
        numbers = learn(index, *TEXTS)
        embed_all(index, embedder)
        late = learn(index, "Learned late.")
        asked = vector(embedder, TEXTS[0])
        assert index.vectors.nearest(embedder, asked, numbers[1:3] + late, 9)[1] == 1
        assert set(index.vectors.nearest(embedder, asked, numbers[1:3] + late, 9)[0]) == set(
            numbers[1:3]
        )
        assert index.vectors.nearest(embedder, asked, [], 9) == ({}, 0)

    def test_scattered_texts_are_compared_as_well_as_dense_ones(self, index, embedder):
        texts = [f"memory number {number} of many" for number in range(3000)]
        numbers = learn(index, *texts)
        embed_all(index, embedder)
        some = list(range(0, 3000, 5))
        asked = vector(embedder, "number 1234 and 1235")
        expected = embedder.embed([texts[n] for n in some]) @ asked
        cosines = index.vectors.cosines(embedder, asked, [numbers[n] for n in some])
        assert list(cosines.values()) == pytest.approx(expected.tolist(), abs=1e-6)

    def test_likeness_is_the_cosine_of_each_pair_that_has_vectors(self, index, embedder):
        numbers = learn(index, *TEXTS)
        embed_all(index, embedder)
        (late,) = learn(index, "Learned late.")
        pairs = [(numbers[0], numbers[3]), (numbers[1], late), (numbers[1], numbers[2])]
        vectors = embedder.embed(TEXTS)
        expected = [float(vectors[0] @ vectors[3]), float(vectors[1] @ vectors[2])]
        assert index.vectors.likeness(embedder, pairs) == pytest.approx(expected, abs=1e-6)
        assert index.vectors.likeness(embedder, []) == []
        assert index.vectors.likeness(embedder, [(late, 10_000)]) == []

    def test_a_long_text_counts_by_its_best_passage(self, index, embedder):
        texts = ["kestrel alone", long_text("kestrel", "heron", "osprey"), "short one"]
        numbers = learn(index, *texts)
        embed_all(index, embedder)
        asked = vector(embedder, "heron")
        passages = embedder.passages(texts[1])
        assert len(passages) == 3
        cosines = index.vectors.cosines(embedder, asked, numbers)
        assert cosines[numbers[1]] == pytest.approx(float(max(embedder.embed(passages) @ asked)))
        assert index.vectors.best_passages(embedder, asked, numbers) == {numbers[1]: 1}
        assert index.vectors.several_passages(embedder, [*numbers, 10_000]) == {numbers[1]: 3}
        assert index.vectors.several_passages(embedder, []) == {}
        nearest, missing = index.vectors.nearest(embedder, asked, numbers, 9)
        assert sorted(nearest) == numbers
        assert missing == 0

    def test_vectors_of_two_embedders_are_not_compared(self, index, embedder):
        class Other(HashingEmbedder):
            name, dimension = "other/of some:name", 32

            def embed(self, texts):
                return super().embed(texts)[:, :32] * 2**0.5

        other = Other()
        other.embed = lambda texts: embedder.embed(texts)[:, :32]
        numbers = learn(index, *TEXTS)
        embed_all(index, embedder)
        assert index.vectors.pending(other) == 4
        embed_all(index, other)
        asked = embedder.embed(TEXTS[:1])[0]
        assert index.vectors.cosines(embedder, asked, numbers[:1])[numbers[0]] == pytest.approx(1)
        short = index.vectors.cosines(other, asked[:32], numbers[:1])[numbers[0]]
        assert short == pytest.approx(float(asked[:32] @ asked[:32]))

    def test_a_forgotten_text_is_found_no_more(self, index, embedder):
        numbers = learn(index, *TEXTS)
        learn(index, TEXTS[0], kind=OBSERVATION)
        embed_all(index, embedder)
        index.forget([content_hash(TEXTS[0])])
        asked = vector(embedder, TEXTS[0])
        for kind in (FACT, OBSERVATION):
            assert index.words.known(kind, [content_hash(TEXTS[0])]) == {}
            assert numbers[0] not in index.words.best(kind, phrase("gateway"), 9)
        assert index.words.texts(FACT, numbers).keys() == set(numbers[1:])
        assert index.vectors.cosines(embedder, asked, numbers).keys() == set(numbers[1:])
        (again,) = learn(index, TEXTS[0])
        assert again not in numbers
        embed_all(index, embedder)
        assert index.vectors.cosines(embedder, asked, [again])[again] == pytest.approx(1)

    def test_threads_may_share_one_index(self, index, embedder):
        failed: list[BaseException] = []

        def work(number: int) -> None:
            try:
                for turn in range(8):
                    mine, ours = f"thread {number} turn {turn}", f"turn {turn}"
                    ids = learn(index, mine, ours)
                    index.vectors.embed(embedder, 4)
                    index.vectors.nearest(embedder, vector(embedder, mine), ids, 2)
                    assert ids[0] in index.words.best(
                        FACT, phrase(f"thread {number} turn {turn}"), 500
                    )
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        embed_all(index, embedder)
        texts = [f"thread {n} turn {t}" for n in range(6) for t in range(8)]
        numbers = learn(index, *texts)
        asked = vector(embedder, texts[17])
        assert index.vectors.cosines(embedder, asked, numbers)[numbers[17]] == pytest.approx(1)
        assert embedder.embedded == len(texts) + 8 + 6 * 8 + 1  # each text and each question once
