"""Tasks: their status follows their objectives, and names make branch names."""

import pytest

from day1.model.branches.names import MAX_NAME, branch_part, check_name, numbered
from day1.model.records.task import Objective, status_of


def objectives(*statuses: str) -> list[Objective]:
    return [
        Objective(
            id=f"task_1:{place}",
            task_id="task_1",
            position=place,
            description="x",
            priority=None,
            status=status,  # type: ignore[arg-type]  # one of the three
            agent_id=None,
            notes=None,
            started_at=None,
            completed_at=None,
            updated_at=0,
            created_at=0,
        )
        for place, status in enumerate(statuses)
    ]


@pytest.mark.parametrize(
    ("statuses", "whole"),
    [
        ((), "pending"),
        (("pending", "pending"), "pending"),
        (("pending", "in_progress"), "in_progress"),
        (("pending", "completed"), "in_progress"),
        (("completed", "in_progress"), "in_progress"),
        (("completed", "completed"), "completed"),
    ],
)
def test_a_task_is_as_far_as_its_objectives(statuses: tuple[str, ...], whole: str):
    assert status_of(objectives(*statuses)) == whole


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("Fix login!", "fix-login"),
        ("  Fix -- login  ", "fix-login"),
        ("a/b\\c", "a-b-c"),
        ("v1.2_x", "v1.2_x"),
        ("..hidden..", "hidden"),
        ("a...b", "a.b"),
        ("a.lock", "a"),
        ("北京", "x"),
        ("", "x"),
        ("x" * 100, "x" * 40),
        ("x" * 39 + "-y", "x" * 39),
    ],
)
def test_a_name_becomes_a_part_of_a_branch_name(name: str, part: str):
    assert branch_part(name) == part
    assert check_name(f"task/{part}/{part}")


def test_a_part_is_never_what_engines_read_otherwise():
    for name in ("a.lock.lock", "x" * 36 + ".lock.lock", "-.-", "HEAD", "a.-.b", "x.LOCK"):
        check_name(f"task/{branch_part(name)}")


def test_a_taken_name_gets_the_first_free_number():
    assert numbered("a", []) == "a"
    assert numbered("a", ["b", "a-2"]) == "a"
    assert numbered("a", ["A"]) == "a-2"
    assert numbered("a", ["a", "a-2", "A-3", "a-5"]) == "a-4"
    longest = "x" * MAX_NAME
    assert len(numbered(longest, [longest])) <= MAX_NAME
