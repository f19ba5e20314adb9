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
    first_commit_id, copy_marks = first_commit(source), target.ledger.records(CopyMark)
    if any(mark.id == first_commit_id and not mark.whole for mark in copy_marks):
        if old:
            raise Conflict(
                f"{where} is an unfinished copy by an earlier day1, with fewer columns than this "
                "one copies: remove it, and copy again.",
                where=where,
            )
        return
    tip_by_branch = target.history.branches()
    is_target_empty = tip_by_branch == {MAIN: first_commit(target)} and not target.ledger.branches()
    if copy_marks or not is_target_empty or created_at(target) != created_at(source):
        raise Conflict(
            f"{where} holds a store already, which is never overwritten: name a place that does "
            "not exist yet.",
            where=where,
        )
    target.ledger.put(CopyMark(first_commit_id, now))
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
            pending_rows_by_branch = replay.copy_rest()
            records = [carry(record) for record in carried(source.ledger)]
            branch_id_by_client = source.ledger.heads()
        target.point("copy.replayed")
        branch_contents = replay.compare(pending_rows_by_branch)
        with target.ledger.transaction():
            for record in records:
                put(target.ledger, with_new_ids(record, replay.ids))
            for client_key, branch_id in branch_id_by_client.items():
                target.ledger.set_head(client_key, branch_id)
            for mark in target.ledger.records(CopyMark):
                target.ledger.put(replace(mark, whole=True))
            target.point("copy.before_whole")
    target.point("copy.whole")
    has_source_changed = source.store.stamp() != replay.stamp
    return CopiedStore(
        branch_contents,
        commits=len(replay.ids),
        repeated=replay.repeated,
        tags=len(replay.tags),
        records=len(records),
        moved=has_source_changed,
    )


