"""Storing lessons: a new lesson adds a row; a reworded one changes the existing row.

Rows that may be the same lesson are found by words, so a really new lesson needs no vector.
`model.lessons.rewording` and the cosine of each part decide whether a row is the same lesson.
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
from day1.model.rows.kind import EDIT, FACT, WHOLE, Row, canonical, revision
from day1.model.rows.origin import Origin
from day1.model.search.grouping import ALIKE as NEAR
from day1.model.search.grouping import at_odds, plain
from day1.model.search.wording import all_of, any_of, content_words, phrase
from day1.model.values.ids import content_hash
from day1.ports.embedder import Embedder
from day1.ports.index import IndexBehind, IndexLost
from day1.ports.reading import Reading
from day1.services.repository.idempotency import BY_REQUEST, edited_before, sets, written_by
from day1.services.repository.repository import Repository, attempts
from day1.services.rows.editing import Correction, update
from day1.services.rows.recording import NewFact, fact_row, near_duplicates
from day1.services.search.indexing import catch_up
from day1.services.search.search_engine import SWITCHED_OFF, SearchEngine

log = logging.getLogger(__name__)

VIA = "engram"
"""The value of `via` in `detail` of rows that were written as lessons."""
_MAX_WORDS: Final = 6
"""Maximum number of words of a lesson to search for: the longest, since these are rare."""
_WORD_GROUPS: Final = 3
"""Number of groups of these words; a text with all words of one group is a candidate."""
_MAX_COMPARED: Final = 20
"""Maximum number of candidate texts that are compared: the newest ones."""
_MAX_READ: Final = 5
"""Maximum number of candidates whose rows are read: those with the most common words."""
_MIN_SHARE_TO_READ: Final = 0.25
"""Smallest share of common words (Jaccard) at which a candidate's row is read."""
_MIN_SHARE_TO_EMBED: Final = 0.4
"""Smallest share of common words (Jaccard) at which two lessons' vectors are compared."""
_HIDING_COLUMNS: Final = ("sensitivity", "expires_at", "valid_until")
"""Columns that can hide a row from searches, now or later."""
_Same = tuple[Row, Experience]
"""A row that may be the lesson in other words, and the row's parts."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """A lesson to store."""

    experience: Experience
    memory_type: str
    tags: tuple[str, ...] = ()
    space: str | None = None
    row_id: str | None = None
    """The id that the request gives its row; None: the request has no id."""
    first_edit: str | None = None
    """The id that the request gives its first edit. A branch that has this row or edit got the
    lesson by an earlier call with the same request id."""

    @property
    def columns(self) -> Row:
        """Columns of the lesson's row that a plain fact does not set."""
        return {
            "structure": self.experience.structure,
            "tags": canonical(list(self.tags)) if self.tags else None,
            "space": self.space,
            "detail": canonical({"via": VIA}),
        }

    def row(self, row_id: str, origin: Origin, now: int) -> Row:
        """Build the row of the lesson."""
        new_fact = NewFact(self.experience.text, self.memory_type)
        return fact_row(row_id, new_fact, origin, now) | self.columns

    @property
    def changes(self) -> Row:
        """Columns that the lesson changes in a row that says the same in other words."""
        changed_columns: Row = {
            "fact_text": self.experience.text,
            "structure": self.experience.structure,
        }
        return changed_columns | ({"tags": self.columns["tags"]} if self.tags else {})

    def may_be(self, row: Row) -> bool:
        """Whether a row can be the same lesson: of the same type and project, and not hidden.

        Secret, expiring and invalidated rows do not count: the caller could not find them again.
        """
        if row["verification"] == "invalidated":
            return False
        row_values = (row["category"], row["space"], row["status"])
        is_lasting = all(row[column] is None for column in _HIDING_COLUMNS)
        return row_values == (self.memory_type, self.space, "active") and is_lasting


@dataclass(frozen=True, slots=True)
class Stored:
    """The result of `store_lesson`: the row, and whether it was added or changed."""

    row: Row
    commit: CommitId
    pending: int = 0
    updated: bool = False
    """Whether the branch had the lesson in other words, which the new words replaced."""
    deduplicated: bool = False
    """Whether the branch had the lesson in the same words already."""
    near: str | None = None
    """The id of a row that says nearly the same; consolidation would group it with this one."""
    notes: tuple[str, ...] = ()


