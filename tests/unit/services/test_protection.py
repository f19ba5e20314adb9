"""Protection: what a merge into a protected branch must fulfil, and who set that."""

import re
from dataclasses import replace

import pytest

from day1.errors import Advice, BranchProtected, InvalidRequest, UnknownBranch
from day1.model.branches.branch import MAIN
from day1.model.branches.protection_change import ProtectionChange
from day1.model.merge.row_merge import Choice, Take
from day1.model.records.review import Approval, Decision, Review
from day1.model.values.tiers import TIERS, stored_rule
from day1.services.branches import deleting
from day1.services.merges.protection import (
    Merger,
    Protector,
    changes_of,
    guard,
    lacking,
    protect,
    tiers_of,
)
from tests.unit.services.conftest import Bench
from tests.unit.services.writers import SIDE, commit, plan, token_of, write

NONE, ONE, TWO = TIERS
RULES = (f"{NONE} category=note", f"{TWO} category=policy")


@pytest.fixture(autouse=True)
def side(bench: Bench) -> None:
    bench.fork(SIDE)


def set_(bench: Bench, *requires: str, rules: tuple[str, ...] | None = None) -> None:
    bench.now += 1
    protect(bench.repo, bench.branch(), requires, rules)


def now_required(bench: Bench) -> tuple[tuple[str, ...], tuple[str, ...]]:
    branch = bench.branch()
    return branch.protection, branch.rules


def missing(bench: Bench, by: Merger, *choices: Choice) -> list[str]:
    """Which requirements a merge of the side branch into main lacks."""
    sides = bench.branch(SIDE), bench.branch()
    return list(lacking(bench.repo, by, *sides, plan(bench, *choices).plan))


def numbers(why: Advice) -> list[int]:
    """The numbers in a text."""
    return [int(word) for word in re.findall(r"\d+", str(why))]


def review(bench: Bench, *approvals: Approval, take: Take | None = None) -> Review:
    """A review that Opal opened, in which Dan decided, if anybody did."""
    sides = bench.branch(SIDE).id, bench.branch().id
    made = Review("review_1", *sides, None, None, "open", "opal", token_of("opal"), 1)
    for approval in approvals:
        made = made.with_approval(approval.token_id, approval)
    if take is None:
        return made
    return made.with_decisions([Decision("fact_a", "*", take, None, "dan", 1, "", token_of("dan"))])


# Setting it


@pytest.mark.parametrize(
    ("before", "asked", "after"),
    [
        (((), None), (("review",), None), (("review",), ())),
        (((), None), (("tiers", "gate", "review"), None), (("review", "gate", "tiers"), ())),
        (((), None), (("tiers",), RULES), (("tiers",), RULES)),
        (((), None), (("tiers",), (*RULES, *RULES)), (("tiers",), RULES)),
        (((), None), (("tiers",), (f"{ONE}   KIND=Fact",)), (("tiers",), (f"{ONE} kind=fact",))),
        ((("tiers",), RULES), (("tiers", "gate"), None), (("gate", "tiers"), RULES)),
        ((("tiers",), RULES), (("tiers",), ()), (("tiers",), ())),
        ((("tiers",), RULES), (("gate",), None), (("gate",), ())),
        ((("tiers",), RULES), ((), None), ((), ())),
        ((("tiers",), RULES), ((), ()), ((), ())),
    ],
)
def test_a_branch_requires_what_was_set_last(
    bench: Bench,
    before: tuple[tuple[str, ...], tuple[str, ...] | None],
    asked: tuple[tuple[str, ...], tuple[str, ...] | None],
    after: tuple[tuple[str, ...], tuple[str, ...]],
) -> None:
    for requires, rules in (before, asked):
        set_(bench, *requires, rules=rules)
    assert now_required(bench) == after


@pytest.mark.parametrize(
    ("requires", "rules"), [(("review",), RULES), ((), RULES), (("tiers",), ("sometimes",))]
)
def test_rules_without_tiers_and_what_is_no_rule_are_refused(
    bench: Bench, requires: tuple[str, ...], rules: tuple[str, ...]
) -> None:
    with pytest.raises(InvalidRequest):
        protect(bench.repo, bench.branch(), requires, rules)
    assert now_required(bench) == ((), ())
    assert changes_of(bench.repo, bench.branch()) == []


