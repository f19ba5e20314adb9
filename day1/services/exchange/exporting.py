"""Exporting memory as JSON Lines that can be imported byte for byte (`model.files.export`)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from operator import itemgetter

from day1.errors import StoreBusy
from day1.model.files.export import (
    NEWEST_VERSION,
    BranchLine,
    branch_line,
    end_line,
    header_line,
    row_line,
    version_columns,
    version_of,
)
from day1.model.redaction.veil import EXPIRED_MARK, SECRET_MARK, mark_of
from day1.model.rows.change import Query, Ref
from day1.model.rows.json_columns import read_side
from day1.model.rows.kind import HELD, KINDS, WHOLE, Cell, Row, text_of
from day1.ports.store import Store
from day1.services.branches.tree import BranchState, states
from day1.services.repository.repository import Repository


@dataclass(frozen=True, slots=True)
class _Part:
    """Whether an export includes the thinking of messages, and secret rows."""

    thinking: bool
    secrets: bool

    def query(self, ref: Ref) -> Query:
        """Build the query for the exported rows of a state."""
        return Query(alive_at=ref.shown_at, public=not self.secrets)

    def hides(self, held: Row, ref: Ref) -> bool:
        """Whether a held item offers a whole row that the export leaves out.

        The state may have no such row: the branch removed it before a merge offered it again.
        """
        if held["cell"] != WHOLE:
            return False
        side_values = (read_side(text_of(held[side_column])) for side_column in ("ours", "theirs"))
        veil_mark = mark_of(ref.shown_at or 0, *side_values)
        return veil_mark == EXPIRED_MARK or (veil_mark == SECRET_MARK and not self.secrets)


def export_branch(
    store: Store, ref: Ref, *, with_thinking: bool = False, with_secrets: bool = False
) -> Iterator[bytes]:
    """Yield the lines of the export of one state, pending rows included.

    Edits and held items are exported too; the thinking of messages only `with_thinking`, secret
    rows only `with_secrets`. Rows that have expired when the state is shown (`Ref.shown_at`) are
    left out, and so are the edits and held items of rows that are left out, and held items that
    offer such a row. One table's rows are in memory at a time.

    Raises:
        UnknownBranch, NotFound: there is no such state.
        StoreBusy: a row was written meanwhile that needs a newer version than the first line says.
    """
    selection = _Part(with_thinking, with_secrets)
    format_version = _version(store, [ref], selection)
    yield header_line(format_version, with_secrets=with_secrets)
    line_count = 0
    for line in _rows(store, ref, selection, format_version):
        line_count += 1
        yield line
    yield end_line(line_count)


def export_store(
    repo: Repository, *, with_thinking: bool = False, with_secrets: bool = False
) -> Iterator[bytes]:
    """Yield the lines of the export of every branch that has a ref: parents first, then by name.

    Raises:
        StoreBusy: as `export_branch`.
    """
    selection = _Part(with_thinking, with_secrets)
    ref_by_branch = {
        open_state.branch.name: repo.shown(Ref(branch=open_state.branch.name))
        for open_state in states(repo)
    }
    format_version = _version(repo.store, ref_by_branch.values(), selection)
    yield header_line(format_version, with_secrets=with_secrets)
    line_count = 0
    for branch_state in _parents_first(states(repo)):
        yield branch_line(_line(branch_state))
        ref = repo.shown(Ref(branch=branch_state.branch.name))
        for line in _rows(repo.store, ref, selection, format_version):
            line_count += 1
            yield line
    yield end_line(line_count)


def _version(store: Store, refs: Iterable[Ref], part: _Part) -> int:
    """Return the lowest version of the export format that can hold the rows of these states."""
    lowest_version = 1
    for ref in refs:
        with store.reading(replace(ref, shown_at=None)) as reading:
            for kind in KINDS:
                deciding_columns = version_columns(kind)
                for deciding_cells in reading.scan(kind, deciding_columns, part.query(ref)):
                    row = dict(zip(deciding_columns, deciding_cells, strict=True))
                    lowest_version = max(lowest_version, version_of(kind, row))
                    if lowest_version == NEWEST_VERSION:
                        return lowest_version
    return lowest_version


def _rows(store: Store, ref: Ref, part: _Part, version: int) -> Iterator[bytes]:
    hidden_ids: set[Cell] = set()
    with store.reading(replace(ref, shown_at=None)) as reading:
        for kind in KINDS:
            query = part.query(ref)
            if "sensitivity" in kind.column:
                public_ids = {row[0] for row in reading.scan(kind, ("id",), query)}
                hidden_ids |= {row[0] for row in reading.scan(kind, ("id",), Query())} - public_ids
            rows = (kind.row(cells) for cells in reading.scan(kind, kind.columns, query))
            # Sorted here: engines do not all collate ids alike.
            sorted_rows = sorted(rows, key=itemgetter("id"))
            if kind is HELD:
                hidden_ids |= {row["id"] for row in sorted_rows if part.hides(row, ref)}
            for row in sorted_rows:
                if hidden_ids & {row["id"], row[kind.about], row.get("closes")}:
                    continue
                if not part.thinking:
                    row.update(dict.fromkeys(kind.private))
                if version_of(kind, row) > version:
                    raise StoreBusy(
                        "A row was written during the export that needs a newer format than the "
                        "first line of the file names: export again."
                    )
                yield row_line(kind, row)


def _parents_first(branch_states: list[BranchState]) -> list[BranchState]:
    parent_by_branch = {state.branch.name: state.parent for state in branch_states}

    def depth(name: str) -> int:
        parent_name = parent_by_branch[name]
        return (
            0
            if parent_name is None or parent_name not in parent_by_branch
            else 1 + depth(parent_name)
        )

    return sorted(branch_states, key=lambda state: (depth(state.branch.name), state.branch.name))


def _line(state: BranchState) -> BranchLine:
    """Build the line that describes a branch, without its id, times and commits."""
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