def store_lesson(
    repo: Repository, engine: SearchEngine, branch: Branch, origin: Origin, lesson: Lesson
) -> Stored:
    """Store a lesson on a branch, once for all calls with the same request id.

    Raises:
        RequestReused: the request id was used for another lesson, or its row was removed since.
        StoreBusy: others changed the same lesson during each attempt of 20 seconds.
    """
    for _ in attempts():
        lookup = _find_known(repo, engine, branch, lesson)
        if lookup.same is None:
            stored = _add(repo, branch, origin, lesson, lookup)
            if isinstance(stored, Stored):
                return stored
            continue  # another process stored the same lesson meanwhile: look for it again
        try:
            return _change(repo, branch, origin, lesson, lookup.same)
        except (NotFound, RevisionChanged):
            continue
    raise StoreBusy("Others are changing this lesson: try again.")


@dataclass(frozen=True, slots=True)
class _Known:
    """The result of looking for a lesson on a branch: the same row, or a near one."""

    until: int
    same: Row | None = None
    near: str | None = None
    notes: tuple[str, ...] = ()


def _find_known(repo: Repository, engine: SearchEngine, branch: Branch, lesson: Lesson) -> _Known:
    """Find a row of the branch that says the same as a lesson in other words."""
    with repo.store.reading(Ref(branch=branch.name)) as reading:
        newest_pending_time = reading.pending.newest
        newest_time = (
            repo.history.commit(reading.tip).ts
            if newest_pending_time is None
            else newest_pending_time
        )
        embedder = engine.embedder
        if embedder is None:
            return _Known(newest_time, notes=(f"{SWITCHED_OFF}: only equal texts are one lesson",))
        try:
            catch_up(reading, repo.history, engine.index, branch.id, engine.words_wait_s)
            candidates = _candidates(reading, engine, lesson)
            reworded_candidates = [
                (row, experience)
                for row, experience in candidates
                if same_in_words(experience, lesson.experience)
            ]
            same_row = _alike(engine, embedder, lesson.experience, reworded_candidates)
            if same_row is not None and _stored_before(reading, lesson) is not None:
                same_row = None  # `_add` answers a repeated call, and changes nothing
            near_id = None if same_row else _near(engine, embedder, lesson.experience, candidates)
        except (IndexBehind, IndexLost, EmbedderUnavailable) as error:
            log.warning("lessons are compared by their exact text only: %s", error.code)
            return _Known(
                newest_time, notes=(f"only equal texts are one lesson now: {error.code}",)
            )
    return _Known(newest_time, same_row, near_id)


def _candidates(reading: Reading, engine: SearchEngine, lesson: Lesson) -> list[_Same]:
    """Find rows that may be a lesson in other words: they have a third of its longest words.

    A candidate has all words of one third, since a rewording hardly ever changes a word in each
    third. So the index need not rank all texts that have any of the words.
    """
    longest_words = sorted(content_words(" ".join(lesson.experience.parts)), key=len)[-_MAX_WORDS:]
    word_groups = [
        longest_words[group_index::_WORD_GROUPS]
        for group_index in range(min(_WORD_GROUPS, len(longest_words)))
    ]
    any_group_query = any_of(*(all_of(*word_group) for word_group in word_groups))
    text_query = all_of(LABEL, any_group_query) if word_groups else phrase(LABEL)
    word_index, lesson_words = engine.index.words, set(content_words(lesson.experience.text))
    text_by_number = word_index.texts(FACT, word_index.newest(FACT, text_query, _MAX_COMPARED))
    share_by_number = {
        text_number: _shared(lesson_words, text) for text_number, text in text_by_number.items()
    }
    likely_numbers = sorted(
        (
            candidate_number
            for candidate_number in share_by_number
            if share_by_number[candidate_number] >= _MIN_SHARE_TO_READ
        ),
        key=share_by_number.__getitem__,
    )
    hashes = [
        content_hash(text_by_number[text_number]) for text_number in likely_numbers[-_MAX_READ:]
    ]
    if not hashes:
        return []
    return _lessons(reading.find(FACT, Query(among={"content_hash": hashes})), lesson)


def _shared(words: set[str], text: str) -> float:
    """Return the Jaccard similarity of a set of words and the words of a text."""
    text_words = set(content_words(text))
    return len(words & text_words) / max(1, len(words | text_words))


def _lessons(rows: Sequence[Row], lesson: Lesson) -> list[_Same]:
    """Choose the rows that can be the lesson; return them with their parts."""
    return [
        (row, experience)
        for row in rows
        if lesson.may_be(row)
        if (experience := experience_of(row)) is not None
    ]


