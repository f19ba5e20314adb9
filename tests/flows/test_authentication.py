"""What the authenticator reads of the ledger, and what it leaves there."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from day1.adapters.ledger.ledger import SqlLedger
from day1.app.open import open_store
from day1.errors import Unauthorized
from day1.interfaces.open_store import OpenStore
from day1.model.access.tokens import SignIn, Token
from day1.services.access.authentication import (
    SIGNED_IN_S,
    Authenticator,
    Wanted,
    create_token,
    revoke_token,
)
from day1.settings import EmbedderSettings, Settings

_WORKDAY = SIGNED_IN_S * 1_000_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[OpenStore]:
    settings = Settings(home=tmp_path / "store", embedder=EmbedderSettings(kind="none"))
    store = open_store(settings, create=True)
    try:
        yield store
    finally:
        store.close()


def test_a_request_reads_its_own_token_only(
    store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B5: after each write to the ledger every token and every sign-in was read again."""
    secrets = [create_token(store.repo, Wanted(f"t{n}", "read"), n)[1] for n in range(1, 6)]
    authenticator, read = Authenticator(store.repo, closed=False), list[type]()
    cookie = authenticator.sign_in(secrets[1], 10)
    authenticator.sign_in(secrets[2], 10)
    authenticator.admit_browser(cookie, 10)
    plain = SqlLedger._record

    def counted(ledger: SqlLedger, kind: type, row: object) -> object:
        read.append(kind)
        return plain(ledger, kind, row)  # type: ignore[arg-type]  # any kind

    monkeypatch.setattr(SqlLedger, "_record", counted)
    store.repo.ledger.set_head("somebody's", "branch")
    authenticator.admit(secrets[0], 10)
    assert read == [Token]
    with pytest.raises(Unauthorized):
        authenticator.admit("day1_guessed", 10)
    assert read == [Token]
    authenticator.admit_browser(cookie, 10)
    assert read == [Token, SignIn, Token]


def test_a_token_revoked_elsewhere_opens_nothing_from_then_on(store: OpenStore) -> None:
    _, secret = create_token(store.repo, Wanted("short", "read"), 1)
    authenticator = Authenticator(store.repo, closed=False)
    cookie = authenticator.sign_in(secret, 2)
    authenticator.admit(secret, 2)
    elsewhere = open_store(store.settings, create=False)
    try:
        revoke_token(elsewhere.repo, "short", 3)
    finally:
        elsewhere.close()
    for refused in (
        lambda: authenticator.admit(secret, 4),
        lambda: authenticator.admit_browser(cookie, 4),
    ):
        with pytest.raises(Unauthorized):
            refused()
    assert not authenticator.open


def test_sign_ins_that_ended_are_removed(store: OpenStore) -> None:
    """B5: every sign-in that there ever was stayed in the ledger."""
    _, secret = create_token(store.repo, Wanted("alice", "read"), 1)
    authenticator = Authenticator(store.repo, closed=False)
    for _ in range(3):
        authenticator.sign_in(secret, 2)
    authenticator.sign_in(secret, 3)
    late = authenticator.sign_in(secret, 2 + _WORKDAY)
    assert len(store.repo.ledger.records(SignIn)) == 2
    assert authenticator.admit_browser(late, 3 + _WORKDAY).scope == "read"
    authenticator.sign_out(late)
    authenticator.sign_out(late)
    assert [one.created_at for one in store.repo.ledger.records(SignIn)] == [3]
    with pytest.raises(Unauthorized):
        authenticator.admit_browser(late, 3 + _WORKDAY)
