"""Merging one row: the rules for its cells, its presence and its verdict.

A cell is a group of columns. A cell that only one side changed is taken from that side. A cell that
both sides changed to different values keeps the target's value and is *held*; the text of a file is
merged by lines if it can be (`file_lines`).

A fact and the fact that supersedes it stay together: merges, their choices and decisions of held
items go by `taken_along` and `without_successor`, so none of them gives a fact a successor that its
branch lacks.

The two columns of valid time, `happened_at` and `valid_until`, are one decision: a row has both
from one side. Their cells stay two, since edits and held items name them.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final, Literal

from day1.model.merge.file_lines import merged_file
from day1.model.merge.held import Reason, same_value
from day1.model.rows.kind import FACT, ORIGIN, WHOLE, Cell, Kind, Row

Take = Literal["ours", "theirs", "value", "delete", "skip"]
OWN: Final = frozenset[Take]({"value", "delete"})
"""The choices whose result neither side had: the person who makes one is its author."""
_TEXT, _VERDICT = "fact_text", "verification"
_VALID_TIME: Final = ("happened_at", "valid_until")


@dataclass(frozen=True, slots=True)
class Choice:
    """A decision for one cell of a row, or with cell `*` for all of it.

    ours keeps the target's side, theirs takes the source's, value sets the given columns,
    delete removes the row, skip holds what would otherwise merge.
    """

    row_id: str
    take: Take
    cell: str = WHOLE
    value: Mapping[str, Cell] | None = None


@dataclass(slots=True)
class PlanRow:
    """One row of a plan: its three sides, the result and the held cells."""

    kind: Kind
    id: str
    base: Row | None
    source: Row | None
    target: Row | None
    result: Row | None
    held: dict[str, Reason] = field(default_factory=dict)
    """The reasons why cells are held, by cell."""
    belongs_to: str | None = None
    decided: dict[str, Take] = field(default_factory=dict)
    """The choices that decided cells, by cell."""
    joined: bool = False
    """Whether the text is merged by lines, so that neither side had it."""
    veil: Row | None = field(default=None, compare=False)
    """Placeholders by column, for words that the row has from hidden rows."""

    @property
    def brought(self) -> Row | None:
        """The row that the merge brings: the source's, or the one merged by lines."""
        return self.result if self.joined else self.source

    @property
    def effect(self) -> str:
        """The effect on the target: `new`, `changed`, `removed` or `kept`."""
        if self.result is None:
            return "kept" if self.target is None else "removed"
        if self.target is None:
            return "new"
        return "changed" if differs(self.kind, self.result, self.target) else "kept"


def agree(one: Row | None, other: Row | None, columns: Iterable[str]) -> bool:
    """Whether two rows have equal values in `columns`; None (no row) equals None only."""
    if one is None or other is None:
        return one is other
    for column in columns:  # noqa: SIM110 - a merge asks this for each cell: `all` takes twice as long
        if one[column] != other[column]:
            return False
    return True


def differs(kind: Kind, one: Row | None, other: Row | None) -> bool:
    """Whether two versions of a row (None: no row) differ in anything but their origin."""
    return not agree(one, other, kind.group(WHOLE))


@dataclass(frozen=True, slots=True)
class Held:
    """The state of a row according to its held items."""

    cells: frozenset[str] = frozenset()
    """Cells that have an open item on either side."""
    source_never_had: bool = False
    """Whether a merge kept the row out of the source, which then did not remove it."""
    target_declined: frozenset[str] | None = None
    """The values dismissed on the target if a merge kept the row out there, else None."""
    target_removed: bool = False
    """Whether an open item says that the target removed the row."""


def source_changed(row: PlanRow, cell: str) -> bool:
    """Whether the source has another value of a cell (`*`: of the whole row) than the base."""
    return not agree(row.source, row.base, row.kind.group(cell))


def merge_row(row: PlanRow, held: Held, chosen: Mapping[str, Choice]) -> None:
    """Set a row's result, its held cells and its decided cells by the rules and the choices."""
    whole_choice = chosen.get(WHOLE)
    if whole_choice is not None and whole_choice.take != "skip":
        _decide_whole(row, whole_choice)
    elif row.source is not None and row.target is not None:
        _merge_cells(row, held.cells, chosen)
    elif row.source is not None and (row.base is None or held.target_declined is not None):
        _merge_new(row, row.source, held, skip=whole_choice is not None)
    elif not (row.source is None and held.source_never_had):
        _merge_removed(row, held.cells, skip=whole_choice is not None)


