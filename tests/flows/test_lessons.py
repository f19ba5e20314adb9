"""Lessons in an open store: what is nearly the same, and what a consolidation leaves out."""

from dataclasses import replace
from typing import Any

import pytest

from day1.errors import Refused, RequestReused
from day1.interfaces.open_store import OpenStore
from day1.model.access.permissions import Access
from day1.model.branches.branch import MAIN
from day1.model.values.ids import is_made
from day1.model.values.instant import DAY
from day1.services.access.caller import Caller
from day1.services.branches.lookup import find
from day1.services.lessons import consolidation
from day1.services.repository.idempotency import BY_REQUEST
from day1.toolsets.day1.browse import BROWSE
from day1.toolsets.day1.core import CORE
from day1.toolsets.day1.review import REVIEW
from day1.toolsets.engram import ENGRAM
from day1.toolsets.engram.consolidation import _client
from tests.fakes.hashing_embedder import HashingEmbedder
from tests.flows.opened_store import store as store  # noqa: PLC0414 - a fixture

LESSON = {
    "context": "Uploads of large files failed at night",
    "action": "Raised the client timeout to 30 seconds",
    "result": "All uploads pass",
}


def call(store: OpenStore, tool: str, /, **arguments: Any) -> dict[str, Any]:
    ctx = store.context(Caller())
    ctx = replace(ctx, search=replace(ctx.search, embedder=HashingEmbedder()))
    return ENGRAM.tools[tool].call(ctx, arguments)


def test_a_lesson_names_the_one_that_says_nearly_the_same(store: OpenStore) -> None:
    first = call(store, "memory_store", **LESSON)
    assert "near_duplicate_of" not in first
    near = call(store, "memory_store", **{**LESSON, "result": "Most uploads pass"})
    assert (near["updated"], near["near_duplicate_of"]) == (False, first["id"])
    groups = call(store, "memory_consolidate_preview")["duplicate_groups"]
    assert [sorted(group["ids"]) for group in groups] == [sorted((first["id"], near["id"]))]
    for other in (
        {"action": "Raised the client timeout to 60 seconds"},
        {"result": "No uploads pass"},
        {"project": "metal"},
        {"memory_type": "pattern"},
        {"context": "Builds were slow", "action": "Cached wheels", "result": "Quick"},
    ):
        made = call(store, "memory_store", **{**LESSON, **other})
        assert (made["deduplicated"], "near_duplicate_of" in made) == (False, False), other


def test_a_repeated_call_does_not_undo_what_was_stored_since(store: OpenStore) -> None:
    """A call whose answer was lost is made again, after others stored and removed lessons."""
    reworded = {**LESSON, "result": "All uploads pass!"}
    added = call(store, "memory_store", **LESSON, request_id="one")
    changed = call(store, "memory_store", **reworded, request_id="two")
    assert (changed["id"], changed["updated"]) == (added["id"], True)
    for request_id, first, lesson in (("one", added, LESSON), ("two", changed, reworded)):
        last = call(store, "memory_store", **{**LESSON, "result": f"All uploads pass{'.' * 3}"})
        assert last["updated"] == (request_id == "one")
        again = call(store, "memory_store", **lesson, request_id=request_id)
        differing = {key for key in first if again[key] != first[key]}
        assert differing <= {"indexed", "written"}
        assert again["written"]["notes"] == [BY_REQUEST]
        (hit,) = call(store, "memory_search", query="uploads")["result"]
        assert hit["result"] == "All uploads pass..."
    with pytest.raises(RequestReused):
        call(store, "memory_store", **{**LESSON, "action": "None"}, request_id="two")
    REVIEW.tools["memory_remove"].call(store.context(Caller()), {"ids": [added["id"]]})
    for request_id, lesson in (("one", LESSON), ("two", reworded)):
        with pytest.raises(RequestReused):
            call(store, "memory_store", **lesson, request_id=request_id)
    assert call(store, "memory_search", query="uploads")["result"] == []


@pytest.mark.parametrize(
    ("days", "more", "judged", "shown", "stale"),
    [
        (29.9, {}, None, False, False),
        (30.1, {}, None, False, True),
        (30.1, {}, 0.3, False, False),
        (30.1, {}, 0.29, False, True),
        (30.1, {}, None, True, False),
        (30.1, {"stale_days": 31}, None, False, False),
        (30.1, {"min_score": 0.2}, 0.29, False, False),
    ],
)
def test_what_is_old_unused_and_rated_low_is_stale(
    store: OpenStore, days: float, more: Any, judged: float | None, *, shown: bool, stale: bool
) -> None:
    made = call(store, "memory_store", **LESSON)["id"]
    if judged is not None:
        call(store, "memory_judge", memory_id=made, score=judged)
    now = store.repo.clock() + round(days * DAY)
    if shown:
        store.search.uses.shown([made], now, find(store.repo, MAIN).id)
    ctx = replace(store.context(Caller()), clock=lambda: now)
    found = ENGRAM.tools["memory_consolidate_preview"].call(ctx, more)
    assert found["stale_ids"] == [made] * stale
    planned: Any = ENGRAM.tools["memory_consolidate"].call(ctx, more)["recommendations"]
    assert [(one["action"], one["ids"]) for one in planned] == [("archive", [made])] * stale


