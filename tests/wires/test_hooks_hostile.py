"""Hooks in a store that holds what day1 did not put there, and for sessions of any name."""

import json
import os
from pathlib import Path

import pytest

from day1.adapters.spool import FolderSpool
from day1.hooks import hearing, prime_file
from tests.wires.hooked import Client, context, prime, with_store


@pytest.fixture
def client(tmp_path: Path) -> Client:
    """In a project with a store."""
    return with_store(tmp_path)


@pytest.mark.parametrize("session", ["../../etc/x", ".", "a/b", "ü" * 90, "x" * 5000, "a\nb"])
def test_a_name_of_a_session_leads_nowhere(client: Client, session: str) -> None:
    client.tell("prompt", session_id=session, prompt="p")
    assert len(client.lines()) == 1
    assert len(list((client.store / "spool").iterdir())) == 1


def test_links_in_a_store_lead_nowhere(client: Client, tmp_path: Path) -> None:
    """A store that came with somebody's repository may hold any."""
    other = tmp_path / "other"
    other.mkdir()
    for name in ("main.json", "one.jsonl", "notes", "hooks.log"):
        (other / name).write_text("{}\n")
    for name in ("spool", "prime"):
        (client.store / name).symlink_to(other)
    (client.store / "hooks.log").symlink_to(other / "hooks.log")
    client.tell("prompt", prompt="p")
    assert list(FolderSpool(client.store).waiting()) == []
    prime_file.forget(client.store)
    with pytest.raises(NotADirectoryError):
        prime_file.write(client.store, {"branch": "main"})
    assert {path.name: path.read_text() for path in other.iterdir()} == dict.fromkeys(
        ("main.json", "one.jsonl", "notes", "hooks.log"), "{}\n"
    )


def test_what_no_day1_made_beside_the_primes_stays(client: Client) -> None:
    prime(client)
    mine = client.store / "prime" / "mine.txt"
    mine.write_text("mine")
    prime_file.forget(client.store)
    assert list(mine.parent.iterdir()) == [mine]


def test_a_pipe_in_place_of_a_prime_or_the_log_is_not_waited_for(client: Client) -> None:
    path = prime_file.path_of(client.store, "main")
    path.parent.mkdir()
    os.mkfifo(path)
    os.mkfifo(client.store / "hooks.log")
    assert prime_file.kept(client.store) == []
    assert "is not made yet" in context(client.tell("session-start"))
    client.raw("prompt", b"{")
    assert client.raw("session-start", b"{") != ""


def test_a_store_of_another_user_hears_nothing_unless_it_is_named(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One in a folder that all may write to, upward from where a session is, hears of none."""
    for name in [name for name in os.environ if name.startswith(("DAY1_", "CLAUDE_"))]:
        monkeypatch.delenv(name)
    said = json.dumps({"session_id": "one", "cwd": str(client.project)}).encode()
    another = client.store.stat().st_uid + 1
    monkeypatch.setattr(os, "geteuid", lambda: another)
    monkeypatch.setattr(os, "umask", lambda _: 0)  # a hook is a process of its own
    monkeypatch.setenv("HOME", str(client.home))
    assert hearing.hear("session-start", "claude", said) == ""
    assert client.lines() == []
    monkeypatch.setenv("DAY1_HOME", str(client.store))
    assert hearing.hear("session-start", "claude", said) != ""
    assert len(client.lines()) == 1
