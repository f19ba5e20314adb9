"""Reverting: undo a commit or a merge by a new commit.

A revert is planned as a merge with the past. The base is the commit, the source is its first
parent, and the target is the branch as it is. A cell that was changed since the commit is a
conflict: it keeps its present value unless `choices` decide otherwise. Edits and held items are
history, so they stay.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

from day1.errors import Advice, Json, NotFound, Refused, Step
from day1.model.branches.branch import Branch
from day1.model.merge.held import open_items
from day1.model.merge.plan import MergePlan, Sides, plan_merge
from day1.model.merge.revert import needed
from day1.model.merge.row_merge import OWN, Choice, differs
from day1.model.records.sharing import KEPT, Bundle, Handoff, Template
from day1.model.records.snapshot import Snapshot
from day1.model.rows.change import Changes, Commit, CommitId, Message, Query, Ref, Writes
from day1.model.rows.kind import BY_NAME, HELD, MEMORIES, Row
from day1.model.rows.origin import Origin
from day1.model.values.ids import short_hash
from day1.ports.reading import Reading
from day1.services.branches.lookup import refuse_closed, refuse_protected
from day1.services.history.ancestry import Ancestry
from day1.services.merges.planning import (
    check_digest,
    check_valid_times,
    completed,
    rows_by_id,
    veils_of,
)
from day1.services.repository.idempotency import reused
from day1.services.repository.repository import Repository
from day1.services.rows.recording import decided_edits


@dataclass(frozen=True, slots=True)
class RevertRequest:
    """The arguments of a revert."""

    branch: Branch
    undo: str
    """The commit to undo, by its id or by its merge's id; it is one of the branch's own commits."""
    choices: tuple[Choice, ...] = ()
    expect: str | None = None
    """The digest of the previewed plan; a plan with another digest is refused."""


@dataclass(frozen=True, slots=True)
class Dependent:
    """Something that depends on the commit to undo.

    It is a row that changed since, an item that the commit's merge held, or a record or branch that
    has the commit in its past.
    """

    type: Literal["row", "held", "snapshot", "template", "handoff", "bundle", "branch"]
    id: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Revert:
    """The plan of a revert, and its result if it is done."""

    undone: Commit
    plan: MergePlan
    depends: tuple[Dependent, ...]
    tip: CommitId
    """The branch's tip, which is the new commit if the revert made one."""
    pending: int
    done: bool = False
    repeated: bool = False
    """Whether an earlier call of the same request did it."""

    @property
    def count(self) -> int:
        """The number of rows that the revert changes."""
        return _count(self.plan)


def _count(plan: MergePlan) -> int:
    return sum(1 for row in plan.rows if row.effect != "kept")


def preview(repo: Repository, request: RevertRequest) -> Revert:
    """Plan a revert without a lock and without writing; pending rows are included.

    Raises:
        NotFound: the commit is not in the branch's own past, or `choices` names a row that it did
            not touch.
        Refused: the commit is the store's first one.
    """
    branch = request.branch
    undone_commit, _ = _undone(repo, branch, request.undo)
    with repo.store.reading(Ref(branch=branch.name)) as reading:
        plan, dependents = _plan(repo, branch, undone_commit, request.choices, reading)
        return Revert(undone_commit, plan, dependents, reading.tip, reading.pending.count)


def revert(repo: Repository, request: RevertRequest, origin: Origin) -> Revert:
    """Undo a commit by a new commit, with a plan made under the branch's lock.

    A repeated request does it once, and is answered by the plan as it was before.

    Raises:
        PlanChanged: `expect` is given and the plan has another digest.
        RequestReused: the same request id undid another commit, or with other choices.
        BranchClosed: the branch was squashed, or is kept.
        BranchProtected: the branch is protected, and a choice sets a new value or deletes.
        as `preview`.
    """
    branch = refuse_closed(request.branch)
    if any(choice.take in OWN for choice in request.choices):
        refuse_protected(branch)
    revert_id = repo.new_id("revert", 0) if repo.of_request else None
    undone_commit, earlier = _undone(repo, branch, request.undo, revert_id)
    if earlier is not None:
        choices_hash = _hash_of(request.choices)
        if earlier.meta.get("choices", choices_hash) != choices_hash:
            raise reused(earlier.id)
        with repo.store.reading(Ref(commit=earlier.parents[0])) as before:
            plan, dependents = _plan(repo, branch, undone_commit, request.choices, before)
        return Revert(undone_commit, plan, dependents, earlier.id, 0, done=True, repeated=True)
    with repo.store.changing(branch.name) as work:
        plan, dependents = _plan(repo, branch, undone_commit, request.choices, work)
        check_digest(request.expect, plan)
        writes: Writes = plan.writes
        for kind, row in decided_edits(plan, origin, work.now, repo.new_id):
            writes.setdefault(kind.table, {})[str(row["id"])] = row
        if not writes:
            return Revert(undone_commit, plan, dependents, work.tip, 0)
        work.apply(writes)
        commit_meta: dict[str, Json] = {"reverts": undone_commit.id, "by": origin.agent_id}
        if revert_id is not None:
            commit_meta |= {"request": revert_id, "choices": _hash_of(request.choices)}
        commit_line = f"revert {undone_commit.op} {undone_commit.id[:8]}: {_count(plan)} rows"
        commit = work.commit(Message("revert", commit_line, meta=commit_meta))
    return Revert(undone_commit, plan, dependents, commit, 0, done=True)


def _hash_of(choices: Collection[Choice]) -> str:
    """Hash what choices decide and how; not their values, as those may be redacted later."""
    return short_hash(*sorted(f"{each.row_id} {each.cell} {each.take}" for each in choices))