class CommitReplay:
    """Repeats the commits of one store in another."""

    def __init__(self, source: Repository, target: Repository, report: ReportProgress) -> None:
        """Read which commits the target has already."""
        self._source, self._target, self._report = source, target, report
        target_first_by_source = {first_commit(source): first_commit(target)}
        self.ids: dict[CommitId, CommitId] = {**new_ids(target.history), **target_first_by_source}
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
        source_commits = self._source.history.graph(
            sorted({*self._heads.values(), *self.tags.values()})
        )
        self._leave_out_foreign(source_commits)
        ref_by_commit = _refs(source_commits, self._heads, self.tags)
        missing_commits = [
            source_commit
            for source_commit in reversed(source_commits)
            if source_commit.parents and source_commit.id not in self.ids
        ]
        for position, commit in enumerate(missing_commits):
            if position % _COMMITS_PER_REPORT == 0:
                self._report(position, len(missing_commits))
            self._repeat(commit, ref_by_commit[commit.id])
        if missing_commits:
            self._report(len(missing_commits), len(missing_commits))
        target_tags = self._target.history.tags()
        for tag_name, source_commit_id in self.tags.items():
            if tag_name not in target_tags:
                self._target.history.tag(tag_name, self.ids[source_commit_id])
        for branch_name, tip in self._heads.items():
            self._set_branch(branch_name, self.ids[tip])
        for branch_name in self._refs.keys() - self._heads.keys():
            self._drop(branch_name)

    def _leave_out_foreign(self, commits: Sequence[Commit]) -> None:
        """Leave out the tags of another program that stand beside the store's commits."""
        own_commits = {first_commit(self._source)}
        for commit in reversed(commits):
            if not own_commits.isdisjoint(commit.parents):
                own_commits.add(commit.id)
        for branch_name, tip in self._heads.items():
            if tip not in own_commits:
                raise Conflict(
                    f"Another program made the branch {branch_name!r}, which has no memories and "
                    "cannot be copied: run `day1 doctor` on the store, then copy again."
                )
        self.tags = {name: commit for name, commit in self.tags.items() if commit in own_commits}

    def _repeat(self, commit: Commit, ref: str) -> None:
        """Repeat one commit. The commits that it names are older, so the target has them."""
        changes = self._source.history.changes(commit.parents[0], Ref(commit=commit.id))
        target_parents = tuple(self.ids[parent] for parent in commit.parents)
        copied_commit = replace(commit, parents=target_parents, meta=renamed(commit.meta, self.ids))
        self._set_branch(ref, target_parents[0])
        target_commit_id = self._target.store.repeat(ref, copied_commit, self._writes(changes))
        self.ids[commit.id] = self._refs[ref] = target_commit_id
        self.repeated += 1
        self._target.point("copy.after_commit")
        if ref == _helper_ref(commit.id):
            self._leave(ref, commit.id)

    def _leave(self, ref: str, commit: CommitId) -> None:
        """Delete a helper ref once a tag holds its commit, so that there are few refs."""
        tag_names = [
            tag_name for tag_name, tagged_commit in self.tags.items() if tagged_commit == commit
        ]
        for tag_name in tag_names:
            self._target.history.tag(tag_name, self.ids[commit])
        if tag_names:
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
            table: {change.id: change.after for change in row_changes}
            for table, row_changes in changes.items()
        }
        for row_id, row in writes.get(HELD.table, {}).items():
            if row is not None:
                source_commit = renamed(row["source_commit"], self.ids)
                writes[HELD.table][row_id] = {**row, "source_commit": source_commit}
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
                branch_name: self._writes(
                    history.changes(self._heads[branch_name], Ref(branch=branch_name))
                )
                for branch_name in history.dirty_branches() & self._heads.keys()
            }
            if history.branches() == self._heads:  # then `pending` holds no committed rows
                break
        else:
            raise StoreBusy("Others write to the store without a pause: stop them, then try again.")
        for branch_name, pending_rows in pending_rows_by_branch.items():
            self._add(branch_name, pending_rows)
        return pending_rows_by_branch

    def _add(self, name: str, rows: Writes) -> None:
        """Add a branch's pending rows, except those that an earlier run added."""
        with self._target.store.adding(name) as work:
            for kind in KINDS:
                pending_row_by_id = rows.get(kind.table, {})
                present_row_by_id = work.get(kind, list(pending_row_by_id))
                work.add(
                    kind,
                    [
                        row
                        for row in pending_row_by_id.values()
                        if row and row["id"] not in present_row_by_id
                    ],
                )

    def compare(self, pending: Mapping[str, Writes] | None = None) -> tuple[BranchContent, ...]:
        """Check that each tag and branch has the same rows as the source, pending ones included.

        Without `pending` only commits are compared; commits found equal are not compared again.

        Raises:
            IntegrityBroken: a tag or branch has other rows.
        """
        for tag_name, commit in self.tags.items():
            self._checked_equal(f"tag {tag_name!r}", commit, Ref(commit=self.ids[commit]), {})
        branch_contents = []
        for branch_name, tip in sorted(self._heads.items()):
            pending_rows = (pending or {}).get(branch_name, {})
            ref = Ref(branch=branch_name) if pending_rows else Ref(commit=self.ids[tip])
            count_and_hash = self._checked_equal(f"branch {branch_name!r}", tip, ref, pending_rows)
            pending_count = sum(len(pending_rows.get(kind.table, ())) for kind in MEMORIES)
            branch_contents.append(
                BranchContent(branch_name, self.ids[tip], pending_count, *count_and_hash)
            )
        state_by_branch = {
            content.name: (content.commit, content.waiting) for content in branch_contents
        }
        if pending is not None and self._states() != state_by_branch:
            raise _unlike("its branches")
        return tuple(branch_contents)

    def _states(self) -> dict[str, tuple[CommitId, int]]:
        """Return the tips of the target's branches and their numbers of pending rows."""
        state_by_branch = {}
        for branch_name in self._target.history.branches():
            with self._target.store.reading(Ref(branch=branch_name)) as reading:
                state_by_branch[branch_name] = reading.tip, reading.pending.count
        return state_by_branch

    def _checked_equal(
        self, what: str, commit: CommitId, ref: Ref, pending: Writes
    ) -> _CountAndHash:
        count_and_hash = self._equal.get(commit)
        if count_and_hash is not None and not pending:
            return count_and_hash
        with self._source.store.reading(Ref(commit=commit)) as reading:
            source_count_and_hash = _hashed(reading, pending)
        with self._target.store.reading(ref) as reading:
            target_count_and_hash = _hashed(reading, {})
        if target_count_and_hash != source_count_and_hash:
            raise _unlike(what)
        if not pending:
            self._equal[commit] = target_count_and_hash
        return target_count_and_hash


def _unlike(what: str) -> IntegrityBroken:
    return IntegrityBroken(
        f"The copy differs from the store in {what}: do not use the copy. Remove it, run "
        "`day1 doctor` on the store, and copy again."
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
    other_tips = [
        *tags.values(),
        *(merged_parent for commit in graph for merged_parent in commit.parents[1:]),
    ]
    sorted_heads = sorted(heads.items(), key=lambda head: head[0] != MAIN)
    ref_by_commit: dict[CommitId, str] = {}
    for ref_name, tip in (*sorted_heads, *((_helper_ref(tip), tip) for tip in other_tips)):
        commit = commit_by_id.get(tip)
        while commit is not None and commit.id not in ref_by_commit:
            ref_by_commit[commit.id] = ref_name
            commit = commit_by_id[commit.parents[0]] if commit.parents else None
    return ref_by_commit


def _helper_ref(commit: CommitId) -> str:
    return f"{_HELPER_PREFIX}/{commit[:12]}"
