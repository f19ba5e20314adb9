"""Writing memory out as JSON Lines that come back byte for byte (`model.files.export`)."""

from collections.abc import Iterator
from dataclasses import replace
from operator import itemgetter

from day1.model.files.export import BranchLine, branch_line, end_line, header_line, row_line
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import KINDS, Cell
from day1.ports.store import Store
from day1.services.branches.tree import BranchState, states
from day1.services.repository.repository import Repository


def export_branch(
    store: Store, ref: Ref, *, with_thinking: bool = False, with_secrets: bool = False
) -> Iterator[bytes]:
    """The rows of one state as lines, pending rows included.

    Edits and held items are among them; the thinking of messages only `with_thinking`, secret rows
    only `with_secrets`. Rows that have expired when the state is shown (`Ref.shown_at`) are not,
    nor is what was edited or held of rows that are not. The rows of one table are in memory at a
    time.

    Raises:
        UnknownBranch, NotFound: there is no such state.
    """
    yield header_line(with_secrets=with_secrets)
    count = 0
    for line in _rows(store, ref, thinking=with_thinking, secrets=with_secrets):
        count += 1
        yield line
    yield end_line(count)


def export_store(
    repo: Repository, *, with_thinking: bool = False, with_secrets: bool = False
) -> Iterator[bytes]:
    """Every branch that has a ref, each with all its rows, parents first, then by name."""
    yield header_line(with_secrets=with_secrets)
    count = 0
    for state in _parents_first(states(repo)):
        yield branch_line(_line(state))
        ref = repo.shown(Ref(branch=state.branch.name))
        for line in _rows(repo.store, ref, thinking=with_thinking, secrets=with_secrets):
            count += 1
            yield line
    yield end_line(count)


def _rows(store: Store, ref: Ref, *, thinking: bool, secrets: bool) -> Iterator[bytes]:
    hidden: set[Cell] = set()
    with store.reading(replace(ref, shown_at=None)) as reading:
        for kind in KINDS:
            told = Query(alive_at=ref.shown_at, public=not secrets)
            if "sensitivity" in kind.column:
                some = {row[0] for row in reading.scan(kind, ("id",), told)}
                hidden |= {row[0] for row in reading.scan(kind, ("id",), Query())} - some
            about = kind.columns.index(kind.about)
            # Sorted here: engines do not all collate ids alike.
            for values in sorted(reading.scan(kind, kind.columns, told), key=itemgetter(0)):
                if values[about] in hidden:
                    continue
                row = dict(zip(kind.columns, values, strict=True))
                if not thinking:
                    row.update(dict.fromkeys(kind.private))
                yield row_line(kind, row)


def _parents_first(found: list[BranchState]) -> list[BranchState]:
    parents = {state.branch.name: state.parent for state in found}

    def depth(name: str) -> int:
        parent = parents[name]
        return 0 if parent is None or parent not in parents else 1 + depth(parent)

    return sorted(found, key=lambda state: (depth(state.branch.name), state.branch.name))


def _line(state: BranchState) -> BranchLine:
    """The line of a branch, without its id, times and commits."""
    branch = state.branch
    return BranchLine(
        branch.name,
        state.parent,
        branch.description,
        branch.purpose,
        branch.owner,
        branch.ttl_days,
        tuple(branch.tags),
        branch.archived,
        branch.closed,
    )
