"""Curated branches: branches with only the chosen facts and conversations of their parent."""

from collections.abc import Sequence
from dataclasses import dataclass

from day1.model.branches.branch import Branch
from day1.model.rows.change import Ref
from day1.services.branches.forking import check_free, fork
from day1.services.branches.lookup import first_commit
from day1.services.repository.repository import Repository
from day1.services.rows.transplanting import Selection, commit_copy, counts, put, select_rows


@dataclass(frozen=True, slots=True)
class Curated:
    """A new curated branch and the number of its rows, by table."""

    branch: Branch
    counts: dict[str, int]


@dataclass(frozen=True, slots=True)
class CurateRequest:
    """Arguments of `curate`: the new branch, and which rows of its parent it gets."""

    name: str
    parent: Branch
    facts: Sequence[str]
    """Ids of the facts to copy."""
    conversations: Sequence[str]
    """Ids of the conversations to copy."""
    description: str | None = None


def curate(repo: Repository, request: CurateRequest, now: int) -> Curated:
    """Create a branch that has only the chosen rows of its parent.

    The branch begins at the store's first commit: with a later base a merge would take rows
    that were not chosen for removed ones.

    Raises:
        InvalidRequest, BranchExists: the name is not valid, or is taken.
        NotFound: the parent lacks some of the ids; the error names them.
    """
    branch_id = repo.new_id("branch", now)
    check_free(repo, request.name, branch_id)
    parent = request.parent
    with repo.store.reading(Ref(branch=parent.name)) as reading:
        rows_by_kind = select_rows(reading, Selection(request.facts, request.conversations))
    branch = Branch(
        id=branch_id,
        name=request.name,
        parent_id=parent.id,
        fork_commit=first_commit(repo, parent.name),
        created_at=now,
        description=request.description,
    )

    def fill() -> None:
        with repo.store.changing(request.name) as unit_of_work:
            copied_rows = put(unit_of_work, request.name, rows_by_kind, back=True)
            commit_copy(
                unit_of_work, copied_rows, "pick", f"pick {copied_rows.total} rows of {parent.name}"
            )

    return Curated(fork(repo, branch, fill=fill), counts(rows_by_kind))
