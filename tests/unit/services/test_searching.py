"""Which rows a search finds: its filters and its spaces, on a store and an index in memory."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from day1.errors import InvalidRequest
from day1.model.branches.branch import MAIN
from day1.model.rows.change import Ref
from day1.services.rows.spaces import newest_messages
from day1.services.search.candidates import SearchLimits
from tests.unit.services.searched import Searching
from tests.unit.services.searched import searching as searching  # noqa: PLC0414 - a fixture

A, B, C = "project:a", "project:b", "user:c"
LARGE = SearchLimits(exact_rows=0)
"""Limits by which every branch has too many rows for a view of all of them."""


@pytest.fixture(params=[None, LARGE], ids=["view", "sql"])
def either(request: pytest.FixtureRequest, searching: Searching) -> Searching:
    """A search by a view of all rows, and one that asks SQL about the texts in question."""
    limits = request.param or searching.engine.limits
    searching.engine = replace(searching.engine, limits=limits)
    return searching


# --- which rows

FACTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "red": {"category": "red"},
    "old": {"happened_at": 10},
    "superseded": {"status": "superseded"},
    "true_once": {"status": "superseded", "happened_at": 50, "valid_until": 600},
    "archived": {"status": "archived"},
    "invalid": {"verification": "invalidated"},
    "ended": {"valid_until": 500},
    "expired": {"expires_at": 500},
    "secret": {"sensitivity": "secret"},
    "task": {"task_id": "task_1"},
    "in_a": {"space": A},
}
ALWAYS = {"plain", "red", "old", "task", "in_a"}


@pytest.mark.parametrize(
    ("request_fields", "names"),
    [
        ({}, ALWAYS),
        ({"category": "red"}, {"red"}),
        ({"among": {"category": ["red", "blue"]}}, {"red"}),
        ({"after": 11}, ALWAYS - {"old"}),
        ({"before": 10}, {"old"}),
        ({"equal": {"task_id": "task_1"}}, {"task"}),
        ({"only": frozenset({"fact_old", "fact_archived"})}, {"old"}),
        ({"spaces": (A,)}, {"in_a"}),
        ({"spaces": (None,)}, ALWAYS - {"in_a"}),
        ({"spaces": (A, None)}, ALWAYS),
        (
            {"include_inactive": True},
            ALWAYS | {"superseded", "true_once", "archived", "invalid", "ended"},
        ),
        ({"as_of_event": 400}, {"old", "ended", "true_once"}),
        ({"as_of_event": 400, "before": 10}, {"old"}),
    ],
)
def test_a_search_finds_the_rows_that_its_request_is_about(
    either: Searching, request_fields: dict[str, Any], names: set[str]
) -> None:
    for name, columns in FACTS.items():
        at = {"happened_at": 100} if name == "ended" else {}
        either.fact(name, f"the gateway is {name}", **at, **columns)
    found = either.ids("gateway", limit=50, **request_fields)
    assert set(found) == {f"fact_{name}" for name in names}
    assert len(found) == len(names)


def test_a_kind_without_text_is_refused(searching: Searching) -> None:
    for kind in ("relations", "other"):
        with pytest.raises(InvalidRequest, match=kind) as caught:
            searching("gateway", kinds=("facts", kind))
        assert caught.value.details["kinds"] == ["facts", "observations", "messages"]


@pytest.mark.parametrize(
    ("kinds", "more", "ids"),
    [
        (("facts",), {}, ["fact_a"]),
        (("observations",), {}, ["obs_b"]),
        (("facts", "observations", "facts"), {}, ["fact_a", "obs_b"]),
        (("facts", "observations"), {"category": "red"}, ["fact_a"]),
        (("facts", "messages"), {"spaces": (None,)}, ["fact_a"]),
        (("messages", "facts"), {"spaces": (None,)}, ["fact_a"]),
    ],
)
def test_only_kinds_are_searched_that_can_have_what_is_asked(
    searching: Searching, kinds: tuple[str, ...], more: dict[str, Any], ids: list[str]
) -> None:
    searching.fact("a", "the gateway waits", category="red")
    searching.observation("b", "the gateway waits")
    searching.message("c", "the gateway waits", "conv_1")
    assert sorted(searching.ids("gateway", kinds=kinds, **more)) == ids


# --- spaces


def test_four_spaces_are_ranked_as_one_list(searching: Searching) -> None:
    """Each row has the score that it has in a search of its own space."""
    for number in range(12):
        space = (A, B, C, None)[number % 4]
        words = "gateway " * (1 + number % 3) + "waits " * (number % 5)
        searching.fact(f"{number:02}", f"{words}number {number}", space=space)
    searching.fact("other", "gateway", space="project:other")
    apart = [searching("gateway", spaces=(space,), wait=True) for space in (A, B, C, None)]
    hits = [hit for answer in apart for hit in answer.hits]
    together = searching("gateway", spaces=(A, B, C, None), limit=20)
    assert {str(hit.row["id"]): hit.score for hit in together.hits} == {
        str(hit.row["id"]): hit.score for hit in hits
    }
    scores = [hit.score for hit in together.hits]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 12


def test_four_spaces_cost_the_store_what_one_does(
    searching: Searching, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, space in enumerate((A, B, C, None)):
        searching.fact(str(number), f"gateway {number}", space=space)
    searching("gateway", spaces=(A, B, C, None), wait=True)  # its views are there now
    scans: list[Any] = []
    with searching.bench.store.reading(Ref(branch=MAIN)) as reading:
        kind = type(reading)
    scan: Callable[..., Any] = kind.scan
    monkeypatch.setattr(kind, "scan", lambda *asked: scans.append(asked) or scan(*asked))
    assert len(searching("gateway", spaces=(A,)).hits) == 1
    of_one = len(scans)
    assert len(searching("gateway", spaces=(A, B, C, None)).hits) == 4
    assert len(scans) - of_one == of_one


@pytest.mark.parametrize(
    ("spaces", "notes"),
    [
        (("project:b",), ["Nothing is in the space project:b."]),
        (
            ("project:b", "project:q"),
            ["Nothing is in the space project:b.", "Nothing is in the space project:q."],
        ),
        (("project:b", None), []),
        ((A, "project:b"), []),
        ((), []),
    ],
)
def test_a_search_of_empty_spaces_says_so(
    searching: Searching, spaces: tuple[str | None, ...], notes: list[str]
) -> None:
    searching.fact("a", "gateway", space="project:a")
    found = searching("nothing", spaces=spaces, mode="keyword")
    assert found.hits == []
    assert [note.partition(" Similar")[0] for note in found.notes] == notes


def test_few_messages_of_a_space_are_found_among_many(searching: Searching) -> None:
    searching.conversation("conv_mine", A)
    searching.conversation("conv_other", B)
    for number in range(300):
        searching.message(f"other_{number}", f"gateway gateway {number}", "conv_other")
    for number in range(20):
        searching.message(f"mine_{number:02}", f"a long tale of the gateway, {number}", "conv_mine")
    searching.engine = replace(searching.engine, limits=LARGE)
    with searching.bench.store.reading(Ref(branch=MAIN)) as reading:
        mine = newest_messages(reading, (A, C))
        newest = newest_messages(reading, (A, C), 3)
    assert newest == {"msg_mine_17", "msg_mine_18", "msg_mine_19"}
    found = searching.ids("gateway", kinds=("messages",), only=mine, limit=50, wait=True)
    assert set(found) == mine
    assert len(mine) == 20


def test_what_was_written_last_in_another_space_is_not_found(searching: Searching) -> None:
    searching.fact("mine", "Herons fish at dawn.", space="project:a")
    assert searching.ids("herons fish", spaces=("project:a",)) == ["fact_mine"]
    searching.fact("other", "Herons fish at dusk.", space="project:b")
    searching.fact("none", "Herons fish at noon.")
    assert searching.ids("herons fish", spaces=("project:a",)) == ["fact_mine"]
    searching.fact("later", "Herons fish at night.", space="project:a")
    assert set(searching.ids("herons fish", spaces=("project:a",))) == {"fact_mine", "fact_later"}
