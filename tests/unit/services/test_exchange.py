"""Exchange: exports that come back as they were, imports that add once, bundles and store copies."""

from collections.abc import Iterator, Mapping, Sequence

import pytest

from day1.errors import BranchClosed, ImportBroken, NotAStore
from day1.model.branches.branch import MAIN
from day1.model.records.store_copy import CopyMark
from day1.model.rows.change import Ref
from day1.ports.source import Draft, FactDraft
from day1.services.branches.notes import mark
from day1.services.exchange import (
    exporting,
    imported,
    importing,
    own_import,
    store_copy,
)
from day1.services.rows.editing import Correction, Removal, remove, update
from day1.services.sharing import bundles
from tests.unit.services.conftest import ADA, Bench


def nobody(_done: int, _total: int | None) -> None:
    """Nobody is told how far it is."""


class Notes:
    """A source with one item, whose drafts are these."""

    name = "notes"

    def __init__(self, *drafts: Draft) -> None:
        self.drafts = drafts

    def total(self) -> int:
        return 1

    @property
    def left_out(self) -> Mapping[str, Sequence[str]]:
        return {}

    def items(self) -> Iterator[Sequence[Draft]]:
        yield self.drafts


def take(bench: Bench, *drafts: Draft) -> imported.Imported:
    bench.now += 1
    return importing.import_foreign(bench.repo, bench.branch(), Notes(*drafts), ADA, nobody)


def export(bench: Bench) -> list[bytes]:
    return list(exporting.export_branch(bench.store, Ref(branch=MAIN)))


def test_an_export_brings_back_every_column(bench: Bench) -> None:
    bench.add("fact_a", "a")
    update(bench.repo, bench.branch(), Correction("fact_a", {"category": "tea"}), ADA)
    other = Bench()
    done = own_import.import_own(other.repo, other.branch(), export(bench), 1, nobody)
    assert done.added == 2
    assert other.present("fact_a") == bench.present("fact_a")
    again = own_import.import_own(other.repo, other.branch(), export(bench), 1, nobody)
    assert (again.added, again.unchanged) == (0, 2)


def test_a_broken_line_keeps_the_rows_before_it_and_names_itself(bench: Bench) -> None:
    bench.add("fact_a", "a")
    lines = export(bench)
    lines[-1] = b"{broken\n"
    other = Bench()
    with pytest.raises(ImportBroken) as broken:
        own_import.import_own(other.repo, other.branch(), lines, 1, nobody)
    assert other.facts() == {"fact_a"}
    assert broken.value.details["added"] == 1


def test_an_export_of_a_store_makes_the_branches_that_are_not_here(bench: Bench) -> None:
    bench.fork("side")
    bench.add("fact_a", "a", "side")
    mark(bench.repo, bench.branch("side"), purpose="tea")
    other = Bench()
    lines = list(exporting.export_store(bench.repo))
    done = own_import.import_own(other.repo, other.branch(), lines, 1, nobody)
    assert done.branches == ["side"]
    assert other.facts("side") == {"fact_a"}
    assert other.branch("side").purpose == "tea"


def test_a_second_import_adds_what_is_new_and_changes_what_differs(bench: Bench) -> None:
    take(bench, FactDraft("fact_a", "one"), FactDraft("fact_b", "same"))
    done = take(bench, FactDraft("fact_a", "two"), FactDraft("fact_b", "same"))
    assert (done.added, done.changed, done.unchanged) == (0, 1, 1)
    assert bench.present("fact_a")["fact_text"] == "two"


def test_an_import_leaves_what_was_edited_or_removed_here(bench: Bench) -> None:
    take(bench, FactDraft("fact_a", "one"), FactDraft("fact_b", "b"))
    update(bench.repo, bench.branch(), Correction("fact_a", {"fact_text": "mine"}), ADA)
    remove(bench.repo, bench.branch(), Removal(["fact_b"]), ADA)
    done = take(bench, FactDraft("fact_a", "two"), FactDraft("fact_b", "b"))
    assert {(left.id, left.why) for left in done.left} == {
        ("fact_a", "edited"),
        ("fact_b", "removed"),
    }
    assert bench.present("fact_a")["fact_text"] == "mine"
    assert bench.facts() == {"fact_a"}


def test_a_closed_branch_takes_no_import(bench: Bench) -> None:
    mark(bench.repo, bench.branch(), closed=True)
    with pytest.raises(BranchClosed):
        take(bench, FactDraft("fact_a", "one"))


def test_a_foreign_text_loses_what_no_engine_keeps(bench: Bench) -> None:
    take(bench, FactDraft("fact_a", "a\0b\ud800c"))
    assert bench.present("fact_a")["fact_text"] == "ab?c"


def test_a_bundle_keeps_what_it_was_made_of(bench: Bench) -> None:
    bench.add("fact_a", "a")
    described = bundles.NewBundle("tea", verified_only=False)
    bundle = bundles.create_bundle(bench.repo, bench.branch(), described, bench.now)
    bench.fork("side")
    update(bench.repo, bench.branch(), Correction("fact_a", {"fact_text": "b"}), ADA)
    lines = list(bundles.export_bundle(bench.repo, bundle.id))
    other = Bench()
    taken = bundles.take_bundle(other.repo, lines, other.now)
    assert taken.sha256 == bundle.sha256
    bundles.import_bundle(other.repo, taken.id, other.branch())
    assert other.present("fact_a")["fact_text"] == "a"


def test_a_bundle_is_the_same_with_and_without_what_expired_meanwhile(bench: Bench) -> None:
    bench.add("fact_a", "a")
    for fact_id, end in (("fact_b", 5_000), ("fact_c", 6_000)):
        bench.add(fact_id, fact_id)
        update(bench.repo, bench.branch(), Correction(fact_id, {"expires_at": end}), ADA)
    described = bundles.NewBundle("tea", verified_only=False)
    bundle = bundles.create_bundle(bench.repo, bench.branch(), described, bench.now)
    files = []
    for bench.now in (4_000, 5_500, 6_500):
        files.append(list(bundles.export_bundle(bench.repo, bundle.id)))
    assert len({lines[0] for lines in files}) == 3
    for now, some in ((5_600, files[:2]), (7_000, files)):
        for first in some:
            other = Bench()
            other.now = now
            taken = bundles.take_bundle(other.repo, first, now)
            assert [bundles.take_bundle(other.repo, again, now) for again in some] == [taken] * len(
                some
            )


def test_half_a_copy_is_no_store(bench: Bench) -> None:
    store_copy.refuse_incomplete_copy(bench.repo.ledger, "here")
    bench.repo.ledger.put(CopyMark("c0", bench.now))
    with pytest.raises(NotAStore, match="day1 copy"):
        store_copy.refuse_incomplete_copy(bench.repo.ledger, "here")


def test_a_copy_of_a_store_has_its_branches_rows_and_records(bench: Bench) -> None:
    bench.add("fact_a", "a")
    bench.fork("side")
    bench.add("fact_b", "b", "side")
    target = Bench()
    target.repo.ledger.remove_branch(target.branch().id)
    store_copy.begin(bench.repo, target.repo, "there", bench.now)
    done = store_copy.copy_store(bench.repo, target.repo, store_copy.unchanged, nobody)
    assert {branch.name for branch in done.branches} == {MAIN, "side"}
    assert (target.facts(), target.facts("side")) == ({"fact_a"}, {"fact_a", "fact_b"})
    assert target.branch("side").id == bench.branch("side").id
    store_copy.refuse_incomplete_copy(target.repo.ledger, "there")
