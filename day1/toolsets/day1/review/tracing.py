"""Tools that trace a memory: all its versions, and the author of each part."""

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Annotated, Any

from pydantic import Field

from day1.call.context import Context
from day1.call.fields import Label, OnBranch, Read, Request, Response
from day1.call.operation import Effect, Operation
from day1.model.branches.branch import Branch
from day1.model.redaction.derived import veiled
from day1.model.redaction.veil import SECRET_MARK, is_secret, mark_of, without_words
from day1.model.rows.kind import Row, revision, text_of
from day1.model.values.instant import show
from day1.services.access.calls import branch_of
from day1.services.history.line_blame import line_versions
from day1.services.history.tracing import Blame, Passage, Traced, Version, blame, history
from day1.toolsets.shared.fields import absent
from day1.toolsets.shared.shown import shown, shown_columns


class HistoryRequest(Request):
    """The arguments of `memory_history`.

    Attributes:
        id: The memory, by its id.
        limit: How many versions to answer at most, the newest.
    """

    id: Label
    branch: OnBranch = None
    limit: Annotated[int, Field(ge=1, le=1000)] | None = 50


class VersionShown(Response):
    """A row as a commit left it."""

    how: str
    """added, changed, removed or restored."""
    at: str
    cells: list[str]
    """Cells that differ from the version before; `*`: the whole row."""
    agent_id: str | None
    reason: str | None
    commit: str | None
    """Null while the row is pending."""
    op: str | None
    line: str | None
    agents: list[str]
    """Agents with rows in the commit."""
    branch: str | None
    """Where the commit was made; null for a branch that is gone."""
    row: dict[str, Any] | None
    """Null where it was removed."""


class RowHistory(Response):
    """The versions of a row, newest first."""

    id: str
    type: str
    versions: list[VersionShown]
    left_out: int
    """Number of further versions."""
    read: Read


def row_history(ctx: Context, request: HistoryRequest) -> RowHistory:
    """All versions of a memory across merges, newest first: who made them, when and where."""
    branch = branch_of(ctx, request.branch)
    traced_row, versions = history(ctx.repo, branch, request.id)
    limit = request.limit or 50
    secret_mark = _mark([version.row for version in versions], ctx.clock())
    return RowHistory(
        id=request.id,
        type=traced_row.kind.name,
        versions=[_version(traced_row, version, secret_mark) for version in versions[:limit]],
        left_out=max(0, len(versions) - limit),
        read=_read(branch, traced_row),
    )


def _mark(versions: Sequence[Row | None], at: int) -> str | None:
    """Return the placeholder for the words of a row's versions, or None if they may be shown.

    One secret version hides all, since others may hold the same words. The newest version decides
    when the row expires.
    """
    present_rows = [row for row in versions if row is not None]
    if any(map(is_secret, present_rows)):
        return SECRET_MARK
    return mark_of(at, *present_rows[:1])


def _read(branch: Branch, traced: Traced) -> Read:
    return Read(branch=branch.name, commit=traced.tip, pending=traced.pending)


def _version(traced: Traced, version: Version, mark: str | None) -> VersionShown:
    commit, writer_row = version.commit, _writer(version)
    agents: Any = commit.meta.get("agents", ()) if commit else ()
    return VersionShown(
        how=version.how,
        at=show(version.at),
        cells=list(version.cells),
        agent_id=None if writer_row is None else text_of(writer_row["agent_id"]),
        reason=None if version.edit is None else text_of(version.edit["reason"]),
        commit=None if commit is None else commit.id,
        op=None if commit is None else commit.op,
        line=None if commit is None else commit.line,
        agents=list(agents),
        branch=_name(version.branch),
        row=None if version.row is None else _row(traced, version.row, mark),
    )


def _writer(version: Version) -> Row | None:
    """Return the edit or the row that names who made a version; None if nothing does."""
    return version.row if version.edit is None and version.how == "added" else version.edit


def _row(traced: Traced, version: Row, mark: str | None) -> dict[str, Any]:
    visible_row = veiled(without_words(traced.kind, version, mark), traced.veil) or {}
    return shown(traced.kind, visible_row)


def _name(branch: Branch | None) -> str | None:
    return None if branch is None else branch.name


class BlameRequest(Request):
    """The arguments of `memory_blame`.

    Attributes:
        id: The memory, by its id.
        lines: Whether to say who wrote each line of its text.
    """

    id: Label
    branch: OnBranch = None
    lines: bool | None = False


class MergeShown(Response):
    """A merge, pick or squash that brought a cell; a deleted branch is null."""

    merge_id: str
    op: str
    source: str | None
    target: str | None
    at: str
    decided_by: str | None


