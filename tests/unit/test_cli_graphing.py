"""The commit graph as lines."""

from day1.interfaces.cli.graphing import draw_graph
from day1.model.rows.change import Commit


def picture(*commits: tuple[str, ...]) -> list[str]:
    """Draw commits given as (id, parent, …)."""
    lines = []
    for one in draw_graph(Commit(c, tuple(p), "add", 0, "", c) for c, *p in commits):
        lines += [f"{one.lanes} {one.commit.line}", *one.edges]
    return lines


def test_a_chain_of_commits_is_drawn_as_one_column() -> None:
    assert picture(("b", "a"), ("a",)) == ["* b", "* a"]


def test_a_merge_opens_a_lane_that_closes_at_the_fork() -> None:
    assert picture(("M", "b", "x"), ("b", "a"), ("x", "a"), ("a",)) == [
        "* M",
        "|\\",
        "* | b",
        "| * x",
        "|/",
        "* a",
    ]


def test_lanes_to_the_right_move_when_one_closes() -> None:
    drawing = picture(("x", "m"), ("m2", "m"), ("y", "a"), ("m", "a"), ("a",))
    assert drawing == ["* x", "| * m2", "|/", "| * y", "* | m", "|/", "* a"]


def test_a_lane_reaches_under_another_to_its_fork() -> None:
    drawing = picture(("a2", "a1"), ("M", "m", "a1"), ("a1", "r"), ("m", "r"), ("r",))
    assert drawing == ["* a2", "| * M", "| |\\", "|_|/", "* | a1", "| * m", "|/", "* r"]


def test_every_commit_has_one_node_and_lines_never_leave_the_lanes() -> None:
    """A ladder of merges back and forth between three branches."""
    commits: list[tuple[str, ...]] = [("r",)]
    tips = ["r", "r", "r"]
    for number in range(60):
        one, other = number % 3, (number * 7 + 1) % 3
        parents = dict.fromkeys([tips[one], *([tips[other]] if number % 2 else [])])
        commits.append((f"c{number}", *parents))
        tips[one] = f"c{number}"
    for line in picture(*reversed(commits)):
        lanes = line.split(" c")[0].split(" r")[0]
        assert set(lanes) <= set("*|/\\_ ")
        assert lanes.count("*") == (1 if line[-1] not in "|/\\" else 0)
