"""A store that had tokens is open to nobody over HTTP when its ledger is lost."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from day1.errors import Day1Error, TokenRequired, Unauthorized
from day1.interfaces.open_store import OpenStore
from day1.model.access.permissions import EVERYTHING
from day1.model.access.tokens import Token
from day1.services.access.authentication import (
    Authenticator,
    Wanted,
    create_token,
    revoke_token,
)
from tests import servers
from tests.engine import needs_files, url_of
from tests.flows.copied_store import copy
from tests.flows.opened_store import facts, make, opened, read_only, write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make(tmp_path / "store", "one")
    return tmp_path / "store"


def lose_ledger(folder: Path) -> None:
    """Let the ledger go away, as by a disk that holds it alone, or by hand."""
    url = url_of(folder)
    if url is None:
        for file in folder.glob("ledger.db*"):
            file.unlink()
        return
    with servers.connection(url) as connection, connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE `{url.rpartition('/')[2]}_ledger`")


def asked(store: OpenStore) -> Authenticator:
    return Authenticator(store.repo, closed=False)


@pytest.fixture
def lost(folder: Path) -> Iterator[OpenStore]:
    """A store that had a token, with a new ledger."""
    with opened(folder) as store:
        assert asked(store).admit_browser(None, 1) is EVERYTHING
        create_token(store.repo, Wanted("root", "admin"), 1)
        assert not asked(store).open
    lose_ledger(folder)
    with opened(folder) as store:
        yield store


def test_a_lost_ledger_opens_the_store_to_nobody(lost: OpenStore) -> None:
    authenticator = asked(lost)
    assert not authenticator.open
    for secret in ("", "day1_guessed"):
        with pytest.raises(TokenRequired, match="day1 token create"):
            authenticator.admit(secret, 1)
    with pytest.raises(TokenRequired):
        authenticator.admit_browser(None, 1)
    with pytest.raises(TokenRequired):
        authenticator.sign_in("day1_guessed", 1)
    assert not authenticator.open


def test_the_machine_itself_goes_on_and_makes_a_new_token(lost: OpenStore) -> None:
    write(lost, "on the machine")
    assert facts(lost) == ["one", "on the machine"]
    authenticator = asked(lost)
    assert not authenticator.open
    _, secret = create_token(lost.repo, Wanted("root", "admin"), 1)
    assert authenticator.admit(secret, 1).scope == "admin"
    with pytest.raises(Unauthorized) as refused:
        authenticator.admit("day1_guessed", 1)
    assert refused.value.code == "unauthorized"


def test_a_process_that_runs_on_finds_the_ledger_gone(folder: Path) -> None:
    """Nobody asked it anything while there were tokens."""
    with opened(folder) as server:
        authenticator = asked(server)
        assert authenticator.open
        with opened(folder) as other:
            create_token(other.repo, Wanted("root", "admin"), 1)
        lose_ledger(folder)
        with opened(folder):
            pass  # it makes a new one
        with pytest.raises(Day1Error) as refused:
            authenticator.admit_browser(None, 1)
        assert refused.value.code in {"token_required", "store_unavailable"}


def test_revoking_all_tokens_opens_nothing(folder: Path) -> None:
    with opened(folder) as store:
        create_token(store.repo, Wanted("root", "admin"), 1)
        revoke_token(store.repo, "root", 2)
        with pytest.raises(Unauthorized) as refused:
            asked(store).admit_browser(None, 3)
        assert refused.value.code == "unauthorized"
    lose_ledger(folder)
    with opened(folder) as store, pytest.raises(TokenRequired):
        asked(store).admit_browser(None, 3)


def test_a_store_to_which_an_earlier_day1_gave_tokens_is_noted_when_it_is_opened(
    folder: Path,
) -> None:
    with opened(folder) as store:
        store.repo.ledger.put(Token("t", "root", "0" * 64, "admin", (), None, 1))
        assert "access/tokens" not in store.repo.history.tags()
    with opened(folder):
        pass
    lose_ledger(folder)
    with opened(folder) as store, pytest.raises(TokenRequired):
        asked(store).admit_browser(None, 1)


def test_a_token_that_could_not_be_kept_leaves_nothing_open(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store is noted before the token is: a process may die in between."""
    with opened(folder) as store:
        monkeypatch.setattr(type(store.repo.ledger), "put", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            create_token(store.repo, Wanted("root", "admin"), 1)
        assert not asked(store).open


def test_a_store_that_may_not_be_written_is_as_closed(folder: Path) -> None:
    needs_files()
    with opened(folder) as store:
        create_token(store.repo, Wanted("root", "admin"), 1)
    lose_ledger(folder)
    with opened(folder):
        pass
    with read_only(folder), opened(folder) as store, pytest.raises(TokenRequired):
        asked(store).admit_browser(None, 1)


def test_a_store_without_tokens_stays_open_whatever_is_lost(folder: Path) -> None:
    lose_ledger(folder)
    with opened(folder) as store:
        assert asked(store).admit_browser(None, 1) is EVERYTHING


def test_a_copy_and_a_purge_keep_the_mark(folder: Path, tmp_path: Path) -> None:
    needs_files()
    with opened(folder) as store:
        create_token(store.repo, Wanted("root", "admin"), 1)
    copy(folder, tmp_path / "copied")
    copy(folder, tmp_path / "purged", "--purge-redacted")
    for name in ("copied", "purged"):
        lose_ledger(tmp_path / name)
        with opened(tmp_path / name) as store, pytest.raises(TokenRequired):
            asked(store).admit_browser(None, 1)


def test_a_file_of_rows_that_is_taken_elsewhere_takes_the_mark_along(
    folder: Path, tmp_path: Path
) -> None:
    needs_files()
    with opened(folder) as store:
        create_token(store.repo, Wanted("root", "admin"), 1)
        store.repo.store.compact()
    (tmp_path / "elsewhere").mkdir()
    shutil.copy(folder / "memory.db", tmp_path / "elsewhere" / "memory.db")
    with opened(tmp_path / "elsewhere") as store, pytest.raises(TokenRequired):
        asked(store).admit_browser(None, 1)
