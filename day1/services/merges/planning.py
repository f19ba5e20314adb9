"""Planning a merge: read the two sides, each at one state, and build the plan."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from day1.errors import Advice, InvalidRequest, NotFound, PlanChanged, Refused
from day1.model.branches.branch import Branch
from day1.model.merge.held import HeldItem, closings, keeps_out, kept_out, open_items
from day1.model.merge.plan import MergePlan, Sides, Strategy, follow_supersession, plan_merge
from day1.model.merge.row_merge import OWN, Choice, Take, has_valid_time_of_a_side
from day1.model.redaction.derived import veils
from day1.model.rows.change import Changes, CommitId, Pending, Query, Ref
from day1.model.rows.kind import BY_TABLE, FACT, HELD, WHOLE, Kind, Row, complete, kind_of
from day1.ports.reading import Reading
from day1.services.branches.forking_past import from_common_start
from day1.services.branches.lookup import refuse_closed
from day1.services.merges.held import Offer, offers_of
from day1.services.repository.repository import Repository
from day1.services.rows.recording import in_order


@dataclass(frozen=True, slots=True)
class MergeRequest:
    """The arguments of a merge."""

    source: Branch
    target: Branch
    strategy: Strategy
    choices: tuple[Choice, ...] = ()
    items: tuple[str, ...] | None = None
    expect: str | None = None
    """The digest of the previewed plan; a plan with another digest is refused."""
    review_id: str | None = None
    """The id of the review that this merge concludes."""

    @property
    def writes(self) -> bool:
        """Whether any choice sets a value that neither side has, or deletes a row."""
        return any(choice.take in OWN for choice in self.choices)


@dataclass(frozen=True, slots=True)
class Preview:
    """A merge plan and the states that it was made from."""

    plan: MergePlan
    base: CommitId
    source_commit: CommitId
    target_commit: CommitId
    pending: Pending
    """Added rows of the source that are not committed yet; the plan includes them."""
    sides: Sides
    """The rows that the plan was made from, to plan again with other choices."""
    held: tuple[HeldItem, ...]
    """Every open held item of the target."""
    target_changes: Changes
    """What the target changed since the base; empty unless the caller asked for it."""
    offers: tuple[Offer, ...]
    """What the target's open held items offer; empty unless the caller asked for it."""


def preview(
    repo: Repository, request: MergeRequest, *, both: bool = False, offers: bool = False
) -> Preview:
    """Plan a merge without a lock and without writing, pending rows included.

    Each side is read as one state; with `both` also what the target changed, and with `offers`
    what the open items of the target offer.

    Raises:
        UnknownBranch: one of the branches is gone.
        Refused: source and target are one branch.
        NotFound: a picked id is not on the source, or one of `choices` on neither branch.
        InvalidRequest: a choice ends the valid time of a row before it begins.
        BranchClosed: the source was squashed, or is kept.
    """
    refuse_closed(request.source)
    return look(repo, request, both=both, offers=offers)


def look(
    repo: Repository, request: MergeRequest, *, both: bool = False, offers: bool = False
) -> Preview:
    """Plan a merge as `preview` does, also of a closed source, which can only be compared."""
    check(request)
    with (
        repo.store.reading(Ref(branch=request.source.name)) as source_reading,
        repo.store.reading(Ref(branch=request.target.name)) as target_reading,
    ):
        # The source is the older state, since it was opened first.
        base_commit = target_reading.merge_base(source_reading.tip)
        plan, sides, held_items = plan_of(
            repo, request, base_commit, (source_reading, target_reading)
        )
        return Preview(
            plan,
            base_commit,
            source_reading.tip,
            target_reading.tip,
            source_reading.pending,
            sides,
            held_items,
            target_reading.changes(base_commit) if both and sides.changes.get(FACT.table) else {},
            tuple(offers_of(repo, target_reading, held_items, {request.source.id: source_reading}))
            if offers
            else (),
        )