def test_a_change_of_protection_is_kept_with_who_made_it(bench: Bench) -> None:
    set_(bench, "tiers", rules=RULES)
    bench.now = 7_000
    by = Protector("ada", "token_ada", "user")
    protect(bench.repo, bench.branch(), ["gate"], by=by)
    newest, oldest = changes_of(bench.repo, bench.branch())
    assert newest == ProtectionChange(
        id=newest.id,
        branch_id=bench.branch().id,
        agent_id="ada",
        token_id="token_ada",
        source="user",
        required=("tiers",),
        tiers_before=tuple(map(stored_rule, RULES)),
        requires=("gate",),
        tiers=(),
        created_at=7_000,
    )
    assert (oldest.required, oldest.agent_id, oldest.token_id, oldest.source) == ((), *[None] * 3)


def test_what_is_required_already_is_no_change(bench: Bench) -> None:
    for _ in range(2):
        set_(bench, "review")
    assert len(changes_of(bench.repo, bench.branch())) == 1
    assert changes_of(bench.repo, bench.branch(SIDE)) == []


def test_a_branch_that_was_deleted_meanwhile_is_not_protected(bench: Bench) -> None:
    branch = bench.branch(SIDE)
    deleting.delete(bench.repo, branch, MAIN, bench.now)
    with pytest.raises(UnknownBranch):
        protect(bench.repo, branch, ["review"])


# What a merge lacks


def test_a_target_without_protection_lets_everything_pass(bench: Bench) -> None:
    write(bench, "fact_a")
    assert missing(bench, Merger(None)) == []
    set_(bench, "review", "gate", "other", "tiers")
    assert missing(bench, Merger(None)) == ["review", "gate", "other", "tiers"]


@pytest.mark.parametrize(
    ("choices", "with_review", "lacks"),
    [
        ((), False, True),
        ((), True, True),
        ((Choice("fact_a", "skip", "category"),), True, False),
        ((Choice("fact_a", "theirs", "category"),), True, False),
        ((Choice("fact_a", "theirs", "category"),), False, True),
    ],
)
def test_a_review_decides_every_conflict(
    bench: Bench, choices: tuple[Choice, ...], with_review: bool, lacks: bool
) -> None:
    for branch in (SIDE, MAIN):
        write(bench, "fact_a", branch, category=branch)
    set_(bench, "review")
    by = Merger(None, review(bench) if with_review else None, choices)
    assert missing(bench, by, *choices) == (["review"] if lacks else [])


@pytest.mark.parametrize(
    ("verdict", "lacks"), [("verified", False), ("unverified", True), ("invalidated", True)]
)
def test_a_gate_lets_verified_facts_pass(bench: Bench, verdict: str, lacks: bool) -> None:
    write(bench, "fact_a", verification=verdict)
    write(bench, "fact_b", verification="verified")
    set_(bench, "gate")
    assert missing(bench, Merger(None)) == (["gate"] if lacks else [])


def test_a_gate_counts_what_it_blocks_by_verdict(bench: Bench) -> None:
    for number, verdict in enumerate(["invalidated", "unverified", "unverified", "verified"]):
        write(bench, f"fact_{number}", verification=verdict)
    set_(bench, "gate")
    sides = bench.branch(SIDE), bench.branch()
    why = lacking(bench.repo, Merger(None), *sides, plan(bench).plan)["gate"]
    assert numbers(why) == [1, 2]


@pytest.mark.parametrize(
    ("token", "take", "lacks"),
    [
        (None, None, True),
        ("token_ann", None, True),
        ("token_opal", None, True),
        ("token_dan", None, False),
        ("token_dan", "theirs", False),
        ("token_dan", "value", True),
        ("token_dan", "delete", True),
        ("token_eve", "value", False),
    ],
)
def test_another_token_merges_than_those_that_wrote_opened_or_gave_values(
    bench: Bench, token: str | None, take: Take | None, lacks: bool
) -> None:
    write(bench, "fact_a", agent="ann")
    set_(bench, "other")
    by = Merger(token, review(bench, take=take))
    assert missing(bench, by) == (["other"] if lacks else [])


