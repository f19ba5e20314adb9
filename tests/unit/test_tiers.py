"""The rule of tiers: the strictest rule about any side of a change, by anybody who made it."""

import re
from pathlib import Path

import pytest

from day1.errors import InvalidRequest
from day1.model.merge.plan import MergePlan
from day1.model.merge.row_merge import PlanRow
from day1.model.merge.tiers import FIELDS, Judged, asks_who, judged, rule_of, strictest
from day1.model.rows.change import Writes
from day1.model.rows.kind import (
    CONVERSATION,
    EDIT,
    FACT,
    HELD,
    MESSAGE,
    OBSERVATION,
    RELATION,
    Cell,
    Kind,
    Row,
    cell_value,
)


def row(kind: Kind = FACT, **columns: Cell) -> Row:
    said: Row = {"agent_id": "bot", "source": "agent", "confidence": 1.0}
    blank: Row = {column: said.get(column) for column in kind.columns}
    return {**blank, **columns}


def change(
    base: Row | None, source: Row | None, target: Row | None = None, kind: Kind = FACT
) -> PlanRow:
    """A row of a plan that takes what the source has."""
    return PlanRow(kind, "fact_a", base, source, target or base, source)


def tier(rules: list[str], one: PlanRow, *edits: Row, branch: str = "side") -> Judged:
    records: Writes = {EDIT.table: {str(n): edit for n, edit in enumerate(edits)}}
    plan = MergePlan("auto", (one,), records, (), (), moves_base=True)
    return judged(plan, rules, branch)["fact_a"]


def edit(agent: str, source: str = "agent") -> Row:
    return row(EDIT, row_id="fact_a", agent_id=agent, source=source)


NEW = change(None, row(category="note"))


@pytest.mark.parametrize(
    ("rule", "about"),
    [
        ("none", True),
        ("none category=note", True),
        ("none category=NOTE,other", True),
        ("none category=no*", True),
        ("none category=policy", False),
        ("none agent=b?t kind=fact source=agent change=new branch=side", True),
        ("none agent=b?t kind=observation", False),
        ("none change=removed", False),
        ("none branch=task/*", False),
        ("none space=*", False),
        ("none confidence>=1", True),
        ("none confidence>0.9", True),
        ("none confidence>1", False),
        ("none confidence<=1", True),
        ("none confidence<1", False),
    ],
)
def test_a_rule_is_about_what_fulfils_all_its_conditions(rule: str, about: bool) -> None:
    found = tier([rule], NEW)
    assert found == (Judged("none", rule.lower()) if about else Judged("one", found.why))
    assert about or found.why == "no rule applies to it"


def test_of_rules_that_overlap_the_strictest_counts_whatever_their_order() -> None:
    rules = ["none category=note", "two agent=bot", "one kind=fact"]
    for order in (rules, rules[::-1]):
        assert tier(order, NEW) == Judged("two", "two agent=bot")
    assert tier(["none", "one agent=nobody"], NEW).tier == "none"


def test_no_rule_means_a_look() -> None:
    assert tier([], NEW) == Judged("one", "no rule applies to it")


@pytest.mark.parametrize(("before", "after"), [("policy", "note"), ("note", "policy")])
def test_what_leaves_or_enters_a_category_is_of_both(before: str, after: str) -> None:
    moved = change(row(category=before), row(category=after))
    assert tier(["none category=note", "two category=policy"], moved, edit("bot")).tier == "two"
    removed = change(row(category=before), None)
    found = tier(["none category=note", "two category=policy"], removed, edit("bot"))
    assert found.tier == ("two" if before == "policy" else "none")


def test_what_the_target_has_by_now_counts_too() -> None:
    moved = change(row(category="note"), row(category="note"), row(category="policy"))
    assert tier(["none category=note", "two category=policy"], moved, edit("bot")).tier == "two"


def test_everybody_who_made_a_change_counts() -> None:
    """A trusted agent's own fact that another edited is both of theirs."""
    rules = ["none agent=bot"]
    assert tier(rules, NEW).tier == "none"
    assert tier(rules, NEW, edit("eve")) == Judged("one", "no rule applies to it")
    old = change(row(agent_id="bot"), row(agent_id="bot", category="x"))
    assert tier(rules, old, edit("eve")).tier == "one"
    assert tier(rules, change(row(agent_id="eve"), row(agent_id="eve")), edit("bot")).tier == (
        "none"
    ), "who changed it, not who wrote it once"
    assert tier(rules, change(row(), None)).tier == "one", "nobody says who removed it"


