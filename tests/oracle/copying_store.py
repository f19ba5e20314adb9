"""The oracle: a memory that keeps a full copy of every branch after every acknowledged call.

It is slow and obviously right. It knows no commits, no waiting rows and no rule for "as of": the
state at an instant is the newest copy that is not later. It shares no code with the adapters or
with `day1.model.merge`; only which columns are one cell is taken from `day1.model.kind`.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from day1.model.kind import FACT, OBSERVATION, RELATION, Kind, kind_of
from tests.suites.memory import Choice, Clock, Held, Merged, Receipt, Refusal, State

Row = dict[str, Any]
Key = tuple[str, str, int]
"""Row, cell, and the number of the copy of the source from which it was withheld."""

WHOLE, TEXT, VERDICT = "*", "fact_text", "verification"
UNVERIFIED = {"verification": "unverified", "scores": None}
FRESH_FACT = {"confidence": 1.0, "status": "active", **UNVERIFIED}


@dataclass(frozen=True)
class Item:
    """A cell (or a whole row) that a merge withheld."""

    row_id: str
    cell: str
    ours: Row | None
    theirs: Row | None
    source: str
    why: str


@dataclass(frozen=True)
class Copy:
    """All of one branch at one moment; `past` numbers the copies that led to it, its own too."""

    number: int = 0
    at: int = 0
    past: frozenset[int] = frozenset({0})
    rows: Mapping[str, Row] = field(default_factory=dict)
    items: Mapping[Key, Item] = field(default_factory=dict)
    closed: frozenset[Key] = frozenset()

    @property
    def content(self) -> tuple[Any, Any, Any]:
        return (self.rows, self.items, self.closed)

    @property
    def open(self) -> dict[Key, Item]:
        return {key: item for key, item in self.items.items() if key not in self.closed}


@dataclass
class Planned:
    """One row in a merge: three sides, what comes of it, what is withheld and what was decided."""

    base: Row | None
    source: Row | None
    target: Row | None
    result: Row | None
    held: dict[str, str] = field(default_factory=dict)
    decided: set[str] = field(default_factory=set)


class CopyingMemory:
    """`tests.suites.memory.Memory` by copying everything."""

    def __init__(self, root: str = "main") -> None:
        self.clock = Clock()
        self.next_time: int | None = None
        """The time that another memory gave to the deed which this one is asked for next."""
        self.numbers = 0
        self.branches: dict[str, list[Copy]] = {root: [Copy()]}
        self.squashed: set[str] = set()

    # Deeds on one branch

    def add_fact(self, branch: str, fact_id: str, **columns: Any) -> Receipt:
        tip = self._writable(branch)
        return self._write(branch, {**tip.rows, fact_id: _new(fact_id, columns)})

    add_observation = add_relation = add_fact

    def update_fact(self, branch: str, fact_id: str, **columns: Any) -> Receipt:
        tip, row = self._row(branch, fact_id)
        after = _edited(row, columns)
        changed = {
            cell
            for cell in _cells(fact_id)
            if _cut(fact_id, row, cell) != _cut(fact_id, after, cell)
        }
        settles = changed | {WHOLE} if changed else changed
        shut = {key for key, i in tip.open.items() if i.row_id == fact_id and i.cell in settles}
        return self._write(branch, {**tip.rows, fact_id: after}, shut)

    def judge(self, branch: str, fact_id: str, verification: str, scores: str | None) -> Receipt:
        return self.update_fact(branch, fact_id, verification=verification, scores=scores)

    def supersede(self, branch: str, fact_id: str, new_id: str, text: str) -> Receipt:
        tip, row = self._row(branch, fact_id)
        if row["superseded_by"] is not None:
            raise Refusal("refused")
        new = _new(new_id, {"fact_text": text, "category": row["category"]})
        shut = {
            k for k, i in tip.open.items() if i.row_id == fact_id and i.cell in {"status", WHOLE}
        }
        old = {**row, "status": "superseded", "superseded_by": new_id}
        return self._write(branch, {**tip.rows, fact_id: old, new_id: new}, shut)

    def remove(self, branch: str, row_id: str) -> Receipt:
        tip, _ = self._row(branch, row_id)
        return self._write(branch, _with(tip.rows, row_id, None))

    def restore_row(self, branch: str, row_id: str, at: int) -> Receipt:
        tip, then = self._writable(branch), self._at(branch, at).rows.get(row_id)
        if then is None and row_id not in tip.rows:
            raise Refusal("not_found")
        return self._write(branch, _with(tip.rows, row_id, then))

    def restore_branch(self, branch: str, at: int) -> Receipt:
        self._writable(branch)
        return self._put(branch, self._at(branch, at).content)

    def decide(
        self,
        branch: str,
        row_id: str,
        cell: str,
        decision: str,
        value: Mapping[str, Any] | None = None,
    ) -> Receipt:
        tip = self._writable(branch)
        found = [k for k, h in self._listed(branch).items() if (h.row_id, h.cell) == (row_id, cell)]
        if not found:
            raise Refusal("not_found")
        row, offered = tip.rows.get(row_id), self._offered(tip.items[found[-1]])
        if decision != "dismissed" and row is None and cell != WHOLE:
            raise Refusal("not_found")
        if decision == "taken" and cell == WHOLE:
            row = offered
        elif decision != "dismissed":
            row = _edited(row or offered or {}, (offered if decision == "taken" else value) or {})
        return self._write(branch, _with(tip.rows, row_id, row), {found[-1]})

    def fork(self, name: str, parent: str) -> None:
        if name in self.branches:
            raise Refusal("branch_exists")
        self.branches[name] = list(self._copies(parent))

    def cut(self, branch: str) -> None:
        self._copies(branch)

    # Reading

    def state(self, branch: str, at: int | None = None) -> State:
        rows = (self._copies(branch)[-1] if at is None else self._at(branch, at)).rows
        return {
            kind.table: {i: dict(row) for i, row in rows.items() if kind_of(i) is kind}
            for kind in (FACT, OBSERVATION, RELATION)
        }

    def held(self, branch: str) -> list[Held]:
        return list(self._listed(branch).values())

    def _listed(self, branch: str) -> dict[Key, Held]:
        tip, listed = self._copies(branch)[-1], {}
        for key, item in tip.open.items():
            present = _cut(item.row_id, tip.rows.get(item.row_id), item.cell)
            if present != (offered := self._offered(item)):
                listed[key] = Held(item.row_id, item.cell, present, offered)
        return listed

    def _offered(self, item: Item) -> Row | None:
        source = self._copies(item.source)[-1].rows.get(item.row_id)
        gone = source is None and item.cell != WHOLE
        return item.theirs if gone else _cut(item.row_id, source, item.cell)

    # Copies

    def _copies(self, branch: str) -> list[Copy]:
        if branch not in self.branches:
            raise Refusal("unknown_branch")
        return self.branches[branch]

    def _writable(self, branch: str) -> Copy:
        if branch in self.squashed:
            raise Refusal("branch_closed")
        return self._copies(branch)[-1]

    def _row(self, branch: str, row_id: str) -> tuple[Copy, Row]:
        tip = self._writable(branch)
        if row_id not in tip.rows:
            raise Refusal("not_found")
        return tip, tip.rows[row_id]

    def _at(self, branch: str, at: int) -> Copy:
        return next((copy for copy in reversed(self._copies(branch)) if copy.at <= at), Copy())

    def _write(self, branch: str, rows: Mapping[str, Row], shut: Iterable[Key] = ()) -> Receipt:
        tip = self._copies(branch)[-1]
        return self._put(branch, (rows, tip.items, tip.closed | set(shut)))

    def _put(
        self, branch: str, content: tuple[Any, Any, Any], joined: Copy | None = None, after: int = 0
    ) -> Receipt:
        tip = self._copies(branch)[-1]
        at = self.next_time or max(self.clock(), max(tip.at, after) + 1)
        if content != tip.content or joined is not None:
            assert at > max(tip.at, after), "a deed must be later than what it stands on"
            self.numbers += 1
            past = tip.past | {self.numbers} | (joined.past if joined else frozenset())
            self.branches[branch].append(Copy(self.numbers, at, past, *content))
        return Receipt(at)

    # Merging

    def bases(self, source: str, target: str) -> list[Copy]:
        """The last copies that two branches have in common: several after a criss-cross."""
        common = self._copies(source)[-1].past & self._copies(target)[-1].past
        every = {copy.number: copy for copies in self.branches.values() for copy in copies}
        last = [n for n in common if not any(n != m and n in every[m].past for m in common)]
        return [every[n] for n in last]

    def merge(
        self,
        source: str,
        target: str,
        strategy: str = "auto",
        choices: Sequence[Choice] = (),
        items: Sequence[str] | None = None,
    ) -> Merged:
        s, t, b = self._writable(source), self._writable(target), self.bases(source, target)[0]
        if set(items or ()) - s.rows.keys() - b.rows.keys():
            raise Refusal("not_found")
        # Held items come along whole, except with a pick; what either side settled is settled.
        brought = {} if items is not None else {k: s.items[k] for k in s.items.keys() - b.items}
        shut = frozenset() if items is not None else s.closed - b.closed
        unsettled = {k: i for k, i in {**s.open, **t.open}.items() if k not in t.closed | shut}
        waiting = {i.row_id for k, i in unsettled.items() if k in t.items and i.source == source}
        plan = _three_ways(b, s, t, waiting, items)
        chosen = _chosen(choices, s, unsettled.values())
        for row_id, row in plan.items():
            blocked = {item.cell for item in unsettled.values() if item.row_id == row_id}
            _merge_row(row_id, row, blocked, chosen.get(row_id, {}))
        _keep_together(plan)
        plan = {i: r for i, r in plan.items() if r.result != r.target or r.held or r.decided}
        news = b.content != s.content
        if items is None and not news and not any(row.decided for row in plan.values()):
            plan = {}
        rejected = sum(1 for row in plan.values() if row.held)
        if strategy == "squash" and rejected:
            raise Refusal("would_hold")
        rows = {i: row for i, row in t.rows.items() if i not in plan}
        rows |= {i: row.result for i, row in plan.items() if row.result is not None}
        for key, item in unsettled.items():
            if item.row_id in plan and plan[item.row_id].decided & {item.cell, WHOLE}:
                shut |= {key}
        held = {**brought, **t.items, **self._withheld(plan, unsettled.values(), source, t)}
        content = (rows, held, t.closed | shut)
        # A merge may be recorded although no row differs: then it was given a time.
        joins = strategy == "auto" and (news or self.next_time is not None)
        if content == t.content and not joins and self.next_time is None:
            return Merged(None, len(plan) - rejected, rejected)
        receipt = self._put(target, content, s if joins else None, s.at)
        if strategy == "squash":
            self.squashed.add(source)
        return Merged(receipt.at, len(plan) - rejected, rejected)

    def _withheld(
        self, plan: Mapping[str, Planned], unsettled: Iterable[Item], source: str, target: Copy
    ) -> dict[Key, Item]:
        """New items: withheld cells of which no open item knows the source's value."""
        found = {}
        for row_id, row in plan.items():
            for cell, why in row.held.items():
                alike = [i for i in unsettled if i.row_id == row_id and i.cell in {cell, WHOLE}]
                if any(_cut(row_id, row.source, i.cell) in (i.ours, i.theirs) for i in alike):
                    continue
                sides = (_cut(row_id, row.target, cell), _cut(row_id, row.source, cell))
                key = (row_id, cell, self._copies(source)[-1].number)
                if key in target.items:
                    key = (row_id, cell, -self.numbers)
                found[key] = Item(row_id, cell, *sides, source, why)
        return found


