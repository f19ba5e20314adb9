"""An imported edit that lists sources binds the rows of its own import, and no row of others."""

from collections.abc import Callable

import pytest

from day1.model.branches.branch import MAIN
from day1.model.redaction.basis import Sources
from day1.model.rows.change import Ref
from day1.model.rows.kind import EDIT, FACT, Kind, Row
from day1.services.exchange import exporting, own_import
from day1.services.rows.deriving import basis_columns, basis_edit
from day1.services.rows.editing import Correction, Removal, remove, update
from day1.services.rows.recording import NewFact, fact_row
from day1.services.sharing import bundles
from tests.unit.services.conftest import ADA, Bench

HIDDEN, DERIVED = "fact_hidden", "fact_derived"


def nobody(_done: int, _total: int | None) -> None:
    """Nobody is told how far it is."""


def put(bench: Bench, kind: Kind, row: Row) -> None:
    bench.now += 1
    with bench.store.adding(MAIN) as work:
        work.add(kind, [row])


def derive(bench: Bench) -> Row:
    """Add a fact that was made of another one, which was itself made here."""
    row = fact_row(DERIVED, NewFact("made of others"), ADA, 5)
    row["origin_id"] = "fact_first"
    put(bench, FACT, row)
    return row


def bind(bench: Bench, source: str = HIDDEN) -> Row:
    """List a source of the derived fact."""
    edit = basis_edit(basis_columns(FACT, DERIVED, [{"id": source}]), ADA, 6)
    put(bench, EDIT, edit)
    return edit


def add_hidden(bench: Bench) -> None:
    """Add a fact whose time is over."""
    bench.add(HIDDEN, "over")
    update(bench.repo, bench.branch(), Correction(HIDDEN, {"expires_at": 1}), ADA)


def by_file(bench: Bench, other: Bench) -> set[str]:
    """Import another store's export; returns the ids of what was left."""
    lines = exporting.export_branch(bench.store, Ref(branch=MAIN))
    done = own_import.import_own(other.repo, other.branch(), lines, 1, nobody)
    return {left.id for left in done.left}


def by_bundle(bench: Bench, other: Bench) -> set[str]:
    described = bundles.NewBundle("tea", verified_only=False)
    made = bundles.create_bundle(bench.repo, bench.branch(), described, bench.now)
    lines = list(bundles.export_bundle(bench.repo, made.id))
    taken = bundles.take_bundle(other.repo, lines, other.now)
    return {left.id for left in bundles.import_bundle(other.repo, taken.id, other.branch()).left}


def shown(bench: Bench) -> bool:
    """Whether no source of the derived fact is over."""
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        sources = Sources(reading)
        sources.of(reading.get(FACT, [DERIVED]))
    return not sources.hiding(DERIVED).over(bench.now)


def test_a_file_hides_no_fact_that_it_does_not_bring(bench: Bench) -> None:
    other = Bench()
    add_hidden(other)
    derive(other)
    edit = bind(bench)
    assert by_file(bench, other) == {edit["id"]}
    assert shown(other)


@pytest.mark.parametrize("arrive", [by_file, by_bundle])
def test_an_import_binds_no_fact_that_has_other_sources_here(
    bench: Bench, arrive: Callable[[Bench, Bench], set[str]]
) -> None:
    other = Bench()
    for one in (bench, other):
        derive(one)
    add_hidden(other)
    bind(other, "fact_first")
    edit = bind(bench)
    assert arrive(bench, other) == {edit["id"]}
    assert shown(other)


@pytest.mark.parametrize("arrive", [by_file, by_bundle])
def test_a_fact_arrives_with_its_sources(
    bench: Bench, arrive: Callable[[Bench, Bench], set[str]]
) -> None:
    other = Bench()
    add_hidden(other)
    derive(bench)
    bind(bench)
    assert arrive(bench, other) == set()
    assert not shown(other)


def test_sources_are_bound_in_a_later_unit(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_import, "UNIT_ROWS", 1)
    other = Bench()
    add_hidden(other)
    derive(bench)
    bind(bench, "fact_first")
    bind(bench)
    assert by_file(bench, other) == set()
    assert not shown(other)


def test_sources_are_bound_after_an_interruption(bench: Bench) -> None:
    other = Bench()
    add_hidden(other)
    derive(bench)
    assert by_file(bench, other) == set()
    assert shown(other)
    bind(bench)
    assert by_file(bench, other) == set()
    assert not shown(other)


def test_what_was_removed_keeps_its_sources(bench: Bench) -> None:
    other = Bench()
    derive(bench)
    edit = bind(bench)
    remove(bench.repo, bench.branch(), Removal([DERIVED], "not needed"), ADA)
    assert by_file(bench, other) == set()
    with other.store.reading(Ref(branch=MAIN)) as reading:
        assert reading.get(EDIT, [str(edit["id"])])
