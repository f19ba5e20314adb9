"""Verdicts: which ones are written, and what a batch of facts does."""

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from day1.errors import BranchClosed, ChatUnavailable
from day1.model.branches.branch import MAIN
from day1.model.records.judgement import Judgement
from day1.model.redaction.basis import VERDICT_BASIS
from day1.model.rows.change import Pending, Query, Ref
from day1.model.rows.kind import EDIT, FACT
from day1.services.branches.notes import mark
from day1.services.rows.editing import Correction, update
from day1.services.rows.recording import (
    NewFact,
    fact_row,
)
from day1.services.search.request import SearchAnswer, SearchRequest
from day1.services.verification import batches, judging
from day1.services.verification.judging import JudgedFact, Verification
from day1.services.verification.verdicts import write_verdicts
from tests.unit.services.conftest import ADA, Bench
from tests.unit.services.test_verification import FixedJudge, judgement


@pytest.fixture
def judge() -> FixedJudge:
    return FixedJudge()


@pytest.fixture
def verification(bench: Bench, judge: FixedJudge, monkeypatch: pytest.MonkeyPatch) -> Verification:
    def search(_: Any, __: Ref, ___: str, request: SearchRequest) -> SearchAnswer:
        return SearchAnswer([], request.mode, 0, [], "c0", Pending())

    monkeypatch.setattr(judging, "search", search)
    return Verification(bench.repo, SimpleNamespace(), judge, lambda: bench.now)  # type: ignore[arg-type]  # no search is made of it


def add(bench: Bench, fact_id: str, text: str, **more: Any) -> None:
    bench.now += 1
    with bench.store.adding(MAIN) as work:
        work.add(FACT, [fact_row(fact_id, NewFact(text, **more), ADA, work.now)])


def write(bench: Bench, fact_id: str, verdict: Judgement, read: tuple[str, ...] = ()) -> Any:
    judged = JudgedFact(bench.present(fact_id), verdict, read)
    return write_verdicts(bench.repo, bench.branch(), [judged], ADA)


def test_a_verdict_is_one_commit_with_scores_and_reason(bench: Bench) -> None:
    bench.add("fact_a", "a")
    done = write(bench, "fact_a", judgement(), ("fact_b",))
    row = bench.present("fact_a")
    assert row["verification"] == "verified"
    assert json.loads(str(row["scores"])) == {
        "judge": "fixed",
        "reason": "Because.",
        "scores": [{"dimension": "accuracy", "score": 0.9, "reason": None}],
    }
    commit = next(bench.store.history.log(MAIN))
    assert (commit.id, commit.op, commit.line) == (
        done.commit,
        "change",
        "verify fact fact_a: verified",
    )
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        edits = reading.find(EDIT, Query(equal={"row_id": "fact_a"}))
    assert {edit["reason"] for edit in edits if edit["cell"] == "verification"} == {"Because."}
    basis = [edit for edit in edits if edit["cell"] == VERDICT_BASIS]
    assert ["fact_b" in str(edit) for edit in basis] == [True]


def test_a_verdict_without_evidence_has_no_basis(bench: Bench) -> None:
    bench.add("fact_a", "a")
    write(bench, "fact_a", judgement())
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        cells = {edit["cell"] for edit in reading.find(EDIT, Query())}
    assert VERDICT_BASIS not in cells


@pytest.mark.parametrize(
    ("again", "is_new"),
    [
        (judgement(), False),
        (replace(judgement(), reason="Otherwise."), False),
        (judgement("unverified"), True),
        (judgement(score=0.8), True),
        (judgement(judge="other"), True),
        (replace(judgement(), scores=()), True),
    ],
    ids=["same", "other reason", "other verdict", "other score", "other judge", "no scores"],
)
def test_only_a_new_verdict_is_written(bench: Bench, again: Judgement, is_new: bool) -> None:
    bench.add("fact_a", "a")
    before = write(bench, "fact_a", judgement()).commit
    assert (write(bench, "fact_a", again).commit != before) is is_new


@pytest.mark.parametrize("scores", [None, "[]", '"text"', '{"judge": "other"}'])
def test_scores_of_another_program_are_no_verdict(bench: Bench, scores: str | None) -> None:
    bench.add("fact_a", "a")
    columns = {"verification": "verified", "scores": scores}
    update(bench.repo, bench.branch(), Correction("fact_a", columns), ADA)
    before = bench.store.tips[MAIN]
    assert write(bench, "fact_a", judgement()).commit != before


@pytest.mark.parametrize("is_gone", [False, True], ids=["changed", "gone"])
def test_a_fact_that_changed_while_it_was_judged_is_left(bench: Bench, is_gone: bool) -> None:
    bench.add("fact_a", "a")
    bench.add("fact_b", "b")
    judged = [JudgedFact(bench.present(i), judgement()) for i in ("fact_a", "fact_b")]
    if is_gone:
        judged[0] = replace(judged[0], row={**judged[0].row, "id": "fact_gone"})
    else:
        update(bench.repo, bench.branch(), Correction("fact_a", {"fact_text": "c"}), ADA)
    done = write_verdicts(bench.repo, bench.branch(), judged, ADA)
    assert done.left == ("fact_gone" if is_gone else "fact_a",)
    assert bench.present("fact_a")["verification"] == "unverified"
    assert bench.present("fact_b")["verification"] == "verified"
    assert next(bench.store.history.log(MAIN)).line == "verify fact fact_b: verified"
    alone = write_verdicts(bench.repo, bench.branch(), judged[:1], ADA)
    assert (alone.left, alone.commit) == (done.left, done.commit)


