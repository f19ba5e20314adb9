"""The plan of a consolidation: findings, recommendations, and a digest of both. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final, Literal

from day1.model.lessons.experience import experience_of
from day1.model.lessons.rewording import same_in_words
from day1.model.rows.kind import FACT, RELATION, Row, canonical, revision
from day1.model.search.grouping import worded
from day1.model.values.ids import short_hash

Action = Literal["merge", "archive", "delete", "keep"]
MOST_WITHOUT_EXPECT: Final = 3
"""A consolidation without the plan's digest may touch at most one row in this many."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A recommended change of some rows; `into` is the row into which the others are merged."""

    action: Action
    ids: tuple[str, ...]
    confidence: float
    reason: str
    into: str | None = None

    @property
    def touched(self) -> tuple[str, ...]:
        """The ids of the rows that the recommendation changes or removes."""
        if self.action == "keep":
            return ()
        return tuple(row_id for row_id in self.ids if row_id != self.into)


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings of a consolidation on a branch."""

    groups: tuple[tuple[Row, ...], ...]
    """Groups of lessons that say nearly the same."""
    stale: tuple[Row, ...]
    garbage: tuple[Row, ...]
    """Relations to rows that no longer exist."""
    analyzed: int
    scores: Mapping[str, float]
    """The mean vote by lesson, for lessons with votes."""
    notes: tuple[str, ...] = ()

    @property
    def basis(self) -> str:
        """The digest of everything that the plan is made from."""
        group_revisions = [
            [(row["id"], revision(FACT, row)) for row in group] for group in self.groups
        ]
        stale_revisions = [(row["id"], revision(FACT, row)) for row in self.stale]
        garbage_revisions = [(row["id"], revision(RELATION, row)) for row in self.garbage]
        return short_hash(canonical([group_revisions, stale_revisions, garbage_revisions]))

    @property
    def revisions(self) -> dict[str, str]:
        """The revision of each row at the time of the findings."""
        facts = [*(row for group in self.groups for row in group), *self.stale]
        revision_by_id = {str(row["id"]): revision(FACT, row) for row in facts}
        return revision_by_id | {str(row["id"]): revision(RELATION, row) for row in self.garbage}


def digest_of(findings: Findings, plan: Iterable[Recommendation]) -> str:
    """Return the digest of a plan: the same findings and recommendations have the same digest."""
    return short_hash(
        findings.basis, canonical([asdict(recommendation) for recommendation in plan])
    )


def is_exact(group: Sequence[Row]) -> bool:
    """Whether all lessons of a group have the same text."""
    return len({row["content_hash"] for row in group}) == 1


def keeper(group: Sequence[Row], scores: Mapping[str, float]) -> Row:
    """Choose the lesson into which others are merged: the best rated, best worded, newest."""
    return max(
        group,
        key=lambda row: (
            scores.get(str(row["id"]), 0.0),
            worded(str(row["fact_text"])),
            row["created_at"],
            row["id"],
        ),
    )


def by_rules(group: Sequence[Row], scores: Mapping[str, float]) -> Recommendation:
    """Recommend, by rules, what to do with lessons that say nearly the same.

    Only what differs in nothing but wording is merged: vectors take opposites for the same.
    """
    kept_row = keeper(group, scores)
    lesson_ids = tuple(str(row["id"]) for row in group)
    if is_exact(group):
        return Recommendation("merge", lesson_ids, 1.0, "The texts are equal.", str(kept_row["id"]))
    kept_lesson = experience_of(kept_row)
    other_lessons = [experience_of(row) for row in group if row is not kept_row]
    if kept_lesson is not None and all(
        lesson is not None and same_in_words(kept_lesson, lesson) for lesson in other_lessons
    ):
        reason = "They differ in wording only."
        return Recommendation("merge", lesson_ids, 0.9, reason, str(kept_row["id"]))
    return Recommendation(
        "keep", lesson_ids, 0.5, "They are alike, but differ in words that may matter."
    )


def of_the_others(findings: Findings, merged: frozenset[str]) -> list[Recommendation]:
    """Recommend what to do with stale lessons that are not merged, and with dangling relations."""
    stale_recommendations = [
        Recommendation(
            "archive",
            (row_id,),
            0.8 if row_id in findings.scores else 0.5,
            "It was not shown for long, and "
            + ("was found of little use." if row_id in findings.scores else "nobody rated it."),
        )
        for row_id in (str(row["id"]) for row in findings.stale)
        if row_id not in merged
    ]
    dangling_recommendations = [
        Recommendation("delete", (str(row["id"]),), 1.0, "It relates rows that are gone.")
        for row in findings.garbage
    ]
    return [*stale_recommendations, *dangling_recommendations]
