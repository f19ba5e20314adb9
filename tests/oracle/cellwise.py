"""Merging, written a second time: cell by cell, from the text of the design alone."""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from day1.model.rows.kind import BY_PREFIX, FACT
from tests.suites.memory import Choice

Row = dict[str, Any]
Rows = Mapping[str, Row]

WHOLE, TEXT, STATUS, VERDICT = "*", "fact_text", "status", "verification"
TIMES = ("happened_at", "valid_until")
UNVERIFIED = {"verification": "unverified", "scores": None}


@dataclass(frozen=True)
class Item:
    """A cell (or a whole row) that a merge withheld."""

    @property
    def is_new(self) -> bool:
        """Whether it is a row that the target never had."""
        new = self.cell == WHOLE and self.ours is None and self.theirs is not None
        return new and self.why in {"skipped", "belongs_to"}

    row: str
    cell: str
    ours: Row | None
    theirs: Row | None
    source: str
    why: str
    copy: int = 0
    """The number of the source's copy from which it was withheld."""


@dataclass(frozen=True)
class Absent:
    """Why rows are not there, where that was no removal since the base."""

    source: Collection[str] = ()
    """The source never had them: they were withheld from it."""
    target: Mapping[str, list[Row | None]] = field(default_factory=dict)
    """So of the target, each with the offers that were dismissed."""
    removed: set[str] = field(default_factory=set)
    """Removed in the target's past, as an open offer says."""


@dataclass
class Planned:
    """One row in a merge: three sides, what comes of it, what is withheld, what was decided."""

    base: Row | None
    source: Row | None
    target: Row | None
    result: Row | None
    held: dict[str, str] = field(default_factory=dict)
    decided: set[str] = field(default_factory=set)


def kind(row_id: str) -> Any:
    return BY_PREFIX[row_id.split("_", maxsplit=1)[0]]


def cells(row_id: str) -> list[str]:
    return [group[0] for group in kind(row_id).groups]


def cut(row_id: str, row: Row | None, cell: str) -> Row | None:
    return None if row is None else {c: row[c] for c in kind(row_id).group(cell)}


def times_of(row: Row) -> list[Any]:
    return [row[column] for column in TIMES]


def cells_of_times(row_id: str) -> list[str]:
    """The cells that hold when a row was true, for rows that can have an end."""
    ends = TIMES[1] in kind(row_id).column
    return [c for c in cells(row_id) if ends and set(TIMES) & set(kind(row_id).group(c))]


def is_mixed(row_id: str, row: "Planned") -> bool:
    """Whether the times of a result are those of no side."""
    sides = [times_of(side) for side in (row.source, row.target) if side and cells_of_times(row_id)]
    return bool(sides and row.result) and times_of(row.result or {}) not in sides


def ends_too_early(row_id: str, row: "Planned") -> bool:
    """Whether a decision made the times of a row contradict each other."""
    if not row.decided or not is_mixed(row_id, row):
        return False
    start, end = times_of(row.result or {})
    return None not in (start, end) and end < start


def _from_one_side(row_id: str, row: "Planned") -> None:
    """Withhold what would mix the times of two sides."""
    mixed = row.source is not None and row.target is not None and is_mixed(row_id, row)
    for cell in cells_of_times(row_id) if mixed else ():
        there = cut(row_id, row.target, cell) or {}
        if cell not in row.decided and cut(row_id, row.result, cell) != there:
            row.result = {**(row.result or {}), **there}
            row.held[cell] = "both_changed"


def given(columns: Mapping[str, Any]) -> Row:
    """Columns that somebody gives: with another text go the parts that it renders."""
    anew = {"structure": None, "vector": None} if {TEXT, "summary"} & columns.keys() else {}
    return {**anew, **columns}


def hashed(row: Row) -> Row:
    text = row.get(TEXT) or row.get("summary")
    return {**row, "content_hash": hashlib.sha256(text.encode()).hexdigest()} if text else row


def plan(
    sides: tuple[Rows, Rows, Rows],
    unsettled: Iterable[Item],
    waiting: set[str],
    choices: Sequence[Choice],
    items: Sequence[str] | None,
    absent: Absent = Absent(),
    *,
    reverts: bool = False,
) -> dict[str, Planned]:
    """What a merge of (base, source, target) does: the rows it changes, withholds or decides."""
    rows = _three_ways(*sides, waiting, items)
    chosen = _chosen(choices, rows, *sides[1:], reverts=reverts)
    for row_id, row in rows.items():
        blocked = {item.cell for item in unsettled if item.row == row_id and not item.is_new}
        _merge_row(row_id, row, blocked, chosen.get(row_id, {}), absent)
    _keep_together(rows, sides[1], sides[2], reverts=reverts)
    return {i: r for i, r in rows.items() if r.result != r.target or r.held or r.decided}


