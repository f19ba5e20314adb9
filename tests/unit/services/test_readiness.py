"""The profile of memory and workspace, and checks of which each can fail by itself."""

from collections.abc import Callable
from typing import Any

import pytest

from day1.errors import EmbedderUnavailable, StoreUnavailable
from day1.model.records.desk import next_desk
from day1.model.redaction.mask import REDACTED_HASH
from day1.model.workspace.bus import BusResult, Report
from day1.model.workspace.mind import Mind, Place
from day1.ports.index import IndexLost
from day1.services.workspace.candidates import Asked
from day1.services.workspace.desks import change_mind, seat_of
from day1.services.workspace.upkeep import profiling
from day1.services.workspace.upkeep.profiling import (
    Readiness,
    Subject,
    check_readiness,
    profile_of,
)
from tests.unit.services.conftest import Bench
from tests.unit.services.searched import Searching
from tests.unit.services.test_exchanged_items import call

CHECKS = [
    "persistent_store_readable",
    "workspace_readable",
    "runtime_index_bootstrapped",
    "structured_parser_ready",
    "embedding_ready",
    "broadcast_bus_configured",
    "bus_result_readable",
    "no_subscriber_errors",
    "no_subscriber_timeouts",
]
Break = Callable[[Searching, pytest.MonkeyPatch], None]


@pytest.fixture
def searching(bench: Bench) -> Searching:
    """Four items that may be shown, of which the mind holds one, and some that may not."""
    searching = Searching(bench)
    searching.fact("a", "spindles: 90\nmill: Selm", category="procedural")
    searching.fact("b", "The mill.", detail='{"via":"gwt","source":"notes"}')
    searching.observation("c", "The mill.", observation_type="working")
    searching.observation("d", "The mill.", source="tool")
    searching.fact("secret", "The PIN is plover.", sensitivity="secret")
    searching.fact("gone", "[redacted]", content_hash=REDACTED_HASH)
    noted(searching, Mind(buffer=(Place("fact_a", 1), Place("fact_secret", 1), Place("fact_x", 1))))
    return searching


def noted(searching: Searching, mind: Mind) -> None:
    seat = seat_of(call(searching.bench))
    change_mind(searching.bench.repo, seat, lambda _: mind, 1)


def subject(searching: Searching) -> Subject:
    asked = call(searching.bench)
    return Subject(asked, searching.engine, seat_of(asked), Asked(searching.bench.now))


def test_a_profile_counts_what_may_be_shown(searching: Searching) -> None:
    found = profile_of(subject(searching))
    assert found.persisted.by_type == {"procedural": 1, "semantic": 1, "working": 1, "episodic": 1}
    assert found.persisted.by_source == {"agent": 2, "notes": 1, "tool": 1}
    assert (found.persisted.count, found.indexed, found.restored) == (4, 4, 1)
    assert [dict(record.fields) for record in found.collection.records] == [
        {"spindles": "90", "mill": "Selm"}
    ]
    assert found.persisted.state.tip == searching.bench.store.history.branches()["main"]


def test_all_checks_hold_where_all_works(searching: Searching) -> None:
    found = check_readiness(subject(searching))
    assert found.checks == dict.fromkeys(CHECKS, True)
    assert (found.problems, found.bus) == ({}, None)
    assert (found.profile.indexed, found.profile.restored) == (4, 1)


def failing(error: Exception) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> Any:
        raise error

    return fail


def no_rows(_: Searching, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(profiling, "count_persisted", failing(StoreUnavailable("no answer")))


def a_foreign_desk(searching: Searching, _: pytest.MonkeyPatch) -> None:
    repo, seat = searching.bench.repo, seat_of(call(searching.bench))
    desk = repo.ledger.records(type(next_desk(None, seat.whose, "{}", 1)))[0]
    repo.ledger.put(next_desk(desk, seat.whose, '{"goals": 7}', 2))


def no_index(searching: Searching, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(searching.index.words, "known", failing(IndexLost("no file")))


def an_index_that_is_behind(searching: Searching, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(searching.index.words, "known", lambda *_: {})


def no_records(_: Searching, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(profiling, "collection_of", failing(ValueError("no record")))


def no_model(searching: Searching, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(type(searching.engine.embedder), "embed", failing(EmbedderUnavailable("gone")))


def no_bus(_: Searching, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(profiling, "SUBSCRIBERS", {})


def a_foreign_result(searching: Searching, _: pytest.MonkeyPatch) -> None:
    noted(searching, Mind(bus={"cycle": 1}))


def reported(status: Any) -> Break:
    def report(searching: Searching, _: pytest.MonkeyPatch) -> None:
        result = BusResult(1, [], [Report("exact", "ok"), Report("gap", status)], {})
        noted(searching, Mind(bus=result.value))

    return report


@pytest.mark.line("S0-019")
@pytest.mark.parametrize(
    ("name", "code", "break_it"),
    [
        ("persistent_store_readable", "store_unavailable", no_rows),
        ("workspace_readable", "desk_broken", a_foreign_desk),
        ("runtime_index_bootstrapped", IndexLost.code, no_index),
        ("runtime_index_bootstrapped", "not_indexed", an_index_that_is_behind),
        ("structured_parser_ready", "broken", no_records),
        ("embedding_ready", "embedder_unavailable", no_model),
        ("broadcast_bus_configured", "no_subscriber", no_bus),
        ("bus_result_readable", "broken", a_foreign_result),
        ("no_subscriber_errors", "subscriber_failed", reported("error")),
        ("no_subscriber_timeouts", "subscriber_late", reported("timeout")),
    ],
)
def test_what_fails_is_named_and_nothing_else_fails(
    searching: Searching, monkeypatch: pytest.MonkeyPatch, name: str, code: str, break_it: Break
) -> None:
    break_it(searching, monkeypatch)
    found: Readiness = check_readiness(subject(searching))
    assert found.problems == {name: code}
    assert found.checks == {**dict.fromkeys(CHECKS, True), name: False}
    assert list(found.checks) == CHECKS
