"""What goes out comes back whole: exports and bundles of drawn rows.

Rows are drawn with every column, with times of all years, and with the ids and the spaces that
tools allow. What comes back is exported again: the bytes must be equal.

`DAY1_ROUND_TRIPS` sets how many examples each property is tried on.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from day1.errors import ImportBroken, StoreBusy
from day1.model.branches.branch import MAIN
from day1.model.files.export import NEWEST_VERSION, RowLine, parsed
from day1.model.rows.change import Message, Query, Ref
from day1.model.rows.kind import FACT, KINDS, Kind, Row
from day1.model.values.instant import parse, show
from day1.services.exchange import exporting, own_import
from day1.services.sharing import bundles
from tests.unit.services.conftest import Bench
from tests.whole_rows import DRAWN, FIRST, LAST, labels, least_version, memories, times

Rows = Mapping[Kind, Sequence[Row]]


def nobody(_done: int, _total: int | None) -> None:
    """Nobody is told how far it is."""


def put(bench: Bench, rows: Rows, branch: str = MAIN) -> None:
    """Store rows as they are, and let the clock go past them."""
    with bench.store.adding(branch) as work:
        for kind, some in rows.items():
            work.add(kind, some)
    created = [int(str(one["created_at"])) for some in rows.values() for one in some]
    bench.now = max([bench.now, *created]) + 1


def export(bench: Bench, **more: bool) -> list[bytes]:
    return list(exporting.export_branch(bench.store, Ref(branch=MAIN), **more))


def everything(bench: Bench, branch: str = MAIN) -> dict[str, Any]:
    with bench.store.reading(Ref(branch=branch)) as reading:
        return {kind.table: reading.scan(kind, kind.columns, Query()) for kind in KINDS}


@DRAWN
@given(rows=memories())
def test_a_branch_comes_back_with_every_column_of_every_kind(rows: dict[Kind, list[Row]]) -> None:
    bench, other = Bench(), Bench()
    put(bench, rows)
    lines = export(bench, with_thinking=True, with_secrets=True)
    done = own_import.import_own(other.repo, other.branch(), lines, 1, nobody)
    assert done.left == []
    assert everything(other) == everything(bench)
    assert export(other, with_thinking=True, with_secrets=True) == lines
    assert json.loads(lines[0])["version"] == least_version(rows)


@DRAWN
@given(rows=memories(), more=memories(2), at=times)
def test_a_store_comes_back_as_it_is_shown(
    rows: dict[Kind, list[Row]], more: dict[Kind, list[Row]], at: int
) -> None:
    bench, other = Bench(), Bench()
    bench.fork("side")
    put(bench, rows)
    put(bench, more, "side")
    bench.now = max(bench.now, at)
    lines = list(exporting.export_store(bench.repo))
    other.now = bench.now
    done = own_import.import_own(other.repo, other.branch(), lines, 1, nobody)
    assert done.left == []
    assert list(exporting.export_store(other.repo)) == lines
    assert [line for line in lines[1:-1] if b'"secret"' in line and b"sensitivity" in line] == []
    assert json.loads(lines[0])["version"] == least_version(_rows_of(lines))


def _rows_of(lines: Sequence[bytes]) -> dict[Kind, list[Row]]:
    found: dict[Kind, list[Row]] = {kind: [] for kind in KINDS}
    for line in parsed(lines):
        if isinstance(line, RowLine):
            found[line.kind].append(line.row)
    return found


@DRAWN
@given(rows=memories(), name=labels, tags=st.lists(labels, max_size=2), verified=st.booleans())
def test_a_bundle_comes_back_with_every_column(
    rows: dict[Kind, list[Row]], name: str, tags: list[str], verified: bool
) -> None:
    bench, other = Bench(), Bench()
    put(bench, rows)
    described = bundles.NewBundle(name, None, tuple(tags), verified_only=verified)
    bundle = bundles.create_bundle(bench.repo, bench.branch(), described, bench.now)
    lines = list(bundles.export_bundle(bench.repo, bundle.id))
    other.now = bench.now
    taken = bundles.take_bundle(other.repo, lines, other.now)
    again = list(bundles.export_bundle(other.repo, taken.id))
    assert again == lines
    assert json.loads(lines[0])["version"] in {1, 2, 3}


@DRAWN
@given(at=times)
def test_every_accepted_time_is_shown_and_read_back(at: int) -> None:
    assert parse(show(at)) == at


@pytest.mark.parametrize("at", [FIRST - 1, LAST + 1])
def test_a_time_outside_of_the_years_is_refused_by_an_import(bench: Bench, at: int) -> None:
    bench.add("fact_a", "a")
    with bench.store.changing(MAIN) as work:
        work.change(FACT, "fact_a", {"happened_at": at})
        work.commit(Message("change", "a time that no tool accepts"))
    other = Bench()
    with pytest.raises(
        ImportBroken, match=r"column happened_at is not of its type.*years 1 to 9999"
    ):
        own_import.import_own(other.repo, other.branch(), export(bench), 1, nobody)


def test_a_row_that_a_file_cannot_hold_by_its_first_line_stops_the_export(bench: Bench) -> None:
    bench.add("fact_a", "a")
    lines = exporting.export_branch(bench.store, Ref(branch=MAIN))
    assert json.loads(next(lines))["version"] == 1
    with bench.store.changing(MAIN) as work:
        work.change(FACT, "fact_a", {"space": "project:metal"})
        work.commit(Message("change", "the first use of a younger column"))
    with pytest.raises(StoreBusy, match="export again"):
        list(lines)


@pytest.mark.parametrize("version", [0, NEWEST_VERSION + 1, None, True, "2"])
def test_the_file_of_a_newer_day1_says_to_install_a_newer_one(
    bench: Bench, version: object
) -> None:
    bench.add("fact_a", "a")
    described = bundles.NewBundle("tea", verified_only=False)
    bundle = bundles.create_bundle(bench.repo, bench.branch(), described, bench.now)
    header, *rows = export(bench)
    newer = json.dumps({**json.loads(header), "version": version}).encode()
    other = Bench()
    with pytest.raises(ImportBroken, match="install a newer day1") as refused:
        own_import.import_own(other.repo, other.branch(), [newer, *rows], 1, nobody)
    assert refused.value.details["line"] == 1
    header, *rows = bundles.export_bundle(bench.repo, bundle.id)
    newer = json.dumps({**json.loads(header), "version": version}).encode()
    with pytest.raises(ImportBroken, match="install a newer day1"):
        bundles.take_bundle(other.repo, [newer, *rows], 1)
    assert other.facts() == set()