def check(request: MergeRequest) -> None:
    """Check that the arguments of a merge fit together.

    Raises:
        Refused: the arguments contradict one another.
    """
    if request.source.id == request.target.id:
        raise Refused(
            "A branch cannot be merged into itself: name another target.",
            branch=request.source.name,
        )
    if request.strategy == "cherry_pick" and not request.items:
        raise Refused("cherry_pick needs `items`: the ids to take from the source.")
    if request.strategy != "cherry_pick" and request.items:
        raise Refused(
            "`items` goes only with the strategy cherry_pick: leave it out, or use that strategy."
        )


def plan_of(
    repo: Repository,
    request: MergeRequest,
    base: CommitId,
    both: tuple[Reading, Reading],
) -> tuple[MergePlan, Sides, tuple[HeldItem, ...]]:
    """Plan a merge of two readings; returns the plan, its input and the target's open items.

    Raises:
        as `preview`.
    """
    source_reading, target_reading = both
    changes = target_reading.changes(base, of=source_reading)
    if _may_share_rows(request, changes) and any(
        branch.began_at is not None for branch in repo.ledger.records(Branch, fork_commit=base)
    ):
        changes = from_common_start(repo, base, changes, (source_reading.tip, target_reading.tip))
    # A decision that comes along with the merge counts; a pick brings none.
    coming_rows = [c.after for c in changes.get(HELD.table, ()) if c.after is not None]
    held_items = _held(source_reading, target_reading, coming_rows, picks=bool(request.items))
    picked_ids = None if request.items is None else _items(source_reading, request.items, changes)
    named_row_ids = {item.row_id for item in (*held_items.target, *held_items.source)} | set(
        picked_ids or ()
    )
    named_row_ids |= {choice.row_id for choice in request.choices}
    source_row_by_id = rows_by_id(source_reading, named_row_ids)
    changed_ids = {c.id for row_changes in changes.values() for c in row_changes}
    target_row_by_id = rows_by_id(target_reading, changed_ids | named_row_ids)
    changed_fact_by_id = {c.id: c.after for c in changes.get(FACT.table, ())}
    source_row_by_id |= _successors(
        both, {**source_row_by_id, **changed_fact_by_id}, target_row_by_id
    )
    _check_choices(request.choices, changed_ids | source_row_by_id.keys() | target_row_by_id.keys())
    for choice in request.choices:
        is_on_both = choice.row_id in source_row_by_id and choice.row_id in target_row_by_id
        check_cell(choice.row_id, choice.cell, choice.take, both=is_on_both)
    sides = Sides(
        changes,
        source_row_by_id,
        target_row_by_id,
        held_items.source,
        held_items.target,
        request.source.id,
        held_items.kept_out_of_source,
        held_items.kept_out_of_target,
        _removed(repo, target_reading, target_row_by_id, held_items.source),
        veils_of(
            both, changes, (*source_row_by_id.values(), *target_row_by_id.values()), repo.clock()
        ),
    )
    completed_choices = [completed(choice) for choice in request.choices]
    plan = plan_merge(sides, request.strategy, completed_choices, picked_ids)
    check_valid_times(plan)
    return plan, sides, held_items.every


def _may_share_rows(request: MergeRequest, changes: Changes) -> bool:
    """Whether both sides may have begun with rows that each of them added after the base.

    Such rows are older than a fork of the past; so most merges need not ask the ledger for one.
    """
    branches = (request.source, request.target)
    later_creation_time = max(branch.created_at for branch in branches)
    return any(branch.began_at is not None for branch in branches) or any(
        c.before is None
        and c.after is not None
        and int(c.after["created_at"] or 0) < later_creation_time
        for row_changes in changes.values()
        for c in row_changes
    )


