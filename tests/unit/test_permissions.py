"""What an access allows: by its scope, its agent and the branches that it is limited to."""

import pytest

from day1.errors import Forbidden
from day1.model.access.permissions import EVERYTHING, NOTHING, SCOPES, Access, Scope


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("wanted", SCOPES)
def test_a_scope_includes_those_before_it(scope: Scope, wanted: Scope) -> None:
    access = Access(scope=scope)
    if SCOPES.index(wanted) <= SCOPES.index(scope):
        access.require(wanted, "This")
    else:
        with pytest.raises(Forbidden) as caught:
            access.require(wanted, "This")
        assert str(caught.value) == (f"This needs the scope {wanted!r}; this token has {scope!r}.")
        assert caught.value.details["needs"] == wanted


@pytest.mark.parametrize(
    ("bound", "given", "agent"),
    [(None, None, None), (None, "bo", "bo"), ("ada", None, "ada"), ("ada", "ada", "ada")],
)
def test_a_write_has_the_agent_of_the_token_or_the_given_one(
    bound: str | None, given: str | None, agent: str | None
) -> None:
    assert Access(agent_id=bound).writes_as(given) == agent


def test_a_token_of_one_agent_writes_as_no_other() -> None:
    with pytest.raises(Forbidden, match="writes as 'ada' only") as caught:
        Access(agent_id="ada").writes_as("bo")
    assert caught.value.details["agent_id"] == "ada"


@pytest.mark.parametrize(
    ("limits", "branch", "seen"),
    [
        ((), "main", True),
        (("main",), "main", True),
        (("Main",), "mAIN", True),
        (("main",), "main2", False),
        (("mine/*",), "Mine/a", True),
        (("mine/*",), "mine", False),
        (("a", "b*"), "bc", True),
        (("",), "main", False),
    ],
)
def test_a_branch_is_seen_within_the_limits(
    limits: tuple[str, ...], branch: str, seen: bool
) -> None:
    access = Access(branches=limits)
    assert access.sees(branch) is seen
    if seen:
        access.check(branch)
    else:
        with pytest.raises(Forbidden) as caught:
            access.check(branch)
        assert f"limited to branches named {', '.join(limits)}. Name a branch" in str(caught.value)
        assert "`parent_branch`" in str(caught.value)
        assert caught.value.details["branches"] == [*limits]


@pytest.mark.parametrize(
    ("limits", "home"),
    [
        ((), None),
        (("main",), "main"),
        (("main", "side"), None),
        (("mine/*",), None),
        (("mine?",), None),
        (("[ab]",), None),
    ],
)
def test_an_access_to_one_branch_is_at_home_there(
    limits: tuple[str, ...], home: str | None
) -> None:
    assert Access(branches=limits).home == home


def test_without_a_token_everything_is_allowed_and_nothing_to_who_is_not_known() -> None:
    assert (EVERYTHING.scopes, EVERYTHING.sees("main")) == (SCOPES, True)
    assert (NOTHING.scopes, NOTHING.sees("main")) == (("read",), False)