def _kind(row_id: str) -> Kind:
    kind = kind_of(row_id)
    assert kind is not None
    return kind


def _cells(row_id: str) -> list[str]:
    return [group[0] for group in _kind(row_id).groups]


def _cut(row_id: str, row: Row | None, cell: str) -> Row | None:
    return None if row is None else {c: row[c] for c in _kind(row_id).group(cell)}


def _with(rows: Mapping[str, Row], row_id: str, row: Row | None) -> dict[str, Row]:
    others = {i: other for i, other in rows.items() if i != row_id}
    return others if row is None else {**others, row_id: row}


def _new(row_id: str, columns: Mapping[str, Any]) -> Row:
    empty = dict.fromkeys(_kind(row_id).group(WHOLE))
    return _hashed({**empty, **(FRESH_FACT if _kind(row_id) is FACT else {}), **columns})


def _edited(row: Row, columns: Mapping[str, Any]) -> Row:
    after = _hashed({**row, **columns})
    return after if after.get(TEXT) == row.get(TEXT) else {**after, **UNVERIFIED}


def _hashed(row: Row) -> Row:
    text = row.get(TEXT) or row.get("summary")
    return (
        row if text is None else {**row, "content_hash": hashlib.sha256(text.encode()).hexdigest()}
    )


def _three_ways(
    base: Copy, source: Copy, target: Copy, waiting: set[str], items: Sequence[str] | None
) -> dict[str, Planned]:
    """The rows a merge looks at, with their three sides."""
    ids = {
        i for i in base.rows.keys() | source.rows.keys() if base.rows.get(i) != source.rows.get(i)
    }
    if items is None:
        ids |= waiting
    else:
        ids, queue = set(), list(items)
        while queue:
            if (row_id := queue.pop()) not in ids:
                ids.add(row_id)
                queue += [n for n in [source.rows.get(row_id, {}).get("superseded_by")] if n]
    plan = {}
    for row_id in ids:
        b, s, t = base.rows.get(row_id), source.rows.get(row_id), target.rows.get(row_id)
        asked_back = items is not None and t is None and s == b
        plan[row_id] = Planned(None if asked_back else b, s, t, t)
    return plan


