"""Long texts of other sources: they come in as parts, which change and go together."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT, OBSERVATION, Row
from day1.model.values.parts import MAX_TEXT, part_id, part_of, piece_of
from day1.ports.source import EventDraft, EventName, FactDraft, Item, ObservationDraft
from day1.services.exchange import importing
from day1.services.exchange.imported import Imported
from day1.services.exchange.tool_import import survey
from day1.services.redaction.redacting import look, redact
from day1.services.rows.editing import Correction, Removal, remove, update
from tests.unit.services.conftest import ADA, Bench


class Notes:
    """A source with one item."""

    name = "notes"
    paths: Sequence[Path] = ()

    def __init__(self, *items: Item) -> None:
        self._items = items

    def total(self) -> int:
        return 1

    @property
    def left_out(self) -> dict[str, list[str]]:
        return {}

    def items(self) -> Iterator[Sequence[Item]]:
        yield self._items


def take(bench: Bench, *items: Item) -> Imported:
    bench.now += 1
    source = Notes(*items)
    return importing.import_foreign(bench.repo, bench.branch(), source, ADA, lambda *_: None)


def said(length: int, first: str = "") -> str:
    """A text of numbered sentences, with at least so many characters."""
    count = length // 30 + 1
    return first + "".join(f"Sentence {n:08} of the mill. " for n in range(count))


def rows(bench: Bench) -> list[Row]:
    """The facts of main, a text's parts in their order."""

    def number(row: Row) -> int:
        part = part_of(row, row["fact_text"])
        return 1 if part is None else part.number

    with bench.store.reading(Ref(branch="main")) as reading:
        return sorted(reading.find(FACT, Query()), key=number)


def whole(bench: Bench) -> str:
    """The parts together."""
    return "".join(piece_of(str(row["fact_text"])) for row in rows(bench))


@pytest.mark.parametrize("text", [said(40_000), said(400_000), "x" * 33_000])
def test_a_long_text_comes_in_as_parts_that_are_the_text_again(bench: Bench, text: str) -> None:
    done = take(bench, FactDraft("fact_a", text, "tea", 5, space="project:mill"))
    found = rows(bench)
    assert done.added == len(found) > 1
    assert done.left_out == {}
    assert whole(bench) == text
    assert all(len(str(row["fact_text"])) <= MAX_TEXT for row in found)
    columns = {(row["category"], row["happened_at"], row["space"]) for row in found}
    assert columns == {("tea", 5, "project:mill")}
    again = take(bench, FactDraft("fact_a", text, "tea", 5, space="project:mill"))
    assert (again.added, again.changed, again.unchanged) == (0, 0, len(found))


def test_a_survey_counts_the_rows_of_a_long_text() -> None:
    found = survey(Notes(FactDraft("fact_a", said(40_000)), FactDraft("fact_b", "b")))
    assert (found.facts, found.left_out) == (3, {})


def test_an_observation_keeps_what_a_tool_was_given_once(bench: Bench) -> None:
    take(bench, ObservationDraft("obs_a", "insight", said(40_000), raw_input="ls"))
    with bench.store.reading(Ref(branch="main")) as reading:
        found = reading.find(OBSERVATION, Query())
    assert sorted(str(row["raw_input"]) for row in found) == ["None", "ls"]


def test_a_changed_text_replaces_its_parts(bench: Bench) -> None:
    take(bench, FactDraft("fact_a", said(100_000)))
    assert len(rows(bench)) == 4
    for length in (40_000, 100_000, 130_000, 10, 70_000):
        take(bench, FactDraft("fact_a", text := said(length, "Now: ")))
        assert whole(bench) == text
        again = take(bench, FactDraft("fact_a", text))
        assert (again.added, again.changed, again.left) == (0, 0, [])


def test_what_an_earlier_import_cut_becomes_the_first_part(bench: Bench) -> None:
    text = said(40_000)
    take(bench, FactDraft("fact_a", text[:MAX_TEXT]))
    done = take(bench, FactDraft("fact_a", text))
    assert (done.added, done.changed) == (1, 1)
    assert whole(bench) == text


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_text_of_which_a_part_was_edited_here_is_left(bench: Bench, number: int) -> None:
    take(bench, FactDraft("fact_a", said(70_000)))
    mine = part_id("fact_a", number)
    update(bench.repo, bench.branch(), Correction(mine, {"fact_text": "mine"}), ADA)
    before = rows(bench)
    done = take(bench, FactDraft("fact_a", said(100_000, "Now: ")))
    assert {left.why for left in done.left} == {"edited"}
    assert (done.added, done.changed) == (0, 0)
    assert rows(bench) == before


def test_a_part_that_was_removed_here_does_not_come_back(bench: Bench) -> None:
    take(bench, FactDraft("fact_a", said(70_000)))
    gone = part_id("fact_a", 2)
    remove(bench.repo, bench.branch(), Removal([gone]), ADA)
    done = take(bench, FactDraft("fact_a", said(70_000)))
    assert [(left.id, left.why) for left in done.left] == [(gone, "removed")]
    done = take(bench, FactDraft("fact_a", said(100_000, "Now: ")))
    assert {left.why for left in done.left} == {"removed"}
    assert (done.added, done.changed) == (0, 0)


def test_a_text_of_which_a_part_is_redacted_keeps_its_cut(bench: Bench) -> None:
    take(bench, FactDraft("fact_a", said(70_000)))
    redact(bench.repo, look(bench.repo, part_id("fact_a", 2)), None, "ada", bench.now)
    done = take(bench, FactDraft("fact_a", said(70_000)))
    assert (done.added, done.changed, done.left) == (0, 0, [])
    before = rows(bench)
    done = take(bench, FactDraft("fact_a", said(69_000, "Now: ")))
    assert {left.why for left in done.left} == {"redacted"}
    assert rows(bench) == before


def event(number: int, name: EventName, text: str) -> EventDraft:
    return EventDraft(f"edit_{number}", name, FactDraft("fact_a", text), name)


def test_events_of_long_texts_are_commits_of_all_their_parts(bench: Bench) -> None:
    past = [event(1, "add", said(40_000)), event(2, "change", said(100_000, "Now: "))]
    take(bench, *past)
    assert whole(bench) == said(100_000, "Now: ")
    past.append(event(3, "change", said(40_000, "Then: ")))
    take(bench, *past)
    assert whole(bench) == said(40_000, "Then: ")
    assert take(bench, *past).unchanged == 3
    past.append(event(4, "remove", ""))
    take(bench, *past)
    assert rows(bench) == []


def test_an_event_does_not_give_a_redacted_memory_new_words(bench: Bench) -> None:
    past = [event(1, "add", "The password is x7.")]
    take(bench, *past)
    redact(bench.repo, look(bench.repo, "fact_a"), None, "ada", bench.now)
    before = rows(bench)
    past.append(event(2, "change", "The password is x7, and the user is ada."))
    assert [left.why for left in take(bench, *past).left] == ["redacted"]
    assert rows(bench) == before