def _merge_cells(row: PlanRow, open_cells: frozenset[str], chosen: Mapping[str, Choice]) -> None:
    """Set the result, the held and the decided cells of a row that both sides have."""
    source, whole_choice, result = row.source or {}, chosen.get(WHOLE), dict(row.target or {})
    for group in row.kind.groups:
        cell = group[0]
        choice = chosen.get(cell) or whole_choice
        if choice is not None and choice.take != "skip":
            row.decided[cell] = choice.take
            result.update(_decided_cell(row, group, choice))
            continue
        if agree(row.source, row.target, group):
            continue
        if cell in row.kind.private and row.base is None and None in (source[cell], result[cell]):
            # Exports and bundles leave the cell out: an empty one was not emptied by anybody.
            result[cell] = source[cell] or result[cell]
            continue
        reason = _cell_conflict(row, group)
        if cell in open_cells or WHOLE in open_cells:
            row.held[cell] = reason or "both_changed"
        elif not source_changed(row, cell):
            continue
        elif choice is not None:
            row.held[cell] = "skipped"
        elif reason is not None:
            merged_columns = _merged_lines(row, cell)
            row.joined = row.joined or bool(merged_columns)
            row.held |= {} if merged_columns else {cell: reason}
            result.update(merged_columns)
        else:
            result.update({c: source[c] for c in group})
    row.result = result
    _match_cells(row, result, chosen)


def _merged_lines(row: PlanRow, cell: str) -> Row:
    """Merge the text of a file by lines; return no columns if that cannot be done."""
    if cell != row.kind.text:
        return {}
    return merged_file(row.base, row.target, row.source) or {}


def _match_cells(row: PlanRow, result: Row, chosen: Mapping[str, Choice]) -> None:
    """Adjust a merged row: hold a mixed valid time, and match a fact's verdict to its text.

    `result` is the row's result and is changed in place.
    """
    if keep_valid_time(row) and WHOLE not in chosen:
        _decide_valid_time(row, result, chosen)
    if row.kind is FACT:
        _match_verdict_to_text(row, result, decided=_VERDICT in row.decided)


@cache
def valid_time_cells(kind: Kind) -> tuple[str, ...]:
    """Return the two cells of a kind's valid time; empty if its rows have no end."""
    if not kind.column.keys() >= set(_VALID_TIME):
        return ()
    return tuple(group[0] for group in kind.groups if not set(group).isdisjoint(_VALID_TIME))


def keep_valid_time(row: PlanRow) -> bool:
    """Hold cells of a row that would mix two sides' valid times; return whether one is held.

    A mix that a choice makes stays.
    """
    result, source, target, cells = row.result, row.source, row.target, valid_time_cells(row.kind)
    if not cells or result is None or source is None or target is None:
        return False
    if not has_valid_time_of_a_side(row):
        for cell in cells:
            group = row.kind.group(cell)
            if cell not in row.decided and not agree(result, target, group):
                result.update({column: target[column] for column in group})
                row.held[cell] = "both_changed"
    return not row.held.keys().isdisjoint(cells)


def has_valid_time_of_a_side(row: PlanRow) -> bool:
    """Whether the result has both times of its valid time from one side."""
    if not valid_time_cells(row.kind):
        return True
    return any(
        side is not None and agree(row.result, side, _VALID_TIME)
        for side in (row.source, row.target)
    )


def _decide_valid_time(row: PlanRow, result: Row, chosen: Mapping[str, Choice]) -> None:
    """Decide the held time of the valid time, in place, as a choice decided the other time."""
    cells = valid_time_cells(row.kind)
    decided_takes = [row.decided[cell] for cell in cells if cell in row.decided]
    for cell in cells:
        if (
            decided_takes
            and decided_takes[0] not in OWN
            and cell in row.held
            and cell not in chosen
        ):
            del row.held[cell]
            row.decided[cell] = decided_takes[0]
            choice = Choice(row.id, decided_takes[0], cell)
            result.update(_decided_cell(row, row.kind.group(cell), choice))


def _cell_conflict(row: PlanRow, group: tuple[str, ...]) -> Reason | None:
    """Return the reason why a cell that differs between the sides is a conflict, or None."""
    if agree(row.source, row.base, group) or agree(row.target, row.base, group):
        return None
    return "both_changed"


def _merge_new(row: PlanRow, source: Row, held: Held, *, skip: bool) -> None:
    """Set the result of a row that the target never had, or hold the whole row.

    If the row were kept out without need, a merge back would treat it as removed.
    """
    if any(same_value(row.kind, source, WHOLE, value) for value in held.target_declined or ()):
        return
    if held.target_removed:
        row.held[WHOLE] = "delete_modify"
    elif skip or held.target_declined is not None:
        row.held[WHOLE] = "skipped"
    else:
        row.result = source