@pytest.mark.parametrize(
    ("take", "lacks"), [("value", True), ("delete", True), ("theirs", False), (None, False)]
)
def test_without_a_review_whoever_gives_a_value_is_its_author(
    bench: Bench, take: Take | None, lacks: bool
) -> None:
    write(bench, "fact_a")
    set_(bench, "other")
    value = {"category": "x"} if take == "value" else None
    choices = () if take is None else (Choice("fact_a", take, value=value),)
    assert missing(bench, Merger("token_dan"), *choices) == (["other"] if lacks else [])


def approval(agent: str, digest: str = "plan") -> Approval:
    return Approval(digest, agent, 1, token_of(agent))


@pytest.mark.parametrize(
    ("category", "approved_by", "lacks"),
    [
        ("note", [], False),
        ("other", [], True),
        ("other", ["dan"], False),
        ("other", ["ann"], True),
        ("policy", ["dan"], True),
        ("policy", ["dan", "eve"], False),
        ("policy", ["dan", "ann"], True),
    ],
)
def test_tiers_ask_for_approvals_by_others_than_the_authors(
    bench: Bench, category: str, approved_by: list[str], lacks: bool
) -> None:
    write(bench, "fact_a", agent="ann", category=category)
    write(bench, "fact_note", agent="ann", category="note")
    set_(bench, "tiers", rules=RULES)
    given = review(bench, *map(approval, approved_by))
    assert missing(bench, Merger(None, given, digest="plan")) == (["tiers"] if lacks else [])
    assert missing(bench, Merger(None, given, digest="another")) == (
        [] if category == "note" else ["tiers"]
    )
    assert missing(bench, Merger(None)) == ([] if category == "note" else ["tiers"])


def test_tiers_say_how_many_changes_and_how_many_approvals_are_missing(bench: Bench) -> None:
    for fact, category in (("fact_a", "policy"), ("fact_b", "x"), ("fact_c", "note")):
        write(bench, fact, category=category)
    set_(bench, "tiers", rules=RULES)
    sides, seen = (bench.branch(SIDE), bench.branch()), plan(bench).plan
    alone = lacking(bench.repo, Merger(None), *sides, seen)["tiers"]
    assert numbers(alone) == [2]
    by = Merger(None, review(bench, approval("dan")), digest="plan")
    why = lacking(bench.repo, by, *sides, seen)["tiers"]
    assert (numbers(why), RULES[1] in str(why)) == ([2, 1], True)


def test_a_guard_names_what_is_missing_and_lets_pass_what_is_not(bench: Bench) -> None:
    write(bench, "fact_a", verification="verified")
    set_(bench, "review", "gate")
    sides, seen = (bench.branch(SIDE), bench.branch()), plan(bench).plan
    with pytest.raises(BranchProtected) as refused:
        guard(bench.repo, Merger(None))(*sides, seen)
    assert refused.value.details["requires"] == ["review", "gate"]
    assert refused.value.details["missing"] == ["review"]
    guard(bench.repo, Merger(None, review(bench)))(*sides, seen)


# The tier of each change


def test_a_target_without_tiers_judges_nothing(bench: Bench) -> None:
    write(bench, "fact_a")
    branch = replace(bench.branch(), protection=("review",), tiers=RULES)
    assert tiers_of(bench.repo, bench.branch(SIDE), branch, plan(bench).plan) == {}


@pytest.mark.parametrize(
    ("rule", "tier"),
    [
        (f"{NONE} agent=ann", ONE),
        (f"{NONE} source=agent", ONE),
        (f"{NONE} category=c", NONE),
        (f"{NONE} branch={SIDE}", NONE),
        (f"{NONE} branch={MAIN}", ONE),
    ],
)
def test_rows_of_an_import_fulfil_no_rule_about_who_wrote_them(
    bench: Bench, rule: str, tier: str
) -> None:
    commit(bench, "import", "fact_i", category="c", agent_id="ann", source="agent")
    set_(bench, "tiers", rules=(rule,))
    found = tiers_of(bench.repo, bench.branch(SIDE), bench.branch(), plan(bench).plan)
    assert {row: judged.tier for row, judged in found.items()} == {"fact_i": tier}