MOVED = change(row(category="note"), row(category="x", confidence=0.5))
"""A fact of which two cells changed."""


def told(cell: str, value: Cell = None) -> Row:
    """An edit by the agent `bot` of a cell; without a value, of the cell as the source has it."""
    source = MOVED.source or {}
    given = cell_value(FACT, source, cell) if value is None and cell != "*" else value
    return edit("bot") | {"cell": cell, "value": given}


@pytest.mark.parametrize(
    ("one", "edits", "expected"),
    [
        (MOVED, [told("category"), told("confidence")], "none"),
        (MOVED, [told("category")], "one"),
        (MOVED, [told("category"), told("confidence", "older")], "one"),
        (MOVED, [told("category"), told("confidence"), edit("eve")], "one"),
        (MOVED, [], "one"),
        (change(row(), None), [told("*")], "none"),
        (change(row(), None), [told("category")], "one"),
        (change(row(), None), [], "one"),
    ],
)
def test_a_change_that_edits_do_not_cover_has_an_unknown_writer(
    one: PlanRow, edits: list[Row], expected: str
) -> None:
    assert tier(["none agent=bot"], one, *edits).tier == expected


@pytest.mark.parametrize(
    ("rules", "brought", "expected"),
    [
        (["none agent=bot"], set(), "none"),
        (["none agent=bot"], {"fact_a"}, "one"),
        (["none source=import"], {"fact_a"}, "one"),
        (["none source=import,agent"], {"fact_a"}, "none"),
        (["none source=import,agent", "two source=import"], {"fact_a"}, "two"),
        (["none source=import,agent", "two source=import"], {"edit_1"}, "two"),
        (["none source=import,agent", "two source=import"], {"edit_2", "fact_b"}, "none"),
    ],
)
def test_rows_and_edits_of_a_file_are_also_imported(
    rules: list[str], brought: set[str], expected: str
) -> None:
    """The origin of a row in a file is only what the file says."""
    records: Writes = {EDIT.table: {"edit_1": edit("bot") | {"id": "edit_1"}, "edit_2": None}}
    plan = MergePlan("auto", (NEW,), records, (), (), moves_base=True)
    assert judged(plan, rules, "side", brought)["fact_a"].tier == expected


@pytest.mark.parametrize(
    ("items", "rules", "expected"),
    [
        ({"held_2": "held_1"}, ["none"], {"fact_a": "none", "fact_b": "one"}),
        ({"held_1": None}, ["none"], {"fact_a": "none"}),
        ({"held_1": None, "held_2": "held_1"}, ["none"], {"fact_a": "none"}),
        ({"held_2": "held_1"}, ["two"], {"fact_a": "two", "fact_b": "one"}),
    ],
)
def test_deciding_what_the_target_holds_needs_a_look(
    items: dict[str, str | None], rules: list[str], expected: dict[str, str]
) -> None:
    held = {name: row(HELD, row_id="fact_b", closes=closes) for name, closes in items.items()}
    records: Writes = {HELD.table: {**held, "held_gone": None}}
    plan = MergePlan("auto", (NEW,), records, (), (), moves_base=True)
    tiers = judged(plan, rules, "side")
    assert {row_id: found.tier for row_id, found in tiers.items()} == expected
    assert all(
        tiers[row_id].why == "its held items were decided on the source branch"
        for row_id in expected.keys() - {"fact_a"}
    )


def test_a_closed_item_of_a_changed_row_raises_its_tier() -> None:
    records: Writes = {HELD.table: {"held_2": row(HELD, row_id="fact_a", closes="held_1")}}
    plan = MergePlan("auto", (NEW,), records, (), (), moves_base=True)
    assert judged(plan, ["none"], "side")["fact_a"].tier == "one"
    assert judged(plan, ["two"], "side")["fact_a"] == Judged("two", "two")


@pytest.mark.parametrize(
    ("rules", "asked"),
    [
        ([], False),
        (["none", "two category=agent space=source"], False),
        (["none", "two category=x agent=bot"], True),
        (["one source=import", "two"], True),
    ],
)
def test_who_made_a_change_is_looked_up_only_for_rules_about_it(
    rules: list[str], asked: bool
) -> None:
    assert asks_who(rules) is asked


