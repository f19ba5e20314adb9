"""Facts whose words are as unevenly frequent as those of a language, and vectors of such texts.

A few words stand in every second text and most in a few of a million, as in a real text (Zipf's
law). The frequent ones are English; the rare ones are put together from English word parts. Facts
come in sessions of twelve on one topic, so that neighbours belong together. No data set is used,
and each run makes the same texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from day1.model.files.export import end_line, header_line, row_line
from day1.model.rows.kind import FACT
from day1.model.rows.origin import Origin
from day1.model.values.ids import derived_id
from day1.services.rows.recording import NewFact, fact_row


def _words(text: str) -> list[str]:
    return text.split()


_FREQUENT = _words(
    """
    the of and to a in is for that it on with as was by at from this be are not or we an has have
    which when after all but can they will one its were been their than more if no into only also
    two now each new other must time use user used while first before between file data because
    so how who where through should same most without until over under every day week year last
    next long old large small fast slow team name number list page call test build code server
    client table row index key value token job queue cache error log change release version order
    report answer question customer invoice payment account service system model agent memory store
    branch review request message session event task plan note meeting project product price
    """
)
_PREFIXES = _words("re un over pre micro multi inter sub trans out up fore under mis co auto")
_ROOTS = _words(
    """
    batch cache ship form lock port sort mark print load link pack stream block draft frame graph
    grant hedge index join knit label latch merge mirror mount notch order parse patch phase pivot
    point press probe proof quote range rank rate route sample scale scan seal search seed shard
    shift sign slice split stack stage stamp store sweep switch tag test thread tile time trace
    track trade train trust tune view vote watch weave weld wire work write charge claim cloud
    clean count cross draw drive field flow fold ground group guard hold land lift light measure
    mind model move name note page pair paint part place plant plate power
    """
)
_SUFFIXES = _words(
    """
    s er ers ing ed able ment ments less like ness ship board book works yard house line lines
    desk ward wise room side
    """
)
_SESSION = 12
"""Facts on one topic."""
_TOPIC_WORDS, _SHORTEST, _LONGEST = 6, 12, 40
_AGENTS = 40
_STEP_US = 30_000_000
"""Between two facts of a session."""
_START_US = 1_600_000_000_000_000
_AT_ONCE = 12_000
DIMENSION = 384


def vocabulary() -> list[str]:
    """All words, the most frequent first."""
    rare = [f"{p}{r}{s}" for p in ("", *_PREFIXES) for r in _ROOTS for s in ("", *_SUFFIXES)]
    order = np.random.default_rng(1).permutation(len(rare)).tolist()
    return list(dict.fromkeys([*_FREQUENT, *(rare[place] for place in order)]))


def texts(count: int, seed: int = 0) -> Iterator[str]:
    """`count` different texts of 12 to 40 words."""
    words = np.array(vocabulary())
    odds = np.cumsum(1 / (np.arange(len(words)) + 2.7))
    topic_odds = np.cumsum(1 / np.sqrt(np.arange(len(words)) + 200))
    random = np.random.default_rng(seed)
    for start in range(0, count, _AT_ONCE):
        drawn = words[np.searchsorted(odds, random.random((_AT_ONCE, _LONGEST)) * odds[-1])]
        sessions = (_AT_ONCE // _SESSION, 1, _TOPIC_WORDS)
        topics = words[np.searchsorted(topic_odds, random.random(sessions) * topic_odds[-1])]
        topics = np.broadcast_to(topics, (sessions[0], _SESSION, _TOPIC_WORDS))
        topics = topics.reshape(_AT_ONCE, _TOPIC_WORDS)
        of_topic = random.random((_AT_ONCE, _TOPIC_WORDS)) < 0.5
        lengths = random.integers(_SHORTEST, _LONGEST + 1, _AT_ONCE).tolist()
        for place in range(min(_AT_ONCE, count - start)):
            text_words = drawn[place, : lengths[place]].tolist()
            for number, word in enumerate(topics[place][of_topic[place]].tolist()):
                text_words[2 * number + 1] = word
            yield f"{' '.join(text_words).capitalize()} (note {start + place})."


def questions(count: int, facts: int, seed: int = 1) -> list[str]:
    """Questions of five words of a fact each, some of them frequent and some rare."""
    random = np.random.default_rng(seed)
    wanted = {int(place): None for place in random.choice(facts, count, replace=False)}
    asked: dict[int, str] = {}
    for number, text in enumerate(texts(facts)):
        if number in wanted:
            text_words = text.lower().split(" (")[0].split()[1:]
            chosen = random.choice(len(text_words), 5, replace=False).tolist()
            asked[number] = " ".join(text_words[place] for place in sorted(chosen)) + "?"
    return [asked[place] for place in wanted]


def export_lines(count: int) -> Iterator[bytes]:
    """Such facts as a file that `day1 import jsonl` reads."""
    yield header_line(1)
    for number, text in enumerate(texts(count)):
        created_at = _START_US + number * _STEP_US
        session = number // _SESSION
        origin = Origin(
            agent_id=f"agent-{session % _AGENTS}", session_id=f"session-{session}", source="user"
        )
        row_id = derived_id(FACT.prefix, created_at, "zipf", str(number))
        yield row_line(FACT, fact_row(row_id, NewFact(text, category="note"), origin, created_at))
    yield end_line(count)


class WordVectors:
    """Vectors of texts made of their words, under the real embedder's name.

    Each word has a random direction, and rare words weigh more; so texts of one topic are near, and
    a text is near to a question with its words. A text takes 0.02 ms, the real model 15.
    """

    name = "minilm-l6-v2-384"
    dimension = DIMENSION
    stride = 250

    def __init__(self) -> None:
        """Give each word its direction."""
        words = vocabulary()
        self._place = {word: place for place, word in enumerate(words)}
        directions = np.random.default_rng(2).standard_normal((len(words), DIMENSION), np.float32)
        weights = np.log(np.arange(len(words), dtype=np.float32) + 2)
        self._directions = directions * weights[:, np.newaxis]

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Sum up the directions of the words of each text, and a little of its own."""
        vectors = np.empty((len(texts), DIMENSION), np.float32)
        for number, text in enumerate(texts):
            cut = text.lower().replace("?", "").split(" (")[0].split()
            places = [self._place[word] for word in cut if word in self._place]
            vectors[number] = self._directions[places].sum(axis=0)
            vectors[number, crc32(text.encode()) % DIMENSION] += 1
        unit_vectors: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit_vectors

    def passages(self, text: str) -> list[str]:
        """Every text of these runs is short."""
        return [text]
