"""The history of a row: its versions, and the writer of each cell."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from day1.errors import Advice, NotFound
from day1.model.branches.branch import Branch
from day1.model.records.merge_record import MergeRecord
from day1.model.redaction.derived import veils
from day1.model.rows.change import Commit, CommitId, Query, Ref
from day1.model.rows.kind import EDIT, HELD, MEMORIES, WHOLE, Kind, Row, kind_of, written
from day1.services.history.ancestry import Ancestry, CommitOnBranch
from day1.services.repository.repository import Repository
from day1.services.rows.deriving import shown_edits
from day1.services.rows.recording import changed_groups, newest_edits

How = Literal["added", "changed", "removed", "restored"]
_RESTORING_OPS: Final = frozenset({"restore", "revert"})
"""Operations of commits that bring a past state back."""


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a row: the row after a commit (None if the commit removed it)."""

    how: How
    at: int
    row: Row | None
    cells: tuple[str, ...]
    """The cells that differ from the version at the commit's first parent."""
    edit: Row | None
    """The edit that made this version; None if no edit did."""
    commit: Commit | None
    """The commit that made this version; None while the row is pending."""
    branch: Branch | None


@dataclass(frozen=True, slots=True)
class Traced:
    """A present or past row of a branch, and the state that it was read in."""

    kind: Kind
    row: Row | None
    edits: Sequence[Row]
    tip: CommitId
    pending: int
    hidden: frozenset[str] = frozenset()
    """Columns of the row whose values a redaction hides."""
    held: Sequence[Row] = ()
    """Rows of the table `held` about this row; read only if some of its columns are hidden."""
    veil: Row = field(default_factory=dict)
    """Placeholders by column, for words that the row has from hidden rows."""


def trace(repo: Repository, branch: Branch, row_id: str) -> Traced:
    """Read a row as it is on a branch, with its edits.

    Raises:
        NotFound: the id is not a memory's.
    """
    kind = kind_of(row_id)
    if kind not in MEMORIES:
        raise _unknown(row_id, branch)
    with repo.store.reading(Ref(branch=branch.name)) as reading:
        row = reading.get(kind, [row_id]).get(row_id)
        row_edits = shown_edits(reading, [row_id], repo.clock())
        hidden_columns = reading.mask.hides(kind, row or {"id": row_id})
        held_rows = reading.find(HELD, Query(equal={"row_id": row_id})) if hidden_columns else ()
        # The placeholders cover past versions too, which may have had a verdict or a title.
        row_of_all_columns: Row = {**dict.fromkeys(kind.columns), **(row or {}), "id": row_id}
        row_of_all_columns |= {"scores": "", "source": "tool", "title": ""}
        placeholder_by_column = veils(reading, kind, [row_of_all_columns], repo.clock()).get(
            row_id, {}
        )
        return Traced(
            kind,
            row,
            row_edits,
            reading.tip,
            reading.pending.count,
            hidden_columns,
            held_rows,
            placeholder_by_column,
        )


def history(repo: Repository, branch: Branch, row_id: str) -> tuple[Traced, list[Version]]:
    """List the versions of a row in a branch's past, across merges, newest first.

    Raises:
        NotFound: the branch never had this row.
    """
    traced = trace(repo, branch, row_id)
    commit_by_id = Ancestry(repo).reachable(branch, traced.tip)
    row_by_commit = _rows(repo, traced, row_id, commit_by_id)
    if not row_by_commit and traced.row is None:
        raise _unknown(row_id, branch)
    edit_by_time = {int(edit["created_at"] or 0): edit for edit in traced.edits}
    versions: list[Version] = []
    commits_with_row: set[CommitId] = set()
    for commit_on_branch in sorted(
        commit_by_id.values(),
        key=lambda commit_on_branch: (commit_on_branch.commit.ts, commit_on_branch.commit.id),
    ):
        commit = commit_on_branch.commit
        parent_rows = [row_by_commit.get(parent_id) for parent_id in commit.parents]
        if any(parent_rows) or not commits_with_row.isdisjoint(commit.parents):
            commits_with_row.add(commit.id)
        row = row_by_commit.get(commit.id)
        if row not in (parent_rows or [None]):
            row_before = parent_rows[0] if parent_rows else None
            change_type = _how(
                row,
                next(filter(None, parent_rows), None),
                commit,
                back=commit.id in commits_with_row,
            )
            version_time = int(row["created_at"] or 0) if row and commit.op == "add" else commit.ts
            changed_cells = _changed_cells(traced.kind, row_before, row)
            versions.append(
                Version(
                    change_type,
                    version_time,
                    row,
                    changed_cells,
                    edit_by_time.get(version_time),
                    commit,
                    commit_on_branch.branch,
                )
            )
    if traced.row is not None and traced.tip not in row_by_commit:  # only additions can be pending
        version_time = int(traced.row["created_at"] or 0)
        changed_cells = _changed_cells(traced.kind, None, traced.row)
        versions.append(
            Version("added", version_time, traced.row, changed_cells, None, None, branch)
        )
    return traced, versions[::-1]