@pytest.mark.parametrize(
    ("kind", "columns", "rule", "about"),
    [
        (FACT, {"space": "project:a"}, "two space=project:*", True),
        (FACT, {"space": "project:a"}, "two space=user:*", False),
        (FACT, {"agent_id": "Bot"}, "two agent=bot", True),
        (FACT, {"confidence": 0.5}, "two confidence>=0.5", True),
        (FACT, {"confidence": 0.5}, "two confidence<0.5", False),
        (RELATION, {"relation_type": "needs"}, "two category=needs", True),
        (CONVERSATION, {"title": "needs"}, "two category=*", False),
        (OBSERVATION, {}, "two confidence<=1", False),
        (MESSAGE, {"role": "tool"}, "two category=user", False),
    ],
)
def test_a_condition_compares_the_column_of_its_field(
    kind: Kind, columns: dict[str, Cell], rule: str, about: bool
) -> None:
    whole = {"confidence": None} if kind is not FACT else {}
    new = change(None, row(kind, **whole, **columns), kind=kind)
    assert tier([rule], new).tier == ("two" if about else "one")


def test_what_is_in_conflict_or_was_decided_needs_a_look_at_least() -> None:
    held = change(row(), row(category="x"), row(category="y"))
    held.held["category"] = "both_changed"
    assert tier(["none"], held) == Judged("one", "it is in conflict")
    decided = change(None, row())
    decided.decided["*"] = "theirs"
    assert tier(["none"], decided) == Judged("one", "it was decided for this merge")
    assert tier(["two"], decided).tier == "two"


def test_the_sort_of_other_memories_is_their_category() -> None:
    for kind, column, sort in (
        (OBSERVATION, "observation_type", "decision"),
        (MESSAGE, "role", "user"),
    ):
        new = change(None, row(kind, **{column: sort}), kind=kind)
        assert tier([f"two category={sort}"], new).tier == "two"
        assert tier([f"two kind={kind.name} confidence>=0"], new).tier == "one"


def test_a_plan_has_the_strictest_tier_of_its_rows_and_without_any_none() -> None:
    assert strictest([]) == Judged("none", "nothing changes")
    found = [Judged("one", "a"), Judged("two", "b"), Judged("two", "c"), Judged("none", "d")]
    assert strictest(found) == Judged("two", "b")
    assert [one.looks for one in found] == [1, 2, 2, 0]


@pytest.mark.parametrize(
    "rule",
    [
        "",
        "three",
        "category=note",
        "one category",
        "one category=",
        "one category=a,,b",
        "one colour=red",
        "one category>=1",
        "one confidence=0.5",
        "one confidence>=high",
        "one confidence>=2",
        "one confidence>=nan",
        "one confidence>=0.1,0.2",
        "one kind=facts",
        "one change=moved",
        "one source=robot",
        "one category='x",
        "one category=a\ncategory=b",
    ],
)
def test_what_is_no_rule_is_refused_and_says_what_one_is(rule: str) -> None:
    with pytest.raises(InvalidRequest, match="A rule is a tier") as caught:
        rule_of(rule)
    assert caught.value.details == {"rule": rule}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("Two  Category=A,b   agent=bot-*", "two category=a,b agent=bot-*"),
        ("Look 'category=on call'", "one 'category=on call'"),
        ('one category="on call"', "one 'category=on call'"),
        ("unseen kind=fact", "none kind=fact"),
        ("one space=project:a>b", "one space=project:a>b"),
        ("none", "none"),
    ],
)
def test_a_rule_is_kept_in_one_way_which_reads_the_same(given: str, kept: str) -> None:
    assert str(rule_of(given)) == kept
    assert str(rule_of(kept)) == kept


def test_the_documented_rules_are_rules_and_every_condition_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reviews.md").read_text("utf-8")
    section = page.partition("## Tiers\n")[2].partition("\n## ")[0]
    rules = re.findall(r'--tier "([^"]+)"', section)
    assert len(rules) == 4
    for rule in (*rules, "one 'category=on call'", "none source=user"):
        assert rule in section
        assert str(rule_of(rule)) == rule
    rows = re.findall(r"^\| (`.+) \| .+ \|$", section, re.MULTILINE)
    conditions = [said for row in rows for said in re.findall(r"`(\w+[=<>].+?)`", row)]
    assert str(rule_of("one " + " ".join(conditions))).split()[1:] == conditions
    assert {re.split("[=<>]", one)[0] for one in conditions} == {*FIELDS, "confidence"}
