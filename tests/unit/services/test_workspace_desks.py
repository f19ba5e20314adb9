"""Minds on desks: read again only if somebody else wrote, and changed by one call at a time."""

from dataclasses import replace
from typing import Any

import pytest

from day1.errors import StoreBusy, UnknownBranch
from day1.model.records.desk import Desk, desk_id, next_desk
from day1.model.workspace import mind as mind_module
from day1.model.workspace.mind import Mind, Place
from day1.services.branches.desks import forget_branch
from day1.services.repository import repository
from day1.services.workspace import desks
from day1.services.workspace.desks import Seat, admit, change_mind, mind_of
from tests.unit.services.conftest import Bench


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts of desks that are read from JSON from now on."""
    made: list[str] = []
    read_mind = mind_module.read_mind

    def counted(value: str) -> Mind:
        made.append(value)
        return read_mind(value)

    monkeypatch.setattr(desks, "read_mind", counted)
    return made


def seat(bench: Bench, name: str = "ada") -> Seat:
    branch = bench.branch()
    return Seat(branch, branch.id, name)


def admitted(bench: Bench, row_id: str, name: str = "ada", **more: Any) -> Mind:
    return change_mind(
        bench.repo, seat(bench, name), lambda mind: mind.admitted((row_id,), 5), 5, **more
    )


def test_a_mind_that_this_process_wrote_is_not_read_again(bench: Bench, reads: list[str]) -> None:
    admitted(bench, "fact_1")
    admitted(bench, "fact_2", takes_long=True)
    assert mind_of(bench.repo, seat(bench)).buffer == (Place("fact_1", 5), Place("fact_2", 5))
    assert reads == []


def test_a_mind_that_another_process_wrote_is_read(bench: Bench, reads: list[str]) -> None:
    admitted(bench, "fact_1")
    whose = seat(bench).whose
    desk = bench.repo.ledger.record(Desk, desk_id(*whose))
    theirs = Mind(cycles=3)
    assert bench.repo.ledger.swap(desk, next_desk(desk, whose, theirs.value, 6))
    assert mind_of(bench.repo, seat(bench)) == theirs
    assert admitted(bench, "fact_2") == replace(theirs, buffer=(Place("fact_2", 5),))
    assert reads == [theirs.value] * 2


def test_minds_that_were_written_longest_ago_are_forgotten(
    bench: Bench, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desks, "_MAX_MINDS", 2)
    for name in ("ada", "bo", "ada", "cyd"):
        admitted(bench, "fact_1", name)
    assert len(bench.repo.minds) == 2
    mind_of(bench.repo, seat(bench, "ada"))
    assert reads == []
    mind_of(bench.repo, seat(bench, "bo"))
    assert len(reads) == 1


def test_a_long_change_is_made_again_if_another_call_has_written(bench: Bench) -> None:
    tries = []

    def change(mind: Mind) -> Mind:
        tries.append(mind.cycles)
        if len(tries) == 1:
            admitted(bench, "fact_1")
        return replace(mind, cycles=mind.cycles + 1)

    mind = change_mind(bench.repo, seat(bench), change, 5, takes_long=True)
    assert (len(tries), mind.cycles, [place.id for place in mind.buffer]) == (2, 1, ["fact_1"])


def change_overtaken(bench: Bench, most: int) -> int:
    """Change a mind while another call writes to it during the first attempts; their number."""
    tries = 0

    def change(mind: Mind) -> Mind:
        nonlocal tries
        tries += 1
        if tries <= most:
            admitted(bench, f"fact_{tries}")
        return replace(mind, cycles=mind.cycles + 1)

    change_mind(bench.repo, seat(bench), change, 5, takes_long=True)
    return tries


def test_a_long_change_is_tried_for_as_long_as_a_crowd_of_writers_needs(bench: Bench) -> None:
    assert change_overtaken(bench, 15) == 16


def test_a_long_change_gives_up_where_others_are_always_quicker(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repository, "_WAIT_S", 0.2)
    with pytest.raises(StoreBusy, match="at the same time: try again"):
        change_overtaken(bench, 1_000)


def test_a_short_change_holds_the_ledger(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, held = bench.repo.ledger, []
    transaction = ledger.transaction

    def noted(**given: Any) -> Any:
        held.append(given)
        return transaction(**given)

    monkeypatch.setattr(ledger, "transaction", noted)
    admitted(bench, "fact_1")
    admitted(bench, "fact_2")
    short = len(held)
    admitted(bench, "fact_3", takes_long=True)
    assert short >= 2
    assert len(held) == short


@pytest.fixture
def records(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The records that are read from now on."""
    made: list[Any] = []
    record = bench.repo.ledger.record

    def counted(*given: Any) -> Any:
        made.append(given)
        return record(*given)

    monkeypatch.setattr(bench.repo.ledger, "record", counted)
    return made


def test_a_row_is_admitted_without_reading_the_desk(bench: Bench, records: list[Any]) -> None:
    admit(bench.repo, seat(bench), ["fact_1"], 5)
    records.clear()
    mind = admit(bench.repo, seat(bench), ["fact_2"], 5)
    assert records == []
    assert mind.buffer == (Place("fact_1", 5), Place("fact_2", 5))
    assert mind_of(bench.repo, seat(bench)) == mind


def test_a_row_is_admitted_to_what_another_process_wrote(bench: Bench) -> None:
    admit(bench.repo, seat(bench), ["fact_1"], 5)
    whose = seat(bench).whose
    desk = bench.repo.ledger.record(Desk, desk_id(*whose))
    theirs = Mind(buffer=(Place("fact_9", 6),), cycles=3)
    assert bench.repo.ledger.swap(desk, next_desk(desk, whose, theirs.value, 6))
    mind = admit(bench.repo, seat(bench), ["fact_2"], 7)
    assert mind == replace(theirs, buffer=(*theirs.buffer, Place("fact_2", 7)))
    assert mind_of(bench.repo, seat(bench)) == mind


def test_nothing_is_admitted_on_a_branch_that_was_deleted(bench: Bench) -> None:
    here = seat(bench)
    admit(bench.repo, here, ["fact_1"], 5)
    forget_branch(bench.repo, here.home)
    with pytest.raises(UnknownBranch):
        admit(bench.repo, here, ["fact_2"], 5)
    assert bench.repo.ledger.records(Desk) == []
