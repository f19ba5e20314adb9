"""Consolidating lessons: what is found, what is recommended, and what one commit carries out."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from day1.errors import ChatUnavailable, PlanChanged, Refused
from day1.model.branches.branch import MAIN
from day1.model.lessons.consolidation import Findings, Recommendation
from day1.model.lessons.experience import Experience
from day1.model.redaction.basis import INSIGHT
from day1.model.rows.change import Message, Query, Ref
from day1.model.rows.kind import FACT, RELATION
from day1.model.values.instant import DAY
from day1.services.lessons import consolidation
from day1.services.lessons.consolidation import (
    Applying,
    Consolidation,
    ConsolidationRequest,
    consolidate_lessons,
    find_duplicates_and_stale,
    keep_plan,
    recommend,
)
from day1.services.lessons.storing import Lesson
from day1.services.rows.editing import Correction, update
from day1.services.rows.recording import NewFact, NewRelation, fact_row, relation_row
from tests.unit.services.conftest import ADA, Bench

POSTGRES = Experience("Slow joins", "Chose PostgreSQL over MySQL", "Quick")
REWORDED = Experience("Slow joins", "Chose PostgreSQL over MySQL.", "Quick")
TURNED = Experience("Slow joins", "Chose MySQL over PostgreSQL", "Quick")
NIGHTLY = Experience("Lost backups", "Run them every night at two", "None lost since")
NOW = 100 * DAY


class Uses:
    """Says when rows were shown last."""

    def __init__(self) -> None:
        self.last: dict[str, int] = {}

    def known(self) -> dict[str, Any]:
        return {row_id: SimpleNamespace(last=at) for row_id, at in self.last.items()}


class Chat:
    """A chat model that gives one answer, or fails."""

    name = "chat"

    def __init__(self, **answer: Any) -> None:
        self.answer: dict[str, Any] = {
            "action": "merge",
            "best": 0,
            "confidence": 0.8,
            "reason": "They  say\nthe same.",
        } | answer
        self.is_down = False

    def ask(self, *_: Any) -> Any:
        if self.is_down:
            raise ChatUnavailable("down")
        return SimpleNamespace(value=self.answer)


class Lessons:
    """A bench with lessons, their votes and uses."""

    def __init__(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bench, self.uses = bench, Uses()
        self.scores: dict[str, float] = {}
        monkeypatch.setattr(consolidation, "mean_scores", lambda _: dict(self.scores))

    @property
    def ports(self) -> Any:
        return SimpleNamespace(embedder=None, uses=self.uses)

    @property
    def request(self) -> ConsolidationRequest:
        return ConsolidationRequest(self.bench.branch(), NOW)

    def add(self, number: int, parts: Experience, at: int = NOW - DAY, **more: Any) -> str:
        row_id = f"fact_{number:026}"
        self.bench.now = at
        with self.bench.store.adding(MAIN) as work:
            row = fact_row(row_id, NewFact(parts.text, "decision"), ADA, at)
            work.add(FACT, [{**row, **Lesson(parts, "decision").columns, **more}])
        return row_id

    def relate(self, number: int, source: str, target: str) -> str:
        row_id = f"rel_{number:026}"
        with self.bench.store.adding(MAIN) as work:
            new = NewRelation(source, "uses", target)
            work.add(RELATION, [relation_row(row_id, new, ADA, work.now)])
        return row_id

    def find(self, **request: Any) -> Findings:
        asked = replace(self.request, **request)
        return find_duplicates_and_stale(self.bench.repo, self.ports, asked)

    def consolidate(self, **applying: Any) -> Consolidation:
        wanted = replace(Applying(ADA), **applying)
        return consolidate_lessons(self.bench.repo, self.ports, self.request, wanted)

    def statuses(self) -> list[str]:
        with self.bench.store.reading(Ref(branch=MAIN)) as reading:
            rows = sorted(reading.find(FACT, Query()), key=lambda row: str(row["id"]))
        return [str(row["status"]) for row in rows]


@pytest.fixture
def lessons(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Lessons:
    return Lessons(bench, monkeypatch)


def numbers(rows: Any) -> list[int]:
    return sorted(int(str(row["id"]).partition("_")[2]) for row in rows)


# What is found


@pytest.mark.parametrize(
    ("other", "more", "is_group"),
    [
        (POSTGRES, {}, True),
        (REWORDED, {}, True),
        (NIGHTLY, {}, False),
        (POSTGRES, {"space": "project:mill"}, False),
        (POSTGRES, {"category": "bugfix"}, False),
        (POSTGRES, {"category": INSIGHT}, False),
        (POSTGRES, {"sensitivity": "secret"}, False),
        (POSTGRES, {"expires_at": 2 * NOW}, False),
        (POSTGRES, {"valid_until": 2 * NOW}, False),
        (POSTGRES, {"status": "archived"}, False),
        (POSTGRES, {"structure": None}, False),
    ],
    ids=[
        "equal", "reworded", "another", "another project", "another type", "an insight", "secret",
        "expires", "ends", "archived", "no lesson",
    ],
)  # fmt: skip
def test_which_lessons_are_one_group(
    lessons: Lessons, other: Experience, more: dict[str, Any], is_group: bool
) -> None:
    lessons.add(1, POSTGRES)
    lessons.add(2, other, **more)
    groups = lessons.find().groups
    assert [numbers(group) for group in groups] == ([[1, 2]] if is_group else [])


LONG_AGO, LATELY = NOW - 31 * DAY, NOW - 29 * DAY
EDGE = NOW - 30 * DAY


@pytest.mark.parametrize(
    ("at", "score", "shown", "is_stale"),
    [
        (LONG_AGO, None, None, True),
        (LATELY, None, None, False),
        (EDGE, None, None, False),
        (LONG_AGO, 0.29, None, True),
        (LONG_AGO, 0.3, None, False),
        (LONG_AGO, None, LONG_AGO, True),
        (LONG_AGO, None, LATELY, False),
        (LONG_AGO, None, EDGE, False),
        (LONG_AGO, 0.1, LATELY, False),
    ],
    ids=[
        "old", "young", "as old", "rated low", "rated well", "shown long ago", "shown lately",
        "shown at the edge", "rated low and shown",
    ],
)  # fmt: skip
def test_which_lessons_are_stale(
    lessons: Lessons, at: int, score: float | None, shown: int | None, is_stale: bool
) -> None:
    row_id = lessons.add(1, POSTGRES, at)
    if score is not None:
        lessons.scores[row_id] = score
    if shown is not None:
        lessons.uses.last[row_id] = shown
    lessons.scores["fact_elsewhere"] = 0.9
    found = lessons.find()
    assert bool(found.stale) is is_stale
    assert found.scores == ({} if score is None else {row_id: score})


@pytest.mark.parametrize(
    ("source", "target", "is_void"),
    [
        ("Gateway", "Redis", False),
        (f"fact_{1:026}", "Redis", False),
        (f"fact_{9:026}", "Redis", True),
        ("Redis", f"obs_{9:026}", True),
        ("fact_1", "Redis", False),
        (f"branch_{9:026}", "Redis", False),
    ],
    ids=["names", "a row", "a row that is gone", "the other end", "no id", "no memory"],
)
def test_a_relation_to_a_row_that_is_gone_is_garbage(
    lessons: Lessons, source: str, target: str, is_void: bool
) -> None:
    lessons.add(1, POSTGRES)
    lessons.relate(1, source, target)
    assert numbers(lessons.find().garbage) == ([1] if is_void else [])


def test_only_the_newest_lessons_are_compared(
    lessons: Lessons, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consolidation, "MOST", 2)
    for number in range(3):
        lessons.add(number, POSTGRES, NOW - DAY + number)
    found = lessons.find()
    assert (found.analyzed, [numbers(group) for group in found.groups]) == (3, [[1, 2]])
    assert found.notes[0] == "Only the newest 2 of 3 lessons were compared."


# What is recommended


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"best": 1}, ("merge", 0.8, 1)),
        ({"best": 7}, ("merge", 0.8, 2)),
        ({"best": -1}, ("merge", 0.8, 2)),
        ({"best": None}, ("merge", 0.8, 2)),
        ({"action": "keep"}, ("keep", 0.8, None)),
        ({"confidence": 1}, ("merge", 1.0, 0)),
        ({"confidence": 0}, ("merge", 0.0, 0)),
        ({"confidence": 1.1}, None),
        ({"confidence": -0.1}, None),
        ({"confidence": "high"}, None),
        ({"confidence": None}, None),
        ({"action": "delete"}, None),
        ({"action": ["merge"]}, None),
        ({"action": {}}, None),
        ({"reason": "They \ud800say\x00 \u202ethe\nsame."}, ("merge", 0.8, 0)),
        ({"reason": 7}, None),
    ],
    ids=str,
)
def test_what_a_chat_model_may_recommend(
    lessons: Lessons, answer: dict[str, Any], expected: tuple[str, float, int | None] | None
) -> None:
    ids = [lessons.add(number, POSTGRES, NOW - DAY + number) for number in range(3)]
    plan = recommend(lessons.find(), Chat(**answer))
    if expected is None:
        assert (plan.recommendations, plan.errors[0]["ids"]) == ([], ids)
        return
    action, confidence, best = expected
    into = None if best is None else ids[best]
    (made,) = plan.recommendations
    assert (made.action, made.confidence, made.into) == (action, confidence, into)
    assert (made.reason, made.ids) == ("They say the same.", tuple(ids))


def test_a_group_that_cannot_be_judged_is_an_error_and_the_others_go_on(lessons: Lessons) -> None:
    lessons.add(1, POSTGRES)
    lessons.add(2, POSTGRES)
    old = lessons.add(3, NIGHTLY, LONG_AGO)
    chat = Chat()
    chat.is_down = True
    plan = recommend(lessons.find(), chat)
    assert [one.ids for one in plan.recommendations] == [(old,)]
    assert plan.errors[0]["message"] == "down"


def test_a_stopped_recommendation_asks_no_more(lessons: Lessons) -> None:
    lessons.add(1, POSTGRES)
    lessons.add(2, POSTGRES)
    plan = recommend(lessons.find(), Chat(), lambda: True)
    assert (plan.recommendations, plan.errors) == ([], [])


def test_a_stale_lesson_that_is_merged_is_not_archived_too(lessons: Lessons) -> None:
    lessons.add(1, POSTGRES, LONG_AGO)
    lessons.add(2, POSTGRES, LONG_AGO + 1)
    actions = [(one.action, numbers({"id": i} for i in one.touched))
               for one in recommend(lessons.find(), None).recommendations]  # fmt: skip
    assert actions == [("merge", [1]), ("archive", [2])]


# What is carried out


def test_a_consolidation_is_one_commit_with_all_that_is_recommended(lessons: Lessons) -> None:
    one = lessons.add(1, POSTGRES)
    two = lessons.add(2, POSTGRES, NOW - DAY + 5)
    lessons.add(3, NIGHTLY, LONG_AGO)
    lessons.relate(1, "Gateway", f"obs_{9:026}")
    for number in range(10, 20):
        lessons.bench.add(f"fact_{number:026}", f"a fact of its own {number}")
    done = lessons.consolidate()
    assert lessons.statuses()[:3] == ["superseded", "active", "archived"]
    merged = lessons.bench.present(one)
    assert merged["superseded_by"] == two
    assert merged["valid_until"] == lessons.bench.present(two)["created_at"]
    with lessons.bench.store.reading(Ref(branch=MAIN)) as reading:
        assert reading.find(RELATION, Query()) == []
    commit = next(lessons.bench.store.history.log(MAIN))
    assert (commit.id, commit.line) == (
        done.commit,
        "consolidate: archive 1, delete 1, merge 1",
    )
    assert lessons.consolidate().done == ()


@pytest.mark.parametrize(
    ("others", "is_refused"), [(1, True), (2, False)], ids=["1 of 2", "1 of 3"]
)
def test_more_than_a_third_is_touched_only_if_the_plan_is_named(
    lessons: Lessons, others: int, is_refused: bool
) -> None:
    lessons.add(1, NIGHTLY, LONG_AGO)
    for number in range(others):
        lessons.bench.add(f"fact_{10 + number:026}", f"a fact of its own {number}")
    digest = None
    if is_refused:
        with pytest.raises(Refused, match="more than a third") as refused:
            lessons.consolidate()
        digest = refused.value.details["digest"]
    assert [one.action for one in lessons.consolidate(expect=digest).done] == ["archive"]


@pytest.mark.parametrize(("least", "count"), [(0.0, 1), (0.5, 1), (0.51, 0)], ids=str)
def test_what_is_not_sure_enough_is_left(lessons: Lessons, least: float, count: int) -> None:
    lessons.add(1, NIGHTLY, LONG_AGO)
    for number in range(10, 14):
        lessons.bench.add(f"fact_{number:026}", f"a fact of its own {number}")
    done = lessons.consolidate(min_confidence=least)
    assert len(done.done) == count
    assert lessons.statuses()[0] == ("archived" if count else "active")


def test_another_plan_than_the_expected_one_is_refused(lessons: Lessons) -> None:
    lessons.add(1, NIGHTLY, LONG_AGO)
    digest = recommend(lessons.find(), None).digest
    lessons.add(2, POSTGRES, LONG_AGO)
    with pytest.raises(PlanChanged, match="plan has changed: read the new plan"):
        lessons.consolidate(expect=digest)


@pytest.mark.parametrize("change", ["none", "reworded", "another client"])
def test_a_plan_on_its_clients_desk_is_carried_out_while_nothing_changed(
    lessons: Lessons, change: str
) -> None:
    """A chat model may recommend something else when it is asked again."""
    one = lessons.add(1, POSTGRES)
    lessons.add(2, REWORDED)
    findings = lessons.find()
    plan = recommend(findings, Chat(action="merge", best=1))
    keep_plan(lessons.bench.repo, lessons.request, "me", findings, plan)
    if change == "reworded":
        columns = {"tags": '["new"]'}
        update(lessons.bench.repo, lessons.bench.branch(), Correction(one, columns), ADA)
    client = "you" if change == "another client" else "me"
    applying: dict[str, Any] = {
        "client": client,
        "expect": plan.digest,
        "chat": Chat(action="keep"),
    }
    if change == "none":
        (done,) = lessons.consolidate(**applying).done
        assert (done.action, done.touched) == ("merge", (one,))
    else:
        with pytest.raises(PlanChanged):
            lessons.consolidate(**applying)


def test_a_row_that_changes_while_a_plan_is_made_is_left(lessons: Lessons) -> None:
    one = lessons.add(1, POSTGRES)
    lessons.add(2, POSTGRES)

    class Slow(Chat):
        def ask(self, *_: Any) -> Any:
            with lessons.bench.store.changing(MAIN) as work:
                work.change(FACT, one, {"confidence": 0.1})
                work.commit(Message("change", "by hand"))
            return super().ask()

    digest = recommend(lessons.find(), Chat()).digest
    with pytest.raises(PlanChanged, match="A row changed"):
        lessons.consolidate(chat=Slow(), expect=digest)
    assert lessons.statuses() == ["active", "active"]


def test_what_is_kept_is_not_touched() -> None:
    assert Recommendation("keep", ("a", "b"), 1.0, "").touched == ()
    assert Recommendation("merge", ("a", "b"), 1.0, "", "b").touched == ("a",)