def test_a_consolidation_says_how_many_it_compared(
    store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consolidation, "MOST", 2)
    for number in range(3):
        call(store, "memory_store", **{**LESSON, "context": f"Case {number} of {number * 7}"})
    said = "Only the newest 2 of 3 lessons were compared."
    preview = call(store, "memory_consolidate_preview")
    plan = call(store, "memory_consolidate")
    done = call(store, "memory_consolidate_apply", expect=plan["digest"])
    notes = [preview["read"]["notes"], plan["read"]["notes"], done["written"]["notes"]]
    assert all(said in told for told in notes)
    monkeypatch.undo()
    assert call(store, "memory_consolidate_preview")["read"]["notes"] == []


def test_a_lesson_is_found_by_any_third_of_its_words(store: OpenStore) -> None:
    """Whichever of its longest words is another one; and whatever else is in the store."""
    longest = "carburettor transmission thermostat alternator regulator solenoid".split()  # noqa: SIM905 - one line
    parts = {"context": " ".join(longest), "action": "Cleaned with care", "result": "It runs"}
    for number in range(30):
        case = {"context": f"Case {number} of it", "action": f"Tried {number * 7}", "result": "No"}
        call(store, "memory_store", **case)
    for word in longest:
        first = call(store, "memory_store", **parts, project=word)
        other = {**parts, "context": parts["context"].replace(word, word[::-1]), "project": word}
        assert call(store, "memory_store", **other)["near_duplicate_of"] == first["id"], word


def lessons_of_an_insight(store: OpenStore) -> list[str]:
    """The ids of three lessons with one outcome, of which an insight is made."""
    ids = [
        call(store, "memory_store", **{**LESSON, "context": where, "action": what})["id"]
        for where, what in (
            ("Night runs", "Doubled it"),
            ("A slow disk", "Cached"),
            ("Ferns", "Cut"),
        )
    ]
    assert len(call(store, "memory_insights", action="generate")["insights"]) == 1
    return ids


@pytest.mark.parametrize("more", [{"expires_at": "2999-01-01"}, {"sensitivity": "secret"}], ids=str)
def test_no_insight_quotes_a_lesson_that_is_hidden_by_then(
    store: OpenStore, more: dict[str, str]
) -> None:
    ids = lessons_of_an_insight(store)
    edit(store, ids[0], **more)
    assert call(store, "memory_insights", action="generate")["insights"] == []


ENDS = ({"valid_until": "2020-01-01"}, {"valid_until": "2999-01-01"}, {"expires_at": "2999-01-01"})


def edit(store: OpenStore, fact_id: str, **more: Any) -> None:
    REVIEW.tools["memory_update_fact"].call(store.context(Caller()), {"fact_id": fact_id, **more})


def worded_twice(store: OpenStore) -> list[str]:
    """The ids of a lesson of 2020 and of the same one of 2021, in other words."""
    rows = [
        {"id": f"m{n}", **LESSON, "action": LESSON["action"] + end, "created_at": f"202{n}-01-01"}
        for n, end in enumerate(("", "."))
    ]
    call(store, "memory_import", version=1, memories=rows)
    hits = call(store, "memory_search", query="uploads")["result"]
    return [hit["id"] for hit in sorted(hits, key=lambda hit: len(hit["action"]))]


@pytest.mark.parametrize("more", [*ENDS, {"sensitivity": "secret"}], ids=str)
def test_a_lesson_that_is_stored_again_is_found(store: OpenStore, more: dict[str, str]) -> None:
    """Whatever became of the one that said the same: it is secret, or ends by itself."""
    first = call(store, "memory_store", **LESSON)["id"]
    edit(store, first, **more)
    for action in (LESSON["action"], f"{LESSON['action']}."):
        stored = call(store, "memory_store", **{**LESSON, "action": action})
        hits = call(store, "memory_search", query="uploads")["result"]
        assert stored["id"] in {hit["id"] for hit in hits} - {first}


@pytest.mark.parametrize("more", ENDS, ids=str)
def test_no_lesson_goes_into_one_that_ends(store: OpenStore, more: dict[str, str]) -> None:
    """It would end with that one, though nobody said so."""
    ending, lasting = worded_twice(store)
    call(store, "memory_judge", memory_id=ending, score=1.0)
    edit(store, ending, **more)
    assert call(store, "memory_consolidate_preview")["duplicate_groups"] == []
    plan = call(store, "memory_consolidate")
    call(store, "memory_consolidate_apply", expect=plan["digest"])
    assert lasting in {h["id"] for h in call(store, "memory_search", query="uploads")["result"]}


