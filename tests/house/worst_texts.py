"""Texts on which a regular expression may take long, found by searching its automaton.

`re` backtracks. Its time grows faster than a text if the pattern reads a repeated part in more than
one way. Either a loop is left into another loop that reads the same part: then the time grows with
a power of the length. Or one loop reads the part in two ways: then the time doubles with each
repetition. A search begins at every character, which is a loop too.

Both are properties of the automaton of a pattern, which is searched whole: nobody has to think of the
text. The automaton knows nothing of possessive repeats, of atomic groups and of what lookarounds
forbid, so some of the texts are harmless. Whoever asks for them measures each one.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from tests.house.automaton import Automaton, Machine

_MOST_STEPS = 400_000
"""Steps of the search for one text."""
_MOST_PLACES = 64
"""Pairs of places that are tried for a pair of loops."""

Step = tuple[int, ...]
"""Where several readings of one text are."""
Advance = Callable[[Step], Iterator[tuple[Step, int]]]
"""Where they can go from there, and by which letters."""


class WorstText(NamedTuple):
    """`before`, then `part` many times, then one of `ends`, after which the pattern may not match."""

    before: str
    part: str
    ends: tuple[str, ...]
    doubles: bool
    """Whether each repetition may double the time."""

    def of_length(self, length: int, end: str) -> str:
        """About so many characters."""
        return self.before + self.part * (length // len(self.part)) + end


def worst_texts(pattern: str | bytes, flags: int, *, searches: bool) -> list[WorstText]:
    """Find the texts on which a pattern may take long.

    Args:
        pattern: as it is written.
        flags: it is compiled with.
        searches: whether it is looked for from every character on, or matched at the first.
    """
    machine = Machine(Automaton(pattern, flags, searches=searches))
    ends = _ends(machine)
    texts: dict[tuple[str, str], WorstText] = {}
    for double, parts in ((True, _doubling(machine)), (False, _growing(machine))):
        for part, place in parts:
            if (before := machine.way_to.get(place)) is not None:
                texts.setdefault((before, part), WorstText(before, part, ends, double))
    return list(texts.values())


def _ends(machine: Machine) -> tuple[str, ...]:
    """Ends that no pattern reads on from; all letters, if the pattern reads each of them."""
    letters = machine.unread[:2]
    ends = [end for letter in letters for end in (letter, 2 * letter, f"{letter}\0")]
    return ("", *(ends or (*machine.letters, *(2 * letter for letter in machine.letters[:8]))))


def _doubling(machine: Machine) -> Iterator[tuple[str, int]]:
    """The texts that a loop reads in two ways, each with a place of the loop."""
    for loop in machine.loops:
        for place in loop:
            for to, ways in machine.after[place].items():
                if to in loop and ways > 1:
                    back = "" if to == place else _between(machine, to, place, loop)
                    yield machine.letter(machine.reads[to]) + back, place
        for place in loop:
            # The third number says whether the two readings were apart meanwhile.
            if text := _shortest(
                machine, (place, place, 0), (place, place, 1), _parting(machine, loop)
            ):
                yield text, place
                break


def _parting(machine: Machine, loop: Collection[int]) -> Advance:
    def advance(step: Step) -> Iterator[tuple[Step, int]]:
        for (first, second), bits in _together(machine, step[:2], (loop, loop)):
            yield (first, second, int(step[2] or first != second)), bits

    return advance


def _between(machine: Machine, start: int, end: int, loop: Collection[int]) -> str:
    text = _shortest(machine, (start,), (end,), lambda step: _together(machine, step, (loop,)))
    assert text is not None
    return text


def _growing(machine: Machine) -> Iterator[tuple[str, int]]:
    """The texts by which a loop is left into a second one that reads them too."""
    for first in machine.loops:
        later = machine.reachable(min(first))
        for second in machine.loops:
            if first is not second and second <= later:
                yield from _leaving(machine, first, second, later)


def _leaving(
    machine: Machine, first: Collection[int], second: Collection[int], later: Collection[int]
) -> Iterator[tuple[str, int]]:
    """One reading stays in the first loop, one goes over, one stays in the second loop."""
    pairs = [(start, end) for start in sorted(first) for end in sorted(second)]
    for start, end in pairs[:_MOST_PLACES]:
        text = _shortest(
            machine,
            (start, start, end),
            (start, end, end),
            lambda step: _together(machine, step, (first, later, second)),
        )
        if text:
            yield text, start
            return


def _shortest(machine: Machine, start: Step, goal: Step, advance: Advance) -> str | None:
    """The shortest text along which readings get from `start` to `goal`."""
    came: dict[Step, tuple[Step, str]] = {}
    queue = deque((start,))
    while queue and len(came) < _MOST_STEPS:
        step = queue.popleft()
        for to, bits in advance(step):
            if to not in came:
                came[to] = step, machine.letter(bits)
                queue.append(to)
        if goal in came:
            return _read_along(came, start, goal)
    return None


def _read_along(came: dict[Step, tuple[Step, str]], start: Step, goal: Step) -> str:
    step, letters = goal, []
    while True:
        step, letter = came[step]
        letters.append(letter)
        if step == start:
            return "".join(reversed(letters))


def _together(
    machine: Machine, step: Step, inside: tuple[Collection[int], ...]
) -> Iterator[tuple[Step, int]]:
    """Where readings of one text can go together, each inside its own places."""
    ways: list[tuple[Step, int]] = [((), -1)]
    for place, places in zip(step, inside, strict=True):
        ways = [
            ((*before, to), bits & machine.reads[to])
            for before, bits in ways
            for to in machine.after[place]
            if to in places and bits & machine.reads[to]
        ]
    yield from ways
