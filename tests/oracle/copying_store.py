"""The oracle: a memory that keeps a full copy of every branch after every acknowledged call.

It is slow and obviously right. It knows no commits, no pending rows and no rule for "as of": the
state at an instant is the newest copy that is not later. It shares no code with the adapters or
with `day1.model.merge.plan`; only which columns are one cell is taken from `day1.model.rows.kind`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any

from day1.model.rows.kind import FACT, OBSERVATION, RELATION
from tests.oracle.cellwise import (
    STATUS,
    TEXT,
    WHOLE,
    Absent,
    Item,
    Planned,
    Row,
    accompanied,
    cells,
    cut,
    is_news,
    kind,
    plan,
    undone,
)
from tests.oracle.copied_rows import (
    Key,
    edited,
    in_order,
    is_declined,
    new_row,
    other_time,
    refuse_early_ends,
    with_,
)
from tests.suites.memory import Choice, Clock, Held, Merged, Receipt, Refusal, Reverted, State


@dataclass(frozen=True)
class Copy:
    """All of one branch at one moment; `past` numbers the copies that led to it, its own too."""

    number: int = 0
    at: int = 0
    past: frozenset[int] = frozenset({0})
    parents: tuple[int, ...] = ()
    rows: Mapping[str, Row] = field(default_factory=dict)
    items: Mapping[Key, Item] = field(default_factory=dict)
    closed: frozenset[tuple[Key, int]] = frozenset()
    """Items with a decision, each with the number of the action that decided it."""

    @property
    def content(self) -> tuple[Any, Any, Any]:
        return (self.rows, self.items, self.closed)

    def open(self, row: str | None = None, *cells: str, new: bool | None = None) -> dict[Key, Item]:
        """Items without a decision: all, or those of a row's cells; `new` or not."""
        items = {k: i for k, i in self.items.items() if k not in dict(self.closed)}
        items = {k: i for k, i in items.items() if new in {None, i.is_new}}
        return {k: i for k, i in items.items() if row is None or (i.row == row and i.cell in cells)}