def veils_of(
    states: Sequence[Reading], changes: Changes, rows: Iterable[Row], now: int
) -> dict[str, Row]:
    """Find the placeholders for words that derived rows have from sources hidden in any state."""
    rows_by_kind: dict[Kind, list[Row]] = {}
    for table, row_changes in changes.items():
        row_versions = [row for c in row_changes for row in (c.before, c.after) if row is not None]
        rows_by_kind[BY_TABLE[table]] = row_versions
    for row in rows:
        kind = kind_of(str(row["id"]))
        if kind is not None:
            rows_by_kind.setdefault(kind, []).append(row)
    veil_by_row: dict[str, Row] = {}
    for kind, row_versions in rows_by_kind.items():
        for reading in states:
            for row_id, veil in veils(reading, kind, row_versions, now).items():
                veil_by_row[row_id] = {**veil_by_row.get(row_id, {}), **veil}
    return veil_by_row


def _successors(
    both: tuple[Reading, Reading],
    source_rows: Mapping[str, Row | None],
    target_rows: dict[str, Row],
) -> dict[str, Row]:
    """Read from the source the chains of successors of a plan's facts that the target lacks.

    Args:
        both: readings of source and target.
        source_rows: rows of the source that are read already, by id; None: it lacks the row.
        target_rows: rows of the target; successors that it has are added to them.
    """
    source_reading, target_reading = both
    read_row_by_id, successor_by_id = dict(source_rows), dict[str, Row]()
    checked_ids = set(target_rows)
    while True:
        successor_ids = {
            str(successor_id)
            for row in read_row_by_id.values()
            if row and (successor_id := row.get("superseded_by")) is not None
        }
        unchecked_ids = sorted(successor_ids - checked_ids)
        if not unchecked_ids:
            return successor_by_id
        checked_ids |= set(unchecked_ids)
        target_rows |= target_reading.get(FACT, unchecked_ids)
        unread_ids = [i for i in unchecked_ids if i not in target_rows and i not in read_row_by_id]
        new_row_by_id = source_reading.get(FACT, unread_ids) if unread_ids else {}
        successor_by_id |= new_row_by_id
        read_row_by_id |= new_row_by_id


@dataclass(frozen=True, slots=True)
class _Held:
    """The held items of source and target that matter to a plan."""

    source: Sequence[HeldItem] = ()
    """Items that are open on the source and were never on the target."""
    target: Sequence[HeldItem] = ()
    """Items that are open on the target and stay open after the merge."""
    kept_out_of_source: Collection[str] = ()
    kept_out_of_target: Mapping[str, frozenset[str]] = field(default_factory=dict)
    every: tuple[HeldItem, ...] = ()
    """Every open held item of the target."""


def _held(source: Reading, target: Reading, coming_rows: Sequence[Row], *, picks: bool) -> _Held:
    """Read the held items of both sides; `coming_rows` are items that the merge would add."""
    target_item_rows, source_item_rows = target.find(HELD, Query()), source.find(HELD, Query())
    if not (target_item_rows or source_item_rows):
        return _Held()
    open_target_items = open_items(target_item_rows, closings(() if picks else coming_rows))
    withheld_row_ids = [item.row_id for item in open_target_items if keeps_out(item)]
    target_item_ids = {row["closes"] or row["id"] for row in target_item_rows}
    return _Held(
        [item for item in open_items(source_item_rows) if item.id not in target_item_ids],
        open_target_items,
        kept_out(source_item_rows),
        # A picked row comes although it was kept out; its open items stay open.
        dict.fromkeys(withheld_row_ids, frozenset[str]())
        if picks
        else kept_out(target_item_rows, coming_rows),
        tuple(open_items(target_item_rows)),
    )


def _removed(
    repo: Repository, target: Reading, rows: Mapping[str, Row], items: Iterable[HeldItem]
) -> frozenset[str]:
    """Find the rows whose removal an open item offers and which the target removed in its past."""
    offered_removals = [
        item
        for item in items
        if item.cell == WHOLE and item.theirs is None and item.row_id not in rows
    ]
    if not offered_removals:
        return frozenset()
    past_ids = {commit.id for commit in repo.history.graph([target.tip])}
    return frozenset(item.row_id for item in offered_removals if item.source_commit in past_ids)


