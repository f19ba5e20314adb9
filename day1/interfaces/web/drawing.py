"""Pictures as coordinates: how branches forked and merged, and how entities relate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

Node = Mapping[str, Any]
_LANES: Final = 24
"""Maximum number of branches in a picture; the list below the picture has all."""
_HIGH: Final = 30
"""Height of a lane in pixels."""
_WIDE: Final = 1040
"""Width of a picture in pixels."""
_TOP: Final = 22
"""Space above the first lane, in pixels."""
_LETTER: Final = 7.7
"""Width of a letter in pixels."""
_LETTERS: Final = 26
"""Maximum number of letters of a label."""


@dataclass(frozen=True, slots=True)
class Lane:
    """The line of a branch, from its fork to its last commit or merge."""

    name: str
    label: str
    status: str
    y: int
    start: float
    end: float
    fork: str | None
    """The curve from the parent's line; None without a parent in the picture."""


@dataclass(frozen=True, slots=True)
class Join:
    """The curve of a merge from source to target, and the point where it ends."""

    path: str
    x: float
    y: int
    source: str
    target: str
    at: str
    count: int


@dataclass(frozen=True, slots=True)
class Tree:
    """A picture of branches: their lines and the curves of their merges."""

    lanes: list[Lane]
    joins: list[Join]
    width: int
    height: int


def tree(branches: Sequence[Node], merges: Sequence[Node]) -> Tree:
    """Draw `main` and the branches that moved last, each below its parent."""
    latest = sorted(branches, key=lambda b: (b["parent"] is None, b["moved_at"]))[-_LANES:]
    shown = _parents_first(latest)
    height_by_branch = {branch["branch"]: _TOP + _HIGH * n for n, branch in enumerate(shown)}
    drawn_merges = [
        m for m in merges if m["source"] in height_by_branch and m["target"] in height_by_branch
    ]
    times = {t for b in shown for t in (b["forked_at"], b["moved_at"])}
    times |= {m["at"] for m in drawn_merges}
    label_width = max((len(cut(name)) for name in height_by_branch), default=0) * _LETTER + 24
    step = (_WIDE - label_width) / max(len(times), 1)
    left_by_time = {t: round(label_width + step * n, 1) for n, t in enumerate(sorted(times))}
    paper = _Paper(height_by_branch, left_by_time, min(step * 0.8, 24))
    return Tree(
        [paper.lane(branch, shown, drawn_merges) for branch in shown],
        [paper.join(merge) for merge in drawn_merges],
        _WIDE,
        _TOP * 2 + _HIGH * (len(shown) - 1),
    )


def _parents_first(branches: Sequence[Node]) -> list[Node]:
    """Sort branches so that children follow their parent; one with an unlisted parent is a root."""
    names = {branch["branch"] for branch in branches}
    children_by_parent: dict[str, list[Node]] = {}
    for branch in sorted(branches, key=lambda b: str(b["forked_at"])):
        parent = branch["parent"] if branch["parent"] in names else ""
        children_by_parent.setdefault(parent, []).append(branch)
    ordered_branches: list[Node] = []
    waiting_branches = children_by_parent.get("", [])[::-1]
    while waiting_branches:
        ordered_branches.append(waiting_branches.pop())
        waiting_branches += children_by_parent.get(ordered_branches[-1]["branch"], [])[::-1]
    return ordered_branches


@dataclass(frozen=True, slots=True)
class _Paper:
    """The coordinates of a picture: a row for each branch, a column for each time."""

    y: Mapping[str, int]
    """The height of a branch's line, by branch."""
    x: Mapping[str, float]
    """The position of a time, by time: evenly spaced, whatever time passed between."""
    bend: float

    def lane(self, branch: Node, others: Sequence[Node], joins: Sequence[Node]) -> Lane:
        name, parent = branch["branch"], branch["parent"]
        fork_x, has_parent = self.x[branch["forked_at"]], parent in self.y
        start = fork_x + self.bend if has_parent else fork_x
        forks = [self.x[b["forked_at"]] for b in others if b["parent"] == name]
        merges_in = [self.x[m["at"]] for m in joins if m["target"] == name]
        merges_out = [self.x[m["at"]] - self.bend for m in joins if m["source"] == name]
        return Lane(
            name,
            cut(name),
            branch["status"],
            self.y[name],
            start,
            max(start, self.x[branch["moved_at"]], *forks, *merges_in, *merges_out),
            _curve(fork_x, self.y[parent], start, self.y[name]) if has_parent else None,
        )

    def join(self, merge: Node) -> Join:
        source, target, at = merge["source"], merge["target"], merge["at"]
        x, y = self.x[at], self.y[target]
        path = _curve(x - self.bend, self.y[source], x, y)
        return Join(path, x, y, source, target, at, merge["merged_count"])


def _curve(x1: float, y1: float, x2: float, y2: float) -> str:
    middle = (x1 + x2) / 2
    return f"M{x1:.1f} {y1}C{middle:.1f} {y1} {middle:.1f} {y2} {x2:.1f} {y2}"


