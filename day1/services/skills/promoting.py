"""Promoting patterns into skills: facts that name their pattern and wait for a judgement."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from day1.errors import Advice
from day1.model.branches.branch import Branch
from day1.model.layers.row_detail import detail_of, owner_in
from day1.model.rows.kind import FACT, Row
from day1.model.rows.origin import Origin
from day1.model.skills.structure import SKILL, read_structure
from day1.model.values.ids import derived_id
from day1.services.repository.repository import Repository
from day1.services.rows.bulk_writes import edits_of, was_removed
from day1.services.rows.recording import BranchAfter, NewFact, fact_row
from day1.services.skills.mining import Counted, CountedRows, read_counted


@dataclass(frozen=True, slots=True)
class FoundPattern:
    """The pattern or skill of an id (None if there is none), and all that were read for it."""

    counted: Counted | None
    read: CountedRows


def find_counted(
    repo: Repository,
    branch: Branch,
    category: str,
    row_id: str,
    spaces: Sequence[str | None] | None,
) -> FoundPattern:
    """Find a pattern or skill by its id in some spaces, and all that were read with it."""
    rows_read = read_counted(repo, branch, category, spaces)
    return FoundPattern(
        next((counted for counted in rows_read.rows if counted.row["id"] == row_id), None),
        rows_read,
    )


@dataclass(frozen=True, slots=True)
class Promoted:
    """The result of a promotion: the skill's id, whether it is in force, and notes."""

    skill_id: str
    after: BranchAfter
    notes: tuple[str | Advice, ...] = ()
    active: bool = True
    """False if the skill was archived or removed, and a promotion does not bring it back."""


def promote(
    repo: Repository, branch: Branch, pattern: Counted, name: str, origin: Origin
) -> Promoted:
    """Write a valid pattern as a skill; promoting it again changes nothing.

    The skill is unverified until somebody judges it, and hidden whenever its pattern is.
    """
    new_skill_id = skill_id(str(pattern.row["id"]))
    with repo.store.adding(branch.name) as unit_of_work:
        present_skill = unit_of_work.get(FACT, [new_skill_id]).get(new_skill_id)
        if present_skill is None and was_removed(
            edits_of(unit_of_work, [new_skill_id]).get(new_skill_id, ())
        ):
            note = Advice("The skill of this pattern was removed: {memory_restore} brings it back.")
            return Promoted(new_skill_id, BranchAfter.of(unit_of_work, 0), (note,), active=False)
        if present_skill is not None:
            is_active, notes = present_skill["status"] == "active", _notes_of(present_skill, name)
            return Promoted(new_skill_id, BranchAfter.of(unit_of_work, 0), notes, active=is_active)
        unit_of_work.add(FACT, [_skill(new_skill_id, pattern, name, origin, unit_of_work.now)])
    return Promoted(new_skill_id, BranchAfter.of(unit_of_work, 1))


def skill_id(pattern_id: str) -> str:
    """Make the id of the skill that a pattern becomes."""
    return derived_id(FACT.prefix, None, SKILL, pattern_id)


def _notes_of(skill: Row, name: str) -> tuple[str, ...]:
    structure = read_structure(skill["structure"])
    notes = []
    if structure is not None and structure.name != name:
        notes.append("The pattern was promoted before, under another name, which stays.")
    if skill["status"] != "active":
        notes.append(f"The skill of this pattern is {skill['status']}, and stays so.")
    return tuple(notes)


def _skill(made_id: str, pattern: Counted, name: str, origin: Origin, now: int) -> Row:
    row = pattern.row
    structure = replace(pattern.structure, name=name)
    space = None if row["space"] is None else str(row["space"])
    columns: Row = {
        "structure": structure.cell,
        "detail": detail_of(owner_in(row["detail"])),
        "origin_id": row["id"],
    }
    return fact_row(made_id, NewFact(structure.text, SKILL, space=space), origin, now) | columns
