"""Copying a whole store into a new one, on any engine, by repeating its commits.

Each commit is repeated, parents first: with its rows, both parents of a merge, its author, time and
message. The message also names the original commit (`from`). So the copy itself tells which
commits it has, and an interrupted copy continues where it stopped. Pending rows come last, and then
the records of the ledger together with the mark that the copy is complete.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from day1.errors import Conflict, IntegrityBroken, NotAStore, StoreBusy
from day1.model.branches.branch import MAIN
from day1.model.files.backup import BranchContent, RowsHash
from day1.model.records.store_copy import CopyMark
from day1.model.rows.change import Changes, Commit, CommitId, Query, Ref, Writes
from day1.model.rows.kind import HELD, KINDS, MEMORIES
from day1.model.values.callbacks import ReportProgress
from day1.ports.ledger import Ledger
from day1.ports.reading import Reading
from day1.services.branches.lookup import first_commit
from day1.services.repository.commit_ids import carried, new_ids, put, renamed, with_new_ids
from day1.services.repository.repository import Repository

Carry = Callable[[object], object]
"""A function that turns a record of the source's ledger into the copy's record."""
_CountAndHash = tuple[int, str]
"""The number of a state's rows, and the hash of all of them."""

_HELPER_PREFIX: Final = "_copy"
"""First part of the names of helper refs, which hold commits that are on no branch."""
_MAX_READS: Final = 20
"""Maximum number of attempts to read a source while others write to it."""
_COMMITS_PER_REPORT: Final = 100
"""Commits between two progress reports: about a second's work."""


@dataclass(frozen=True, slots=True)
class CopiedStore:
    """A finished copy that was compared with its source and found equal."""

    branches: tuple[BranchContent, ...]
    commits: int
    """The number of commits in the copy."""
    repeated: int
    """The number of commits that this run repeated; earlier runs made the others."""
    tags: int
    records: int
    moved: bool
    """Whether somebody wrote to the source during the last reading of it, or later.

    Such writes may not be in the copy.
    """


def refuse_incomplete_copy(ledger: Ledger, where: str) -> None:
    """Refuse to use an unfinished copy as a store.

    Raises:
        NotAStore: the store is marked as an unfinished copy.
    """
    if not all(mark.whole for mark in ledger.records(CopyMark)):
        raise NotAStore(
            f"{where} is an unfinished copy: run `day1 copy` with the same source to finish it, or "
            "remove it.",
            where=where,
        )


def unchanged(record: object) -> object:
    """Return a record as it is."""
    return record


def created_at(repo: Repository) -> int:
    """Return the time of a store's first commit, in microseconds UTC."""
    return repo.history.commit(first_commit(repo)).ts


def begin(
    source: Repository, target: Repository, where: str, now: int, *, old: bool = False
) -> None:
    """Mark a new store as an unfinished copy; an interrupted copy has the mark already.

    `old` says that the tables of `target` lack columns which the copy may need.

    Raises:
        Conflict: the target is another store, a finished copy, or an unfinished copy that lacks
            columns.
    """
    first, marks = first_commit(source), target.ledger.records(CopyMark)
    if any(mark.id == first and not mark.whole for mark in marks):
        if old:
            raise Conflict(
                f"{where} is an unfinished copy by an earlier day1, with fewer columns than this "
                "one copies: remove it, and copy again.",
                where=where,
            )
        return
    tip_by_branch = target.history.branches()
    is_empty = tip_by_branch == {MAIN: first_commit(target)} and not target.ledger.branches()
    if marks or not is_empty or created_at(target) != created_at(source):
        raise Conflict(
            f"{where} holds a store already, which is never overwritten: name a place that does "
            "not exist yet.",
            where=where,
        )
    target.ledger.put(CopyMark(first, now))
    target.point("copy.marked")


def copy_store(
    source: Repository, target: Repository, carry: Carry, report: ReportProgress
) -> CopiedStore:
    """Copy a store while others use it, and check that the copy is equal.

    Raises:
        IntegrityBroken: the copy is not equal.
        StoreBusy: others write to the source without a pause.
    """
    # No other process may make this copy at the same time.
    with target.ledger.exclusive():
        replay = CommitReplay(source, target, report)
        replay.follow()
        replay.compare()  # leaves little to do while the source's intents wait
        with source.ledger.exclusive():
            pending = replay.copy_rest()
            records = [carry(record) for record in carried(source.ledger)]
            heads = source.ledger.heads()
        target.point("copy.replayed")
        branch_contents = replay.compare(pending)
        with target.ledger.transaction():
            for record in records:
                put(target.ledger, with_new_ids(record, replay.ids))
            for key, branch_id in heads.items():
                target.ledger.set_head(key, branch_id)
            for mark in target.ledger.records(CopyMark):
                target.ledger.put(replace(mark, whole=True))
            target.point("copy.before_whole")
    target.point("copy.whole")
    has_moved = source.store.stamp() != replay.stamp
    return CopiedStore(
        branch_contents,
        commits=len(replay.ids),
        repeated=replay.repeated,
        tags=len(replay.tags),
        records=len(records),
        moved=has_moved,
    )


