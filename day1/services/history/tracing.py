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
        edits = shown_edits(reading, [row_id], repo.clock())
        is_hidden = reading.mask.hides(kind, row or {"id": row_id})
        held_rows = reading.find(HELD, Query(equal={"row_id": row_id})) if is_hidden else ()
        # The placeholders cover past versions too, which may have had a verdict or a title.
        any_version: Row = {**dict.fromkeys(kind.columns), **(row or {}), "id": row_id}
        any_version |= {"scores": "", "source": "tool", "title": ""}
        veil = veils(reading, kind, [any_version], repo.clock()).get(row_id, {})
        return Traced(
            kind, row, edits, reading.tip, reading.pending.count, is_hidden, held_rows, veil
        )


def history(repo: Repository, branch: Branch, row_id: str) -> tuple[Traced, list[Version]]:
    """List the versions of a row in a branch's past, across merges, newest first.

    Raises:
        NotFound: the branch never had this row.
    """
    traced = trace(repo, branch, row_id)
    past = Ancestry(repo).reachable(branch, traced.tip)
    rows = _rows(repo, traced, row_id, past)
    if not rows and traced.row is None:
        raise _unknown(row_id, branch)
    edit_by_time = {int(edit["created_at"] or 0): edit for edit in traced.edits}
    versions: list[Version] = []
    commits_with_row: set[CommitId] = set()
    for entry in sorted(past.values(), key=lambda entry: (entry.commit.ts, entry.commit.id)):
        commit = entry.commit
        parent_rows = [rows.get(parent) for parent in commit.parents]
        if any(parent_rows) or not commits_with_row.isdisjoint(commit.parents):
            commits_with_row.add(commit.id)
        row = rows.get(commit.id)
        if row not in (parent_rows or [None]):
            row_before = parent_rows[0] if parent_rows else None
            how = _how(
                row,
                next(filter(None, parent_rows), None),
                commit,
                back=commit.id in commits_with_row,
            )
            time = int(row["created_at"] or 0) if row and commit.op == "add" else commit.ts
            changed_cells = _changed_cells(traced.kind, row_before, row)
            versions.append(
                Version(how, time, row, changed_cells, edit_by_time.get(time), commit, entry.branch)
            )
    if traced.row is not None and traced.tip not in rows:  # only additions can be pending
        time = int(traced.row["created_at"] or 0)
        changed_cells = _changed_cells(traced.kind, None, traced.row)
        versions.append(Version("added", time, traced.row, changed_cells, None, None, branch))
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
    ways = _Ways(repo, branch, traced.tip)
    authors = newest_edits(kind, row, _effective_edits(traced, ways), traced.hidden)
    blames = []
    for group in kind.groups:
        edit = authors.get(group[0])
        if edit is None and not written(kind, row, group):
            continue  # the cell never had a value
        way_here = ways.origin(kind, row) if edit is None else ways.edit(edit)
        blames.append(Blame(group[0], edit or row, edit is not None, *way_here))
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
        start, passages = self._tip, list[Passage]()
        if self._repo.history.row(kind, str(row["id"]), start) is None:
            return None, branch, ()
        while True:
            first_commit = self._first(kind, row, branch, start)
            source = first_commit.commit.meta.get("source_commit")
            if source is None or not self._has(kind, row, str(source)):
                return first_commit.commit, first_commit.branch, tuple(reversed(passages))
            branch, start = self._ancestry.source(first_commit.commit), str(source)
            passages.append(self._passage(first_commit, branch))

    def _first(
        self, kind: Kind, row: Row, branch: Branch | None, start: CommitId
    ) -> CommitOnBranch:
        """Find the oldest commit that has a row, along the first parents of `start`, which has it.

        A row that was never removed is in every commit since it was added, so a binary search finds
        the oldest. For a row that was removed and brought back, every state is read.
        """
        row_id, history = str(row["id"]), self._repo.history
        past_commits: list[CommitOnBranch] = []
        for entry in self._ancestry.past(branch, start):
            if past_commits and entry.commit.ts < int(row["created_at"] or 0):
                break
            past_commits.append(entry)
        place_with_row, place_without_row = 0, len(past_commits)
        while place_without_row - place_with_row > 1:
            middle = (place_with_row + place_without_row) // 2
            if history.row(kind, row_id, past_commits[middle].commit.id) is None:
                place_without_row = middle
            else:
                place_with_row = middle
        if past_commits[place_with_row].commit.op not in _RESTORING_OPS:
            return past_commits[place_with_row]
        traced = Traced(kind, row, (), start, 0)
        rows = _rows(self._repo, traced, row_id, {entry.commit.id: entry for entry in past_commits})
        return next(entry for entry in reversed(past_commits) if entry.commit.id in rows)

    def _has(self, kind: Kind, row: Row, commit: CommitId) -> bool:
        try:
            next(iter(self._repo.history.log(commit)))
        except NotFound:  # compaction removed the commits of a deleted branch
            return False
        return self._repo.history.row(kind, str(row["id"]), commit) is not None

    def _passage(self, entry: CommitOnBranch, source: Branch | None) -> Passage:
        merge_id = str(entry.commit.meta["id"])
        record = self._repo.ledger.record(MergeRecord, merge_id)
        decided_by = None if record is None else record.decided_by
        return Passage(entry.commit, merge_id, source, entry.branch, decided_by)


def _effective_edits(traced: Traced, ways: _Ways) -> Sequence[Row]:
    """Return the edits of a row without those whose value a merge withheld."""
    withheld_cells = {(item["merge_id"], item["cell"]) for item in traced.held}
    if not withheld_cells:
        return traced.edits
    return [
        edit
        for edit in traced.edits
        if not any((way.merge_id, edit["cell"]) in withheld_cells for way in ways.edit(edit)[2])
    ]
