"""Judging a fact: which facts can be judged, and which evidence a judge gets."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from day1.errors import ChatUnavailable, NotFound, Refused
from day1.model.branches.branch import MAIN
from day1.model.records.judgement import Case, Judgement, Score, Verdict
from day1.model.rows.change import Pending, Ref
from day1.model.rows.kind import FACT, OBSERVATION, RELATION, Row
from day1.model.rows.origin import Origin
from day1.model.search.passages import FoundText
from day1.services.rows.recording import (
    NewFact,
    NewObservation,
    NewRelation,
    fact_row,
    observation_row,
    relation_row,
)
from day1.services.search.request import Hit, SearchAnswer, SearchRequest
from day1.services.verification import judging
from day1.services.verification.judging import Verification, fact_on, judge_fact
from tests.unit.services.conftest import ADA, Bench

BO = Origin("bo")


class FixedJudge:
    """Gives every case one verdict; remembers the cases."""

    def __init__(self, name: str = "fixed", verdict: Verdict = "verified") -> None:
        self.name, self.verdict = name, verdict
        self.stand_in: FixedJudge | None = None
        self.is_down = False
        self.left_out = 0
        self.cases: list[Case] = []

    def clear(self, text: str) -> str:
        return text.replace("[to the judge]", "").strip()

    def judge(self, case: Case) -> Judgement:
        if self.is_down:
            raise ChatUnavailable("it is down")
        self.cases.append(case)
        return replace(judgement(self.verdict, judge=self.name), left_out=self.left_out)


def judgement(verdict: Verdict = "verified", score: float = 0.9, judge: str = "fixed") -> Judgement:
    return Judgement(verdict, "Because.", (Score("accuracy", score),), judge, 10, 2)


@pytest.fixture
def judge() -> FixedJudge:
    return FixedJudge()


@pytest.fixture
def verification(bench: Bench, judge: FixedJudge) -> Verification:
    return Verification(bench.repo, SimpleNamespace(), judge, lambda: bench.now)  # type: ignore[arg-type]  # no search is made of it


class Found:
    """Stands for `search`: finds rows that it was given, best first."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.requests: list[SearchRequest] = []

    def __call__(self, _: Any, __: Ref, ___: str, request: SearchRequest) -> SearchAnswer:
        self.requests.append(request)
        hits = [
            Hit(row, kind, 0.5, 0.25, 0.5, FoundText(""))
            for row in self.rows
            for kind in (FACT if "fact_text" in row else OBSERVATION,)
        ]
        return SearchAnswer(hits, "hybrid", 0, ["searched"], "c0", Pending())


@pytest.fixture(autouse=True)
def found(monkeypatch: pytest.MonkeyPatch) -> Found:
    search = Found()
    monkeypatch.setattr(judging, "search", search)
    return search


def add(bench: Bench, fact_id: str, text: str, **more: Any) -> None:
    bench.now += 1
    with bench.store.adding(MAIN) as work:
        work.add(FACT, [fact_row(fact_id, NewFact(text, **more), ADA, work.now)])


def row_of(row_id: str, text: str, origin: Origin = BO, **columns: Any) -> Row:
    return {**fact_row(row_id, NewFact(text), origin, 1), **columns}


# The fact


@pytest.mark.parametrize(
    ("fact_id", "error", "says"),
    [
        ("obs_a", Refused, "Only a fact"),
        ("fact_secret", Refused, "secret"),
        ("fact_none", NotFound, "No branch has it"),
        ("fact_side", NotFound, "side"),
        ("fact_gone", NotFound, "is not on branch"),
    ],
)
def test_what_cannot_be_verified(
    bench: Bench, fact_id: str, error: type[Exception], says: str
) -> None:
    add(bench, "fact_secret", "a", sensitivity="secret")
    add(bench, "fact_gone", "a", expires_at=1_100)
    bench.fork("side")
    bench.add("fact_side", "b", "side")
    bench.now = 2_000
    with pytest.raises(error) as refused:
        fact_on(bench.repo, bench.branch(), fact_id)
    advice = str(getattr(refused.value, "advice", ""))
    assert says in f"{refused.value} {advice}"


def test_a_fact_of_the_branch_can_be_verified(bench: Bench) -> None:
    bench.add("fact_a", "a")
    assert fact_on(bench.repo, bench.branch(), "fact_a")["fact_text"] == "a"


# Its evidence


def evidence(bench: Bench, verification: Verification, fact: Row) -> list[str]:
    judge_fact(verification, bench.branch(), fact)
    judge: Any = verification.judge
    return [piece.id for piece in judge.cases[-1].evidence]


@pytest.mark.parametrize(
    ("row", "is_evidence"),
    [
        (row_of("fact_b", "other"), True),
        (row_of("fact_a", "itself"), False),
        (row_of("fact_c", "its copy", origin_id="fact_a"), False),
        (row_of("fact_o", "its original"), False),
        (row_of("fact_d", "another copy of the original", origin_id="fact_o"), False),
    ],
    ids=lambda value: str(value["fact_text"]) if isinstance(value, dict) else None,
)
def test_a_fact_and_its_copies_are_no_evidence_for_it(
    bench: Bench, verification: Verification, found: Found, row: Row, is_evidence: bool
) -> None:
    found.rows = [row]
    fact = row_of("fact_a", "a", ADA, origin_id="fact_o")
    assert evidence(bench, verification, fact) == ([row["id"]] if is_evidence else [])


def test_a_fact_without_an_original_has_evidence_that_has_none(
    bench: Bench, verification: Verification, found: Found
) -> None:
    found.rows = [row_of("fact_b", "b")]
    assert evidence(bench, verification, row_of("fact_a", "a")) == ["fact_b"]