def _chosen(
    choices: Sequence[Choice], source: Copy, unsettled: Iterable[Item]
) -> dict[str, dict[str, Choice]]:
    """Choices by row and cell; who takes a supersession takes the fact withheld because of it."""
    found: dict[str, dict[str, Choice]] = {}
    for choice in choices:
        found.setdefault(choice.row_id, {})[choice.cell] = choice
    waiting = {i.row_id for i in unsettled if i.cell == WHOLE and i.why == "belongs_to"}
    queue = list(found)
    while queue:
        row_id = queue.pop()
        decision = found[row_id].get("status") or found[row_id].get(WHOLE)
        new = source.rows.get(row_id, {}).get("superseded_by")
        if decision and decision.take == "theirs" and new in waiting - found.keys():
            found[new] = {WHOLE: Choice(new, "theirs")}
            queue.append(new)
    return found


def _merge_row(row_id: str, row: Planned, blocked: set[str], chosen: Mapping[str, Choice]) -> None:
    b, s, t = row.base, row.source, row.target
    whole = chosen.get(WHOLE)
    skipped = whole is not None and whole.take == "skip"
    if whole is not None and not skipped:
        row.decided.add(WHOLE)
        if whole.take == "value":
            start = t or s
            row.result = start and _hashed({**start, **(whole.value or {})})
            if row.result and row.result.get(TEXT) not in {
                side.get(TEXT) for side in (s, t) if side
            }:
                row.result |= UNVERIFIED
        else:
            row.result = {"ours": t, "theirs": s, "delete": None}[whole.take]
    elif s is not None and t is not None:
        row.result = _merge_cells(row_id, row, blocked, chosen)
    elif s != t and blocked:
        row.held[WHOLE] = "open"
    elif s != b and s != t:
        if t == b and not skipped:
            row.result = s
        else:
            row.held[WHOLE] = "skipped" if skipped else "delete_modify"


