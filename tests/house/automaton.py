"""The automaton of a regular expression: which characters it reads where, and what can follow."""

import re
import re._compiler as compiler  # type: ignore[import-not-found]  # Python has no public ones
import re._constants as op  # type: ignore[import-not-found]  # it has no stubs
import re._parser as parser  # type: ignore[import-not-found]  # it has no stubs
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from typing import Any

_MOST_COPIES = 48
"""Copies of a part that must be there a number of times; with fewer, a text would not match."""

_COMMON = "".join(map(chr, range(128))) + (
    "\x85\xa0\u00e9\u00df\u0130\u017f\u0301\u0434\u0660\u2019\u2028\u212a\u3002\u6f22\U0001f600\udc80"
)
"""Letters, digits, blanks and marks of several scripts, and some that fold case in odd ways."""


class _State:
    """A place in the automaton: it reads one of some characters, or nothing."""

    __slots__ = ("number", "reads", "to")

    def __init__(self, number: int, reads: int | None) -> None:
        self.number, self.reads, self.to = number, reads, list[int]()


class Automaton:
    """The automaton of a parsed pattern; characters are bits of the classes that it tells apart."""

    def __init__(self, pattern: str | bytes, flags: int, *, searches: bool) -> None:
        tree = parser.parse(pattern, flags)
        self._bytes = isinstance(pattern, bytes)
        self._flags = tree.state.flags
        self._groups: dict[int, Any] = {}
        self.letters = _letters(tree, pattern)
        self.states: list[_State] = []
        self._known: dict[str, int] = {}
        self.anywhere: int | None = None
        """The place that reads everything before the pattern, if it is searched for."""
        start = self._new()
        if searches:
            self.anywhere = self._new((1 << len(self.letters)) - 1)
            self._join(start, self.anywhere)
            self._join(self.anywhere, start)
        self.start, self.end = start, self._add(tree, start, self._flags)

    def _new(self, reads: int | None = None) -> int:
        self.states.append(_State(len(self.states), reads))
        return len(self.states) - 1

    def _join(self, start: int, end: int) -> None:
        self.states[start].to.append(end)

    def _add(self, tree: Any, at: int, flags: int) -> int:
        for code, value in tree:
            at = self._add_node(code, value, at, flags)
        return at

    def _add_node(self, code: Any, value: Any, at: int, flags: int) -> int:
        if code in (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN):
            reads = self._new(self._read_by(code, value, flags))
            self._join(at, reads)
            return reads
        if code in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            return self._repeat(value, at, flags)
        if code is op.SUBPATTERN:
            group, more, fewer, inner = value
            if group is not None:
                self._groups[group] = inner, (flags | more) & ~fewer
            return self._add(inner, at, (flags | more) & ~fewer)
        if code is op.ATOMIC_GROUP:
            return self._add(value, at, flags)
        if code is op.GROUPREF:
            inner, its_flags = self._groups[value]
            return self._add(inner, at, its_flags)
        if code is op.BRANCH:
            end = self._new()
            for branch in value[1]:
                self._join(self._add(branch, self._branch(at), flags), end)
            return end
        if code in (op.ASSERT, op.ASSERT_NOT):
            if value[0] > 0:  # it is read ahead, and then the pattern goes on from here
                self._add(value[1], self._branch(at), flags)
            return at
        return at  # an anchor

    def _branch(self, at: int) -> int:
        start = self._new()
        self._join(at, start)
        return start

    def _repeat(self, repeat: Any, at: int, flags: int) -> int:
        least, most, tree = repeat
        for _ in range(min(least, _MOST_COPIES)):
            at = self._add(tree, at, flags)
        end = self._new()
        if most is op.MAXREPEAT:
            loop = self._branch(at)
            self._join(self._add(tree, loop, flags), loop)
            self._join(loop, end)
            return end
        self._join(at, end)
        for _ in range(min(most - least, 2)):
            at = self._add(tree, at, flags)
            self._join(at, end)
        return end

    def _read_by(self, code: Any, value: Any, flags: int) -> int:
        """The characters that one node reads, as bits."""
        key = f"{code} {value} {flags}"
        if key not in self._known:
            node = _compiled([(code, value)], flags, self._bytes)
            bits = 0
            for number, letter in enumerate(self.letters):
                if node(letter):
                    bits |= 1 << number
            self._known[key] = bits
        return self._known[key]


def _compiled(nodes: list[Any], flags: int, of_bytes: bool) -> Callable[[str], bool]:
    """Say whether a node reads a character, as `re` itself does."""
    tree = parser.SubPattern(parser.State(), nodes)
    tree.state.flags = flags
    compiled: re.Pattern[Any] = compiler.compile(tree, flags)

    def reads(letter: str) -> bool:
        text: Any = letter.encode("latin-1", "replace") if of_bytes else letter
        return compiled.match(text) is not None

    return reads


