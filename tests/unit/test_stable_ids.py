"""Ids that follow from content stay the same from version to version.

They lie in stores, on other nodes and in files: an id that changed would give every such row again.
"""

import pytest

from day1.model.contexts.keyed import context_id, memory_id, passage_id, passage_ids
from day1.model.files.client_event import ClientEvent, fork_id
from day1.model.lessons.rating import rating_of
from day1.model.merge.held import held_id
from day1.model.records.desk import desk_id
from day1.model.records.session import session_of
from day1.model.rows.kind import EDIT, FACT, OBSERVATION, Row
from day1.model.values.ids import content_hash, derived_id, short_hash
from day1.model.values.parts import part_id
from day1.services.tasks.consolidating import source_edit_id

EVENT = ClientEvent("prompt", "claude-code", "s1", 5)
TURN = ClientEvent("prompt", "claude-code", "s1", 5, turn="t1", subagent="sub")
RATING = rating_of("fact_1", "ada", "Which gateway restarts?", 0.5, 9)
MICROSECONDS = 1_700_000_000_000_000


@pytest.mark.parametrize(
    ("made", "kind", "keys"),
    [
        (context_id("project:a", "state"), OBSERVATION, ("context", "project:a", "state")),
        (context_id(None, "state"), OBSERVATION, ("context", "", "state")),
        (memory_id("project:a", "one"), FACT, ("memory", "project:a", "one")),
        (memory_id(None, "one"), FACT, ("memory", "", "one")),
        (passage_id("obs_1", 2), FACT, ("passage", "obs_1", "2")),
        (part_id("fact_1", 2), FACT, ("part", "fact_1", "2")),
    ],
)
def test_an_id_of_a_kind_of_rows_follows_from_its_keys(made, kind, keys):
    assert made == derived_id(kind.prefix, None, *keys)


@pytest.mark.parametrize(
    ("made", "prefix", "keys"),
    [
        (EVENT.conversation_id, "conv", ("hook", "s1", "")),
        (TURN.conversation_id, "conv", ("hook", "s1", "sub")),
        (fork_id("s1"), "branch", ("hook", "s1")),
        (
            EVENT.id("msg", "user", "x"),
            "msg",
            ("hook", "s1", "", "user", "at 5", content_hash("x")),
        ),
        (
            TURN.id("msg", "user", "x"),
            "msg",
            ("hook", "s1", "sub", "user", "t1", content_hash("x")),
        ),
        (held_id("fact_1", "status", "c1"), "held", ("fact_1", "status", "c1")),
    ],
)
def test_an_id_of_an_event_or_a_held_item_follows_from_its_keys(made, prefix, keys):
    assert made == derived_id(prefix, None, *keys)


@pytest.mark.parametrize(
    ("made", "parts"),
    [
        (desk_id("branch_1", "kompanion", "plan"), ("desk", "branch_1", "kompanion", "plan")),
        (RATING.id, ("rating", "fact_1", "gateway restarts", "=ada")),
        (RATING.on("branch_1").id, (RATING.id, "branch_1")),
        (rating_of("fact_1", None, None, 0.5, 9).id, ("rating", "fact_1", "")),
        (session_of("branch_1", ("ada", None, "t"), 5).id, ("branch_1", "=ada", "", "=t")),
        (
            session_of("branch_1", (None, "", None), 5, "token_1").id,
            ("branch_1", "", "=", "", "token_1"),
        ),
    ],
)
def test_an_id_of_a_record_is_the_hash_of_its_parts(made, parts):
    assert made == short_hash(*parts)


def test_the_edit_of_a_consolidated_observation_has_one_id_on_all_branches():
    observation: Row = {"id": "obs_1", "created_at": MICROSECONDS}
    expected = derived_id(EDIT.prefix, MICROSECONDS, "consolidated", "obs_1")
    assert source_edit_id(observation) == expected


def test_a_context_has_as_many_ids_of_passages_as_a_text_has_passages():
    ids = passage_ids("obs_1")
    assert (len(ids), len({*ids})) == (64, 64)
    assert (ids[0], ids[63]) == (passage_id("obs_1", 0), passage_id("obs_1", 63))


def test_the_ids_themselves_are_what_they_were():
    assert memory_id(None, "one") == "fact_0000000000H93T8C1TY5X60JF6"
    assert short_hash("desk", "b") == "65a843b04b62a8e5351eda52e7f2c8b5"
