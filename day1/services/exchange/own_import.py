"""Importing exports of day1: rows come back with every column as it was."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from itertools import groupby
from operator import itemgetter

from day1.errors import Day1Error
from day1.model.branches.branch import Branch
from day1.model.files.export import BranchLine, RowLine, parsed
from day1.model.rows.kind import Kind, Row
from day1.model.values.callbacks import ReportProgress
from day1.services.branches.forking import fork
from day1.services.branches.lookup import find, first_commit, refuse_protected
from day1.services.exchange.imported import Imported, commit_unit
from day1.services.exchange.importing import UNIT_ROWS, in_units
from day1.services.repository.repository import Repository
from day1.services.rows.binding import Brought
from day1.services.rows.transplanting import put


def import_own(
    repo: Repository, branch: Branch, lines: Iterable[bytes], now: int, report: ReportProgress
) -> Imported:
    """Import an export of day1, every column as it was (`model.files.export`).

    The export of a branch goes into `branch`. The export of a store goes into the branches that
    it names; a missing branch is created with the store's `init` as its base: an export
    holds no history, and any later base would make a merge take the branch's older cells for
    changes. Rows removed here, and rows whose id exists with other content, are left and listed;
    so are edits that list sources of a row which the import does not bring.

    Args:
        repo: the store to import into.
        branch: the target, if the export is of one branch.
        lines: lines of the file, with their line ends.
        now: the creation time of new branches, microseconds UTC.
        report: called with the number of imported rows after each committed unit.

    Raises:
        UnknownBranch, BranchClosed: rows cannot be written to the branch.
        ImportBroken: a line cannot be used; the rows before it are stored, `details` names it.
    """
    imported, row_count = Imported(), 0
    brought_by_branch: dict[str, Brought] = {}

    def rows() -> Iterator[tuple[BranchLine, RowLine]]:
        target_line = BranchLine(branch.name)
        for line in parsed(lines):
            if isinstance(line, BranchLine):
                target_line = line
                if _enter(repo, line, now):
                    imported.branches.append(line.name)
            else:
                yield target_line, line

    try:
        for unit in in_units(rows(), UNIT_ROWS):
            for target_line, lines_of_branch in groupby(unit, key=itemgetter(0)):
                brought = brought_by_branch.setdefault(target_line.name, Brought())
                imported.take(
                    _put_own(repo, target_line, [line for _, line in lines_of_branch], brought)
                )
            row_count += len(unit)
            report(row_count, None)
    except Day1Error as failed:
        failed.details.update(imported.counts())
        raise
    return imported


def _put_own(
    repo: Repository, target: BranchLine, lines: Sequence[RowLine], brought: Brought
) -> Imported:
    """Write one unit of exported rows to their branch, as a commit if anything in it is new."""
    rows_by_kind: dict[Kind, list[Row]] = {}
    for line in lines:
        rows_by_kind.setdefault(line.kind, []).append(line.row)
    with repo.store.changing(target.name) as work:
        copied_rows = put(work, target.name, rows_by_kind, brought=brought)
        imported = Imported(
            added=copied_rows.total, unchanged=copied_rows.present.total(), left=copied_rows.left
        )
        if imported.added:
            _check_open(repo, target)
        commit_unit(work, imported)
    return imported


def _check_open(repo: Repository, target: BranchLine) -> None:
    """Refuse a closed branch, unless the branch is closed in the export too."""
    branch = find(repo, target.name)
    if not (target.closed and branch.closed):
        refuse_protected(branch)


def _enter(repo: Repository, line: BranchLine, now: int) -> bool:
    """Create an exported branch, or add the notes that it lacks here; return whether it is new."""
    present_branch = repo.ledger.branch(line.name)
    if present_branch is None:
        _create(repo, line, now)
        return True
    with repo.ledger.transaction():  # read again, to keep what others set meanwhile
        branch = find(repo, line.name)
        updated_branch = replace(
            branch,
            description=branch.description or line.description,
            purpose=branch.purpose or line.purpose,
            owner=branch.owner or line.owner,
            ttl_days=line.ttl_days if branch.ttl_days is None else branch.ttl_days,
            tags=branch.tags or line.tags,
        )
        if updated_branch != branch:
            repo.ledger.put_branch(updated_branch)
    return False


def _create(repo: Repository, line: BranchLine, now: int) -> None:
    branch_fields = asdict(line)
    parent_name = branch_fields.pop("parent")
    parent_branch = None if parent_name is None else repo.ledger.branch(parent_name)
    branch = Branch(
        id=repo.new_id("branch", now),
        parent_id=None if parent_branch is None else parent_branch.id,
        fork_commit=first_commit(repo),
        created_at=now,
        **branch_fields,
    )
    fork(repo, branch)