def _letters(tree: Any, pattern: str | bytes) -> list[str]:
    """Characters that stand for all: common ones, those of the pattern, and their neighbours."""
    found = set(_COMMON)

    def look(node: Any) -> None:
        if isinstance(node, parser.SubPattern | list | tuple):
            for part in node:
                look(part)
        elif isinstance(node, int) and not isinstance(node, bool) and 0 < int(node) < 0x10FFFF:
            found.update(map(chr, (int(node) - 1, int(node), int(node) + 1)))

    look(tree)
    if isinstance(pattern, bytes):
        return sorted(letter for letter in found if ord(letter) < 256)
    return sorted(
        found, key=lambda letter: (not letter.isalnum(), not " " <= letter <= "~", letter)
    )


class Machine:
    """The same without the places that read nothing, and without letters that are read alike."""

    def __init__(self, automaton: Automaton) -> None:
        states = automaton.states
        kinds: dict[tuple[bool, ...], int] = {}
        self.letters: list[str] = []
        reading = [state for state in states if state.reads is not None]
        classes: dict[int, int] = {}
        masks = sorted({state.reads for state in reading if state.reads is not None})
        for number, letter in enumerate(automaton.letters):
            kind = tuple(bool(mask >> number & 1) for mask in masks)
            if kind not in kinds:
                kinds[kind] = len(self.letters)
                self.letters.append(letter)
        for at, mask in enumerate(masks):
            classes[mask] = sum(1 << number for kind, number in kinds.items() if kind[at])
        self.reads: dict[int, int] = {
            s.number: classes[s.reads] for s in reading if s.reads is not None
        }
        self.after: dict[int, dict[int, int]] = {
            number: _followers(states, number) for number in (*self.reads, automaton.start)
        }
        """Place -> the places that read next, each with the number of ways there, up to two."""
        self.start = automaton.start
        own = [reads for number, reads in self.reads.items() if number != automaton.anywhere]
        self.unread = [
            letter
            for at, letter in enumerate(self.letters)
            if not any(reads >> at & 1 for reads in own)
        ]
        """Letters that the pattern reads nowhere."""
        self.loops = _loops({n: [m for m in to if m in self.reads] for n, to in self.after.items()})
        self.loop_of = {number: loop for loop in self.loops for number in loop}
        self.way_to = self._ways()

    def _ways(self) -> dict[int, str]:
        """Place -> the shortest text that leads there."""
        ways, queue = {self.start: ""}, deque((self.start,))
        while queue:
            at = queue.popleft()
            for number in self.after[at]:
                if number not in ways and self.reads[number]:
                    ways[number] = ways[at] + self.letter(self.reads[number])
                    queue.append(number)
        return ways

    def reachable(self, start: int) -> set[int]:
        """The places that can follow, at once or later, and the place itself."""
        places, queue = {start}, [start]
        while queue:
            fresh = [to for to in self.after[queue.pop()] if to not in places]
            places.update(fresh)
            queue.extend(fresh)
        return places

    def letter(self, bits: int) -> str:
        """A letter of a class: the plainest one."""
        return self.letters[(bits & -bits).bit_length() - 1]


def _followers(states: Sequence[_State], start: int) -> dict[int, int]:
    """The places that read next after one, each with the number of ways there, up to two."""
    found: dict[int, int] = defaultdict(int)
    visits: dict[int, int] = defaultdict(int)
    stack = [start]
    while stack:
        for to in states[stack.pop()].to:
            if states[to].reads is not None:
                found[to] = min(found[to] + 1, 2)
            elif visits[to] < 2:
                visits[to] += 1
                stack.append(to)
    return dict(found)


def _loops(after: dict[int, list[int]]) -> list[frozenset[int]]:
    """The strongly connected parts in which one can go round (Tarjan, without recursion)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    loops: list[frozenset[int]] = []
    for root, first in after.items():
        if root in index:
            continue
        work = [(root, iter(first))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            at, rest = work[-1]
            to = next(rest, None)
            if to is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[at])
                if low[at] == index[at]:
                    part: set[int] = set()
                    while at not in part:
                        part.add(stack.pop())
                    on_stack -= part
                    if len(part) > 1 or at in after[at]:
                        loops.append(frozenset(part))
            elif to not in index:
                index[to] = low[to] = len(index)
                stack.append(to)
                on_stack.add(to)
                work.append((to, iter(after[to])))
            elif to in on_stack:
                low[at] = min(low[at], index[to])
    return loops