def _unknown(row_id: str, branch: Branch) -> NotFound:
    return NotFound(
        f"{row_id} is not on branch {branch.name!r} and never was: name the branch that has it.",
        id=row_id,
        branch=branch.name,
    )


def _rows(
    repo: Repository, traced: Traced, row_id: str, past: Mapping[CommitId, CommitOnBranch]
) -> dict[CommitId, Row]:
    """Read the row at every commit of the past that has it, by commit id."""
    if repo.store.capabilities.row_history:
        return repo.history.versions(traced.kind, row_id, traced.tip)
    row_by_commit = {commit: repo.history.row(traced.kind, row_id, commit) for commit in past}
    return {commit: row for commit, row in row_by_commit.items() if row is not None}


def _how(row: Row | None, before: Row | None, commit: Commit, *, back: bool) -> How:
    if row is None:
        return "removed"
    if before is None:
        return "restored" if back else "added"
    return "restored" if commit.op in _RESTORING_OPS else "changed"


def _changed_cells(kind: Kind, before: Row | None, row: Row | None) -> tuple[str, ...]:
    if before is None or row is None:
        return (WHOLE,)
    return tuple(changed_groups(kind, before, row))


@dataclass(frozen=True, slots=True)
class Passage:
    """A merge, pick or squash that brought a row or an edit to a branch."""

    commit: Commit
    merge_id: str
    source: Branch | None
    target: Branch | None
    decided_by: str | None


@dataclass(frozen=True, slots=True)
class Blame:
    """The writer of a cell: the author of an edit of it, or of the row."""

    cell: str
    writer: Row
    """The edit or the row that gave the value; its origin columns name agent and time."""
    edited: bool
    commit: Commit | None
    """The commit that wrote it; None while the row is pending."""
    branch: Branch | None
    passages: tuple[Passage, ...]
    """The merges that brought it, from the branch where it was written up to this one."""


def blame(repo: Repository, branch: Branch, row_id: str) -> tuple[Traced, list[Blame]]:
    """Find who wrote each cell of a row, on which branch, and which merges brought it.

    The writer is the newest edit with the cell's present value, else the row's origin. For a
    redacted cell it is the newest edit whose value no merge withheld.

    Raises:
        NotFound: the row is not on the branch.
    """
    traced = trace(repo, branch, row_id)
    row, kind = traced.row, traced.kind
    if row is None:
        raise NotFound(
            f"{row_id} is not on branch {branch.name!r}.",
            Advice("{memory_history} lists its versions."),
            id=row_id,
            branch=branch.name,
        )
    row_ways = _Ways(repo, branch, traced.tip)
    edit_by_cell = newest_edits(kind, row, _effective_edits(traced, row_ways), traced.hidden)
    blames = []
    for cell_columns in kind.groups:
        edit = edit_by_cell.get(cell_columns[0])
        if edit is None and not written(kind, row, cell_columns):
            continue  # the cell never had a value
        way = row_ways.origin(kind, row) if edit is None else row_ways.edit(edit)
        blames.append(Blame(cell_columns[0], edit or row, edit is not None, *way))
    return traced, blames


Way = tuple[Commit | None, Branch | None, tuple[Passage, ...]]
"""How a row came to a branch: the commit that wrote it, that commit's branch, and the passages."""


