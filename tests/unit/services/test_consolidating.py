"""Observations that become candidate facts: which ones, worded how, and never twice."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from day1.errors import BranchClosed, ChatUnavailable
from day1.model.branches.branch import MAIN, Branch
from day1.model.redaction.mask import REDACTED
from day1.model.rows.change import Message, Query, Ref
from day1.model.rows.kind import EDIT, FACT, OBSERVATION, Row
from day1.services.branches.notes import mark
from day1.services.rows.editing import Correction, Removal, remove, update
from day1.services.rows.recording import NewObservation, observation_row
from day1.services.tasks import consolidating
from day1.services.tasks.consolidating import Consolidated, ConsolidateRequest, consolidate
from tests.unit.services.conftest import ADA, Bench

PORTS: Any = SimpleNamespace(embedder=None)
"""Without a model texts are compared by their words."""
BEST = "The gateway restarts every 45 seconds."
SHORT = "The gateway restarts every 45 seconds"
OTHER = "Backups of the mill run at night."


class Chat:
    """A chat model that gives one sentence, or fails after some."""

    name = "chat"

    def __init__(self, sentence: str, fails_after: int = 99) -> None:
        self.sentence, self.left = sentence, fails_after
        self.asked: list[Any] = []

    def ask(self, _: str, data: Any, __: Any, ___: str) -> Any:
        self.asked.append(data["observations"])
        if len(self.asked) > self.left:
            raise ChatUnavailable("down")
        return SimpleNamespace(value={"sentence": self.sentence})


def seen(bench: Bench, number: int, text: str, **more: Any) -> Row:
    """An observation, as one consolidation reads it."""
    bench.now += 1
    new = NewObservation(more.pop("kind", "note"), text, **more)
    row = observation_row(f"obs_{number:026}", new, ADA, bench.now)
    with bench.store.adding(MAIN) as work:
        work.add(OBSERVATION, [row])
    return row


def run(bench: Bench, rows: list[Row], branch: Branch | None = None, **more: Any) -> Consolidated:
    bench.now += 1
    request = replace(ConsolidateRequest(branch or bench.branch(), ADA), **more)
    return consolidate(bench.repo, PORTS, rows, request)


def facts(bench: Bench, branch: str = MAIN) -> list[Row]:
    with bench.store.reading(Ref(branch=branch)) as reading:
        return reading.find(FACT, Query())


@pytest.mark.parametrize(
    ("texts", "expected", "duplicates"),
    [
        ([], [], 0),
        ([OTHER], [(OTHER, 0.5)], 0),
        ([SHORT, BEST], [(BEST, 0.7)], 1),
        ([BEST, SHORT, BEST], [(BEST, 0.85)], 2),
        ([BEST] * 5, [(BEST, 0.85)], 4),
        ([BEST, OTHER], [(BEST, 0.5), (OTHER, 0.5)], 0),
        ([REDACTED, OTHER], [(OTHER, 0.5)], 0),
    ],
    ids=["none", "one", "two alike", "three alike", "five alike", "two others", "redacted"],
)
def test_observations_that_say_the_same_are_one_fact(
    bench: Bench, texts: list[str], expected: list[tuple[str, float]], duplicates: int
) -> None:
    rows = [seen(bench, number, text) for number, text in enumerate(texts)]
    done = run(bench, rows)
    made = sorted((str(r["fact_text"]), float(r["confidence"] or 0)) for r in facts(bench))
    assert made == sorted(expected)
    assert (len(done.facts), done.duplicates) == (len(expected), duplicates)


def test_a_fact_has_what_its_best_observation_has(bench: Bench) -> None:
    rows = [
        seen(bench, 1, SHORT, kind="note", happened_at=3, space="project:mill"),
        seen(bench, 2, BEST, kind="error", happened_at=5, space="project:mill"),
    ]
    run(bench, rows)
    (fact,) = facts(bench)
    assert (fact["category"], fact["happened_at"], fact["space"]) == ("error", 5, "project:mill")
    assert (fact["origin_id"], fact["agent_id"]) == (rows[1]["id"], "ada")
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        edits = reading.find(EDIT, Query(equal={"row_id": fact["id"], "cell": "fact_text"}))
    reasons = sorted(str(edit["reason"]) for edit in edits)
    assert reasons == [
        f"consolidated from {rows[1]['id']}, {rows[0]['id']}",
        f"consolidated with {rows[1]['id']}",
    ]


def test_of_equally_good_words_the_newest_are_taken(bench: Bench) -> None:
    rows = [seen(bench, 1, BEST), seen(bench, 2, BEST)]
    done = run(bench, rows)
    assert done.facts[0][1].sources[0]["id"] == rows[1]["id"]


@pytest.mark.parametrize(
    ("one", "other", "count"),
    [
        ({"space": "project:mill"}, {"space": "project:mill"}, 1),
        ({"space": "project:mill"}, {"space": "project:metal"}, 2),
        ({"space": None}, {"space": "project:metal"}, 2),
    ],
    ids=["same space", "two spaces", "shared and a space"],
)
def test_what_two_spaces_say_becomes_a_fact_of_each(
    bench: Bench, one: Any, other: Any, count: int
) -> None:
    run(bench, [seen(bench, 1, BEST, **one), seen(bench, 2, BEST, **other)])
    assert {fact["space"] for fact in facts(bench)} == {one["space"], other["space"]}
    assert len(facts(bench)) == count


@pytest.mark.parametrize(
    ("ends", "expected", "sources"),
    [
        ((None, 9_000), None, 1),
        ((8_000, 9_000), 9_000, 1),
        ((9_000, 9_000), 9_000, 2),
        ((None, None), None, 2),
    ],
    ids=["one lasts", "the later", "equal", "both last"],
)
def test_a_fact_lasts_as_long_as_the_observations_it_names(
    bench: Bench, ends: tuple[int | None, int | None], expected: int | None, sources: int
) -> None:
    rows = [seen(bench, number, BEST, expires_at=end) for number, end in enumerate(ends)]
    done = run(bench, rows)
    (fact,) = facts(bench)
    assert (fact["expires_at"], len(done.facts[0][1].sources)) == (expected, sources)


# Never twice


@pytest.mark.parametrize("then", ["nothing", "retracted", "reworded", "archived"])
def test_a_second_run_adds_nothing_whatever_became_of_the_fact(bench: Bench, then: str) -> None:
    rows = [seen(bench, 1, SHORT), seen(bench, 2, BEST)]
    ((fact_id, _),) = run(bench, rows).facts
    if then == "retracted":
        remove(bench.repo, bench.branch(), Removal([fact_id]), ADA)
    elif then != "nothing":
        columns = {"fact_text": "New."} if then == "reworded" else {"status": "archived"}
        update(bench.repo, bench.branch(), Correction(fact_id, columns), ADA)
    before = len(facts(bench))
    again = run(bench, rows)
    assert (again.facts, again.duplicates, len(facts(bench))) == ([], 2, before)


@pytest.mark.parametrize(
    ("text", "space", "is_new"),
    [(SHORT, None, False), (BEST, None, False), (BEST, "project:mill", True), (OTHER, None, True)],
    ids=["alike", "equal", "another space", "another text"],
)
def test_a_later_observation_of_a_retracted_fact_brings_it_back_only_elsewhere(
    bench: Bench, text: str, space: str | None, is_new: bool
) -> None:
    first = seen(bench, 1, BEST)
    ((fact_id, _),) = run(bench, [first]).facts
    remove(bench.repo, bench.branch(), Removal([fact_id]), ADA)
    later = seen(bench, 2, text, space=space)
    assert bool(run(bench, [first, later]).facts) is is_new


@pytest.mark.parametrize(
    ("columns", "is_new"),
    [
        ({}, False),
        ({"status": "archived"}, True),
        ({"valid_until": 1_500}, True),
        ({"valid_until": 900_000}, False),
        ({"sensitivity": "secret"}, True),
        ({"space": "project:mill"}, True),
    ],
    ids=["active", "archived", "was true", "is true for long", "secret", "another space"],
)
def test_what_an_active_fact_says_is_no_news(
    bench: Bench, columns: dict[str, Any], is_new: bool
) -> None:
    bench.add("fact_a", BEST)
    if columns:
        with bench.store.changing(MAIN) as work:
            work.change(FACT, "fact_a", columns)
            work.commit(Message("change", "by hand"))
    bench.now = 2_000
    assert bool(run(bench, [seen(bench, 1, BEST)]).facts) is is_new


@pytest.mark.parametrize(
    ("text", "space", "is_new"),
    [(SHORT, None, False), (OTHER, None, True), (SHORT, "project:mill", True)],
    ids=["alike", "another", "alike in another space"],
)
def test_what_is_alike_to_an_active_fact_by_its_vector_is_no_news(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, text: str, space: str | None, is_new: bool
) -> None:
    monkeypatch.setattr(consolidating, "said_by_facts", lambda *_: {(None, SHORT)})
    assert bool(run(bench, [seen(bench, 1, text, space=space)]).facts) is is_new


def test_two_branches_make_one_fact_of_the_same_observations(bench: Bench) -> None:
    rows = [seen(bench, 1, BEST)]
    side = bench.fork("side")
    ids = [run(bench, rows, branch).facts[0][0] for branch in (bench.branch(), side)]
    assert ids[0] == ids[1]


def test_a_branch_that_was_closed_meanwhile_takes_no_fact(bench: Bench) -> None:
    rows, side = [seen(bench, 1, BEST)], bench.fork("side")
    mark(bench.repo, side, closed=True)
    with pytest.raises(BranchClosed):
        run(bench, rows, side)


def test_a_stopped_consolidation_adds_nothing(bench: Bench) -> None:
    done = run(bench, [seen(bench, 1, BEST)], stopped=lambda: True)
    assert (done.facts, done.notes) == ([], ["Stopped: nothing was added."])
    assert facts(bench) == []


# Words of a chat model

EACH = "The gateway restarts each 45 seconds."


@pytest.mark.parametrize(
    ("texts", "sentence", "expected", "asked", "strayed"),
    [
        ([f"{SHORT} again", BEST], EACH, EACH, 1, 0),
        ([BEST, BEST], EACH, BEST, 0, 0),
        ([f"{SHORT} again", BEST], "The gateway restarts every 99 seconds.", BEST, 1, 1),
        ([f"{SHORT} again", BEST], "", BEST, 1, 1),
    ],
    ids=["reworded", "one text", "strayed", "nothing"],
)
def test_a_chat_model_words_what_several_texts_say_and_no_more(
    bench: Bench, texts: list[str], sentence: str, expected: str, asked: int, strayed: int
) -> None:
    chat = Chat(sentence)
    done = run(bench, [seen(bench, n, text) for n, text in enumerate(texts)], chat=chat)
    assert [fact["fact_text"] for fact in facts(bench)] == [expected]
    assert (len(chat.asked), len([n for n in done.notes if "strayed" in n])) == (asked, strayed)


def test_where_the_chat_model_fails_the_best_text_stays(bench: Bench) -> None:
    rows = [seen(bench, 1, f"{SHORT} again"), seen(bench, 2, BEST)]
    done = run(bench, rows, chat=Chat("x", fails_after=0))
    assert [fact["fact_text"] for fact in facts(bench)] == [BEST]
    assert "chat does not answer: the best-worded text was taken." in done.notes


def test_a_chat_model_is_asked_for_the_first_facts_only(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consolidating, "_MAX_SENTENCES", 1)
    rows = [
        seen(bench, number, text)
        for number, text in enumerate(
            (f"{SHORT} again", BEST, "Backups of the mill run at night now.", OTHER)
        )
    ]
    progress: list[tuple[int, int | None]] = []
    chat = Chat("x")
    done = run(bench, rows, chat=chat, report=lambda *at: progress.append(at))
    assert (len(chat.asked), progress) == (1, [(0, 1)])
    assert "chat worded the first 1 of 2 facts." in done.notes