class CommitReplay:
    """Repeats the commits of one store in another."""

    def __init__(self, source: Repository, target: Repository, report: ReportProgress) -> None:
        """Read which commits the target has already."""
        self._source, self._target, self._report = source, target, report
        first_commit_ids = {first_commit(source): first_commit(target)}
        self.ids: dict[CommitId, CommitId] = {**new_ids(target.history), **first_commit_ids}
        """Id of the target's commit, by id of the source's commit."""
        self.repeated = 0
        self.tags: dict[str, CommitId] = {}
        """The source's tags when `follow` last read them: commit by name."""
        self.stamp: Hashable = None
        """The source's stamp when it was last read."""
        self._heads: dict[str, CommitId] = {}
        self._refs = target.history.branches()
        self._equal: dict[CommitId, _CountAndHash] = {}
        """Number and hash of the rows of states found equal in the copy, by source commit."""

    def follow(self) -> None:
        """Repeat all commits of the source that the target lacks, with tags and branches."""
        self._heads, self.tags = self._source.history.branches(), self._source.history.tags()
        graph = self._source.history.graph(sorted({*self._heads.values(), *self.tags.values()}))
        refs = _refs(graph, self._heads, self.tags)
        missing_commits = [c for c in reversed(graph) if c.parents and c.id not in self.ids]
        for number, commit in enumerate(missing_commits):
            if number % _COMMITS_PER_REPORT == 0:
                self._report(number, len(missing_commits))
            self._repeat(commit, refs[commit.id])
        if missing_commits:
            self._report(len(missing_commits), len(missing_commits))
        target_tags = self._target.history.tags()
        for tag, commit_id in self.tags.items():
            if tag not in target_tags:
                self._target.history.tag(tag, self.ids[commit_id])
        for name, tip in self._heads.items():
            self._set_branch(name, self.ids[tip])
        for name in self._refs.keys() - self._heads.keys():
            self._drop(name)

    def _repeat(self, commit: Commit, ref: str) -> None:
        """Repeat one commit. The commits that it names are older, so the target has them."""
        changes = self._source.history.changes(commit.parents[0], Ref(commit=commit.id))
        parents = tuple(self.ids[parent] for parent in commit.parents)
        copied_commit = replace(commit, parents=parents, meta=renamed(commit.meta, self.ids))
        self._set_branch(ref, parents[0])
        commit_id = self._target.store.repeat(ref, copied_commit, self._writes(changes))
        self.ids[commit.id] = self._refs[ref] = commit_id
        self.repeated += 1
        self._target.point("copy.after_commit")
        if ref == _helper_ref(commit.id):
            self._leave(ref, commit.id)

    def _leave(self, ref: str, commit: CommitId) -> None:
        """Delete a helper ref once a tag holds its commit, so that there are few refs."""
        tags = [tag for tag, tagged in self.tags.items() if tagged == commit]
        for tag in tags:
            self._target.history.tag(tag, self.ids[commit])
        if tags:
            self._drop(ref)

    def _set_branch(self, ref: str, tip: CommitId) -> None:
        """Let a branch of the target point to a commit."""
        current_tip = self._refs.get(ref)
        if current_tip == tip:
            return
        if current_tip is not None:
            if ref == MAIN:
                raise Conflict("The copy's main was written to: remove the copy and begin again.")
            self._drop(ref)
        self._target.history.fork(ref, tip)
        self._refs[ref] = tip

    def _drop(self, ref: str) -> None:
        self._target.history.drop(ref)
        del self._refs[ref]

    def _writes(self, changes: Changes) -> Writes:
        """Return the rows of a change for the copy; held items name the copy's commits."""
        writes: Writes = {
            table: {change.id: change.after for change in rows} for table, rows in changes.items()
        }
        for row_id, row in writes.get(HELD.table, {}).items():
            if row is not None:
                source = renamed(row["source_commit"], self.ids)
                writes[HELD.table][row_id] = {**row, "source_commit": source}
        return writes

    def copy_rest(self) -> dict[str, Writes]:
        """Copy the commits made since, then the pending rows; return the pending rows by branch.

        Raises:
            StoreBusy: the source has new commits each time it is read.
        """
        history = self._source.history
        for _ in range(_MAX_READS):
            self.stamp = self._source.store.stamp()
            self.follow()
            pending_rows_by_branch = {
                name: self._writes(history.changes(self._heads[name], Ref(branch=name)))
                for name in history.dirty_branches() & self._heads.keys()
            }
            if history.branches() == self._heads:  # then `pending` holds no committed rows
                break
        else:
            raise StoreBusy("Others write to the store without a pause: stop them, then try again.")
        for name, rows in pending_rows_by_branch.items():
            self._add(name, rows)
        return pending_rows_by_branch

    def _add(self, name: str, rows: Writes) -> None:
        """Add a branch's pending rows, except those that an earlier run added."""
        with self._target.store.adding(name) as work:
            for kind in KINDS:
                pending = rows.get(kind.table, {})
                present = work.get(kind, list(pending))
                work.add(
                    kind, [row for row in pending.values() if row and row["id"] not in present]
                )

    def compare(self, pending: Mapping[str, Writes] | None = None) -> tuple[BranchContent, ...]:
        """Check that each tag and branch has the same rows as the source, pending ones included.

        Without `pending` only commits are compared; commits found equal are not compared again.

        Raises:
            IntegrityBroken: a tag or branch has other rows.
        """
        for tag, commit in self.tags.items():
            self._checked_equal(f"tag {tag!r}", commit, Ref(commit=self.ids[commit]), {})
        contents = []
        for name, tip in sorted(self._heads.items()):
            rows = (pending or {}).get(name, {})
            ref = Ref(branch=name) if rows else Ref(commit=self.ids[tip])
            count_and_hash = self._checked_equal(f"branch {name!r}", tip, ref, rows)
            count = sum(len(rows.get(kind.table, ())) for kind in MEMORIES)
            contents.append(BranchContent(name, self.ids[tip], count, *count_and_hash))
        state_by_branch = {content.name: (content.commit, content.waiting) for content in contents}
        if pending is not None and self._states() != state_by_branch:
            raise _unlike("branches are")
        return tuple(contents)

    def _states(self) -> dict[str, tuple[CommitId, int]]:
        """Return the tips of the target's branches and their numbers of pending rows."""
        states = {}
        for name in self._target.history.branches():
            with self._target.store.reading(Ref(branch=name)) as reading:
                states[name] = reading.tip, reading.pending.count
        return states

    def _checked_equal(
        self, what: str, commit: CommitId, ref: Ref, pending: Writes
    ) -> _CountAndHash:
        count_and_hash = self._equal.get(commit)
        if count_and_hash is not None and not pending:
            return count_and_hash
        with self._source.store.reading(Ref(commit=commit)) as reading:
            source_hashed = _hashed(reading, pending)
        with self._target.store.reading(ref) as reading:
            target_hashed = _hashed(reading, {})
        if target_hashed != source_hashed:
            raise _unlike(f"{what} is")
        if not pending:
            self._equal[commit] = target_hashed
        return target_hashed