class CopyingMemory:
    """`tests.suites.memory.Memory` by copying everything."""

    def __init__(self, root: str = "main") -> None:
        self.clock = Clock()
        self.next_time: int | None = None
        """The time that another memory gave to the action which this one is asked for next."""
        self.ends = True
        """Whether facts have a time at which their truth ends: not so in the first schema."""
        self.numbers = 0
        self.branches: dict[str, list[Copy]] = {root: [Copy()]}
        self.squashed: set[str] = set()
        self.refused: set[tuple[Key, int]] = set()
        """Of the items that were closed, those that were dismissed, with the action."""

    # Actions on one branch

    def add_fact(self, branch: str, fact_id: str, **columns: Any) -> Receipt:
        return self._write(branch, {fact_id: new_row(fact_id, columns)})

    def add_observation(self, branch: str, obs_id: str, **columns: Any) -> Receipt:
        return self._write(branch, {obs_id: new_row(obs_id, columns)})

    def add_relation(self, branch: str, rel_id: str, **columns: Any) -> Receipt:
        return self._write(branch, {rel_id: new_row(rel_id, columns)})

    def update_fact(self, branch: str, fact_id: str, **columns: Any) -> Receipt:
        before = self._present(branch, fact_id)
        same = columns.get(TEXT) == before[TEXT]
        after = edited(before, {c: v for c, v in columns.items() if not (same and c == TEXT)})
        new = [c for c in cells(fact_id) if cut(fact_id, before, c) != cut(fact_id, after, c)]
        if new:
            in_order(after, columns)
        settled = self._tip(branch).open(fact_id, *new, WHOLE, new=False) if new else ()
        return self._write(branch, {fact_id: after}, settled)

    def judge(self, branch: str, fact_id: str, verification: str, scores: str | None) -> Receipt:
        return self.update_fact(branch, fact_id, verification=verification, scores=scores)

    def supersede(self, branch: str, fact_id: str, new_id: str, text: str) -> Receipt:
        before = self._present(branch, fact_id)
        if before["superseded_by"] in self._tip(branch).rows:
            raise Refusal("refused")
        same = {column: before[column] for column in ("category", "space", "sensitivity")}
        new = new_row(new_id, {TEXT: text, **same})
        after = {**before, "status": "superseded", "superseded_by": new_id}
        if self.ends:
            end = max(self.next_time or self.clock(), before["happened_at"] or 0)
            after["valid_until"] = min(end, before["valid_until"] or end)
        settled = self._tip(branch).open(fact_id, STATUS, WHOLE, new=False)
        return self._write(branch, {fact_id: after, new_id: new}, settled)

    def remove(self, branch: str, row_id: str) -> Receipt:
        self._present(branch, row_id)
        tip = self._tip(branch)
        taken = {key for key, action in tip.closed if (key, action) not in self.refused}
        was_there = [
            key
            for key, item in tip.items.items()
            if item.row == row_id and item.is_new and key not in taken
        ]
        return self._write(branch, {row_id: None}, was_there)

    def restore_row(self, branch: str, row_id: str, at: int) -> Receipt:
        then = self._at(branch, at).rows.get(row_id)
        if then is None:
            self._present(branch, row_id)
        return self._write(branch, {row_id: then})

    def restore_branch(self, branch: str, at: int) -> Receipt:
        return self._put(branch, self._at(branch, at).content)

    def revert(self, branch: str, at: int, choices: Sequence[Choice] = ()) -> Reverted:
        tip, copies = self._open(branch), self._copies(branch)
        done = next((n for n, copy in enumerate(copies) if n and copy.at == at), None)
        if done is None:
            raise Refusal("not_found")
        after, before = copies[done].rows, copies[done - 1].rows
        if {c.row_id for c in choices} - {
            i for i in {*after, *before} if after.get(i) != before.get(i)
        }:
            raise Refusal("not_found")
        unsettled = tip.open().values()
        absent = Absent(removed={i.row for i in unsettled if i.cell == WHOLE and not i.is_new})
        planned = plan(
            (after, before, tip.rows), unsettled, set(), choices, None, absent, reverts=True
        )
        rows = undone(planned, tip.rows)
        refuse_early_ends(rows)
        kept = sorted((i, cell) for i, row in rows.items() for cell in row.held)
        new = with_(tip.rows, {i: row.result for i, row in rows.items()})
        if new == tip.rows and self.next_time is None:
            return Reverted(None, tuple(kept))
        return Reverted(self._put(branch, (new, tip.items, tip.closed)).at, tuple(kept))

    def decide(
        self,
        branch: str,
        row_id: str,
        cell: str,
        decision: str,
        value: Mapping[str, Any] | None = None,
    ) -> Receipt:
        listed = self._listed(branch)
        keys = [k for k, h in listed.items() if (h.row_id, h.cell) == (row_id, cell)]
        row = (tip := self._open(branch)).rows.get(row_id)
        if not keys or (row is None and cell != WHOLE and decision != "dismissed"):
            raise Refusal("not_found")
        other = (
            [] if decision == "edited" else other_time(self._listed(branch), tip.items, keys[-1])
        )
        decided = [keys[-1], *other[:1]]
        offers = [self._offered(tip.items[key]) for key in decided]
        offered = (
            None if offers[0] is None else {c: v for o in offers for c, v in (o or {}).items()}
        )
        if decision == "taken" and cell == WHOLE:
            row = offered
        elif decision != "dismissed":
            columns = (offered if decision == "taken" else value) or {}
            in_order(row := edited(row or offered or {}, columns), columns)
        alike = [k for k, h in self._offers(branch).items() if h in [listed[d] for d in decided]]
        if decision == "dismissed":
            self.refused |= {(key, self.numbers + 1) for key in alike}
        rows = accompanied(row_id, row, tip.rows, self._tip(tip.items[keys[-1]].source).rows)
        alike += [k for i in rows.keys() - {row_id} for k in tip.open(i, WHOLE, new=True)]
        return self._write(branch, rows, alike)

    def fork(self, name: str, parent: str, at: int | None = None) -> None:
        if name in self.branches:
            raise Refusal("branch_exists")
        self.branches[name] = [c for c in self._copies(parent) if at is None or c.at <= at]

    def commit_pending(self, branch: str) -> None:
        self._copies(branch)

    # Reading

    def state(self, branch: str, at: int | None = None) -> State:
        rows = (self._tip(branch) if at is None else self._at(branch, at)).rows
        state: State = {k.table: {} for k in (FACT, OBSERVATION, RELATION)}
        for row_id, row in rows.items():
            state[kind(row_id).table][row_id] = dict(row)
        return state

    def within(self, branch: str, space: str) -> list[str]:
        rows = self._tip(branch).rows.items()
        return sorted(i for i, row in rows if f"{row.get('space')}/".startswith(f"{space}/"))

    def versions(self, branch: str, row_id: str) -> list[tuple[int, Row | None]]:
        every = {copy.number: copy for copies in self.branches.values() for copy in copies}
        found = []
        for copy in (every[number] for number in self._tip(branch).past):
            row = copy.rows.get(row_id)
            if all(every[parent].rows.get(row_id) != row for parent in copy.parents):
                found += [(copy.at, row)] if copy.parents else []
        if not found:
            raise Refusal("not_found")
        return sorted(found, key=itemgetter(0))

    def held(self, branch: str) -> list[Held]:
        return list(self._listed(branch).values())

    def _listed(self, branch: str) -> dict[Key, Held]:
        """What is offered, each value once."""
        offers = self._offers(branch)
        first = {repr(held): key for key, held in reversed(offers.items())}
        return {key: held for key, held in offers.items() if first[repr(held)] == key}

    def _offers(self, branch: str) -> dict[Key, Held]:
        listed, tip = {}, self._tip(branch)
        for key, item in tip.open().items():
            present, offered = (
                cut(item.row, tip.rows.get(item.row), item.cell),
                self._offered(item),
            )
            if present != offered and not (item.is_new and item.row in tip.rows):
                listed[key] = Held(item.row, item.cell, present, offered)
        return listed

    def _offered(self, item: Item) -> Row | None:
        source = self._tip(item.source).rows.get(item.row)
        gone = source is None and item.cell != WHOLE
        return item.theirs if gone else cut(item.row, source, item.cell)

    # Copies

    def _copies(self, branch: str) -> list[Copy]:
        if branch not in self.branches:
            raise Refusal("unknown_branch")
        return self.branches[branch]

    def _tip(self, branch: str) -> Copy:
        return self._copies(branch)[-1]

    def _at(self, branch: str, at: int) -> Copy:
        return next((copy for copy in reversed(self._copies(branch)) if copy.at <= at), Copy())

    def _open(self, branch: str) -> Copy:
        if branch in self.squashed:
            raise Refusal("branch_closed")
        return self._tip(branch)

    def _present(self, branch: str, row_id: str) -> Row:
        if row_id not in self._open(branch).rows:
            raise Refusal("not_found")
        return self._tip(branch).rows[row_id]

    def _write(
        self, branch: str, rows: Mapping[str, Row | None], settled: Iterable[Key] = ()
    ) -> Receipt:
        tip = self._open(branch)
        closed = tip.closed | {(key, self.numbers + 1) for key in settled}
        return self._put(branch, (with_(tip.rows, rows), tip.items, closed))

    def _put(
        self, branch: str, content: tuple[Any, Any, Any], joined: Copy | None = None, after: int = 0
    ) -> Receipt:
        tip = self._open(branch)
        at = self.next_time or max(self.clock(), max(tip.at, after) + 1)
        if content != tip.content or joined is not None:
            assert at > max(tip.at, after), "an action must be later than what it stands on"
            self.numbers += 1
            past = tip.past | {self.numbers} | (joined.past if joined else frozenset())
            parents = (tip.number, joined.number) if joined else (tip.number,)
            self.branches[branch].append(Copy(self.numbers, at, past, parents, *content))
        return Receipt(at)

    def bases(self, source: str, target: str) -> list[Copy]:
        """The last copies that two branches have in common: several after a criss-cross."""
        common = self._tip(source).past & self._tip(target).past
        every = {copy.number: copy for copies in self.branches.values() for copy in copies}
        last = [n for n in common if not any(n != m and n in every[m].past for m in common)]
        return [every[n] for n in last]

    # Merging

    def merge(
        self,
        source: str,
        target: str,
        strategy: str = "auto",
        choices: Sequence[Choice] = (),
        items: Sequence[str] | None = None,
    ) -> Merged:
        s, t, b = self._open(source), self._open(target), self.bases(source, target)[0]
        unknown = set(items or ()) | {c.row_id for c in choices} - t.rows.keys()
        if unknown - s.rows.keys() - b.rows.keys():
            raise Refusal("not_found")
        both = s.rows.keys() & t.rows.keys()
        if any(c.cell != "*" and (c.row_id not in both or c.take == "delete") for c in choices):
            raise Refusal("invalid_request")
        held, closed = dict(t.items), t.closed
        if items is None:  # a pick brings rows only
            held = {key: item for key, item in s.items.items() if key not in b.items} | held
            closed |= s.closed - b.closed
        unsettled = {k: i for k, i in {**s.open(), **t.open()}.items() if k not in dict(closed)}
        waiting = {i.row for k, i in unsettled.items() if k in t.items and i.source == source}
        removed = {i.row for k, i in unsettled.items() if k in s.open() and _is_removal(i, t)}
        of_target = [i for k, i in unsettled.items() if k in t.open() and i.cell == WHOLE]
        removed |= {item.row for item in of_target if not item.is_new}
        lacking = self._kept_out(replace(t, closed=closed))
        if items is not None:
            lacking = {item.row: [] for item in of_target if item.is_new}
        absent = Absent(self._kept_out(s).keys(), lacking, removed)
        rows = plan((b.rows, s.rows, t.rows), unsettled.values(), waiting, choices, items, absent)
        refuse_early_ends(rows)
        # Where no row differs, only who changed what may be news: it was given a time then.
        news = items is not None or b.content != s.content or self.next_time is not None
        if not news and not any(row.decided for row in rows.values()):
            rows = {}
        rejected = sum(1 for row in rows.values() if row.held)
        if strategy == "squash" and rejected:
            raise Refusal("would_hold")
        settled = {
            (k, self.numbers + 1): i.row
            for k, i in unsettled.items()
            if i.row in rows and rows[i.row].decided & {i.cell, WHOLE}
        }
        offering = [item for key, item in unsettled.items() if key in held]
        held |= _withheld(rows, offering, source, s.number, t)
        known = {i.row for i in unsettled.values() if i.cell == WHOLE}
        for row_id in [i for i, row in rows.items() if is_declined(row, i in known, choices, i)]:
            key = _key(row_id, WHOLE, s.number, t)
            theirs = cut(row_id, rows[row_id].source, WHOLE)
            held[key] = Item(row_id, WHOLE, None, theirs, source, "skipped", s.number)
            settled[key, self.numbers + 1] = row_id
        ours = {c.row_id for c in choices if c.take == "ours"}
        self.refused |= {one for one, row_id in settled.items() if row_id in ours}
        closed |= frozenset(settled)
        content = (with_(t.rows, {i: row.result for i, row in rows.items()}), held, closed)
        joins = strategy == "auto" and news
        at = None
        if content != t.content or joins or self.next_time is not None:
            at = self._put(target, content, s if joins else None, s.at).at
            self.squashed |= {source} if strategy == "squash" else set()
        return Merged(at, len(rows) - rejected, rejected)

    def _kept_out(self, copy: Copy) -> dict[str, list[Row | None]]:
        """Rows that were withheld and never taken, each with the offers that were dismissed."""
        new = {key: item for key, item in copy.items.items() if item.is_new}
        decided = [(key, action) for key, action in copy.closed if key in new]
        there = {new[key].row for key, action in decided if (key, action) not in self.refused}
        found: dict[str, list[Row | None]] = {i.row: [] for i in new.values() if i.row not in there}
        for key, _ in decided:
            if new[key].row in found:
                found[new[key].row].append(new[key].theirs)
        return found


def _is_removal(item: Item, target: Copy) -> bool:
    """Whether a target lacks a row because of the removal that an item offers."""
    removal = item.cell == WHOLE and item.theirs is None
    return removal and item.row not in target.rows and item.copy in target.past


def _withheld(
    rows: Mapping[str, Planned], unsettled: Iterable[Item], source: str, number: int, target: Copy
) -> dict[Key, Item]:
    """New items; one of the same copy that was settled before gets a key of its own."""
    found = {}
    for row_id, row in rows.items():
        items = [item for item in unsettled if item.row == row_id]
        for cell in [cell for cell in row.held if is_news(row_id, row, cell, items, source)]:
            ours, theirs = (cut(row_id, side, cell) for side in (row.target, row.source))
            key = _key(row_id, cell, number, target)
            found[key] = Item(row_id, cell, ours, theirs, source, row.held[cell], number)
    return found


def _key(row_id: str, cell: str, number: int, target: Copy) -> Key:
    """An item's key: one that was withheld from the same copy before has another."""
    again = (row_id, cell, number) in target.items
    return row_id, cell, -target.number if again else number
