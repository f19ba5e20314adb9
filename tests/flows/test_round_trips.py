"""A whole store goes out and comes back on a real engine: an export, a backup, a copy.

A twentieth of `DAY1_ROUND_TRIPS` is how many stores make the journeys.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from day1.app.archives import copying
from day1.app.archives import files as archives
from day1.errors import ImportBroken, InvalidRequest
from day1.interfaces.open_store import OpenStore
from day1.model.files.export import json_line
from day1.model.rows.change import Message
from day1.model.rows.kind import FACT, MEMORIES, Kind, Row
from day1.model.values.ids import derived_id
from day1.model.values.instant import LAST_LEARNED, parse, show
from day1.services.access.calls import now
from day1.services.branches.lookup import find
from day1.services.exchange.backup import back_up, restore_backup
from day1.services.exchange.exporting import export_store
from day1.services.exchange.own_import import import_own
from day1.services.exchange.store_copy import copy_store, unchanged
from day1.toolsets.shared.given import given_columns
from tests.flows.copied_store import ends
from tests.flows.opened_store import call, opened
from tests.flows.opened_store import store as store  # noqa: PLC0414 - a fixture
from tests.flows.random_store import rows
from tests.whole_rows import EXAMPLES, FIRST, LAST, memories

BRANCHES = 4
"""More rows than these of four branches are too many for hypothesis to draw at once."""
WHOLE = {"with_thinking": True, "with_secrets": True}
EDGES = ("0001-01-01T00:00:00Z", "1684-01-01", "9999-12-31", "9999-12-31T23:59:59.999999+00:00")


def filled(store: OpenStore, branches: list[dict[Kind, list[Row]]]) -> None:
    """Give each of so many branches its own rows; on every other branch no commit holds them."""
    for number, some in enumerate(branches):
        name = f"drawn/{number}"
        call(store, "memory_branch_create", branch_name=name)
        if number % 2:
            with store.repo.store.changing(name) as work:
                for kind, of_kind in some.items():
                    work.add(kind, of_kind)
                    for row in of_kind:
                        work.not_before(int(str(row["created_at"])))
                work.commit(Message("import", "drawn rows"))
            continue
        with store.repo.store.adding(name) as adding:
            for kind in MEMORIES:
                # A row that waits for a commit is later than the commit before it.
                adding.add(kind, [{**row, "created_at": adding.now} for row in some[kind]])


def exported(store: OpenStore) -> list[bytes]:
    return list(export_store(store.repo, **WHOLE))


def test_a_store_of_drawn_rows_is_the_same_after_every_journey(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    @settings(
        max_examples=max(1, EXAMPLES // 20),
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(branches=st.lists(memories(3), min_size=BRANCHES, max_size=BRANCHES))
    def journeys(branches: list[dict[Kind, list[Row]]]) -> None:
        _journeys(tmp_path_factory.mktemp("journey"), branches)

    journeys()


def _journeys(folder: Path, branches: list[dict[Kind, list[Row]]]) -> None:
    with opened(folder / "store", create=True) as store:
        filled(store, branches)
        lines = exported(store)
        with opened(folder / "imported", create=True) as other:
            main = find(other.repo, "main")
            done = import_own(other.repo, main, lines, now(), lambda *_: None)
            assert done.left == []
            assert exported(other) == lines
        _back_up(store, folder)
        with opened(folder / "restored") as other:
            assert rows(other) == rows(store)
            assert exported(other) == lines
    with ends(folder / "store", folder / "copied") as (store, seen, made):
        copy_store(seen, made, unchanged, lambda *_: None)
    with opened(folder / "copied") as other, opened(folder / "store") as store:
        assert exported(other) == lines
        assert [tables for _, tables in rows(other).values()] == [
            tables for _, tables in rows(store).values()
        ]


def _back_up(store: OpenStore, folder: Path) -> None:
    source = copying(store.settings, store.folder)
    back_up(store.repo, source, archives(), folder / "backup.tar.gz", now())
    restore_backup(archives(), folder / "backup.tar.gz", folder / "restored")


def test_the_first_and_the_last_times_are_written_found_and_told(store: OpenStore) -> None:
    ids = {}
    for number, at in enumerate(EDGES):
        text = f"The holt {number} was built {'then' * (number + 1)}."
        fact = call(store, "memory_write_fact", fact_text=text, happened_at=at)
        ids[fact["id"]] = show(parse(at))
        call(store, "memory_update_fact", fact_id=fact["id"], valid_until=EDGES[-1])
        call(
            store,
            "memory_write_relation",
            source_entity=f"otter {number}",
            target_entity="holt",
            relation_type="built",
            happened_at=at,
            valid_until=EDGES[-1],
        )
    listed = call(store, "memory_list", type="fact", limit=50)["rows"]
    assert {row["id"]: row["happened_at"] for row in listed} == ids
    assert {row["valid_until"] for row in listed} == {EDGES[-1]}
    told = call(store, "memory_timeline", limit=100)["result"]
    assert [row["timestamp"] for row in told if row["type"] == "fact"] == sorted(ids.values())
    for at in EDGES:
        window: dict[str, Any] = {"time_range": {"after": at, "before": at}, "query": "holt built"}
        found = call(store, "memory_search", **window, include_inactive=True)["result"]
        assert {hit["id"] for hit in found} >= {i for i, when in ids.items() if when == at}
        call(store, "memory_search", query="holt", as_of_event=at)
        call(store, "memory_search", query=f"the holt of {at}", at=at)
        assert bool(call(store, "memory_timeline", at=at)["result"]) == at.startswith("9999")
        call(store, "memory_graph_query", entity="holt", as_of_event=at)
    call(store, "memory_search", query="what was built on December 31, 9999 or January 1, 0001?")
    lines = exported(store)
    assert json.loads(lines[0])["version"] == 2


@pytest.mark.parametrize(
    "at", ["0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-00:01", "10000-01-01"]
)
def test_a_time_outside_of_the_years_is_refused_before_anything_is_written(
    store: OpenStore, at: str
) -> None:
    fact = call(store, "memory_write_fact", fact_text="Something.")["id"]
    before = rows(store)
    for tool, arguments in (
        ("memory_write_fact", {"fact_text": "Another.", "happened_at": at}),
        ("memory_write_fact", {"fact_text": "Another.", "valid_until": at}),
        ("memory_write_fact", {"fact_text": "Another.", "expires_at": at}),
        ("memory_update_fact", {"fact_id": fact, "valid_until": at}),
        ("memory_timeline", {"at": at}),
    ):
        with pytest.raises(InvalidRequest, match="years 1 to 9999"):
            call(store, tool, **arguments)
    assert rows(store) == before


@pytest.mark.parametrize("at", [FIRST - 1, LAST + 1, 10**30])
def test_a_number_outside_of_the_years_is_no_value_for_a_time(at: int) -> None:
    with pytest.raises(InvalidRequest, match="years 1 to 9999"):
        given_columns(FACT, "happened_at", {"happened_at": at})
    assert given_columns(FACT, "happened_at", {"happened_at": LAST}) == {"happened_at": LAST}


def test_a_file_leaves_room_for_the_writes_that_follow(store: OpenStore) -> None:
    """Each write is later than all that its branch has, so it follows the latest row of a file."""
    fact = call(store, "memory_write_fact", fact_text="Something.")["id"]
    row = next(json.loads(line) for line in exported(store) if fact.encode() in line)
    main = find(store.repo, "main")
    row |= {"id": derived_id("fact", None, "a"), "created_at": LAST_LEARNED}
    header = b'{"format":"day1-export","version":2}\n'
    end = b'{"end":{"rows":1}}\n'
    import_own(store.repo, main, [header, json_line(row), end], now(), lambda *_: None)
    later = call(store, "memory_write_fact", fact_text="Something else.")
    assert later["created_at"].startswith("9998")
    row |= {"id": derived_id("fact", None, "b"), "created_at": LAST_LEARNED + 1}
    with pytest.raises(ImportBroken, match="created_at"):
        import_own(store.repo, main, [header, json_line(row), end], now(), lambda *_: None)
