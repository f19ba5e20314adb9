"""Rows whose words were made of other rows: they are never more visible than these."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from day1.model.redaction.basis import (
    BASIS,
    COMPACTED,
    CONSOLIDATED,
    GONE,
    INSIGHT,
    VERDICT_BASIS,
    Hiding,
    Sources,
    may_derive,
    sources_in,
)
from day1.model.redaction.derived import Shown, as_shown, may_be_veiled, needed, veiled, veils
from day1.model.redaction.mask import CLEAR, REDACTED, REDACTED_HASH, Mask
from day1.model.redaction.veil import EXPIRED_MARK, SECRET_MARK
from day1.model.rows.change import REMOVED, Query
from day1.model.rows.kind import CONVERSATION, EDIT, FACT, MESSAGE, RELATION, WHOLE, Cell, Kind, Row
from day1.model.rows.origin import Origin
from day1.services.rows.recording import new_row

NOW = 100
TALK = "conv_0000000000a"
"""A conversation that a hook began."""


def fact(fact_id: str = "fact_new", **columns: Cell) -> Row:
    return {**new_row(FACT, fact_id, {"fact_text": f"text of {fact_id}"}, Origin(), 1), **columns}


def source(**columns: Cell) -> Row:
    """A fact that others are made of; its hash is that of its text unless it is given."""
    return {**fact("fact_old"), **columns}


def edit(row_id: str, cell: str, reason: str | None, **columns: Cell) -> Row:
    values: Row = {"row_id": row_id, "row_kind": "facts", "cell": cell, "reason": reason}
    return new_row(EDIT, f"edit_{row_id}_{cell}", {**values, **columns}, Origin(), 1)


def basis(row_id: str, *sources: str, cell: str = BASIS) -> Row:
    return edit(row_id, cell, json.dumps(sources))


def compacted(row_id: str) -> Row:
    """The removal of the source since a row has its words."""
    return edit("fact_old", WHOLE, f"{COMPACTED}{row_id}", value=REMOVED)


@dataclass
class Rows:
    """A state of some rows."""

    rows: Sequence[Row]
    mask: Mask = CLEAR

    def scan(self, kind: Kind, columns: Sequence[str], query: Query) -> list[tuple[Cell, ...]]:
        mine = [row for row in self.rows if str(row["id"]).startswith(f"{kind.prefix}_")]
        return [
            tuple(row[column] for column in columns)
            for row in mine
            if all(row[c] == cell for c, cell in query.equal.items())
            and all(row[c] in cells for c, cells in query.among.items())
        ]


def shown_fact(state: Rows, row: Row, shown: Shown) -> Row | None:
    rows = as_shown(state, FACT, FACT.columns, [tuple(row[c] for c in FACT.columns)], shown)
    return FACT.row(rows[0]) if rows else None


MODEL = Shown(NOW, public=True)
PERSON = Shown(NOW, public=False)
HISTORY = Shown(None, public=False)


@pytest.mark.parametrize(
    ("hidden", "shown", "text"),
    [
        ({}, MODEL, "text of fact_new"),
        ({"sensitivity": "secret"}, MODEL, None),
        ({"sensitivity": "secret"}, PERSON, SECRET_MARK),
        ({"content_hash": REDACTED_HASH}, MODEL, REDACTED),
        ({"content_hash": REDACTED_HASH, "sensitivity": "secret"}, PERSON, REDACTED),
        ({"expires_at": NOW}, PERSON, None),
        ({"expires_at": NOW + 1}, MODEL, "text of fact_new"),
        ({"expires_at": NOW}, HISTORY, "text of fact_new"),
        ({"space": "mine"}, MODEL, "text of fact_new"),
        ({"space": "mine"}, Shown(NOW, public=True, spaces=["mine", None]), "text of fact_new"),
        ({"space": "mine"}, Shown(NOW, public=True, spaces=[None]), None),
        ({"space": "mine"}, Shown(NOW, public=True, spaces=["other"]), None),
    ],
)
def test_a_derived_fact_is_shown_as_its_source_is(
    hidden: Row, shown: Shown, text: str | None
) -> None:
    state = Rows([source(**hidden), basis("fact_new", "fact_old")])
    row = shown_fact(state, fact(category=INSIGHT), shown)
    assert (row and row["fact_text"]) == text


def test_a_derived_fact_inherits_what_hides_its_source() -> None:
    hidden = source(sensitivity="secret", content_hash=REDACTED_HASH, space="mine")
    row = fact(category=INSIGHT, origin_id="fact_old")
    shown = shown_fact(Rows([hidden]), row, PERSON)
    assert shown is not None
    inherited = {"space": "mine", "sensitivity": "secret", "content_hash": REDACTED_HASH}
    assert {column: shown[column] for column in inherited} == inherited
    assert shown["fact_text"] == REDACTED


def test_a_derived_fact_keeps_its_own_space_and_hash_beside_a_secret_source() -> None:
    row = fact(category=INSIGHT, origin_id="fact_old", space="mine")
    shown = shown_fact(Rows([source(sensitivity="secret", space="mine")]), row, PERSON)
    assert shown is not None
    assert (shown["space"], shown["content_hash"]) == ("mine", row["content_hash"])


@pytest.mark.parametrize(
    ("hidden", "scores"),
    [({}, "[1]"), ({"sensitivity": "secret"}, None), ({"expires_at": 1}, None)],
)
def test_a_verdict_is_hidden_with_what_its_judge_had_read(hidden: Row, scores: str | None) -> None:
    row = fact(scores="[1]")
    state = Rows([source(**hidden), basis("fact_new", "fact_old", cell=VERDICT_BASIS)])
    assert shown_fact(state, row, MODEL) == {**row, "scores": scores}


def test_rows_that_are_not_derived_are_the_same_rows() -> None:
    rows = [tuple(fact()[c] for c in FACT.columns)]
    assert as_shown(Rows([]), FACT, FACT.columns, rows, MODEL) is rows


def test_rows_keep_their_order_about_a_hidden_one() -> None:
    columns = ("id", "category", "origin_id")
    rows = [("fact_a", None, None), ("fact_b", None, "fact_old"), ("fact_c", None, None)]
    state = Rows([source(sensitivity="secret")])
    assert as_shown(state, FACT, columns, rows, MODEL) == [rows[0], rows[2]]
    assert as_shown(state, FACT, columns, rows, PERSON) == rows


@pytest.mark.parametrize(
    ("first", "listed", "title"),
    [
        ({"content_hash": "h"}, None, "title"),
        ({"content_hash": REDACTED_HASH}, None, REDACTED),
        ({"content_hash": REDACTED_HASH, "previous_id": "msg_z"}, None, EXPIRED_MARK),
        (None, None, EXPIRED_MARK),
        (None, "msg_gone", "title"),
        ({"content_hash": REDACTED_HASH}, "msg_a", REDACTED),
    ],
)
def test_a_title_is_hidden_with_the_message_that_it_quotes(
    first: Row | None, listed: str | None, title: str
) -> None:
    said = new_row(
        MESSAGE, "msg_a", {"content": "x", "conversation_id": TALK, "role": "user"}, Origin(), 1
    )
    state = Rows(
        [
            *([] if first is None else [{**said, **first}]),
            *([] if listed is None else [basis(TALK, listed)]),
        ]
    )
    columns = ("id", "source", "title")
    rows = [(TALK, "tool", "title"), ("conv_b", "tool", "mine"), ("conv_c", "agent", "own")]
    shown = as_shown(state, CONVERSATION, columns, rows, MODEL)
    assert shown == [(TALK, "tool", title), *rows[1:]]
    untitled = [(TALK, "tool", None)]
    assert as_shown(state, CONVERSATION, columns, untitled, MODEL) == untitled


def test_the_reason_of_a_verdict_is_hidden_with_what_its_judge_had_read() -> None:
    columns = ("row_id", "cell", "reason")
    rows = [
        ("fact_new", "verification", "quoted"),
        ("fact_new", "category", "plain"),
        ("fact_new", "verification", None),
        ("fact_other", "verification", "other"),
    ]
    read = basis("fact_new", "fact_old", cell=VERDICT_BASIS)
    state = Rows([source(sensitivity="secret"), read])
    shown = as_shown(state, EDIT, columns, rows, PERSON)
    assert shown == [("fact_new", "verification", SECRET_MARK), *rows[1:]]


@pytest.mark.parametrize(
    ("kind", "columns", "further"),
    [
        (FACT, ("id", "fact_text"), ("origin_id", "category")),
        (FACT, (), ("id", "origin_id", "category")),
        (CONVERSATION, ("id", "title"), ("source",)),
        (CONVERSATION, ("id",), None),
        (EDIT, ("reason",), ("row_id", "cell")),
        (EDIT, ("id",), None),
        (MESSAGE, ("content",), None),
    ],
)
def test_a_kind_says_which_columns_tell_whether_a_row_is_derived(
    kind: Kind, columns: tuple[str, ...], further: tuple[str, ...] | None
) -> None:
    assert needed(kind, columns) == further


@pytest.mark.parametrize(
    ("kind", "row", "derived"),
    [
        (FACT, fact(), False),
        (FACT, fact(category=INSIGHT), True),
        (FACT, fact(origin_id="fact_old"), True),
        (FACT, fact(scores="[1]"), True),
        (CONVERSATION, {"source": "tool"}, True),
        (CONVERSATION, {"source": "agent"}, False),
        (EDIT, {"cell": "verification"}, False),
        (RELATION, {}, False),
    ],
)
def test_rows_that_may_have_words_of_others(kind: Kind, row: Row, derived: bool) -> None:
    assert may_be_veiled(kind, [row]) is derived
    assert may_be_veiled(kind, []) is False


@pytest.mark.parametrize(
    ("cell", "hidden", "text", "scores"),
    [
        (BASIS, {}, "text of fact_new", "[1]"),
        (BASIS, {"sensitivity": "secret"}, SECRET_MARK, None),
        (BASIS, {"expires_at": NOW}, EXPIRED_MARK, None),
        (BASIS, {"expires_at": NOW + 1}, "text of fact_new", "[1]"),
        (VERDICT_BASIS, {"sensitivity": "secret"}, "text of fact_new", None),
    ],
)
def test_a_diff_veils_what_was_made_of_hidden_rows(
    cell: str, hidden: Row, text: str, scores: str | None
) -> None:
    row, other = fact(category=INSIGHT, scores="[1]"), fact("fact_plain")
    state = Rows([source(**hidden), basis("fact_new", "fact_old", cell=cell)])
    by_row = veils(state, FACT, [row, other], NOW)
    assert by_row.keys() <= {"fact_new"}
    shown = veiled(row, by_row.get("fact_new"))
    assert shown is not None
    assert (shown["fact_text"], shown["scores"]) == (text, scores)
    assert shown["category"] == (INSIGHT if text == "text of fact_new" else shown["category"])
    assert shown["structure"] is None


def test_a_diff_veils_a_title_and_nothing_else_of_its_conversation() -> None:
    row: Row = {"id": TALK, "source": "tool", "title": "title"}
    by_row = veils(Rows([]), CONVERSATION, [row, {**row, "source": "agent"}], NOW)
    assert by_row == {TALK: {"title": EXPIRED_MARK}}
    assert veils(Rows([]), CONVERSATION, [{**row, "source": "agent"}], NOW) == {}
    assert veiled(None, by_row[TALK]) is None
    assert veiled(row, None) is row


@pytest.mark.parametrize(
    ("cell", "reason", "ids"),
    [
        (BASIS, '["fact_a", 1, "obs_b"]', ["fact_a", "obs_b"]),
        (VERDICT_BASIS, '["fact_a"]', ["fact_a"]),
        (BASIS, '{"fact_a": 1}', []),
        (BASIS, REDACTED, []),
        (BASIS, None, []),
        ("category", '["fact_a"]', []),
        (WHOLE, f"{CONSOLIDATED}obs_a, obs_b", ["obs_a", "obs_b"]),
        (BASIS, f"{CONSOLIDATED}obs_a", []),
    ],
)
def test_an_edit_lists_sources(cell: str, reason: str | None, ids: list[str]) -> None:
    assert sources_in({"cell": cell, "reason": reason}) == ids


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ({}, {}, {}),
        ({"redacted": True}, {"secret": True}, {"redacted": True, "secret": True}),
        ({"secret": True}, {"redacted": True}, {"redacted": True, "secret": True}),
        ({"ends": 5}, {"ends": 3}, {"ends": 3}),
        ({"ends": 0}, {}, {"ends": 0}),
        ({}, {"ends": 3}, {"ends": 3}),
        (
            {"spaces": frozenset("a")},
            {"spaces": frozenset("b")},
            {"spaces": frozenset("ab")},
        ),
    ],
)
def test_what_hides_two_sources_hides_what_was_made_of_both(
    one: dict[str, Any], other: dict[str, Any], both: dict[str, Any]
) -> None:
    joined = Hiding(**one).joined(Hiding(**other))
    assert joined == Hiding(**both)
    assert bool(joined) is bool(both)


def test_words_of_two_spaces_are_shown_in_another_than_their_own() -> None:
    hiding = Hiding(spaces=frozenset("ab"))
    assert [hiding.space(own) for own in ("a", "b", "c", None)] == ["b", "a", "a", "a"]
    assert [Hiding().space(own) for own in ("a", None)] == ["a", None]


def hiding_of(*rows: Row, row: Row, mask: Mask = CLEAR) -> Hiding:
    sources = Sources(Rows(rows, mask))
    sources.of({"fact_new": row})
    return sources.hiding("fact_new")


def test_sources_of_sources_hide_too_and_may_lead_back() -> None:
    between = fact("fact_between", category=INSIGHT)
    rows = [
        source(sensitivity="secret"),
        between,
        basis("fact_new", "fact_between"),
        basis("fact_between", "fact_old", "fact_new"),
    ]
    assert hiding_of(*rows, row=fact(category=INSIGHT)) == Hiding(secret=True)
    plain = {**between, "category": None}
    assert hiding_of(rows[0], plain, *rows[2:], row=fact(category=INSIGHT)) == Hiding()


def test_an_insight_without_a_basis_has_the_sources_that_its_detail_names() -> None:
    hidden = source(sensitivity="secret")
    row = fact(category=INSIGHT, detail=json.dumps({"source_ids": ["fact_old"]}))
    assert hiding_of(hidden, row, row=row) == Hiding(secret=True)
    assert hiding_of(hidden, row, basis("fact_new", "fact_other"), row=row) == Hiding()
    assert hiding_of(hidden, row, row={**row, "category": None}) == Hiding()


@pytest.mark.parametrize(
    ("edits", "mask", "hiding"),
    [
        ([], CLEAR, Hiding()),
        ([edit("fact_old", WHOLE, None, value=REMOVED)], CLEAR, Hiding(ends=GONE)),
        ([edit("fact_old", WHOLE, None, value="other")], CLEAR, Hiding()),
        ([edit("fact_old", "category", None, value=REMOVED)], CLEAR, Hiding()),
        ([compacted("fact_new")], CLEAR, Hiding()),
        ([compacted("fact_new"), compacted("fact_new")], CLEAR, Hiding()),
        ([compacted("fact_other")], CLEAR, Hiding(ends=GONE)),
        (
            [compacted("fact_new"), edit("fact_old", WHOLE, None, value=REMOVED)],
            CLEAR,
            Hiding(ends=GONE),
        ),
        ([compacted("fact_new")], Mask(frozenset({"fact_old"})), Hiding(redacted=True)),
        ([], Mask(frozenset({"fact_old"}), frozenset()), Hiding(redacted=True)),
    ],
)
def test_a_source_that_is_not_there_hides_if_it_was_removed_or_redacted(
    edits: list[Row], mask: Mask, hiding: Hiding
) -> None:
    assert hiding_of(*edits, row=fact(origin_id="fact_old"), mask=mask) == hiding


def test_ids_of_other_programs_are_no_sources() -> None:
    assert hiding_of(basis("fact_new", "foreign_1"), row=fact(category=INSIGHT)) == Hiding()


@pytest.mark.parametrize(
    ("row", "may"),
    [
        ({}, False),
        ({"origin_id": "x"}, True),
        ({"category": INSIGHT}, True),
        ({"category": "x"}, False),
    ],
)
def test_facts_of_others_words_have_an_origin_or_are_insights(row: Row, may: bool) -> None:
    assert may_derive(row) is may
