"""What a caller waits for a server that hangs or is full, and what other stores there cost."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy import make_url

from day1.adapters.mysql import url
from day1.adapters.mysql.url import connect, engine_of, opened, parse
from day1.app.open import open_store
from day1.errors import Day1Error, StoreBusy, StoreUnavailable
from day1.interfaces.open_store import OpenStore
from day1.settings import EmbedderSettings, SearchSettings, Settings, StoreSettings
from tests import servers
from tests.fakes.sql_wire import Wire
from tests.flows.opened_store import call, facts, write
from tests.wires.http_server import HttpServer

WRITERS = 32
Opened = Callable[..., OpenStore]


@pytest.fixture
def opened_at(tmp_path: Path) -> Iterator[Opened]:
    """Opens a store on a server, each time as another node."""
    with ExitStack() as stack:

        def open_one(url: str, wait_s: float = 10.0) -> OpenStore:
            settings = Settings(
                home=tmp_path / f"node{len(list(tmp_path.iterdir()))}",
                store=StoreSettings(url=SecretStr(url), wait_s=wait_s),
                embedder=EmbedderSettings(kind="none"),
                search=SearchSettings(chroma=False),
            )
            store = open_store(settings, create=True)
            stack.callback(store.close)
            return store

        yield open_one


def through(wire: Wire, url: str) -> str:
    """The URL of a store by way of a wire."""
    return make_url(url).set(port=wire.port).render_as_string(hide_password=False)


def waited(action: Callable[[], object], error: type[Day1Error], says: str | None = None) -> float:
    """Seconds until an action fails as it must."""
    started = time.monotonic()
    with pytest.raises(error, match=says) as caught:
        action()
    assert caught.value.retryable
    return time.monotonic() - started


def test_who_accepts_and_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """F5: only the way to the server was limited, its greeting could take ten minutes."""
    monkeypatch.setattr(url, "LET_IN_S", 0.5)
    with Wire(None) as wire:
        place = parse(f"mysql+pymysql://day1:secret@127.0.0.1:{wire.port}/day1")
        engine = connect(place)
        asked = partial(engine_of, engine, place.name)
        assert waited(asked, StoreUnavailable, "it was not asked") < 30


def test_a_server_that_hangs_holds_a_call_no_longer_than_its_limit(
    dolt_database: str, opened_at: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F5: a call that found the server hanging, or was under way, was held for ten minutes."""
    with Wire(make_url(dolt_database).port) as wire:
        store = opened_at(through(wire, dolt_database))
        write(store, "The gateway drops calls.")
        for name, seconds, rested in (("LET_IN_S", 0.5, 0.0), ("ANSWER_S", 3.0, 3_600.0)):
            # Found by a ping; else by a statement in the middle.
            with monkeypatch.context() as limits:
                limits.setattr(url, name, seconds)
                limits.setattr(url, "_RESTED_S", rested)
                write(store, f"It does: {name}.")
                wire.hang()
                assert waited(lambda: write(store, "Nobody hears."), StoreUnavailable) < 30
                wire.go_on()
        assert "The gateway drops calls." in facts(store)


def test_a_lock_is_waited_for_longer_than_an_answer(
    dolt_database: str, opened_at: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F5: the limit of answers does not cut `DAY1_STORE__WAIT_S` short."""
    one, other = opened_at(dolt_database), opened_at(dolt_database, wait_s=4.0)
    monkeypatch.setattr(url, "ANSWER_S", 2.0)
    with one.repo.store.adding("main"):
        assert waited(lambda: write(other, "Later."), StoreBusy) >= 4


def test_who_finds_all_connections_in_use_is_told_to_try_again(dolt_database: str) -> None:
    """F5: it waited 30 s whatever the setting, and was told of an internal error."""
    place = parse(dolt_database)
    engine = connect(place, wait_s=0.2, max_connections=1)

    def second() -> None:
        with opened(engine, place.name):
            pass

    with opened(engine, place.name):
        assert waited(second, StoreBusy) < 20
    engine.dispose()


def test_ready_says_soon_that_the_store_does_not_answer(dolt_database: str, tmp_path: Path) -> None:
    """F5: `/ready` waited as long as any call."""
    with (
        Wire(make_url(dolt_database).port) as wire,
        HttpServer(tmp_path / "node", DAY1_STORE__URL=through(wire, dolt_database)) as node,
    ):
        assert node.ask("GET", "/ready").status == 200
        wire.hang()
        for _ in range(2):
            started = time.monotonic()
            answer = node.ask("GET", "/ready")
            assert (answer.status, answer.code) == (503, "store_unavailable")
            assert time.monotonic() - started < 12  # less than to let somebody in
        wire.go_on()
        until = time.monotonic() + 60
        while node.ask("GET", "/ready").status != 200:
            assert time.monotonic() < until


def test_a_server_that_hangs_stops_nobody_who_asks_nothing_of_it(
    dolt_database: str, tmp_path: Path
) -> None:
    """B5: the middleware asked for the token on the event loop, and nobody else was answered."""
    with (
        Wire(make_url(dolt_database).port) as wire,
        HttpServer(tmp_path / "node", DAY1_STORE__URL=through(wire, dolt_database)) as node,
    ):
        token = node.token("root")
        wire.hang()
        sent = len(wire.commands)
        asking = [
            threading.Thread(target=partial(node.ask, "GET", path, token), daemon=True)
            for path in ("/api/v1/openapi.json", "/review")
        ]
        for one in asking:
            one.start()
        until = time.monotonic() + 60
        while len(wire.commands) == sent:  # something waits for the server
            assert time.monotonic() < until
        assert node.ask("GET", "/health").status == 200
        assert all(one.is_alive() for one in asking)
        wire.go_on()
        for one in asking:
            one.join(60)
        assert not any(one.is_alive() for one in asking)


def test_writers_that_wait_leave_the_holder_its_connections(
    tmp_path: Path, opened_at: Opened
) -> None:
    """F5: each of 32 writers waited on a connection, and the one at work could have no other."""
    if not servers.has_dolt():
        servers.skip("no `dolt` program on the PATH that could be given few connections")
    (tmp_path / "dolt").mkdir()
    small = servers.DoltServer(tmp_path / "dolt", connections=12)
    small.up()
    try:
        store = opened_at(f"{small.url}/team", wait_s=60.0)
        failed: list[Exception] = []

        def work(number: int) -> None:
            try:
                write(store, f"{number} was here.", f"{number} was here again.")
            except Exception as exc:
                failed.append(exc)

        threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(WRITERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in threads)
        assert failed == []
        assert len(facts(store)) == 2 * WRITERS
    finally:
        small.stop()


def test_other_stores_on_the_server_wake_nobody(
    dolt_url: str, dolt_database: str, opened_at: Opened
) -> None:
    """F6: whatever the server did elsewhere was taken for a write to this store."""
    store = opened_at(dolt_database)
    write(store, "This is ours.")
    before = store.repo.store.stamp()
    with servers.database(dolt_url) as elsewhere:
        other = opened_at(elsewhere)
        write(other, "That is theirs.")
        call(other, "memory_branch_create", branch_name="side")
        assert store.repo.store.stamp() == before
        other.close()
    write(store, "This too is ours.")
    assert store.repo.store.stamp() != before