def _three_ways(
    base: Rows, source: Rows, target: Rows, waiting: set[str], items: Sequence[str] | None
) -> dict[str, Planned]:
    """The rows a merge looks at: what the source changed, or what was picked with successors."""
    ids = {i for i in {**base, **source} if base.get(i) != source.get(i)}
    ids, queue = (ids | waiting, []) if items is None else (set(), list(items))
    while queue:
        ids.add(row_id := queue.pop())
        successor = source.get(row_id, {}).get("superseded_by")
        queue += [successor] if successor and successor not in ids else []
    plan = {}
    for row_id in ids:
        b, s, t = (side.get(row_id) for side in (base, source, target))
        asked_back = items is not None and t is None and s == b
        plan[row_id] = Planned(None if asked_back else b, s, t, t)
    return plan


def _chosen(
    choices: Sequence[Choice],
    rows: dict[str, Planned],
    source: Rows,
    target: Rows,
    *,
    reverts: bool,
) -> dict[str, dict[str, Choice]]:
    """Choices by row and cell; who takes a supersession takes the new fact, too, where the source
    has it and the target lacks it."""
    found: dict[str, dict[str, Choice]] = {}
    for choice in choices:
        found.setdefault(choice.row_id, {})[choice.cell] = choice
    queue = [] if reverts else [row_id for row_id in found if row_id in rows]
    for row_id in queue:
        decision = found[row_id].get(STATUS) or found[row_id].get(WHOLE)
        new = str(source.get(row_id, {}).get("superseded_by"))
        known = target.get(row_id, {}).get("superseded_by") == new
        lacks = new in source.keys() - target.keys() - found.keys()
        if decision and decision.take == "theirs" and lacks and not known:
            found[new] = {WHOLE: Choice(new, "theirs")}
            rows.setdefault(new, Planned(source[new], source[new], None, None))
            queue.append(new)
    return found


def _merge_row(
    row_id: str, row: Planned, blocked: set[str], chosen: Mapping[str, Choice], absent: Absent
) -> None:
    b, s, t, whole = row.base, row.source, row.target, chosen.get(WHOLE)
    if whole is not None and whole.take != "skip":
        row.decided = {WHOLE}
        edited = (t or s) and hashed({**(t or s or {}), **given(whole.value or {})})
        if edited and edited.get(TEXT) not in {side.get(TEXT) for side in (s, t) if side}:
            edited |= UNVERIFIED
        row.result = {"ours": t, "theirs": s, "delete": None, "value": edited}[whole.take]
    elif s is not None and t is not None:
        row.result = _mergecells(row_id, row, blocked, chosen)
    elif s is None and t is None:
        pass
    elif s is not None and (b is None or row_id in absent.target):
        _bring(row_id, row, absent, skip=whole is not None)
    elif s is None and row_id in absent.source:
        pass
    elif s == b:
        if blocked:
            row.held[WHOLE] = "open"
    elif t == b and not blocked and whole is None:
        row.result = s
    else:
        row.held[WHOLE] = "skipped" if s is None and whole is not None else "delete_modify"


def _bring(row_id: str, row: Planned, absent: Absent, *, skip: bool) -> None:
    """A row that the target never had comes whole, unless somebody wants it not to."""
    if cut(row_id, row.source, WHOLE) in absent.target.get(row_id, []):
        return
    if row_id in absent.removed:
        row.held[WHOLE] = "delete_modify"
    elif skip or row_id in absent.target:
        row.held[WHOLE] = "skipped"
    else:
        row.result = row.source


def _mergecells(row_id: str, row: Planned, blocked: set[str], chosen: Mapping[str, Choice]) -> Row:
    result = dict(row.target or {})
    for cell in cells(row_id):
        b, s, t = (cut(row_id, side, cell) for side in (row.base, row.source, row.target))
        choice = chosen.get(cell) or chosen.get(WHOLE)
        if choice is not None and choice.take != "skip":
            row.decided.add(cell)
            value = {"ours": t, "theirs": s}.get(choice.take, choice.value)
            result = hashed({**result, **given(value or {})})
        elif s != t and blocked & {cell, WHOLE}:
            row.held[cell] = "open"
        elif s not in (b, t):
            if t == b and choice is None:
                result |= s or {}
            else:
                row.held[cell] = "both_changed"
    row.result = result
    _from_one_side(row_id, row)
    result = row.result
    takes = [chosen[c].take for c in cells_of_times(row_id) if c in row.decided]
    for cell in cells_of_times(row_id):
        alone = cell in row.held and not {cell, WHOLE} & chosen.keys()
        if alone and takes and takes[0] in {"ours", "theirs"}:
            row.held.pop(cell)
            row.decided.add(cell)
            side = row.target if takes[0] == "ours" else row.source
            result = {**result, **(cut(row_id, side, cell) or {})}
    if kind(row_id) is FACT and VERDICT not in row.decided:
        result |= _verdict(row, result)
    return result


