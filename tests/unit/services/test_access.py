"""Access: tokens that open and close, and a memory as a token's limits let it be seen."""

import pytest

from day1.errors import Conflict, Forbidden, NotFound, Unauthorized
from day1.model.access.permissions import EVERYTHING, Access
from day1.model.branches.branch import MAIN
from day1.model.rows.change import Ref
from day1.services.access import authentication
from day1.services.access.authentication import Authenticator, Wanted
from day1.services.access.scoped import scoped
from day1.services.branches import forking
from day1.services.branches.tree import states
from tests.unit.services.conftest import Bench

DAY = 86_400_000_000
LIMITED = Access("token_1", "write", ("mine/*",))


@pytest.fixture(autouse=True)
def branches(bench: Bench) -> None:
    bench.fork("mine/a")
    bench.fork("theirs")
    bench.add("fact_a", "a", "theirs")
    bench.store.commit_pending("theirs")


def test_a_token_admits_until_it_is_revoked(bench: Bench) -> None:
    wanted = Wanted("ci", "write", ("mine/*",), "ada")
    token, secret = authentication.create_token(bench.repo, wanted, bench.now)
    authenticator = Authenticator(bench.repo, closed=False)
    access = authenticator.admit(secret, bench.now)
    assert (access.scope, access.branches, access.agent_id) == ("write", ("mine/*",), "ada")
    assert secret not in str(bench.repo.ledger.records(type(token)))
    authentication.revoke_token(bench.repo, "ci", bench.now)
    with pytest.raises(Unauthorized):
        authenticator.admit(secret, bench.now)
    with pytest.raises(NotFound):
        authentication.revoke_token(bench.repo, "ci", bench.now)


def test_a_token_expires(bench: Bench) -> None:
    _, secret = authentication.create_token(bench.repo, Wanted("ci", "read", days=1), 0)
    authenticator = Authenticator(bench.repo, closed=False)
    assert authenticator.admit(secret, DAY - 1).scope == "read"
    with pytest.raises(Unauthorized):
        authenticator.admit(secret, DAY)


def test_a_live_name_is_not_given_twice(bench: Bench) -> None:
    authentication.create_token(bench.repo, Wanted("ci", "read"), bench.now)
    with pytest.raises(Conflict):
        authentication.create_token(bench.repo, Wanted("ci", "read"), bench.now)
    authentication.revoke_token(bench.repo, "ci", bench.now)
    authentication.create_token(bench.repo, Wanted("ci", "read"), bench.now)


def test_the_first_token_shuts_out_who_has_none_for_good(bench: Bench) -> None:
    authenticator = Authenticator(bench.repo, closed=False)
    assert authenticator.open
    assert authenticator.admit_browser(None, bench.now) == EVERYTHING
    authentication.create_token(bench.repo, Wanted("ci", "read"), bench.now)
    authentication.revoke_token(bench.repo, "ci", bench.now)
    assert not Authenticator(bench.repo, closed=False).open
    with pytest.raises(Unauthorized):
        authenticator.admit_browser(None, bench.now)


def test_a_browser_is_signed_in_for_a_day_of_work_and_signed_out_at_once(bench: Bench) -> None:
    _, secret = authentication.create_token(bench.repo, Wanted("ci", "read"), 0)
    authenticator = Authenticator(bench.repo, closed=True)
    cookie = authenticator.sign_in(secret, 0)
    end = authentication.SIGNED_IN_S * 1_000_000
    assert authenticator.admit_browser(cookie, end - 1).scope == "read"
    with pytest.raises(Unauthorized):
        authenticator.admit_browser(cookie, end)
    authenticator.sign_out(cookie)
    with pytest.raises(Unauthorized):
        authenticator.admit_browser(cookie, 1)


def test_only_branches_within_the_limits_are_seen(bench: Bench) -> None:
    limited = scoped(bench.repo, LIMITED)
    assert [state.branch.name for state in states(limited)] == ["mine/a"]
    with pytest.raises(Forbidden):
        limited.store.reading(Ref(branch="theirs"))
    assert scoped(bench.repo, EVERYTHING) is bench.repo


def test_a_commit_is_seen_if_a_visible_branch_reaches_it(bench: Bench) -> None:
    limited = scoped(bench.repo, LIMITED)
    hidden, seen = bench.store.tips["theirs"], bench.store.tips["mine/a"]
    with limited.store.reading(Ref(commit=seen)) as reading:
        assert reading.tip == seen
    with pytest.raises(NotFound):
        limited.store.reading(Ref(commit=hidden))


def test_a_branch_is_made_within_the_limits_only(bench: Bench) -> None:
    limited = scoped(bench.repo, LIMITED)
    forking.create(limited, "mine/b", bench.branch("mine/a"), bench.now)
    assert "mine/b" in bench.repo.history.branches()
    with pytest.raises(Forbidden):
        forking.create(limited, "other", bench.branch("mine/a"), bench.now)
    assert "other" not in bench.repo.history.branches()
    assert MAIN in bench.repo.history.branches()