def _alike(
    engine: SearchEngine, embedder: Embedder, new: Experience, candidates: Sequence[_Same]
) -> Row | None:
    """Find the nearest row whose three parts all exceed `ALIKE`.

    Parts that differ only in punctuation count as equal, though their vectors may differ much.
    """
    best_cosine, nearest_row = ALIKE, None
    for row, experience in candidates:
        different_parts = [
            part_pair
            for part_pair in zip(new.parts, experience.parts, strict=True)
            if plain(part_pair[0]) != plain(part_pair[1])
        ]
        vector_by_text = engine.query_vectors.vectors(
            embedder, list(dict.fromkeys(chain.from_iterable(different_parts)))
        )
        lowest_cosine = min(
            (
                float(vector_by_text[part] @ vector_by_text[other_part])
                for part, other_part in different_parts
            ),
            default=1.0,
        )
        if lowest_cosine > best_cosine:
            best_cosine, nearest_row = lowest_cosine, row
    return nearest_row


def _near(
    engine: SearchEngine, embedder: Embedder, new: Experience, candidates: Sequence[_Same]
) -> str | None:
    """Find the row with the most common words, if its vector is near enough to be grouped."""
    lesson_words = set(content_words(" ".join(new.parts)))
    shares_and_rows = [
        (_shared(lesson_words, " ".join(experience.parts)), row, experience)
        for row, experience in candidates
        if not at_odds(new.text, experience.text)
    ]
    best_share, row, experience = max(shares_and_rows, key=itemgetter(0), default=(0.0, None, new))
    if row is None or best_share < _MIN_SHARE_TO_EMBED:
        return None
    vector_by_text = engine.query_vectors.vectors(embedder, [new.text, experience.text])
    return (
        str(row["id"])
        if float(vector_by_text[new.text] @ vector_by_text[experience.text]) >= NEAR
        else None
    )


def _add(
    repo: Repository, branch: Branch, origin: Origin, lesson: Lesson, lookup: _Known
) -> Stored | None:
    """Add the lesson, or return the row with its text; None if a rewording was added meanwhile."""
    text = lesson.experience.text
    with repo.store.adding(branch.name) as work:
        stored_before = _stored_before(work, lesson)
        if stored_before is not None:
            row, updated = stored_before
            return Stored(row, work.tip, work.pending.count, updated=updated, notes=(BY_REQUEST,))
        for duplicate_row in near_duplicates(work, content_hash(text)):
            if lesson.may_be(duplicate_row):
                pending_count = work.pending.count
                notes = lookup.notes
                return Stored(
                    duplicate_row, work.tip, pending_count, deduplicated=True, notes=notes
                )
        if not lookup.notes:
            newer_lessons = _lessons(work.find(FACT, Query(created_after=lookup.until)), lesson)
            if any(same_in_words(experience, lesson.experience) for _, experience in newer_lessons):
                return None
        row = lesson.row(lesson.row_id or repo.new_id(FACT.prefix, work.now), origin, work.now)
        work.add(FACT, [row])
    return Stored(row, work.tip, work.pending.count + 1, near=lookup.near, notes=lookup.notes)


def _stored_before(reading: Reading, lesson: Lesson) -> tuple[Row, bool] | None:
    """Find the row that an earlier call with the same request id added or changed.

    Returns:
        The row as it is now, and whether the earlier call changed it; None if the request is new.

    Raises:
        RequestReused: the earlier call stored another lesson, or its row was removed since.
    """
    if lesson.row_id is None or lesson.first_edit is None:
        return None
    new_row = lesson.row(lesson.row_id, Origin(), 0)
    row_columns: Row = {column: new_row[column] for column in FACT.group(WHOLE)}
    added_row = written_by(reading, FACT, lesson.row_id, row_columns)
    if added_row is not None:
        return added_row, False
    edit = reading.get(EDIT, [lesson.first_edit]).get(lesson.first_edit)
    changed_row = None if edit is None else written_by(reading, FACT, str(edit["row_id"]), {})
    if changed_row is None:
        return None
    sets_the_same = sets(FACT, changed_row, lesson.changes)
    edited_before(reading, lesson.first_edit, str(changed_row["id"]), sets_the_same)
    return changed_row, True


def _change(
    repo: Repository, branch: Branch, origin: Origin, lesson: Lesson, old_row: Row
) -> Stored:
    """Replace the row's text in a commit of its own, so that it can be reverted."""
    correction = Correction(
        str(old_row["id"]),
        lesson.changes,
        "stored again",
        revision(FACT, old_row),
        lesson.first_edit,
    )
    correction_result = update(repo, branch, correction, origin)
    is_changed = correction_result.row["fact_text"] != old_row["fact_text"]
    return Stored(
        correction_result.row,
        correction_result.commit,
        updated=is_changed,
        deduplicated=not is_changed,
    )