def _unlike(what: str) -> IntegrityBroken:
    return IntegrityBroken(
        f"The copy's {what} not as in the store: do not use the copy. Remove it, run `day1 doctor` "
        "on the store, and copy again."
    )


def _hashed(reading: Reading, pending: Writes) -> _CountAndHash:
    """Count and hash the rows of a state together with pending rows.

    The commits that held items name are not hashed, since they differ between copies.
    """
    rows_hash = RowsHash()
    for kind in KINDS:
        columns = tuple(column for column in kind.columns if column != "source_commit")
        rows = list(reading.scan(kind, columns, Query()))
        pending_rows = (row for row in pending.get(kind.table, {}).values() if row is not None)
        rows += [tuple(row[column] for column in columns) for row in pending_rows]
        rows_hash.take(kind, columns, sorted(rows, key=lambda row: str(row[0])))
    return rows_hash.rows, rows_hash.hexdigest()


def _refs(
    graph: Sequence[Commit], heads: Mapping[str, CommitId], tags: Mapping[str, CommitId]
) -> dict[CommitId, str]:
    """Choose a branch for each commit to repeat: one that has it among its first parents.

    Other commits get a helper ref, which is named after the newest of them.
    """
    commit_by_id = {commit.id: commit for commit in graph}
    tips = [*tags.values(), *(other for commit in graph for other in commit.parents[1:])]
    branch_tips = sorted(heads.items(), key=lambda head: head[0] != MAIN)
    ref_by_commit: dict[CommitId, str] = {}
    for name, tip in (*branch_tips, *((_helper_ref(tip), tip) for tip in tips)):
        commit = commit_by_id.get(tip)
        while commit is not None and commit.id not in ref_by_commit:
            ref_by_commit[commit.id] = name
            commit = commit_by_id[commit.parents[0]] if commit.parents else None
    return ref_by_commit


def _helper_ref(commit: CommitId) -> str:
    return f"{_HELPER_PREFIX}/{commit[:12]}"
