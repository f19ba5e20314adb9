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
    latest_branches = sorted(branches, key=lambda b: (b["parent"] is None, b["moved_at"]))[-_LANES:]
    drawn_branches = _parents_first(latest_branches)
    y_by_branch = {
        branch["branch"]: _TOP + _HIGH * index for index, branch in enumerate(drawn_branches)
    }
    drawn_merges = [
        merge
        for merge in merges
        if merge["source"] in y_by_branch and merge["target"] in y_by_branch
    ]
    drawn_times = {
        instant
        for branch in drawn_branches
        for instant in (branch["forked_at"], branch["moved_at"])
    }
    drawn_times |= {merge["at"] for merge in drawn_merges}
    label_column_width = max((len(cut(name)) for name in y_by_branch), default=0) * _LETTER + 24
    column_width = (_WIDE - label_column_width) / max(len(drawn_times), 1)
    x_by_time = {
        instant: round(label_column_width + column_width * index, 1)
        for index, instant in enumerate(sorted(drawn_times))
    }
    coordinates = _Paper(y_by_branch, x_by_time, min(column_width * 0.8, 24))
    return Tree(
        [coordinates.lane(branch, drawn_branches, drawn_merges) for branch in drawn_branches],
        [coordinates.join(merge) for merge in drawn_merges],
        _WIDE,
        _TOP * 2 + _HIGH * (len(drawn_branches) - 1),
    )


def _parents_first(branches: Sequence[Node]) -> list[Node]:
    """Sort branches so that children follow their parent; one with an unlisted parent is a root."""
    branch_names = {branch["branch"] for branch in branches}
    children_by_parent: dict[str, list[Node]] = {}
    for branch in sorted(branches, key=lambda b: str(b["forked_at"])):
        parent = branch["parent"] if branch["parent"] in branch_names else ""
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
        branch_name, parent_name = branch["branch"], branch["parent"]
        fork_x, is_parent_drawn = self.x[branch["forked_at"]], parent_name in self.y
        start_x = fork_x + self.bend if is_parent_drawn else fork_x
        child_fork_xs = [
            self.x[child["forked_at"]] for child in others if child["parent"] == branch_name
        ]
        incoming_merge_xs = [
            self.x[merge["at"]] for merge in joins if merge["target"] == branch_name
        ]
        outgoing_merge_xs = [
            self.x[merge["at"]] - self.bend for merge in joins if merge["source"] == branch_name
        ]
        return Lane(
            branch_name,
            cut(branch_name),
            branch["status"],
            self.y[branch_name],
            start_x,
            max(
                start_x,
                self.x[branch["moved_at"]],
                *child_fork_xs,
                *incoming_merge_xs,
                *outgoing_merge_xs,
            ),
            _curve(fork_x, self.y[parent_name], start_x, self.y[branch_name])
            if is_parent_drawn
            else None,
        )

    def join(self, merge: Node) -> Join:
        source, target, merge_time = merge["source"], merge["target"], merge["at"]
        x, y = self.x[merge_time], self.y[target]
        curve_path = _curve(x - self.bend, self.y[source], x, y)
        return Join(curve_path, x, y, source, target, merge_time, merge["merged_count"])


def _curve(x1: float, y1: float, x2: float, y2: float) -> str:
    middle_x = (x1 + x2) / 2
    return f"M{x1:.1f} {y1}C{middle_x:.1f} {y1} {middle_x:.1f} {y2} {x2:.1f} {y2}"


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
    degree_by_entity: dict[str, int] = {}
    for source, _, target in triples:
        for name in (source, target):
            degree_by_entity[name] = degree_by_entity.get(name, 0) + 1
    entity_names = sorted(degree_by_entity, key=lambda name: -degree_by_entity[name])[:_ENTITIES]
    index_by_entity = {name: index for index, name in enumerate(entity_names)}
    labels_by_pair: dict[tuple[int, int], list[str]] = {}
    for source, relation, target in triples:
        if source in index_by_entity and target in index_by_entity:
            labels = labels_by_pair.setdefault(
                (index_by_entity[source], index_by_entity[target]), []
            )
            labels += [relation] if relation not in labels else []
    picture_height = 260 + 10 * len(entity_names)
    node_positions = _positions(len(entity_names), list(labels_by_pair), _WIDE, picture_height)
    entities = [
        Entity(name, cut(name), *map(float, node_positions[index]))
        for index, name in enumerate(entity_names)
    ]
    edges = [
        _edge(entities[source_index], entities[target_index], labels)
        for (source_index, target_index), labels in labels_by_pair.items()
    ]
    return Web(entities, edges, len(degree_by_entity) - len(entity_names), _WIDE, picture_height)


