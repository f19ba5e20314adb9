"""How many round trips to a Dolt server a call takes, counted on the wire between the two.

Most calls cost nothing else. Pings count as well, and locks and the ends of transactions where they
do not travel with another statement.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy import make_url

from day1.adapters.ledger import stamp
from day1.adapters.mysql import url as server_url
from day1.app.open import open_store
from day1.interfaces.open_store import OpenStore
from day1.services.branches.lookup import find
from day1.services.upkeep.status import branch_status
from day1.settings import EmbedderSettings, SearchSettings, Settings, StoreSettings
from tests.fakes.sql_wire import Wire
from tests.flows.statement_counts import (
    MOST,
    begin,
    call,
    counts,
    fork,
    listed,
    merge,
    sent,
    status,
)
from tests.wires.http_server import HttpServer


@pytest.fixture
def wire(dolt_database: str) -> Iterator[Wire]:
    with Wire(make_url(dolt_database).port) as wire:
        yield wire


@pytest.fixture
def url(dolt_database: str, wire: Wire) -> str:
    """The store's URL, by way of the wire."""
    through = make_url(dolt_database).set(host="127.0.0.1", port=wire.port)
    return through.render_as_string(hide_password=False)


@pytest.fixture
def store(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenStore]:
    """A store that has been written to and searched, without a process's upkeep."""
    # On a machine that does much else a second may pass anywhere.
    monkeypatch.setattr(server_url, "_RESTED_S", 3_600.0)
    monkeypatch.setattr(stamp, "_SAME_VERSION_S", 3_600.0)
    settings = Settings(
        home=tmp_path / "node",
        store=StoreSettings(url=SecretStr(url)),
        embedder=EmbedderSettings(kind="none"),
        search=SearchSettings(chroma=False),
    )
    store = open_store(settings, create=True)
    try:
        begin(store)
        yield store
    finally:
        store.close()


def test_no_call_asks_a_dolt_server_more_often_than_its_limit(store: OpenStore, wire: Wire) -> None:
    """F8: of the 24 statements of a write ten did something."""
    for what, found in counts(store, wire):
        assert len(found) <= MOST[what], (what, found)


def test_a_write_over_http_asks_once_more_for_its_token(
    url: str, wire: Wire, tmp_path: Path
) -> None:
    """F8: over HTTP it was two pings and two rollbacks more."""
    with HttpServer(tmp_path / "node", DAY1_STORE__URL=url) as node:
        node.ok("memory_write_fact", fact_text="The first.")
        # What the process does by itself now and then is no part of a call.
        found = min(
            (
                sent(wire, partial(node.ok, "memory_write_fact", fact_text=f"Number {number}."))
                for number in range(6)  # a known text would not be written
            ),
            key=len,
        )
    assert len(found) <= MOST["write over HTTP"], found


def test_authentication_asks_for_one_token_with_one_statement(
    url: str, wire: Wire, tmp_path: Path
) -> None:
    """B5: it sent three after each write to the ledger: a stamp, all tokens, all sign-ins."""
    with HttpServer(tmp_path / "node", DAY1_STORE__URL=url) as node:
        token = node.token("root")
        node.ok("memory_write_fact", token, fact_text="The first.")
        node.ok("memory_branch_create", token, branch_name="side")
        found = sent(wire, lambda: node.ask("GET", "/api/v1/openapi.json", token))
        asked = [said for said in found if "tokens" in said or "sign_ins" in said]
    assert len(asked) == 1, found
    assert "sha256" in asked[0].partition("WHERE")[2]


def test_merged_branches_cost_status_and_lists_nothing(store: OpenStore, wire: Wire) -> None:
    """F7: each merged branch cost `day1 status` twelve statements, and lists of branches too."""
    counts = []
    for names in (("one",), ("two", "three", "four", "five", "six")):
        for name in names:
            fork(store, name, 1)
            merge(store, name)
        listed(store)
        counts.append([len(sent(wire, partial(action, store))) for action in (status, listed)])
    assert counts[0] == counts[1]


def test_held_items_cost_status_nothing(store: OpenStore, wire: Wire) -> None:
    """F7: each held item cost a statement more."""
    ids = [call(store, "memory_write_fact", fact_text=f"Old {n}.")["id"] for n in range(6)]
    call(store, "memory_branch_create", branch_name="side")
    for branch in ("side", "main"):
        for fact in ids:
            text = f"{branch} says otherwise of {fact}."
            call(store, "memory_update_fact", fact_id=fact, fact_text=text, branch=branch)
    counts = []
    for some in (ids[:1], ids):
        picked = {"source_branch": "side", "target_branch": "main", "strategy": "cherry_pick"}
        held = call(store, "memory_branch_merge", **picked, items=some)["rejected_count"]
        assert held == len(some)
        status(store)
        counts.append(len(sent(wire, lambda: status(store))))
        assert branch_status(store.repo, find(store.repo, "main")).held == len(some)
    assert counts[0] == counts[1]