def _merge_removed(row: PlanRow, open_cells: frozenset[str], *, skip: bool) -> None:
    """Set the result of a row that one side or both removed since the base, or hold the row."""
    if row.source is None and row.target is None:
        return
    if not source_changed(row, WHOLE):
        is_held = bool(open_cells)
    elif row.target is None:
        is_held = True
    else:
        is_held = skip or bool(open_cells) or differs(row.kind, row.target, row.base)
        row.result = row.target if is_held else None
    if is_held:
        row.held[WHOLE] = "skipped" if skip and row.source is None else "delete_modify"


def _decide_whole(row: PlanRow, choice: Choice) -> None:
    row.decided[WHOLE] = choice.take
    if choice.take == "theirs":
        row.result = _with_origin(row.source, row.target)
    elif choice.take == "delete":
        row.result = None
    elif choice.take == "value":
        start_row = row.target or row.source
        row.result = (
            None if start_row is None else _edited(row, {**start_row, **(choice.value or {})})
        )


def _decided_cell(row: PlanRow, group: tuple[str, ...], choice: Choice) -> Row:
    chosen_row = {"theirs": row.source, "ours": row.target}.get(choice.take)
    if chosen_row is not None:
        return {column: chosen_row[column] for column in group}
    value_by_column = choice.value or {}
    return {column: value_by_column[column] for column in group if column in value_by_column}


def _edited(row: PlanRow, result: Row) -> Row:
    """Return `result`; if it has a new text of a fact, first set its verdict to unverified."""
    side_texts = [
        side[_TEXT] for side in (row.source, row.target) if side is not None and row.kind is FACT
    ]
    if side_texts and result[_TEXT] not in side_texts:
        result |= {_VERDICT: "unverified", "scores": None}
    return result


def _with_origin(source: Row | None, target: Row | None) -> Row | None:
    """Return the source's content with the target's origin, if the target has the row."""
    if source is None or target is None:
        return source
    target_origin = {column: target[column] for column in target if column in ORIGIN}
    return {**source, **target_origin}


def _match_verdict_to_text(row: PlanRow, result: Row, *, decided: bool) -> None:
    """Set the verdict in `result` to the one on its text, else to `unverified`; nothing is held."""
    base, source, target = row.base or {}, row.source or {}, row.target or {}
    if decided or source[_TEXT] == target[_TEXT] == result[_TEXT]:
        return
    row.held.pop(_VERDICT, None)
    source_changed_text = source[_TEXT] != base.get(_TEXT)
    target_changed_text = target[_TEXT] != base.get(_TEXT)
    verdict_columns = (_VERDICT, "scores")
    source_changed_verdict, target_changed_verdict = (
        any(side[column] != base.get(column) for column in verdict_columns)
        for side in (source, target)
    )
    unverified_columns: Row = {_VERDICT: "unverified", "scores": None}
    if result[_TEXT] == target[_TEXT]:
        verdict_lapsed = source_changed_verdict and target_changed_text and not source_changed_text
        result |= (
            unverified_columns
            if verdict_lapsed
            else {column: target[column] for column in verdict_columns}
        )
    elif result[_TEXT] == source[_TEXT]:
        verdict_lapsed = target_changed_verdict and not target_changed_text
        result |= (
            unverified_columns
            if verdict_lapsed
            else {column: source[column] for column in verdict_columns}
        )
    else:
        result |= unverified_columns


def successor_of(fact: Row | None) -> str | None:
    """Return the id of the fact that supersedes a fact; None without one."""
    successor = None if fact is None else fact.get("superseded_by")
    return None if successor is None else str(successor)


def taken_along(
    fact: Row | None, present: Row | None, source: Mapping[str, Row], target: Container[str]
) -> str | None:
    """Return the id of the fact that supersedes a taken fact and must come along with it.

    None if nothing supersedes it, if the target has that fact or the supersession already, or if
    the source lacks that fact.

    Args:
        fact: the fact as the choice takes it.
        present: the fact as the target has it.
        source: rows of the source, by id.
        target: the ids of the target's rows.
    """
    successor = successor_of(fact)
    if successor is None or successor == successor_of(present) or successor in target:
        return None
    return successor if source.get(successor) is not None else None


def without_successor(fact: Row) -> Row:
    """Return a superseded fact without the id of its successor, which no longer exists."""
    return {**fact, "superseded_by": None}