def test_what_was_true_once_is_neither_exported_nor_an_insight(store: OpenStore) -> None:
    """engram's form has no valid time: elsewhere it would be true for ever."""
    ids = lessons_of_an_insight(store)
    edit(store, ids[0], valid_until="2020-01-01")
    assert call(store, "memory_insights", action="generate")["insights"] == []
    assert [m["id"] for m in call(store, "memory_export")["memories"]] == ids[1:]
    assert call(store, "memory_status")["memory_count"] == 2
    edit(store, ids[0], valid_until="never")
    (insight,) = call(store, "memory_insights", action="generate")["insights"]
    edit(store, insight["id"], valid_until="2020-01-01")
    assert call(store, "memory_insights")["insights"] == []


def test_a_redacted_lesson_is_not_exported(store: OpenStore) -> None:
    """Elsewhere the mark that stands in its place would be a memory."""
    made = call(store, "memory_store", project="metal", **LESSON)["id"]
    redact = REVIEW.tools["memory_redact"]
    redact.call(store.context(Caller()), {"id": made, "confirm": made})
    assert call(store, "memory_export")["memories"] == []


def test_a_merged_lesson_was_true_until_the_other_one_was(store: OpenStore) -> None:
    _, newer = worded_twice(store)
    call(store, "memory_judge", memory_id=newer, score=1.0)
    plan = call(store, "memory_consolidate")
    assert call(store, "memory_consolidate_apply", expect=plan["digest"])["merged"] == 1

    def then(when: str) -> list[str]:
        asked = {"query": "uploads", "as_of_event": when}
        search = CORE.tools["memory_search"]
        hits: Any = search.call(store.context(Caller()), asked)["result"]
        return [hit["happened_at"][:4] for hit in hits]

    assert (then("2020-06-01"), then("2021-06-01")) == (["2020"], ["2021"])


def test_a_secret_is_shown_to_no_judge_of_its_use(store: OpenStore) -> None:
    secret = call(store, "memory_store", **LESSON)["id"]
    edit(store, secret, sensitivity="secret")
    with pytest.raises(Refused, match="not sent to a judge"):
        call(store, "memory_judge", memory_id=secret, query="uploads")
    assert call(store, "memory_judge", memory_id=secret, score=0.5)["judgments"] == 1


def test_a_connection_in_a_space_stores_and_finds_lessons_there(store: OpenStore) -> None:
    """As all tools do that are named no space; and the search of all systems finds them."""
    metal, wood = (store.context(Caller(space=f"project:{name}")) for name in ("metal", "wood"))
    made = ENGRAM.tools["memory_store"].call(metal, LESSON)["id"]
    own = ENGRAM.tools["memory_store"].call(metal, {**LESSON, "project": "wood"})["id"]
    for tools in (ENGRAM.tools, CORE.tools):
        for ctx, found in ((metal, made), (wood, own)):
            hits: Any = tools["memory_search"].call(ctx, {"query": "uploads"})["result"]
            assert [hit["id"] for hit in hits] == [found]


def test_whatever_a_memory_was_called_elsewhere_it_is_a_fact_here(store: OpenStore) -> None:
    names = ["obs_01JD0000000000000000000000", f"fact_{'x' * 250}", "held_1", "5f1c-uuid"]
    names.append("fact_01JD0000000000000000000000")
    rows = [{"id": name, "created_at": "2026-01-02", "result": f"Said {name}."} for name in names]
    call(store, "memory_import", version=1, memories=rows)
    listed: Any = BROWSE.tools["memory_list"].call(store.context(Caller()), {"type": "fact"})
    found = [row["id"] for row in listed["rows"]]
    assert all(is_made("fact", row_id) for row_id in found)
    assert names[-1] in found
    assert {m["id"] for m in call(store, "memory_export")["memories"]} == set(names)
    for name in names:
        call(store, "memory_judge", memory_id=name, score=0.5)


def test_each_client_of_a_branch_has_a_desk_of_its_own(store: OpenStore) -> None:
    """Else one that looks at a plan puts away what another one looked at."""
    whose = [
        Caller(),
        Caller(agent_id="ann"),
        Caller(client="laptop"),
        Caller(client="desktop"),
        Caller(client="desktop", agent_id="ann"),
        Caller(client="desktop", access=Access("token_1")),
    ]
    desks = [_client(store.context(caller)) for caller in whose]
    assert len(set(desks)) == len(whose)
    assert desks[:2] == ["", "ann"]  # as an earlier day1 calls them
