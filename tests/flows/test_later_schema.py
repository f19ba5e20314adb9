"""A node beside one of a later schema: it refuses every state that has columns it does not know.

Otherwise it would drop what such a column holds wherever it writes a row whole: in squash merges,
restores, copies between branches, or in the ledger.
"""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from day1.errors import Day1Error, StoreVersionUnknown
from day1.interfaces.open_store import OpenStore
from day1.model.records.intent import Intent
from day1.model.rows.change import Ref
from day1.services.access.caller import Caller
from day1.toolsets import TOOLSETS
from tests.flows.later_day1 import LaterDay1, build, later_day1
from tests.flows.opened_store import call
from tests.flows.random_store import opened_at
from tests.sampling import sampled

Deed = tuple[str, dict[str, Any]]
TOOLS = {tool.name: tool for tool in TOOLSETS.choose("core,review,browse")}
CODE = StoreVersionUnknown.code
CURATED = {"branch_name": "new"}


@pytest.fixture(scope="module")
def later(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A day1 whose rows have one more column."""
    return build(tmp_path_factory.mktemp("later"))


@pytest.fixture(params=["doltlite", "dolt"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a store that is not there yet."""
    if request.param == "doltlite":
        return str(tmp_path / "store")
    url: str = request.getfixturevalue("documented_dolt")
    return url


def refused(store: OpenStore, tool: str, arguments: dict[str, Any]) -> str | None:
    """The code with which a call is refused; None if it is not."""
    try:
        TOOLS[tool].call(store.context(Caller()), arguments)
    except Day1Error as error:
        return error.code
    return None


@contextmanager
def side_by_side(where: str, later: Path) -> Iterator[tuple[OpenStore, LaterDay1, list[str]]]:
    """A node of this day1 that was there first, a later one beside it, and the ids of three facts.

    `side` and `aside` were forked from main and have one more fact each; nothing is stepped yet.
    """
    with opened_at(where, create=True) as store:
        texts = ("The gateway is slow.", "Ada drinks tea.", "Lunch is at noon.")
        facts = [call(store, "memory_write_fact", fact_text=text)["id"] for text in texts]
        for name in ("side", "aside"):
            call(store, "memory_branch_create", branch_name=name)
            call(store, "memory_write_fact", fact_text=f"Only on {name}.", branch=name)
        for name in ("main", "side", "aside"):
            call(store, "memory_snapshot", label=f"of {name}", branch=name)
            call(store, "memory_update_fact", fact_id=facts[0], category="blue", branch=name)
        with later_day1(later, where) as other:
            yield store, other, facts


def deeds(branch: str, source: str, fact: str, commit: str) -> list[Deed]:
    """What writes to a branch, or brings its rows elsewhere: what would drop a column."""
    here = {"branch": branch}
    into = {"source_branch": source, "target_branch": branch}
    back = {"source_branch": branch, "target_branch": "aside"}
    return [
        ("memory_write_fact", {"fact_text": "New.", **here}),
        ("memory_update_fact", {"fact_id": fact, "fact_text": "Changed.", **here}),
        ("memory_supersede_fact", {"fact_id": fact, "fact_text": "Another.", **here}),
        ("memory_retract_fact", {"fact_id": fact, **here}),
        ("verify_fact", {"fact_id": fact, "verdict": "verified", "reason": "Seen.", **here}),
        ("memory_restore", {"to": f"of {branch}", "confirm": branch, **here}),
        ("memory_restore", {"to": f"of {branch}", "id": fact, **here}),
        ("memory_revert", {"commit": commit, **here}),
        *(("memory_branch_merge", {**into, "strategy": how}) for how in ("auto", "squash")),
        *(("memory_branch_merge", {**back, "strategy": how}) for how in ("auto", "squash")),
        ("memory_branch_merge", {**back, "strategy": "cherry_pick", "items": [fact]}),
        ("memory_branch_create_curated", {**CURATED, "fact_ids": [fact], "parent_branch": branch}),
        ("knowledge_bundle_create", {"name": "b", "source_branch": branch, "only_verified": False}),
        ("memory_timeline", here),
        ("memory_get", {"id": fact, "at": commit}),
        ("memory_history", {"id": fact, **here}),
        ("memory_blame", {"id": fact, **here}),
        ("memory_branch_diff", into),
        ("memory_merge_preview", into),
        ("memory_branch_diff", back),
        ("memory_held", {"action": "list", **here}),
        ("memory_search", {"query": "gateway", **here}),
    ]


def test_a_state_of_a_later_schema_is_neither_written_nor_carried_elsewhere(
    where: str, later: Path
) -> None:
    with side_by_side(where, later) as (store, other, facts):
        tips = store.repo.history.branches()
        commits = {name: other.do("write", branch=name) for name in ("main", "side")}
        before = other.do("read")
        codes = {
            (tool, str(arguments)): refused(store, tool, arguments)
            for branch, source in (("main", "side"), ("side", "main"), ("side", "aside"))
            for tool, arguments in deeds(branch, source, facts[0], commits[branch])
        }
        assert {deed: code for deed, code in codes.items() if code != CODE} == {}
        for to in (Ref(commit=commits["side"]), Ref(branch="side")):  # as a copy follows commits
            with pytest.raises(StoreVersionUnknown):
                store.repo.history.changes(tips["side"], to)
        assert other.do("read") == before
        assert set(before["main"].values()) == {f"main/{fact}" for fact in before["main"]}
        assert refused(store, "memory_update_fact", change(facts[0], "aside")) is None, (
            "not stepped"
        )
        other.do("memory_update_fact", **change(facts[1], "aside"))
        assert refused(store, "memory_update_fact", change(facts[0], "aside")) == CODE


def change(fact: str, branch: str) -> dict[str, Any]:
    return {"fact_id": fact, "fact_text": f"Changed on {branch}.", "branch": branch}


LEDGER_DEEDS: list[Deed] = [
    ("memory_branch_enrich", {"branch_name": "side", "owner": "ada"}),
    ("memory_branch_create", {"branch_name": "new"}),
    ("memory_snapshot", {"label": "new"}),
    ("review_open", {"source_branch": "side"}),
    ("memory_branch_merge", {"source_branch": "side", "strategy": "auto"}),
]


def test_a_ledger_that_a_later_day1_has_brought_up_is_not_written(
    where: str, tmp_path: Path
) -> None:
    later = build(tmp_path / "later_ledger", rows=False, ledger=True)
    with side_by_side(where, later) as (store, other, _):
        for tool, arguments in LEDGER_DEEDS:
            assert refused(store, tool, arguments) == CODE, (tool, arguments)
        other.do("note", later="kept")
        before = other.do("noted")
        assert {branch["later"] for branch in before.values()} == {"kept"}
        for tool, arguments in LEDGER_DEEDS:
            assert refused(store, tool, arguments) == CODE, (tool, arguments)
        sums = where.startswith("/")  # in a file: that of a row counts the later field too
        assert refused(store, "memory_search", {"query": "gateway"}) == (CODE if sums else None)
        assert other.do("noted") == before
        assert store.repo.ledger.records(Intent) == [], "a refused deed leaves no intent"


@pytest.mark.parametrize("seconds", sampled((1, 60), {1}))
@pytest.mark.parametrize("where", sampled(("doltlite", "dolt"), {"doltlite"}), indirect=True)
def test_two_versions_side_by_side_lose_no_column(where: str, later: Path, seconds: int) -> None:
    """The later one writes, squashes and restores; whatever this one does meanwhile loses none.

    A slow machine gets more time, until each has done something in between.
    """
    codes: Counter[str | None] = Counter()
    begun = time.monotonic()

    def is_over(turns: int) -> bool:
        spent = time.monotonic() - begun
        return spent > 60 + seconds or (spent > seconds and turns > 1 and codes[CODE] > 1)

    with side_by_side(where, later) as (store, other, facts):
        over = threading.Event()

        def work() -> None:
            chance = random.Random(1)
            while not over.is_set():
                branch, source = chance.sample(("main", "side", "aside"), 2)
                commit = store.repo.history.branches()[branch]
                tool, arguments = chance.choice(deeds(branch, source, facts[0], commit))
                codes[refused(store, tool, arguments)] += 1

        earlier = threading.Thread(target=work)
        earlier.start()
        try:
            turns = work_of_the_later(other, facts, is_over)
        finally:
            over.set()
            earlier.join()
    assert turns > 1
    assert codes[CODE] > 1, codes


def work_of_the_later(other: LaterDay1, facts: list[str], is_over: Callable[[int], bool]) -> int:
    """Write until it is over; says how often. What was written must be there at each next look."""
    chance, turns = random.Random(2), 0
    seen: dict[str, dict[str, str | None]] = {}
    while not is_over(turns):
        now = other.do("read")
        for branch, values in seen.items():
            kept = {fact: value for fact, value in values.items() if value is not None}
            assert kept.items() <= now[branch].items(), branch
        branch, source = chance.sample(("main", "main", "side", "aside"), 2)
        source = "side" if branch == source else source
        match chance.choice(("write", "write", "squash", "auto", "restore")):
            case "write":
                other.do("write", branch=branch, facts=chance.sample(facts, 2))
            case "restore":
                other.do("memory_snapshot", label=f"turn {turns}", branch=branch)
                other.do("write", branch=branch, facts=[facts[2]])
                other.do("memory_restore", to=f"turn {turns}", branch=branch, confirm=branch)
            case how:
                into = {"source_branch": source, "target_branch": branch}
                other.do("memory_branch_merge", **into, strategy=how)
        seen, turns = other.do("read"), turns + 1
    return turns
