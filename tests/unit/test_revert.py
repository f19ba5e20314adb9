"""What a revert keeps together: rows that point to one another stay or go together."""

import pytest

from day1.model.merge.plan import MergePlan, Sides, plan_merge
from day1.model.merge.revert import needed
from day1.model.merge.row_merge import Choice, Take
from day1.model.rows.change import RowChange
from day1.model.rows.kind import CONVERSATION, FACT, MESSAGE, OBSERVATION, WHOLE, Row, kind_of
from day1.model.rows.origin import Origin
from day1.services.rows.recording import new_row

Change = tuple[Row | None, Row | None]
"""A row in the commit to undo, and before it."""
TEXT = {FACT: "fact_text", MESSAGE: "content", CONVERSATION: "title", OBSERVATION: "summary"}


def row(row_id: str, **columns: object) -> Row:
    kind = kind_of(row_id)
    assert kind is not None
    return new_row(kind, row_id, {TEXT[kind]: row_id, **columns}, Origin("ada"), 1)  # type: ignore[dict-item]  # cells


def superseded(fact_id: str, by: str, **columns: object) -> Row:
    return row(fact_id, status="superseded", superseded_by=by, **columns)


def message(row_id: str, conversation: str) -> Row:
    return row(row_id, conversation_id=conversation, role="user")


def reverted(changes: list[Change], target: list[Row], *choices: Choice) -> MergePlan:
    """Plan a revert; `target` holds the rows as they are now."""
    by_table: dict[str, list[RowChange]] = {}
    for commit, past in changes:
        some = commit or past
        assert some is not None
        kind = kind_of(str(some["id"]))
        assert kind is not None
        change = RowChange(str(some["id"]), commit, past)
        by_table.setdefault(kind.table, []).append(change)
    rows = {str(one["id"]): one for one in target}
    return plan_merge(Sides(by_table, {}, rows, (), (), "branch"), "revert", choices)


def take(row_id: str, how: Take = "theirs", cell: str = WHOLE) -> Choice:
    return Choice(row_id, how, cell)


def holds(plan: MergePlan) -> dict[str, tuple[dict[str, str], str | None]]:
    """By row the cells that are held, why, and the row that they belong to."""
    return {one.id: ({**one.held}, one.belongs_to) for one in plan.rows if one.held}


BELONGS = {WHOLE: "belongs_to"}


@pytest.mark.parametrize(
    ("pointing", "pointed"),
    [
        (superseded("fact_a", "fact_b"), row("fact_b")),
        (message("msg_a", "conv_b"), row("conv_b")),
    ],
)
def test_a_row_that_others_point_to_now_stays(pointing: Row, pointed: Row) -> None:
    plan = reverted([(pointed, None)], [pointing, pointed])
    assert plan.writes == {}
    assert holds(plan) == {pointed["id"]: (BELONGS, pointing["id"])}


@pytest.mark.parametrize(
    ("pointing", "pointed"),
    [
        (row("fact_a"), row("fact_b")),
        (superseded("fact_a", "fact_c"), row("fact_b")),
        (message("msg_a", "conv_c"), row("conv_b")),
        (message("msg_a", "conv_c"), row("obs_b")),
    ],
)
def test_a_row_to_which_nothing_points_goes(pointing: Row, pointed: Row) -> None:
    plan = reverted([(pointed, None)], [pointing, pointed])
    table = kind_of(str(pointed["id"])).table  # type: ignore[union-attr]  # they are day1's
    assert (plan.writes, holds(plan)) == ({table: {pointed["id"]: None}}, {})


def test_rows_that_go_together_hold_nothing() -> None:
    conversation, said = row("conv_b"), message("msg_a", "conv_b")
    plan = reverted([(conversation, None), (said, None)], [conversation, said])
    assert plan.writes == {"conversations": {"conv_b": None}, "messages": {"msg_a": None}}
    assert holds(plan) == {}


def test_a_fact_that_a_choice_removes_makes_active_what_it_superseded() -> None:
    old, new = superseded("fact_a", "fact_b", valid_until=5), row("fact_b")
    plan = reverted([(new, None)], [old, new], take("fact_b"))
    active = {**old, "status": "active", "superseded_by": None, "valid_until": None}
    assert plan.writes == {"facts": {"fact_a": active, "fact_b": None}}
    assert holds(plan) == {}