def _undone(
    repo: Repository, branch: Branch, name: str, revert_id: str | None = None
) -> tuple[Commit, Commit | None]:
    """Find a commit among a branch's first parents, by its id or the id of its merge.

    Returns:
        the commit, and the later one by which an earlier call with this `revert_id` undid it.
    """
    earlier = None
    for commit in repo.history.log(branch.name):
        if revert_id is not None and commit.meta.get("request") == revert_id:
            earlier = commit
        if name in {commit.id, commit.meta.get("id")}:
            if commit.op == "init" or not commit.parents:
                raise Refused(
                    "The first commit made the store and holds nothing to undo: revert another.",
                    commit=commit.id,
                )
            if earlier is not None and earlier.meta.get("reverts") != commit.id:
                raise reused(earlier.id)
            return commit, earlier
    raise NotFound(
        f"{name} is not a commit of {branch.name!r} itself.",
        Advice(
            "{log} lists its commits. To undo what a merge brought, revert the merge, or the "
            "commit on its own branch.",
            log=Step("memory_log", {"branch": branch.name}, whole=True),
        ),
        commit=name,
        branch=branch.name,
    )


def _plan(
    repo: Repository,
    branch: Branch,
    undone: Commit,
    choices: Collection[Choice],
    target: Reading,
) -> tuple[MergePlan, tuple[Dependent, ...]]:
    changes = repo.history.changes(undone.id, Ref(commit=undone.parents[0]))
    touched_ids = {change.id for kind in MEMORIES for change in changes.get(kind.table, ())}
    unknown_ids = [choice.row_id for choice in choices if choice.row_id not in touched_ids]
    if unknown_ids:
        raise NotFound(
            f"`choices` names rows that this commit did not touch: {', '.join(unknown_ids[:10])}. "
            "Leave these choices out.",
            ids=unknown_ids,
        )
    open_held_items = open_items(target.find(HELD, Query()))
    row_by_id = _target_rows(target, changes)
    veil_by_row = veils_of([target], changes, row_by_id.values(), repo.clock())
    merge_sides = Sides(
        changes, {}, row_by_id, (), open_held_items, source_branch="", veils=veil_by_row
    )
    merge_plan = plan_merge(merge_sides, "revert", [completed(choice) for choice in choices])
    check_valid_times(merge_plan)
    held_dependents = [
        Dependent("held", held_item.id, held_item.row_id)
        for held_item in open_held_items
        if held_item.merge_id == undone.meta.get("id")
    ]
    row_dependents = [
        Dependent("row", row_id) for row_id in sorted(_changed_since(changes, row_by_id))
    ]
    return merge_plan, (*row_dependents, *held_dependents, *_containing(repo, branch, undone))


def _target_rows(target: Reading, changes: Changes) -> dict[str, Row]:
    """Read the target's rows that a plan needs: rows to set, and rows that point to them."""
    rows_after = [change.after for kind in MEMORIES for change in changes.get(kind.table, ())]
    changed_ids = {change.id for kind in MEMORIES for change in changes.get(kind.table, ())}
    row_by_id = rows_by_id(
        target,
        changed_ids | {needed_id for row in rows_after if (needed_id := needed(row)) is not None},
    )
    for kind in MEMORIES:
        pointer_column, pointed_kind_name = kind.pointer or ("", kind.name)
        removed_ids = [
            change.id
            for change in changes.get(BY_NAME[pointed_kind_name].table, ())
            if change.after is None
        ]
        if pointer_column and removed_ids:
            pointing_rows = target.find(kind, Query(among={pointer_column: removed_ids}))
            row_by_id |= {str(row["id"]): row for row in pointing_rows}
    return row_by_id


def _changed_since(changes: Changes, rows: dict[str, Row]) -> Iterable[str]:
    """Yield the ids of rows that changed after the commit."""
    for kind in MEMORIES:
        for change in changes.get(kind.table, ()):
            row_after_commit, present_row = change.before, rows.get(change.id)
            if (row_after_commit is None) != (present_row is None) or (
                row_after_commit and present_row and differs(kind, row_after_commit, present_row)
            ):
                yield change.id


def _containing(repo: Repository, branch: Branch, undone: Commit) -> Iterable[Dependent]:
    """List the records and branches that have the commit in their past and keep its changes."""
    ledger, tip_by_branch = repo.ledger, repo.history.branches()
    commits_with_dependents: list[tuple[CommitId, Dependent]] = [
        *(
            (snapshot.commit, Dependent("snapshot", snapshot.id, snapshot.label))
            for snapshot in ledger.records(Snapshot)
        ),
        *(
            (template.commit, Dependent("template", template.id, template.name))
            for template in ledger.records(Template)
        ),
        *(
            (handoff.commit, Dependent("handoff", handoff.id))
            for handoff in ledger.records(Handoff)
        ),
        *(
            (bundle.commit, Dependent("bundle", bundle.id, bundle.name))
            for bundle in ledger.records(Bundle)
        ),
    ]
    for other_branch in ledger.branches():
        tip = tip_by_branch.get(other_branch.name)
        if (
            tip is not None
            and other_branch.id != branch.id
            and not other_branch.name.startswith(KEPT)
        ):
            commits_with_dependents.append(
                (tip, Dependent("branch", other_branch.id, other_branch.name))
            )
    descendants = Ancestry(repo).having(undone, (commit for commit, _ in commits_with_dependents))
    return [dependent for commit, dependent in commits_with_dependents if commit in descendants]
