"""What must hold after every action, whatever the engine and whatever the rules for merging are.

No row vanishes from a branch unless its removal was asked for there or on a branch merged into it.
What the source of a merge has and the target never had arrives, unless a choice, an open item on
all of the row or an earlier decision keeps it out. What the source changed in a row of both arrives
or is offered: the merge base moves past it. Dismissing changes what no branch shows. A value of a
cell is offered once. No merge and no decision gives a fact a successor that its branch lacks.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from tests.oracle.cellwise import VERDICT, cells, cut
from tests.oracle.copying_store import CopyingMemory
from tests.suites.memory import Choice

Ids = frozenset[str]


class NothingLost:
    """Follows what a memory shows; it is told of every action before and after it."""

    def __init__(self, memory: CopyingMemory, root: str) -> None:
        self.memory = memory
        self.branches = [root]
        self.shown: dict[str, Any] = {}
        self.base: Mapping[str, Any] = {}
        """The rows of the merge base, before a merge."""
        self.removed: dict[str, Ids] = defaultdict(frozenset)
        """By branch, rows whose removal was asked for in its past."""
        self.declined: dict[str, Ids] = defaultdict(frozenset)
        """By branch, rows that somebody decided to do without."""
        self.had: dict[str, Ids] = defaultdict(frozenset)
        """By branch, rows that it showed at some time."""
        self.past: dict[str, Ids] = defaultdict(frozenset)
        """By branch, rows that were shown somewhere in its past, merged branches included."""

    def before(self, method: str, branch: str, args: tuple[Any, ...]) -> None:
        """Note what is shown, and what the action may be about."""
        if method == "merge":
            self.base = self.memory.bases(*args[:2])[0].rows
        self.shown = {name: self.memory.state(name) for name in self.branches}
        self.offers = self.memory.held(branch) if branch in self.branches else []

    def after(self, method: str, branch: str, args: tuple[Any, ...]) -> None:
        """Hold what an action that was done has done against the rules."""
        if method == "fork":
            self._forked(*args)
        elif method == "merge":
            self._merged(*args)
        elif method in {"remove", "restore_row", "restore_branch"}:
            self._asked(branch, self._gone(branch))
            if method == "restore_branch":  # it undoes merges, with what they kept out
                self._asked(branch, self.past[branch] - self._ids(branch))
        elif method == "decide":
            self._decided(*args)
        else:
            assert not self._gone(branch), (method, self._gone(branch))
        if method in {"merge", "decide"}:
            self._accompanied(args[1] if method == "merge" else branch)
        for name in self.branches:
            if method != "fork" and name != branch:
                assert self.memory.state(name) == self.shown[name], (method, name)
        self.had[branch] |= self._ids(branch)
        self.past[branch] |= self.had[branch]
        offered = [repr(held) for held in self.memory.held(branch)]
        assert len(offered) == len(set(offered)), offered

    def _accompanied(self, branch: str) -> None:
        """Hold that no fact was given a successor that its branch lacks."""
        facts, before = self.memory.state(branch)["facts"], self.shown[branch]["facts"]
        for row_id, fact in facts.items():
            successor = fact["superseded_by"]
            known = before.get(row_id, {}).get("superseded_by") == successor
            assert successor is None or successor in facts or known, (row_id, successor)

    def _forked(self, name: str, parent: str, _at: int | None = None) -> None:
        self.branches.append(name)
        for kept in (self.removed, self.declined, self.had, self.past):
            kept[name] = kept[parent]

    def _decided(self, branch: str, row: str, cell: str, decision: str, *_: Any) -> None:
        if decision == "dismissed":
            assert self.memory.state(branch) == self.shown[branch]
            if cell == "*" and row not in self._ids(branch):
                self.declined[branch] |= {row}
            return
        removals = {held.row_id for held in self.offers if held.theirs is None}
        assert self._gone(branch) <= removals & {row}
        self._asked(branch, self._gone(branch))

    def _merged(
        self, source: str, target: str, strategy: str, choices: list[Choice], items: Any
    ) -> None:
        chosen = {choice.row_id for choice in choices}
        assert self._gone(target) <= self.removed[source] | chosen, self._gone(target)
        if strategy == "auto":
            never = self._ids(source) - self.past[target] - self.removed[target]
            open_whole = {held.row_id for held in self.memory.held(target) if held.cell == "*"}
            excused = chosen | open_whole | self.declined[target]
            assert never - self._ids(target) <= excused, never - self._ids(target) - excused
            self._arrived(source, target, chosen)
        self._asked(target, self._gone(target))
        self._asked(target, frozenset(c.row_id for c in choices if c.take == "delete"))
        self.declined[target] |= {c.row_id for c in choices if c.take == "ours"}
        lacked = self.declined[source] - self._ids(source)
        self.declined[target] |= lacked
        for kept in (self.removed, self.past):
            kept[target] |= kept[source]

    def _arrived(self, source: str, target: str, chosen: set[str]) -> None:
        """Hold that each cell that the source changed is the target's now, or offered there."""
        offers = [(h.row_id, h.theirs) for h in self.memory.held(target)]
        there, here = (_rows(self.memory.state(branch)) for branch in (source, target))
        for row_id in there.keys() & here.keys() - chosen:
            sides = (self.base.get(row_id), there[row_id], here[row_id])
            values = [value for row, value in offers if row == row_id]
            for cell in (c for c in cells(row_id) if c != VERDICT):  # which lapses with its text
                base, theirs, ours = (cut(row_id, side, cell) for side in sides)
                gone = theirs and theirs.get("superseded_by") not in {None, *there}
                unnamed = {**(theirs or {}), "superseded_by": None} if gone else theirs
                wanted = set(theirs or ())
                offered = [{c: v[c] for c in wanted} for v in values if v and wanted <= v.keys()]
                assert theirs in (base, ours, *offered) or unnamed == ours, (row_id, cell, theirs)

    def _asked(self, branch: str, rows: Ids) -> None:
        self.removed[branch] |= rows

    def _ids(self, branch: str) -> Ids:
        return _ids(self.memory.state(branch))

    def _gone(self, branch: str) -> Ids:
        return _ids(self.shown[branch]) - self._ids(branch)


def _rows(state: Any) -> dict[str, dict[str, Any]]:
    return {row_id: row for rows in state.values() for row_id, row in rows.items()}


def _ids(state: Any) -> Ids:
    return frozenset(row_id for rows in state.values() for row_id in rows)
