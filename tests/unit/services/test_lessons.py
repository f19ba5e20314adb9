"""Lessons in a store in memory: what is one lesson, what rules merge, what insights are made of."""

from typing import Any

import numpy as np
import pytest

from day1.errors import RevisionChanged, StoreBusy
from day1.model.lessons.consolidation import by_rules
from day1.model.lessons.experience import Experience
from day1.model.lessons.rewording import ALIKE
from day1.model.redaction.basis import INSIGHT
from day1.model.rows.change import CommitId
from day1.model.rows.kind import FACT, Row
from day1.services.lessons import storing
from day1.services.lessons.insights import generate
from day1.services.lessons.storing import Lesson, Stored, _alike, store_lesson
from day1.services.repository import repository
from day1.services.rows.recording import NewFact, fact_row
from day1.services.search.candidates import QueryVectorCache
from tests.unit.services.conftest import ADA, Bench

ONE = Experience("c", "a", "r")
OTHER = Experience("c", "a", "s")


class Turned:
    """Gives `s` a vector of a chosen cosine to all others."""

    name, dimension, stride = "turned-2", 2, 1

    def __init__(self, cosine: float) -> None:
        self.cosine = cosine

    def embed(self, texts: Any) -> Any:
        turned = [self.cosine, float(np.sqrt(1 - self.cosine**2))]
        return np.array([turned if text == "s" else [1.0, 0.0] for text in texts])

    def passages(self, text: str) -> list[str]:
        return [text]


class Ports:
    """As much of the ports as the rule asks."""

    def __init__(self) -> None:
        self.query_vectors = QueryVectorCache()


def lesson_row(row_id: str, parts: Experience, **more: Any) -> Row:
    row = fact_row(row_id, NewFact(parts.text, "decision"), ADA, 1)
    return {**row, **Lesson(parts, "decision").columns, **more}


def alike(cosine: float) -> bool:
    there: Any = [(lesson_row("fact_1", OTHER), OTHER)]
    ports: Any = Ports()
    return _alike(ports, Turned(cosine), ONE, there) is not None


def test_a_cosine_of_exactly_0_95_is_another_lesson() -> None:
    assert not alike(ALIKE)
    assert alike(0.951)
    assert not alike(0.949)


class Overtaken:
    """A lesson whose row others change before each of the first attempts to reword it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
        self.row, self.most, self.tries = lesson_row("fact_1", OTHER), most, 0
        known = storing._Known(0, same=self.row)
        monkeypatch.setattr(storing, "_find_known", lambda *_: known)
        monkeypatch.setattr(storing, "_change", self._change)

    def _change(self, *_: Any) -> Stored:
        self.tries += 1
        if self.tries <= self.most:
            raise RevisionChanged("Somebody was quicker.")
        return Stored(self.row, CommitId("c"))

    def store(self, bench: Bench) -> Stored:
        engine: Any = None
        return store_lesson(bench.repo, engine, bench.branch(), ADA, Lesson(ONE, "decision"))


def test_a_lesson_is_stored_although_a_crowd_changes_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    lesson = Overtaken(monkeypatch, 15)
    assert lesson.store(bench).row == lesson.row
    assert lesson.tries == 16


def test_storing_a_lesson_gives_up_where_others_are_always_quicker(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repository, "_WAIT_S", 0.2)
    with pytest.raises(StoreBusy, match="changing this lesson: try again"):
        Overtaken(monkeypatch, 1_000).store(bench)


def test_rules_merge_only_what_differs_in_wording() -> None:
    one = Experience("Slow joins", "Chose PostgreSQL over MySQL", "Quick")
    same = Experience("Slow joins", "Chose PostgreSQL over MySQL.", "Quick")
    other = Experience("Slow joins", "Chose MySQL over PostgreSQL", "Quick")
    rows = [lesson_row(f"fact_{n}", parts) for n, parts in enumerate((one, same, other))]
    assert by_rules(rows[:2], {}).action == "merge"
    assert by_rules(rows, {}).action == "keep"
    judged = by_rules(rows[:2], {"fact_0": 0.9})
    assert (judged.into, judged.touched) == ("fact_0", ("fact_1",))


def test_insights_are_made_of_lessons_only(bench: Bench) -> None:
    def add(number: int, category: str) -> None:
        parts = Experience(f"Case {number} of {number * 7}", "Renewed the token early", "Fine")
        bench.now += 1
        with bench.store.adding("main") as work:
            row = lesson_row(f"fact_{number}", parts)
            work.add(FACT, [replace_category(row, category)])

    for number in range(3):
        add(number, INSIGHT)
    assert generate(bench.repo, bench.branch(), ADA, None, bench.now).insights == ()
    for number in range(3, 6):
        add(number, "bugfix")
    made = generate(bench.repo, bench.branch(), ADA, None, bench.now)
    assert made.added == 1
    again = generate(bench.repo, bench.branch(), ADA, None, bench.now)
    assert (again.added, again.removed) == (0, 0)


def replace_category(row: Row, category: str) -> Row:
    return {**row, "category": category}
