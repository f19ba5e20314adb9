"""The job `consolidate`: supersede facts that a better worded fact of their space repeats."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from day1.errors import Json, Refused
from day1.model.lessons.consolidation import MOST_WITHOUT_EXPECT
from day1.model.lessons.rewording import ALIKE, same_text_in_words
from day1.model.redaction.mask import REDACTED_HASH
from day1.model.rows.change import Query
from day1.model.rows.json_columns import read_detail
from day1.model.rows.kind import EDIT, FACT, RELATION, Cell, Row, canonical, revision
from day1.model.search.grouping import plain, worded
from day1.ports.store import Work
from day1.services.jobs.applying import change_rows
from day1.services.jobs.workshop import JobRun
from day1.services.rows.editing import Editor, end_of
from day1.services.search.grouping import group_rows

MOST: Final = 2_000
"""Maximum number of facts that are compared in each space: the newest ones."""
_DERIVED: Final = frozenset({"pattern", "skill", "archive"})
"""Categories of facts that other jobs make."""


@dataclass(slots=True)
class _Plan:
    """Which fact supersedes which, found in one reading."""

    spaces: int = 0
    examined: int = 0
    pairs: list[tuple[Row, Row]] = field(default_factory=list)
    """A superseded fact and its successor."""
    notes: list[str] = field(default_factory=list)


def consolidate(run: JobRun) -> dict[str, Json]:
    """Supersede the facts that say the same as another fact of their space, in one commit.

    Raises:
        Refused: more than a third of the branch would be superseded.
    """
    plan = _planned(run)
    superseded_ids: list[str] = []

    def change(editor: Editor) -> str:
        _refuse_too_much(editor.work, len(plan.pairs))
        superseded_ids[:] = _superseded(editor, plan.pairs)
        return f"supersede {len(superseded_ids)}" if superseded_ids else ""

    change_result = change_rows(run, change) if plan.pairs else {}
    notes = [*plan.notes, *_texts(change_result.pop("notes", []))]
    return {
        "spaces": plan.spaces,
        "examined": plan.examined,
        "superseded": len(superseded_ids),
        **change_result,
        **({"notes": list(notes)} if notes else {}),
    }


def _texts(notes: Json) -> list[str]:
    return [str(note) for note in notes] if isinstance(notes, list) else []


def _planned(run: JobRun) -> _Plan:
    plan = _Plan()
    min_cosine = max(ALIKE, run.number("confidenceThreshold", ALIKE))
    max_facts = min(MOST, int(run.number("batchSize", MOST)))
    with run.repo.store.reading(run.reading_ref()) as reading:
        spaces = run.spaces(reading)
        facts_by_space = {space: reading.find(FACT, _lasting(space)) for space in spaces}
    for space_facts in facts_by_space.values():
        mergeable_facts = [row for row in space_facts if _may_be_merged(run, row)]
        plan.spaces += 1
        plan.examined += len(mergeable_facts[-max_facts:])
        for comparable_facts in _comparable(mergeable_facts[-max_facts:]):
            run.go_on()
            grouping = group_rows(run.shop.engine, FACT, comparable_facts)
            plan.notes += [note for note in grouping.notes if note not in plan.notes]
            similar_pairs = {
                (row_id, other_id)
                for row_id, other_id, similarity in grouping.pairs
                if similarity >= min_cosine
            }
            for group in grouping.groups:
                plan.pairs += _pairs(group, similar_pairs)
    brought_back_ids = _brought_back(run, [str(row["id"]) for row, _ in plan.pairs])
    plan.pairs = [
        (row, best_fact) for row, best_fact in plan.pairs if row["id"] not in brought_back_ids
    ]
    return plan


def _brought_back(run: JobRun, ids: Sequence[str]) -> set[Cell]:
    """Find active facts that an earlier job superseded: somebody undid that, so they stay."""
    query = Query(equal={"reason": run.job.kind}, among={"row_id": ids})
    with run.repo.store.reading(run.reading_ref()) as reading:
        return {row_id for (row_id,) in reading.scan(EDIT, ("row_id",), query)} if ids else set()


def _lasting(space: str) -> Query:
    """Query the public facts of a space that do not end by themselves."""
    no_end_columns = {"expires_at": None, "valid_until": None}
    return Query(equal={"status": "active", "space": space, **no_end_columns}, public=True)


def _may_be_merged(run: JobRun, row: Row) -> bool:
    return (
        run.covers(row)
        and row["content_hash"] != REDACTED_HASH
        and row["structure"] is None
        and row["category"] not in _DERIVED
        and row["verification"] != "invalidated"
    )


def _comparable(rows: Sequence[Row]) -> list[list[Row]]:
    """Group facts of equal category, key and metadata; groups of a single fact are dropped."""
    facts_by_compared_values: dict[str, list[Row]] = {}
    for row in rows:
        detail = read_detail(row["detail"])
        compared_values = [row["category"], detail.get("key"), detail.get("metadata")]
        facts_by_compared_values.setdefault(canonical(compared_values), []).append(row)
    return [group for group in facts_by_compared_values.values() if len(group) > 1]


def _pairs(group: Sequence[Row], similar_pairs: set[tuple[str, str]]) -> list[tuple[Row, Row]]:
    """Pair each fact that says the same as the best one of its group with that one."""
    best_fact = max(group, key=_rank)
    return [
        (row, best_fact)
        for row in group
        if row is not best_fact and _says_the_same(row, best_fact, similar_pairs)
    ]


def _rank(row: Row) -> tuple[bool, int, int, str]:
    fact_text, created_at = str(row["fact_text"]), int(row["created_at"] or 0)
    return row["verification"] == "verified", worded(fact_text), created_at, str(row["id"])


def _says_the_same(row: Row, best: Row, similar_pairs: set[tuple[str, str]]) -> bool:
    fact_text, best_text = str(row["fact_text"]), str(best["fact_text"])
    if plain(fact_text) == plain(best_text):
        return True
    is_near = not similar_pairs.isdisjoint(
        {(plain(fact_text), plain(best_text)), (plain(best_text), plain(fact_text))}
    )
    return is_near and same_text_in_words(fact_text, best_text)


def _refuse_too_much(work: Work, touched: int) -> None:
    row_count = work.count(FACT, {"status": "active"}) + work.count(RELATION)
    if touched * MOST_WITHOUT_EXPECT > row_count:
        raise Refused(
            f"This would supersede {touched} of {row_count} rows, more than a third of the "
            "branch: nothing was changed.",
            touched=touched,
            rows=row_count,
        )


def _superseded(editor: Editor, pairs: Sequence[tuple[Row, Row]]) -> list[str]:
    """Supersede the facts of the pairs that are still as they were planned."""
    fact_ids = [str(row["id"]) for pair in pairs for row in pair]
    present_row_by_id = editor.work.get(FACT, fact_ids)
    superseded_ids = []
    for row, best_fact in pairs:
        if all(_is_as_planned(planned_row, present_row_by_id) for planned_row in (row, best_fact)):
            valid_until = end_of(row, best_fact)
            new_columns: Row = {
                "status": "superseded",
                "superseded_by": best_fact["id"],
                "valid_until": valid_until,
            }
            editor.change(FACT, row, new_columns)
            superseded_ids.append(str(row["id"]))
    return superseded_ids


def _is_as_planned(planned: Row, present_by_id: dict[str, Row]) -> bool:
    present_row = present_by_id.get(str(planned["id"]))
    return present_row is not None and revision(FACT, present_row) == revision(FACT, planned)