class CellBlame(Response):
    """A part of a row: its value, who gave it, and how it came to this branch."""

    cell: str
    value: dict[str, Any]
    edited: bool
    """False: the row was created with this value."""
    agent_id: str | None
    session_id: str | None
    task_id: str | None
    source: str | None
    at: str
    reason: str | None
    branch: str | None
    """Where it was written; null for a deleted branch."""
    commit: str | None
    """The commit that wrote it; null while it is pending."""
    op: str | None
    merges: list[MergeShown]
    """From `branch` to this one, oldest first."""


class LinesBlame(Response):
    """Lines of a text that came with one version of the row."""

    first: int
    """Number of the first line, from 1."""
    last: int
    agent_id: str | None
    at: str
    branch: str | None
    """Where the version was made; null for a deleted branch."""
    commit: str | None
    """Null while the row is pending."""


class RowBlame(Response):
    """The author of each cell of a row, and of the lines of its text."""

    id: str
    type: str
    revision: str
    cells: list[CellBlame]
    lines: list[LinesBlame] | None = absent()
    """Lines of the file or text, in order, if they were asked for; empty if the text is hidden."""
    read: Read


def row_blame(ctx: Context, request: BlameRequest) -> RowBlame:
    """Who wrote each part of a memory, when, on which branch, and by which merges it came."""
    branch = branch_of(ctx, request.branch)
    traced_row, cell_blames = blame(ctx.repo, branch, request.id)
    blamed_row = traced_row.row or {}
    visible_row = (
        veiled(
            without_words(traced_row.kind, blamed_row, mark_of(ctx.clock(), blamed_row)),
            traced_row.veil,
        )
        or {}
    )
    return RowBlame(
        id=request.id,
        type=traced_row.kind.name,
        revision=revision(traced_row.kind, blamed_row),
        cells=[
            _cell(traced_row, visible_row, cell_blame, whole=bool(request.lines))
            for cell_blame in cell_blames
        ],
        lines=_lines(ctx, branch, request.id) if request.lines else None,
        read=_read(branch, traced_row),
    )


def _lines(ctx: Context, branch: Branch, row_id: str) -> list[LinesBlame]:
    traced_row, versions = history(ctx.repo, branch, row_id)
    if (
        traced_row.hidden
        or traced_row.veil
        or _mark([row_version.row for row_version in versions], ctx.clock()) is not None
    ):
        return []
    line_runs: list[LinesBlame] = []
    numbered_lines = enumerate(line_versions(traced_row.kind, versions), start=1)
    for version, line_run in groupby(numbered_lines, key=itemgetter(1)):
        line_numbers = [line_number for line_number, _ in line_run]
        writer_row = _writer(version)
        line_runs.append(
            LinesBlame(
                first=line_numbers[0],
                last=line_numbers[-1],
                agent_id=None if writer_row is None else text_of(writer_row["agent_id"]),
                at=show(version.at),
                branch=_name(version.branch),
                commit=None if version.commit is None else version.commit.id,
            )
        )
    return line_runs


def _cell(traced: Traced, visible_row: Row, cell: Blame, *, whole: bool) -> CellBlame:
    """Show who gave a cell its value; `whole`: with long JSON too, whose lines are told apart."""
    writer_row, commit = cell.writer, cell.commit
    value_by_column = {column: visible_row[column] for column in traced.kind.group(cell.cell)}
    return CellBlame(
        cell=cell.cell,
        value=shown_columns(value_by_column, whole=whole),
        edited=cell.edited,
        agent_id=text_of(writer_row["agent_id"]),
        session_id=text_of(writer_row["session_id"]),
        task_id=text_of(writer_row["task_id"]),
        source=text_of(writer_row["source"]),
        at=show(int(writer_row["created_at"] or 0)),
        reason=text_of(writer_row["reason"]) if cell.edited else None,
        branch=_name(cell.branch),
        commit=None if commit is None else commit.id,
        op=None if commit is None else commit.op,
        merges=[_merge(merge_passage) for merge_passage in cell.passages],
    )


def _merge(passage: Passage) -> MergeShown:
    return MergeShown(
        merge_id=passage.merge_id,
        op=passage.commit.op,
        source=_name(passage.source),
        target=_name(passage.target),
        at=show(passage.commit.ts),
        decided_by=passage.decided_by,
    )


OPERATIONS = (
    Operation("memory_history", row_history, Effect.READ),
    Operation("memory_blame", row_blame, Effect.READ),
)