def cut(text: str) -> str:
    """Shorten a text to the length of a label."""
    return text if len(text) <= _LETTERS else text[: _LETTERS - 1] + "\u2026"


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity as a node of the picture, with its label and position."""

    name: str
    label: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Edge:
    """All relations from one entity to another, drawn as one arrow."""

    path: str
    x: float
    y: float
    label: str
    said: str


@dataclass(frozen=True, slots=True)
class Web:
    """A picture of relations: entities and the arrows between them."""

    entities: list[Entity]
    edges: list[Edge]
    left_out: int
    width: int
    height: int


_ENTITIES: Final = 40
"""Maximum number of entities in a picture."""
_STEPS: Final = 150
"""Rounds of moving the nodes."""
_MARGIN: Final = 70
"""Space left and right of the nodes, in pixels."""


def web(triples: Sequence[tuple[str, str, str]]) -> Web:
    """Draw relations (source, relation, target) between the entities with most relations."""
    degree_by_name: dict[str, int] = {}
    for source, _, target in triples:
        for name in (source, target):
            degree_by_name[name] = degree_by_name.get(name, 0) + 1
    names = sorted(degree_by_name, key=lambda name: -degree_by_name[name])[:_ENTITIES]
    place_by_name = {name: n for n, name in enumerate(names)}
    labels_by_pair: dict[tuple[int, int], list[str]] = {}
    for source, relation, target in triples:
        if source in place_by_name and target in place_by_name:
            labels = labels_by_pair.setdefault((place_by_name[source], place_by_name[target]), [])
            labels += [relation] if relation not in labels else []
    height = 260 + 10 * len(names)
    node_positions = _positions(len(names), list(labels_by_pair), _WIDE, height)
    entities = [Entity(n, cut(n), *map(float, node_positions[i])) for i, n in enumerate(names)]
    edges = [_edge(entities[a], entities[b], labels) for (a, b), labels in labels_by_pair.items()]
    return Web(entities, edges, len(degree_by_name) - len(names), _WIDE, height)


def _edge(one: Entity, other: Entity, labels: list[str]) -> Edge:
    label = cut(", ".join(labels))
    title = f"{one.name} {', '.join(labels)} {other.name}"
    if one is other:
        loop = f"M{one.x:.0f} {one.y:.0f}c-40 -50 40 -50 0 0"
        return Edge(loop, one.x, one.y - 42, label, title)
    # The arrow bends a little to its own right, so that the arrow back is another line.
    dx, dy = other.x - one.x, other.y - one.y
    distance = math.hypot(dx, dy) or 1.0
    x, y = (one.x + other.x) / 2 - dy / distance * 18, (one.y + other.y) / 2 + dx / distance * 18
    shortening = 1 - 12 / distance
    end_point = f"{one.x + dx * shortening:.0f} {one.y + dy * shortening:.0f}"
    path = f"M{one.x:.0f} {one.y:.0f}Q{x:.0f} {y:.0f} {end_point}"
    return Edge(path, (one.x + other.x) / 4 + x / 2, (one.y + other.y) / 4 + y / 2, label, title)


def _positions(count: int, edges: Sequence[tuple[int, int]], width: int, height: int) -> Any:
    """Place nodes: nodes repel each other, edges attract; equal input gives equal places."""
    if count == 0:
        return np.zeros((0, 2))
    turn = np.arange(count) * 2.399963  # the golden angle spreads them
    radius = np.sqrt((np.arange(count) + 0.5) / count)
    at = np.stack([np.cos(turn) * radius, np.sin(turn) * radius], axis=1)
    ideal, heat = 1.4 / math.sqrt(count), 0.2
    edge_pairs = np.array([edge for edge in edges if edge[0] != edge[1]], dtype=int).reshape(-1, 2)
    for _ in range(_STEPS):
        differences = at[:, None, :] - at[None, :, :]
        distance = np.maximum(np.linalg.norm(differences, axis=2), 1e-3)
        moves = (differences * (ideal**2 / distance**2)[..., None]).sum(axis=1)
        along_edges = at[edge_pairs[:, 0]] - at[edge_pairs[:, 1]]
        edge_forces = along_edges * (np.linalg.norm(along_edges, axis=1) / ideal)[:, None]
        np.add.at(moves, edge_pairs[:, 0], -edge_forces)
        np.add.at(moves, edge_pairs[:, 1], edge_forces)
        moves -= at * 0.1
        move_lengths = np.maximum(np.linalg.norm(moves, axis=1), 1e-6)
        at = at + moves / move_lengths[:, None] * np.minimum(move_lengths, heat)[:, None]
        heat *= 0.98
    at = (
        at @ np.linalg.svd(at - at.mean(axis=0))[2].T
    )  # turns the long side of the graph across the picture
    low, high = at.min(axis=0), at.max(axis=0)
    scale = np.array([width - 2 * _MARGIN, height - 60]) / np.maximum(high - low, 1e-6)
    middle = np.array([width / 2, height / 2])
    return (at - (low + high) / 2) * (scale if count > 1 else 0) + middle