def _verdict(row: Planned, result: Row) -> Row:
    """A verdict belongs to the text that it was given for."""
    b, s, t = row.base or {}, row.source or {}, row.target or {}
    if s[TEXT] == t[TEXT] == result[TEXT]:
        return {}
    row.held.pop(VERDICT, None)
    before, theirs, ours = ({c: side.get(c) for c in UNVERIFIED} for side in (b, s, t))
    if result[TEXT] == t[TEXT]:
        lapsed = t[TEXT] != b.get(TEXT) and s[TEXT] == b.get(TEXT) and theirs != before
        return UNVERIFIED if lapsed else ours
    if result[TEXT] == s[TEXT]:
        return UNVERIFIED if ours != before and t[TEXT] == b.get(TEXT) else theirs
    return UNVERIFIED


def _keep_together(
    plan: Mapping[str, Planned], source: Rows, target: Rows, *, reverts: bool
) -> None:
    """A supersession and the new fact it points to come together or not at all; if there is no such
    fact, neither here nor there, what is superseded names none."""
    for old in [row for _ in plan for row in plan.values()]:  # as often as a chain may be long
        new_id = (old.source or {}).get("superseded_by")
        new = plan.get(new_id or "")
        if new_id is None or (old.target is not None and old.target["superseded_by"] == new_id):
            continue
        if reverts and (new is None or new.target is not None):
            continue
        if new and not new.target and old.held.keys() & {STATUS, WHOLE} and new.result is not None:
            if not new.decided and WHOLE not in new.held:
                new.result, new.held[WHOLE] = None, "belongs_to"
            continue
        there = new.result if new else target.get(new_id)
        if not old.result or old.result["superseded_by"] != new_id or there is not None:
            continue
        if not reverts and new_id not in source:
            old.result = {**old.result, "superseded_by": None}
        elif old.target is not None:
            old.result = {**old.result, **(cut("fact_", old.target, STATUS) or {})}
            old.held[STATUS] = "belongs_to"
            old.decided.discard(STATUS)
            _from_one_side("fact_", old)
        elif not old.decided and WHOLE not in old.held:
            old.result, old.held[WHOLE] = None, "belongs_to"
        elif not reverts:
            old.result = {**old.result, "superseded_by": None}


def undone(plan: dict[str, Planned], target: Rows) -> dict[str, Planned]:
    """A plan that undoes something, so that no fact is superseded by one that is not there."""
    every = dict(plan)
    for row_id, there in target.items():
        every.setdefault(row_id, Planned(there, there, there, there))

    def successor(row: Row | None) -> str | None:
        return (row or {}).get("superseded_by")

    def present(row_id: str | None) -> bool:
        return row_id in every and every[row_id].result is not None

    for row_id, row in [one for _ in plan for one in every.items()]:
        users = [r for r in every.values() if successor(r.result) == row_id]
        going, new = row.target and row.result is None, every.get(successor(row.target) or "")
        kept = new and new.source is None and new.result is not None
        changed = row.result is not None and successor(row.result) != successor(row.target)
        if going and users and row.decided:
            for user in users:
                _free(user)
        elif going and users:
            row.result, row.held[WHOLE] = row.target, "belongs_to"
        elif kept and changed and not row.decided & {STATUS, WHOLE}:
            row.result = {**(row.result or {}), **(cut("fact_", row.target, STATUS) or {})}
            row.held[STATUS] = "belongs_to"
            _from_one_side(row_id, row)
        elif changed and successor(row.result) and not present(successor(row.result)):
            _free(row)
    return {i: r for i, r in every.items() if r.result != r.target or r.held or r.decided}


def _free(row: Planned) -> None:
    row.result = active_again(row)
    if row.result["valid_until"] is not None:
        _from_one_side("fact_", row)


def active_again(row: Planned) -> Row:
    """A fact that nothing supersedes any more; it ends when the target says, if it was active there."""
    told = row.target if row.target and not row.target["superseded_by"] else {}
    own = {"status": "active", "superseded_by": None, "valid_until": told.get("valid_until")}
    return {**(row.result or {}), **own}


def is_news(row_id: str, row: Planned, cell: str, items: Iterable[Item], source: str) -> bool:
    """The source changed the cell, and no open item on it or its row offers its value there."""
    if cut(row_id, row.base, cell) == cut(row_id, row.source, cell):
        return False
    alike = [item for item in items if item.cell in {cell, WHOLE} and item.source == source]
    alike = [item for item in alike if not item.is_new or row.target is None]
    return not any(cut(item.row, row.source, item.cell) == item.theirs for item in alike)


def accompanied(row_id: str, row: Row | None, here: Rows, source: Rows) -> dict[str, Row | None]:
    """A row that somebody decided, with the new facts that its supersession brings along."""
    rows: dict[str, Row | None] = {row_id: row}
    known = here.get(row_id, {}).get("superseded_by")
    while row and row.get("superseded_by") not in {None, known, *here, *rows}:
        new = str(row["superseded_by"])
        if new not in source:
            rows[row_id] = {**row, "superseded_by": None}
            break
        rows[new] = row = source[new]
        row_id, known = new, None
    return rows