def test_a_conversation_stays_with_its_messages_though_a_choice_removes_it() -> None:
    conversation, said = row("conv_b"), message("msg_a", "conv_b")
    plan = reverted([(conversation, None)], [conversation, said], take("conv_b"))
    assert plan.writes == {}
    assert holds(plan) == {"conv_b": (BELONGS, "msg_a")}
    assert [one.decided for one in plan.rows] == [{}]


@pytest.mark.parametrize(
    ("choices", "active", "held"),
    [
        ((), False, {"status": "belongs_to"}),
        ((take("fact_a", cell="status"),), True, {}),
        ((take("fact_a"),), True, {}),
    ],
)
def test_a_fact_stays_superseded_by_one_that_stays(
    choices: tuple[Choice, ...], active: bool, held: dict[str, str]
) -> None:
    old, new = superseded("fact_a", "fact_b"), row("fact_b")
    later = {**new, "category": "later"}
    plan = reverted([(old, row("fact_a")), (new, None)], [old, later], *choices)
    assert plan.writes == ({"facts": {"fact_a": row("fact_a")}} if active else {})
    found = holds(plan)
    assert found["fact_b"][0] == {WHOLE: "delete_modify"}
    assert found.get("fact_a", ({}, None))[0] == held
    assert found.get("fact_a", ({}, None))[1] == (None if active else "fact_b")


@pytest.mark.parametrize("category", [None, "past"])
def test_a_fact_is_not_superseded_again_by_one_that_is_gone(category: str | None) -> None:
    now, past = row("fact_a"), superseded("fact_a", "fact_gone", category=category)
    plan = reverted([(now, past)], [now])
    wanted = {} if category is None else {"facts": {"fact_a": {**now, "category": category}}}
    assert (plan.writes, holds(plan)) == (wanted, {})


@pytest.mark.parametrize("end", [None, 7])
def test_a_fact_that_is_active_again_ends_when_it_ends_now(end: int | None) -> None:
    now = row("fact_a", happened_at=3, valid_until=end)
    past = superseded("fact_a", "fact_gone", happened_at=3, valid_until=5, category="past")
    plan = reverted([(row("fact_a", happened_at=3, valid_until=end), past)], [now])
    assert plan.writes == {"facts": {"fact_a": {**now, "category": "past"}}}


def test_a_removed_fact_comes_back_active_where_its_successor_is_gone() -> None:
    past = superseded("fact_a", "fact_gone", valid_until=5)
    plan = reverted([(None, past)], [])
    active = {**past, "status": "active", "superseded_by": None, "valid_until": None}
    assert plan.writes == {"facts": {"fact_a": active}}


def test_a_fact_comes_back_superseded_by_one_that_is_there() -> None:
    past = superseded("fact_a", "fact_b")
    plan = reverted([(None, past)], [row("fact_b")])
    assert plan.writes == {"facts": {"fact_a": past}}


@pytest.mark.parametrize("chosen", [(), (take("msg_a"),)])
def test_a_message_does_not_come_back_without_its_conversation(chosen: tuple[Choice, ...]) -> None:
    said = message("msg_a", "conv_gone")
    plan = reverted([(None, said)], [], *chosen)
    assert plan.writes == {}
    assert holds(plan) == {"msg_a": (BELONGS, "conv_gone")}
    assert [one.decided for one in plan.rows] == [{}]


@pytest.mark.parametrize("there", [True, False])
def test_a_message_comes_back_to_its_conversation(there: bool) -> None:
    conversation, said = row("conv_b"), message("msg_a", "conv_b")
    if there:
        plan = reverted([(None, said)], [conversation])
        assert plan.writes == {"messages": {"msg_a": said}}
    else:
        plan = reverted([(None, said), (None, conversation)], [])
        assert plan.writes["messages"] == {"msg_a": said}
        assert plan.writes["conversations"] == {"conv_b": conversation}
    assert holds(plan) == {}


@pytest.mark.parametrize(
    ("some", "owner"),
    [
        (None, None),
        (row("fact_a"), None),
        (superseded("fact_a", "fact_b"), "fact_b"),
        (message("msg_a", "conv_b"), "conv_b"),
        (row("obs_a"), None),
        ({"id": "foreign"}, None),
    ],
)
def test_a_row_points_to_its_successor_or_its_conversation(
    some: Row | None, owner: str | None
) -> None:
    assert needed(some) == owner