class _Ways:
    """How rows and edits came to a branch; each is followed once and then cached."""

    def __init__(self, repo: Repository, branch: Branch, tip: CommitId) -> None:
        self._repo, self._branch, self._tip = repo, branch, tip
        self._ancestry = Ancestry(repo)
        self._way_by_id: dict[str, Way] = {}

    def origin(self, kind: Kind, row: Row) -> Way:
        return self._way(kind, row)

    def edit(self, edit: Row) -> Way:
        return self._way(EDIT, edit)

    def _way(self, kind: Kind, row: Row) -> Way:
        row_id = str(row["id"])
        if row_id not in self._way_by_id:
            self._way_by_id[row_id] = self._followed(kind, row)
        return self._way_by_id[row_id]

    def _followed(self, kind: Kind, row: Row) -> Way:
        """Follow a row back through merges to the commit that wrote it."""
        branch: Branch | None = self._branch
        start_commit, passages = self._tip, list[Passage]()
        if self._repo.history.row(kind, str(row["id"]), start_commit) is None:
            return None, branch, ()
        while True:
            oldest_commit = self._first(kind, row, branch, start_commit)
            source_commit = oldest_commit.commit.meta.get("source_commit")
            if source_commit is None or not self._has(kind, row, str(source_commit)):
                return oldest_commit.commit, oldest_commit.branch, tuple(reversed(passages))
            branch, start_commit = self._ancestry.source(oldest_commit.commit), str(source_commit)
            passages.append(self._passage(oldest_commit, branch))

    def _first(
        self, kind: Kind, row: Row, branch: Branch | None, start: CommitId
    ) -> CommitOnBranch:
        """Find the oldest commit that has a row, along the first parents of `start`, which has it.

        A row that was never removed is in every commit since it was added, so a binary search finds
        the oldest. For a row that was removed and brought back, every state is read.
        """
        row_id, history = str(row["id"]), self._repo.history
        past_commits: list[CommitOnBranch] = []
        for commit_on_branch in self._ancestry.past(branch, start):
            if past_commits and commit_on_branch.commit.ts < int(row["created_at"] or 0):
                break
            past_commits.append(commit_on_branch)
        index_with_row, index_without_row = 0, len(past_commits)
        while index_without_row - index_with_row > 1:
            middle_index = (index_with_row + index_without_row) // 2
            if history.row(kind, row_id, past_commits[middle_index].commit.id) is None:
                index_without_row = middle_index
            else:
                index_with_row = middle_index
        if past_commits[index_with_row].commit.op not in _RESTORING_OPS:
            return past_commits[index_with_row]
        traced_row = Traced(kind, row, (), start, 0)
        row_by_commit = _rows(
            self._repo,
            traced_row,
            row_id,
            {commit_on_branch.commit.id: commit_on_branch for commit_on_branch in past_commits},
        )
        return next(
            commit_on_branch
            for commit_on_branch in reversed(past_commits)
            if commit_on_branch.commit.id in row_by_commit
        )

    def _has(self, kind: Kind, row: Row, commit: CommitId) -> bool:
        try:
            next(iter(self._repo.history.log(commit)))
        except NotFound:  # compaction removed the commits of a deleted branch
            return False
        return self._repo.history.row(kind, str(row["id"]), commit) is not None

    def _passage(self, entry: CommitOnBranch, source: Branch | None) -> Passage:
        merge_id = str(entry.commit.meta["id"])
        merge_record = self._repo.ledger.record(MergeRecord, merge_id)
        decided_by = None if merge_record is None else merge_record.decided_by
        return Passage(entry.commit, merge_id, source, entry.branch, decided_by)


def _effective_edits(traced: Traced, ways: _Ways) -> Sequence[Row]:
    """Return the edits of a row without those whose value a merge withheld."""
    merges_and_cells = {(held_item["merge_id"], held_item["cell"]) for held_item in traced.held}
    if not merges_and_cells:
        return traced.edits
    return [
        edit
        for edit in traced.edits
        if not any(
            (passage.merge_id, edit["cell"]) in merges_and_cells for passage in ways.edit(edit)[2]
        )
    ]
