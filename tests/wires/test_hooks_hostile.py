"""Hooks in a store that holds what day1 did not put there, and for sessions of any name."""

import errno
import json
import os
from functools import partial
from pathlib import Path

import pytest

from day1.adapters.spool import FolderSpool
from day1.app.open import open_store
from day1.formats import prime_file, spool
from day1.formats.events import CLIENTS, EVENTS
from day1.interfaces.hook import hearing
from day1.settings import EmbedderSettings, Settings
from tests.flows.opened_store import refused
from tests.wires.hooked import PRIME, Client, context, prime, with_store


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


def test_a_line_that_has_ended_by_now_is_not_told(client: Client) -> None:
    prime(client, "- The freeze is on.\n- The port is 80.", ends=[[0, 1], [1, 9 * 10**18]])
    told = context(client.tell("session-start"))
    assert ("The freeze" in told, "The port is 80." in told) == (False, True)
    prime(client, ends="nonsense")
    assert PRIME in context(client.tell("session-start", session_id="two"))


def test_a_store_of_another_user_is_opened_only_where_it_is_named(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands and `day1 mcp` find stores as hooks do."""
    for name in [name for name in os.environ if name.startswith("DAY1_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(client.home))
    monkeypatch.chdir(client.project)
    found = Settings(embedder=EmbedderSettings(kind="none"))
    owner = client.store.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    refused(
        partial(open_store, found, create=True), "store_of_another", f"DAY1_HOME={client.store}"
    )
    open_store(found.model_copy(update={"home": client.store})).close()
    monkeypatch.setattr(os, "geteuid", lambda: 0)  # as in a container
    open_store(found).close()


def _gone_wrong(client: Client, how: str) -> None:
    database = client.store / "memory.db"
    if how == "no rows":
        database.write_bytes(b"\xff" * 4096)
    elif how == "empty":
        database.write_bytes(b"")
    else:
        client.env |= {"DAY1_EMBEDDER__KIND": "minilm", "DAY1_EMBEDDER__MODEL_DIR": "/nowhere"}


@pytest.mark.parametrize("how", ["no rows", "empty", "no model"])
def test_a_broken_store_and_a_missing_model_are_no_failure(client: Client, how: str) -> None:
    """Hooks open no store and load no model: what was kept is told, and marked as what it is."""
    prime(client)
    _gone_wrong(client, how)
    told = context(client.tell("session-start"))
    assert PRIME in told
    assert ("out of date" in told) == (how != "no model")
    assert client.tell("prompt", prompt="p") == ""
    assert [line["event"] for line in client.lines()] == ["session-start", "prompt"]


def test_no_event_of_any_client_says_anything_on_a_full_disk(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The prime is read, which needs no room, and nothing else is told."""

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    prime(client)
    monkeypatch.setenv("DAY1_HOME", str(client.store))
    monkeypatch.setattr(os, "umask", lambda _: 0)
    monkeypatch.setattr(os, "write", full)
    monkeypatch.setattr(os, "mkdir", full)
    for name in CLIENTS:
        for event in EVENTS:
            said = hearing.hear(event, name, b'{"session_id": "one", "prompt": "swallow"}')
            starts = event == "session-start"
            assert (PRIME in said) == (starts and name != "windsurf")
            assert starts or said in {"", "{}"}
    assert client.lines() == []
    assert "swallow" not in client.log()


def test_a_clock_that_was_ahead_silences_no_later_start(client: Client) -> None:
    prime(client)
    client.tell("session-start", source="startup")
    path = spool.path_of(client.store, "one")
    told = json.loads(path.read_bytes())
    path.write_bytes(json.dumps(told | {"at": told["at"] + 10**12}).encode() + b"\n")
    assert PRIME in context(client.tell("session-start", source="startup"))