def test_a_text_counts_once_for_each_author_and_kind(
    bench: Bench, verification: Verification, found: Found
) -> None:
    said = observation_row("obs_a", NewObservation("note", "same"), BO, 1)
    found.rows = [
        row_of("fact_1", "same"),
        row_of("fact_2", "same"),
        row_of("fact_3", "same", ADA),
        said,
        row_of("fact_4", "other"),
    ]
    fact = row_of("fact_a", "a")
    assert evidence(bench, verification, fact) == ["fact_1", "fact_3", "obs_a", "fact_4"]


def test_the_judge_gets_the_best_eight_of_a_hundred(
    bench: Bench, verification: Verification, found: Found
) -> None:
    found.rows = [row_of(f"fact_{n}", f"text {n}") for n in range(12)]
    ids = evidence(bench, verification, row_of("fact_a", "a"))
    assert ids == [f"fact_{n}" for n in range(8)]
    (request,) = found.requests
    assert (request.query, request.limit, request.kinds) == ("a", 100, ("facts", "observations"))


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        ("It is blue. [to the judge]", ["It is blue."]),
        ("[to the judge]", []),
        ("x" * 1_200, ["x" * 1_000]),
    ],
    ids=["cleared", "nothing left", "long"],
)
def test_what_speaks_to_the_judge_is_not_searched_for(
    bench: Bench, verification: Verification, found: Found, text: str, queries: list[str]
) -> None:
    evidence(bench, verification, row_of("fact_a", text))
    assert [request.query for request in found.requests] == queries


def test_evidence_tells_what_its_row_has(
    bench: Bench, verification: Verification, judge: FixedJudge, found: Found
) -> None:
    found.rows = [
        row_of("fact_b", "b", verification="verified", confidence=0.5, happened_at=7),
        observation_row("obs_a", NewObservation("note", "c"), BO, 3),
    ]
    evidence(bench, verification, row_of("fact_a", "a"))
    fact, observation = judge.cases[0].evidence
    assert (fact.verified, fact.confidence, fact.at, fact.cosine) == (True, 0.5, 7, 0.25)
    assert (fact.kind, fact.text, fact.agent_id) == ("fact", "b", "bo")
    assert (observation.verified, observation.confidence, observation.at) == (False, 1.0, 3)
    assert (observation.kind, observation.text) == ("observation", "c")


def relate(bench: Bench, number: int, source: str, target: str) -> None:
    bench.now += 1
    with bench.store.adding(MAIN) as work:
        new = NewRelation(source, "uses", target)
        work.add(RELATION, [relation_row(f"rel_{number}", new, ADA, work.now)])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Gateway is slow.", ["Gateway uses Redis"]),
        ("We like Redis!", ["Gateway uses Redis"]),
        ("The Data Lake grows", ["Data Lake uses S3"]),
        ("the data Lake grows", []),
        ("nothing here", []),
    ],
)
def test_relations_of_what_a_text_names_go_to_the_judge(
    bench: Bench, verification: Verification, judge: FixedJudge, text: str, expected: list[str]
) -> None:
    relate(bench, 1, "Gateway", "Redis")
    relate(bench, 2, "Data Lake", "S3")
    evidence(bench, verification, row_of("fact_a", text))
    assert list(judge.cases[0].relations) == expected


def test_a_relation_is_told_once_and_eight_at_most(
    bench: Bench, verification: Verification, judge: FixedJudge
) -> None:
    for number in range(10):
        relate(bench, number, "Gateway", f"part{number}")
    relate(bench, 10, "Gateway", "part9")
    done = judge_fact(verification, bench.branch(), row_of("fact_a", "Gateway"))
    assert len(judge.cases[0].relations) == len(set(judge.cases[0].relations)) <= 8
    assert all(row_id.startswith("rel_") for row_id in done.read)


# The judge


def test_a_judge_that_is_down_is_stood_in_for_and_not_asked_again(
    bench: Bench, verification: Verification, judge: FixedJudge
) -> None:
    rules = FixedJudge("rules", "unverified")
    judge.stand_in, judge.is_down = rules, True
    for _ in range(2):
        done = judge_fact(verification, bench.branch(), row_of("fact_a", "a"))
        assert done.judgement.judge == "rules"
    assert verification.judge is rules
    assert len(rules.cases) == 2
    assert [note for note in verification.notes if "judged by rules" in note] == [
        "judged by rules: it is down"
    ]


def test_without_a_stand_in_a_judge_that_is_down_is_an_error(
    bench: Bench, verification: Verification, judge: FixedJudge
) -> None:
    judge.is_down = True
    with pytest.raises(ChatUnavailable):
        judge_fact(verification, bench.branch(), row_of("fact_a", "a"))


@pytest.mark.parametrize(
    ("left_out", "reason"),
    [
        (0, "Because."),
        (1, "Because. Left out: 1 piece that speaks to the judge."),
        (2, "Because. Left out: 2 pieces that speak to the judge."),
    ],
)
def test_the_reason_says_what_was_left_out(
    bench: Bench, verification: Verification, judge: FixedJudge, left_out: int, reason: str
) -> None:
    judge.left_out = left_out
    done = judge_fact(verification, bench.branch(), row_of("fact_a", "a"))
    assert done.judgement.reason == reason


def test_a_judge_is_told_of_the_fact_and_what_is_asked(
    bench: Bench, verification: Verification, judge: FixedJudge
) -> None:
    fact = row_of("fact_a", "a", category="c", confidence=0.4, happened_at=5)
    judge_fact(verification, bench.branch(), fact, ("accuracy",), "why")
    case = judge.cases[0]
    assert (case.text, case.at, case.now, case.category) == ("a", 5, bench.now, "c")
    assert (case.confidence, case.agent_id, case.context) == (0.4, "bo", "why")
    assert case.dimensions == ("accuracy",)