def _merge_cells(row_id: str, row: Planned, blocked: set[str], chosen: Mapping[str, Choice]) -> Row:
    result = dict(row.target or {})
    for cell in _cells(row_id):
        b, s, t = (_cut(row_id, side, cell) for side in (row.base, row.source, row.target))
        choice = chosen.get(cell) or chosen.get(WHOLE)
        if choice is not None and choice.take != "skip":
            row.decided.add(cell)
            value = {"ours": t, "theirs": s}.get(choice.take, choice.value)
            result = _hashed({**result, **(value or {})})
        elif s == t:
            continue
        elif blocked & {cell, WHOLE}:
            row.held[cell] = "open"
        elif s == b:
            continue
        elif t == b and choice is None:
            result |= s or {}
        else:
            row.held[cell] = "clash"
    if _kind(row_id) is FACT and VERDICT not in row.decided:
        result |= _verdict(row_id, row, result)
    return result


def _verdict(row_id: str, row: Planned, result: Row) -> Row:
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
        lapsed = ours != before and t[TEXT] == b.get(TEXT)
        return UNVERIFIED if lapsed else theirs
    return UNVERIFIED


def _keep_together(plan: Mapping[str, Planned]) -> None:
    """A supersession and the new fact it points to come together or not at all."""
    again = True
    while again:
        again = False
        for old in plan.values():
            new_id = (old.source or {}).get("superseded_by")
            new = plan.get(new_id or "")
            if (
                new is None
                or new.target is not None
                or (old.target or {}).get("superseded_by") == new_id
            ):
                continue
            kept_out = None
            if old.held.keys() & {"status", WHOLE} and new.result is not None:
                kept_out = new
            elif (
                old.result is not None
                and old.result["superseded_by"] == new_id
                and new.result is None
            ):
                if old.target is None:
                    kept_out = old
                else:
                    old.result = {
                        **old.result,
                        **{c: old.target[c] for c in ("status", "superseded_by")},
                    }
                    old.held["status"] = "belongs_to"
                    old.decided.discard("status")
                    again = True
            if kept_out is not None and not kept_out.decided and WHOLE not in kept_out.held:
                kept_out.result, kept_out.held[WHOLE] = kept_out.target, "belongs_to"
                again = True
