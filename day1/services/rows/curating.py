"""Curated branches: just the chosen facts and conversations, whatever else the parent has."""

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
    """The new branch and how many rows of each table it has."""

    branch: Branch
    counts: dict[str, int]


@dataclass(frozen=True, slots=True)
class CurateRequest:
    """A branch to make of chosen rows of another."""

    name: str
    parent: Branch
    facts: Sequence[str]
    """Ids."""
    conversations: Sequence[str]
    """Ids."""
    description: str | None = None


def curate(repo: Repository, request: CurateRequest, now: int) -> Curated:
    """Make a branch of chosen rows of its parent, and of nothing else.

    It begins at the store's first commit: with a later base a merge would take what was not
    chosen for removed.

    Raises:
        InvalidRequest, BranchExists: the name breaks the rule, or is taken.
        NotFound: the parent has not all of the ids; they are named.
    """
    branch_id = repo.new_id("branch", now)
    check_free(repo, request.name, branch_id)
    parent = request.parent
    with repo.store.reading(Ref(branch=parent.name)) as reading:
        rows = select_rows(reading, Selection(request.facts, request.conversations))
    branch = Branch(
        id=branch_id,
        name=request.name,
        parent_id=parent.id,
        fork_commit=first_commit(repo, parent.name),
        created_at=now,
        description=request.description,
    )

    def fill() -> None:
        with repo.store.changing(request.name) as work:
            copied = put(work, request.name, rows, back=True)
            commit_copy(work, copied, "pick", f"pick {copied.total} rows of {parent.name}")

    return Curated(fork(repo, branch, fill=fill), counts(rows))
