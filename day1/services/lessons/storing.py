"""Storing lessons: a new one is a row, the same one in other words changes the row there is.

Candidates for the same are found by their words, so a lesson like no other costs no vector. What
is the same is decided by `model.lessons.rewording` and the cosine of each part.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Final

from day1.errors import EmbedderUnavailable, NotFound, RevisionChanged, StoreBusy
from day1.model.branches.branch import Branch
from day1.model.lessons.experience import LABEL, Experience, experience_of
from day1.model.lessons.rewording import ALIKE, same_in_words
from day1.model.rows.change import CommitId, Query, Ref
from day1.model.rows.kind import FACT, Row, canonical, revision
from day1.model.rows.origin import Origin
from day1.model.search.grouping import ALIKE as NEAR
from day1.model.search.grouping import at_odds, plain
from day1.model.search.wording import all_of, any_of, content_words, phrase
from day1.model.values.ids import content_hash
from day1.ports.embedder import Embedder
from day1.ports.index import IndexBehind, IndexLost
from day1.ports.reading import Reading
from day1.services.repository.repository import Repository
from day1.services.rows.editing import Correction, update
from day1.services.rows.recording import NewFact, fact_row, near_duplicates
from day1.services.search.indexing import catch_up
from day1.services.search.search_engine import SWITCHED_OFF, SearchEngine

log = logging.getLogger(__name__)

VIA = "engram"
"""What `detail` says of rows that were written as lessons."""
_WORDS: Final = 6
"""Words of a lesson by which the same lesson is looked up: the longest, which are rare."""
_PARTS: Final = 3
"""Groups of these words: a text that has all words of one group is looked at."""
_LOOKED: Final = 20
"""Texts that are looked at, the newest."""
_READ: Final = 5
"""Texts whose rows are read, those with the most words in common."""
_TRIES: Final = 5
"""Attempts to store a lesson while others store lessons too."""
_LIKELY: Final = 0.25
"""The share of the words of two texts from which the row of one is read."""
_SHARED: Final = 0.4
"""The same from which the vectors of two lessons are compared."""
_HIDING: Final = ("sensitivity", "expires_at", "valid_until")
"""Columns by which a row is not found, now or later."""
_Same = tuple[Row, Experience]
"""A row that may be a lesson in other words, and its parts."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """A lesson to store."""

    experience: Experience
    memory_type: str
    tags: tuple[str, ...] = ()
    space: str | None = None

    @property
    def columns(self) -> Row:
        """The columns of its row that a plain fact has not."""
        return {
            "structure": self.experience.structure,
            "tags": canonical(list(self.tags)) if self.tags else None,
            "space": self.space,
            "detail": canonical({"via": VIA}),
        }

    def may_be(self, row: Row) -> bool:
        """Whether a row can be the same lesson: of the same type and project, there to be found.

        A secret, an ending or an invalidated row is not: the caller could not find it again.
        """
        if row["verification"] == "invalidated":
            return False
        told = (row["category"], row["space"], row["status"])
        lasting = all(row[column] is None for column in _HIDING)
        return told == (self.memory_type, self.space, "active") and lasting


@dataclass(frozen=True, slots=True)
class Stored:
    """The row of a stored lesson, and what was done."""

    row: Row
    commit: CommitId
    pending: int = 0
    updated: bool = False
    """The row was there in other words, and has the new ones now."""
    deduplicated: bool = False
    """It was there already."""
    near: str | None = None
    """The row that says nearly the same, which consolidation looks at together with this one."""
    notes: tuple[str, ...] = ()


def store_lesson(
    repo: Repository, engine: SearchEngine, branch: Branch, origin: Origin, lesson: Lesson
) -> Stored:
    """Store a lesson on a branch.

    Raises:
        StoreBusy: others change the same lesson all the time.
    """
    for _ in range(_TRIES):
        known = _look(repo, engine, branch, lesson)
        if known.same is None:
            found = _add(repo, branch, origin, lesson, known)
            if isinstance(found, Stored):
                return found
            continue  # the same was written meanwhile: look again
        try:
            return _change(repo, branch, origin, lesson, known.same)
        except (NotFound, RevisionChanged):
            continue
    raise StoreBusy("Others are changing this lesson: try again.")


@dataclass(frozen=True, slots=True)
class _Known:
    """What a branch has of a lesson, and up to when that was looked for."""

    until: int
    same: Row | None = None
    near: str | None = None
    notes: tuple[str, ...] = ()


def _look(repo: Repository, engine: SearchEngine, branch: Branch, lesson: Lesson) -> _Known:
    """Look for a row that says the same in other words."""
    with repo.store.reading(Ref(branch=branch.name)) as reading:
        newest = reading.pending.newest
        until = repo.history.commit(reading.tip).ts if newest is None else newest
        embedder = engine.embedder
        if embedder is None:
            return _Known(until, notes=(f"{SWITCHED_OFF}: only equal texts are one lesson",))
        try:
            catch_up(reading, repo.history, engine.index, branch.id, engine.words_wait_s)
            found = _candidates(reading, engine, lesson)
            worded = [(r, e) for r, e in found if same_in_words(e, lesson.experience)]
            same = _alike(engine, embedder, lesson.experience, worded)
            near = None if same else _near(engine, embedder, lesson.experience, found)
        except (IndexBehind, IndexLost, EmbedderUnavailable) as error:
            log.warning("lessons are compared by their exact text: %s", error.code)
            return _Known(until, notes=(f"only equal texts are one lesson now: {error.code}",))
    return _Known(until, same, near)


def _candidates(reading: Reading, engine: SearchEngine, lesson: Lesson) -> list[_Same]:
    """Rows that have a third of the longest words of a lesson, and may be it in other words.

    All words of one third are asked for: whatever words a rewording adds or changes, hardly ever
    does one of each third differ. So the index need not weigh all texts with any of them.
    """
    words = sorted(content_words(" ".join(lesson.experience.parts)), key=len)[-_WORDS:]
    thirds = [words[start::_PARTS] for start in range(min(_PARTS, len(words)))]
    one_third = any_of(*(all_of(*third) for third in thirds))
    match = all_of(LABEL, one_third) if thirds else phrase(LABEL)
    index, own = engine.index.words, set(content_words(lesson.experience.text))
    found = index.texts(FACT, index.newest(FACT, match, _LOOKED))
    shares = {text: _shared(own, told) for text, told in found.items()}
    likely = sorted((text for text in shares if shares[text] >= _LIKELY), key=shares.__getitem__)
    hashes = [content_hash(found[text]) for text in likely[-_READ:]]
    if not hashes:
        return []
    return _lessons(reading.find(FACT, Query(among={"content_hash": hashes})), lesson)


def _shared(words: set[str], text: str) -> float:
    """The share of some words and of those of a text that are in both."""
    others = set(content_words(text))
    return len(words & others) / max(1, len(words | others))


def _lessons(rows: Sequence[Row], lesson: Lesson) -> list[_Same]:
    """Those of the rows that can be the lesson, with their parts."""
    return [
        (row, there)
        for row in rows
        if lesson.may_be(row)
        if (there := experience_of(row)) is not None
    ]


def _alike(
    engine: SearchEngine, embedder: Embedder, new: Experience, found: Sequence[_Same]
) -> Row | None:
    """The row each part of which is nearer than `ALIKE` to that of a lesson, the nearest one.

    A full stop turns the vector of a few words by more, and says nothing.
    """
    best, nearest = ALIKE, None
    for row, there in found:
        pairs = [p for p in zip(new.parts, there.parts, strict=True) if plain(p[0]) != plain(p[1])]
        vectors = engine.query_vectors.vectors(
            embedder, list(dict.fromkeys(chain.from_iterable(pairs)))
        )
        least = min((float(vectors[a] @ vectors[b]) for a, b in pairs), default=1.0)
        if least > best:
            best, nearest = least, row
    return nearest


def _near(
    engine: SearchEngine, embedder: Embedder, new: Experience, found: Sequence[_Same]
) -> str | None:
    """The row that is alike as consolidation has it: the one with most of the words, by vector."""
    said = set(content_words(" ".join(new.parts)))
    told = [
        (_shared(said, " ".join(there.parts)), row, there)
        for row, there in found
        if not at_odds(new.text, there.text)
    ]
    share, row, there = max(told, key=itemgetter(0), default=(0.0, None, new))
    if row is None or share < _SHARED:
        return None
    vectors = engine.query_vectors.vectors(embedder, [new.text, there.text])
    return str(row["id"]) if float(vectors[new.text] @ vectors[there.text]) >= NEAR else None


def _add(
    repo: Repository, branch: Branch, origin: Origin, lesson: Lesson, known: _Known
) -> Stored | None:
    """Add the row, or find the one of the same text; None if the same came meanwhile."""
    text = lesson.experience.text
    with repo.store.adding(branch.name) as work:
        for twin in near_duplicates(work, content_hash(text)):
            if lesson.may_be(twin):
                pending = work.pending.count
                notes = known.notes
                return Stored(twin, work.tip, pending, deduplicated=True, notes=notes)
        if not known.notes:
            newer = _lessons(work.find(FACT, Query(created_after=known.until)), lesson)
            if any(same_in_words(there, lesson.experience) for _, there in newer):
                return None
        made = fact_row(
            repo.new_id(FACT.prefix, work.now), NewFact(text, lesson.memory_type), origin, work.now
        )
        made |= lesson.columns
        work.add(FACT, [made])
    return Stored(made, work.tip, work.pending.count + 1, near=known.near, notes=known.notes)


def _change(repo: Repository, branch: Branch, origin: Origin, lesson: Lesson, there: Row) -> Stored:
    """Give the row that there is the new words; a commit, which a revert takes back."""
    columns: Row = {
        "fact_text": lesson.experience.text,
        "structure": lesson.experience.structure,
    }
    if lesson.tags:
        columns["tags"] = lesson.columns["tags"]
    correction = Correction(str(there["id"]), columns, "stored again", revision(FACT, there))
    done = update(repo, branch, correction, origin)
    changed = done.row["fact_text"] != there["fact_text"]
    return Stored(done.row, done.commit, updated=changed, deduplicated=not changed)
