import pytest

from day1.errors import InvalidRequest
from day1.model.branches.branch import Branch
from day1.model.branches.names import check_name
from day1.model.rows.change import Pending


@pytest.mark.parametrize(
    "name",
    ["main", "a", "_x", "task/x", "task/x/Alice", "v1.2", "a-b_c.d", "x" * 100, "0", "abc" * 10],
)
def test_a_good_name_is_taken_as_it_is(name):
    assert check_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "x" * 101,
        "/a",
        "a/",
        "a//b",
        "-a",
        ".a",
        "a/.b",
        "a..b",
        "a.",
        "a/b.",
        "a.lock",
        "a.lock/b",
        "a b",
        "a\n",
        "a@b",
        "a~1",
        "é",
        "a\0",
        "0" * 40,
        "0123456789abcdefghijklmnopqrstuv",
        "HEAD",
        "working",
        "Staged",
    ],
)
def test_a_name_that_some_engine_would_read_otherwise_is_refused(name):
    with pytest.raises(InvalidRequest, match="branch name"):
        check_name(name)


def test_a_merged_branch_is_active_again_after_the_next_write():
    branch = Branch("branch_1", "side", None, None, 1, merged_tip="tip")
    assert branch.status("tip", Pending()) == "merged"
    assert branch.status("tip", Pending(count=1)) == "active"
    assert branch.status("later", Pending()) == "active"
    assert branch.with_notes(archived=True).status("tip", Pending()) == "archived"
    assert branch.with_notes(closed=True).status("later", Pending()) == "active"


def test_notes_that_are_not_given_are_kept():
    branch = Branch("branch_1", "side", None, None, 1, purpose="try", ttl_days=3)
    noted = branch.with_notes(purpose=None, owner="ada", tags=())
    assert (noted.purpose, noted.owner, noted.ttl_days, noted.tags) == ("try", "ada", 3, ())
