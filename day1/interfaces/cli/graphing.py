r"""Draw a graph of commits with lines, as git does.

Each commit waits in a lane for its turn; `|` is a lane that goes on, `|\` one that a merge
opens, `|/` two that meet at a common parent.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from day1.model.rows.change import Commit, CommitId

NODE = "*"
WAITING = "o"
WAITING_OP = "waiting"
"""The `op` of the made-up commit that stands for pending rows in a graph."""


@dataclass(frozen=True, slots=True)
class DrawnCommit:
    """One commit with the lines before its text, and the lines that lead to the next one."""

    commit: Commit
    lanes: str
    edges: tuple[str, ...]


def draw_graph(commits: Iterable[Commit]) -> Iterator[DrawnCommit]:
    """Draw commits, given in an order with children before parents."""
    lanes: list[CommitId] = []
    for commit in commits:
        if commit.id not in lanes:
            lanes.append(commit.id)
        position = lanes.index(commit.id)
        node = WAITING if commit.op == WAITING_OP else NODE
        row_text = " ".join(node if lane == position else "|" for lane in range(len(lanes)))
        edges = [*_part(lanes, position, commit.parents), *_meet(lanes)]
        yield DrawnCommit(commit, row_text, tuple(edges))


def _part(lanes: list[CommitId], position: int, parents: tuple[CommitId, ...]) -> Iterator[str]:
    """Replace a commit in `lanes` by its parents, and yield the rows drawn for that.

    Without a parent the lane ends; each further parent opens a lane.
    """
    if not parents:
        if position < len(lanes) - 1:
            yield _row(len(lanes), {2 * position: " ", **_moved(position + 1, len(lanes), -1)})
        del lanes[position]
        return
    lanes[position] = parents[0]
    for offset, parent in enumerate(parents[1:], start=1):
        lane = position + offset
        yield _row(len(lanes), {2 * lane - 1: "\\", **_moved(lane, len(lanes), 1)})
        lanes.insert(lane, parent)


def _meet(lanes: list[CommitId]) -> Iterator[str]:
    """Join `lanes` that wait for one commit into the leftmost; yield the rows drawn for that."""
    while True:
        repeated_lane = next(
            (index for index, lane in enumerate(lanes) if lane in lanes[:index]), None
        )
        if repeated_lane is None:
            return
        leftmost_lane = lanes.index(lanes[repeated_lane])
        marks = {2 * repeated_lane: " ", 2 * repeated_lane - 1: "/"}
        marks |= {2 * gap + 1: "_" for gap in range(leftmost_lane, repeated_lane - 1)}
        yield _row(len(lanes), {**marks, **_moved(repeated_lane + 1, len(lanes), -1)})
        del lanes[repeated_lane]


def _moved(start: int, end: int, by: int) -> dict[int, str]:
    """Return the marks that move the lanes from `start` on one place right (1) or left (-1)."""
    marks: dict[int, str] = {}
    for lane in range(start, end):
        marks[2 * lane] = " "
        marks[2 * lane + by] = "\\" if by > 0 else "/"
    return marks


def _row(lanes: int, marks: dict[int, str]) -> str:
    width = max([2 * lanes - 1, *(position + 1 for position in marks)])
    characters = [
        "|" if position % 2 == 0 and position < 2 * lanes else " " for position in range(width)
    ]
    # A lane that moves leaves its place, unless its neighbour moves there.
    for position, mark in sorted(marks.items(), key=lambda pair: pair[1] != " "):
        characters[position] = mark
    return "".join(characters).rstrip()