def _edge(one: Entity, other: Entity, labels: list[str]) -> Edge:
    label = cut(", ".join(labels))
    title = f"{one.name} {', '.join(labels)} {other.name}"
    if one is other:
        loop_path = f"M{one.x:.0f} {one.y:.0f}c-40 -50 40 -50 0 0"
        return Edge(loop_path, one.x, one.y - 42, label, title)
    # The arrow bends a little to its own right, so that the arrow back is another line.
    dx, dy = other.x - one.x, other.y - one.y
    distance = math.hypot(dx, dy) or 1.0
    bend_x, bend_y = (
        (one.x + other.x) / 2 - dy / distance * 18,
        (one.y + other.y) / 2 + dx / distance * 18,
    )
    length_factor = 1 - 12 / distance
    end_point = f"{one.x + dx * length_factor:.0f} {one.y + dy * length_factor:.0f}"
    path = f"M{one.x:.0f} {one.y:.0f}Q{bend_x:.0f} {bend_y:.0f} {end_point}"
    return Edge(
        path, (one.x + other.x) / 4 + bend_x / 2, (one.y + other.y) / 4 + bend_y / 2, label, title
    )


def _positions(count: int, edges: Sequence[tuple[int, int]], width: int, height: int) -> Any:
    """Place nodes: nodes repel each other, edges attract; equal input gives equal places."""
    if count == 0:
        return np.zeros((0, 2))
    angles = np.arange(count) * 2.399963  # the golden angle spreads them
    radii = np.sqrt((np.arange(count) + 0.5) / count)
    positions = np.stack([np.cos(angles) * radii, np.sin(angles) * radii], axis=1)
    ideal_distance, max_move_length = 1.4 / math.sqrt(count), 0.2
    edge_indexes = np.array([edge for edge in edges if edge[0] != edge[1]], dtype=int).reshape(
        -1, 2
    )
    for _ in range(_STEPS):
        position_differences = positions[:, None, :] - positions[None, :, :]
        distances = np.maximum(np.linalg.norm(position_differences, axis=2), 1e-3)
        moves = (position_differences * (ideal_distance**2 / distances**2)[..., None]).sum(axis=1)
        edge_vectors = positions[edge_indexes[:, 0]] - positions[edge_indexes[:, 1]]
        edge_forces = (
            edge_vectors * (np.linalg.norm(edge_vectors, axis=1) / ideal_distance)[:, None]
        )
        np.add.at(moves, edge_indexes[:, 0], -edge_forces)
        np.add.at(moves, edge_indexes[:, 1], edge_forces)
        moves -= positions * 0.1
        move_lengths = np.maximum(np.linalg.norm(moves, axis=1), 1e-6)
        positions = (
            positions
            + moves / move_lengths[:, None] * np.minimum(move_lengths, max_move_length)[:, None]
        )
        max_move_length *= 0.98
    # Turn the long side of the graph across the picture.
    positions = positions @ np.linalg.svd(positions - positions.mean(axis=0))[2].T
    min_corner, max_corner = positions.min(axis=0), positions.max(axis=0)
    scale = np.array([width - 2 * _MARGIN, height - 60]) / np.maximum(max_corner - min_corner, 1e-6)
    picture_center = np.array([width / 2, height / 2])
    return (positions - (min_corner + max_corner) / 2) * (
        scale if count > 1 else 0
    ) + picture_center