def _check_choices(choices: Sequence[Choice], known_ids: Collection[str]) -> None:
    """Refuse a choice about a row that neither side has: its id may be mistyped."""
    unknown_ids = [choice.row_id for choice in choices if choice.row_id not in known_ids]
    if unknown_ids:
        raise NotFound(
            f"`choices` names rows that neither branch has: {', '.join(unknown_ids[:10])}.",
            ids=unknown_ids,
        )


def check_cell(row_id: str, cell: str, take: Take, *, both: bool) -> None:
    """Check that a decision about one cell can apply: both sides must have the row.

    Raises:
        InvalidRequest: the row can be decided only as a whole.
    """
    if cell != WHOLE and (not both or take == "delete"):
        why = "a cell cannot be deleted" if both else "only one side has the row"
        raise InvalidRequest(f"{row_id}: {why}, so decide the whole row, with cell `*`.", id=row_id)


def check_valid_times(plan: MergePlan) -> None:
    """Check that no choice ends the valid time of a row before it begins.

    Raises:
        InvalidRequest: a choice ends the valid time of a row before it begins.
    """
    for row in plan.rows:
        if row.result is not None and row.decided and not has_valid_time_of_a_side(row):
            try:
                in_order(row.result, row.result)
            except InvalidRequest as exc:
                raise InvalidRequest(f"{row.id}: {exc}", id=row.id, **exc.details) from exc


def completed(choice: Choice) -> Choice:
    """Return a choice with the derived columns of its value, such as the hash of its text."""
    if choice.value is None:
        return choice
    return replace(choice, value=complete(kind_of(choice.row_id), dict(choice.value)))


def _items(source: Reading, items: Sequence[str], changes: Changes) -> list[str]:
    """Return the picked ids, followed by those of the facts that supersede them.

    Raises:
        NotFound: an id is not on the source and was not removed there since the merge base.
    """
    row_by_id: dict[str, Row] = {}
    unread_ids = list(items)
    while unread_ids:
        new_row_by_id = rows_by_id(source, unread_ids)
        row_by_id |= new_row_by_id
        successor_ids = {
            str(row["superseded_by"]) for row in new_row_by_id.values() if row.get("superseded_by")
        }
        unread_ids = [i for i in successor_ids if i not in row_by_id]
    removed_ids = {c.id for row_changes in changes.values() for c in row_changes if c.after is None}
    unknown_ids = [i for i in items if i not in row_by_id and i not in removed_ids]
    if unknown_ids:
        raise NotFound(
            f"These rows are not on the source branch: {', '.join(unknown_ids[:10])}.",
            Advice("{memory_branch_diff} shows what the source has that the target lacks."),
            ids=list(unknown_ids),
        )
    return follow_supersession(items, row_by_id)


def rows_by_id(reading: Reading, ids: Iterable[str]) -> dict[str, Row]:
    """Read rows of any kind, by id."""
    ids_by_table: dict[str, list[str]] = {}
    for row_id in ids:
        row_kind = kind_of(row_id)
        if row_kind is not None:
            ids_by_table.setdefault(row_kind.table, []).append(row_id)
    row_by_id: dict[str, Row] = {}
    for table, kind_ids in ids_by_table.items():
        row_by_id |= reading.get(BY_TABLE[table], kind_ids)
    return row_by_id


def check_digest(expect: str | None, plan: MergePlan) -> None:
    """Check that the plan is the previewed one.

    Raises:
        PlanChanged: the plan has another digest.
    """
    if expect is not None and expect != plan.digest:
        raise PlanChanged(
            "The plan is not the previewed one any more: look at a new preview and decide again.",
            expected=expect,
            digest=plan.digest,
            rows=[row.id for row in plan.rows][:50],
        )