def test_many_verdicts_are_one_commit(bench: Bench) -> None:
    for name in "abc":
        bench.add(f"fact_{name}", name)
    judged = [JudgedFact(bench.present(f"fact_{name}"), judgement()) for name in "abc"]
    done = write_verdicts(bench.repo, bench.branch(), judged, ADA)
    assert (done.pending.count, done.left) == (0, ())
    assert next(bench.store.history.log(MAIN)).line == "verify 3 facts"


def test_a_branch_that_was_closed_meanwhile_takes_no_verdict(bench: Bench) -> None:
    bench.fork("side")
    bench.add("fact_a", "a", "side")
    branch, fact = bench.branch("side"), bench.present("fact_a", "side")
    mark(bench.repo, branch, closed=True)
    with pytest.raises(BranchClosed):
        write_verdicts(bench.repo, branch, [JudgedFact(fact, judgement())], ADA)


# A batch


class Batch:
    """Runs a batch, and notes its progress; it may be stopped before a turn."""

    def __init__(self, verification: Verification, stop_at: int | None = None) -> None:
        self.verification, self.stop_at = verification, stop_at
        self.progress: list[tuple[int, int | None]] = []

    def run(self, bench: Bench, limit: int = 100, **equal: Any) -> batches.VerifiedBatch:
        watch = batches.BatchWatch(
            lambda done, total: self.progress.append((done, total)),
            lambda: self.stop_at is not None and len(self.progress) >= self.stop_at,
        )
        selection = batches.FactSelection(equal, limit)
        return batches.verify_many(self.verification, bench.branch(), selection, ADA, watch)


@pytest.mark.parametrize(
    ("limit", "expected", "remaining"), [(1, "c", 1), (2, "ca", 0), (3, "cad", 0), (9, "cadb", 0)]
)
def test_facts_that_no_judge_saw_come_first_and_the_newest_before_all(
    bench: Bench,
    verification: Verification,
    judge: FixedJudge,
    limit: int,
    expected: str,
    remaining: int,
) -> None:
    for name in "abcd":
        bench.add(f"fact_{name}", name)
    add(bench, "fact_s", "secret", sensitivity="secret")
    bench.add("fact_t", "judged, then secret")
    for name in "bdt":
        write(bench, f"fact_{name}", judgement("unverified"))
    hidden = Correction("fact_t", {"sensitivity": "secret"})
    update(bench.repo, bench.branch(), hidden, ADA)
    done = Batch(verification).run(bench, limit)
    assert "".join(case.text for case in judge.cases) == expected
    assert done.remaining == remaining


def test_a_batch_counts_verdicts_tokens_and_what_is_left(
    bench: Bench, verification: Verification
) -> None:
    for number in range(3):
        add(bench, f"fact_{number}", f"text {number}", category="x")
    add(bench, "fact_y", "other", category="y")
    batch = Batch(verification)
    done = batch.run(bench, 2, category="x")
    assert (done.verdicts, done.judges) == ({"verified": 2}, {"fixed": None})
    assert (done.prompt_tokens, done.completion_tokens) == (20, 4)
    assert (done.remaining, done.errors, done.stopped) == (1, 0, False)
    assert batch.progress == [(1, 2), (2, 2)]


@pytest.mark.parametrize(("facts", "commits"), [(15, 1), (16, 1), (17, 2), (32, 2)])
def test_verdicts_are_written_sixteen_at_once(
    bench: Bench, verification: Verification, facts: int, commits: int
) -> None:
    for number in range(facts):
        bench.add(f"fact_{number:02}", f"text {number}")
    Batch(verification).run(bench)
    lines = [commit.line for commit in bench.store.history.log(MAIN)]
    assert len([line for line in lines if line.startswith("verify")]) == commits


def test_a_stopped_batch_keeps_what_was_judged(bench: Bench, verification: Verification) -> None:
    for number in range(3):
        bench.add(f"fact_{number}", f"text {number}")
    done = Batch(verification, stop_at=2).run(bench)
    assert (done.stopped, done.verdicts, done.remaining) == (True, {"verified": 2}, 1)


def test_a_batch_whose_judge_fails_keeps_what_was_judged(
    bench: Bench, verification: Verification, judge: FixedJudge
) -> None:
    for number in range(3):
        bench.add(f"fact_{number}", f"text {number}")

    def fail(done: int, _: int | None) -> None:
        judge.is_down = done == 2

    watch = batches.BatchWatch(fail, lambda: False)
    with pytest.raises(ChatUnavailable):
        batches.verify_many(verification, bench.branch(), batches.FactSelection({}, 9), ADA, watch)
    states = [bench.present(f"fact_{n}")["verification"] for n in range(3)]
    assert sorted(map(str, states)) == ["unverified", "verified", "verified"]


def test_a_fact_that_changes_in_a_batch_is_counted_as_an_error(
    bench: Bench, verification: Verification
) -> None:
    for number in range(2):
        bench.add(f"fact_{number}", f"text {number}")

    def change(done: int, _: int | None) -> None:
        if done == 1:
            update(bench.repo, bench.branch(), Correction("fact_0", {"fact_text": "new"}), ADA)

    watch = batches.BatchWatch(change, lambda: False)
    done = batches.verify_many(
        verification, bench.branch(), batches.FactSelection({}, 9), ADA, watch
    )
    assert (done.errors, done.verdicts) == (1, {"verified": 1})
