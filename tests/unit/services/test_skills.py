"""Patterns and skills: what is mined from threads, which runs count, and what is written."""

import json
from typing import Any

import pytest

from day1.model.branches.branch import MAIN
from day1.model.layers.row_detail import detail_of
from day1.model.rows.change import Message, Query, Ref
from day1.model.rows.kind import FACT, MESSAGE, Row
from day1.model.rows.origin import Origin
from day1.model.skills.mined import count_runs
from day1.model.skills.structure import PATTERN, SKILL, of_tools, read_structure
from day1.model.values.wallet_space import Owner
from day1.services.rows.editing import Removal, remove
from day1.services.rows.recording import NewFact, fact_row
from day1.services.skills import mining
from day1.services.skills.mining import (
    Counted,
    Extracted,
    Extraction,
    extract_patterns,
    mined,
    pattern_id,
    read_counted,
)
from day1.services.skills.promoting import Promoted, find_counted, promote, skill_id
from tests.tool_threads import FIX, asked, called, write_thread
from tests.unit.services.conftest import ADA, Bench

W = Owner("w")
ANN, BO = Owner("w", "ann"), Owner("w", "bo")


def thread(bench: Bench, name: str, *tools: str, owner: Owner = W, status: str = "ok") -> None:
    bench.now += 10
    write_thread(bench.repo, owner, name, [asked(), *called(*tools, status=status)])


def extract(bench: Bench, owner: Owner = W, least: float = 0.0) -> Extracted:
    bench.now += 10
    return extract_patterns(bench.repo, Extraction(bench.branch(), owner, Origin("w"), least))


def pattern(bench: Bench, name: str, *steps: str, **columns: Any) -> None:
    """Write a pattern of the wallet as it is stored."""
    bench.now += 10
    structure = of_tools(steps or FIX)
    with bench.store.adding(MAIN) as work:
        row = fact_row(f"fact_{name}", NewFact(structure.text, PATTERN), ADA, work.now)
        own: Row = {"structure": structure.cell, "space": W.space, "detail": detail_of(W)}
        work.add(FACT, [{**row, **own, **columns}])


def counted(bench: Bench, *spaces: str | None, category: str = PATTERN) -> list[Counted]:
    return read_counted(bench.repo, bench.branch(), category, spaces or W.spaces).rows


def change(bench: Bench, row_id: str, columns: Row) -> None:
    with bench.store.changing(MAIN) as work:
        work.change(FACT, row_id, columns)
        work.commit(Message("change", "a test's"))


# Counting


def test_only_patterns_that_the_caller_may_see_are_counted(bench: Bench) -> None:
    hidden: dict[str, Row] = {
        "skill": {"category": SKILL},
        "archived": {"status": "archived"},
        "secret": {"sensitivity": "secret"},
        "expired": {"expires_at": 500},
        "other": {"space": Owner("v").space},
        "user": {"space": ANN.space},
        "masked": {"structure": "[redacted]"},
    }
    for name, columns in hidden.items():
        pattern(bench, name, **columns)
    pattern(bench, "own")
    pattern(bench, "shared", space=None)
    assert {each.row["id"] for each in counted(bench)} == {"fact_own", "fact_shared"}
    everywhere = read_counted(bench.repo, bench.branch(), PATTERN, None)
    assert {each.row["id"] for each in everywhere.rows} == {
        *("fact_own", "fact_shared", "fact_other", "fact_user")
    }
    assert (everywhere.state.tip, everywhere.state.pending.count) == (
        bench.store.history.branches()[MAIN],
        9,
    )


def test_a_pattern_counts_the_runs_of_its_space_and_below_at_any_time(bench: Bench) -> None:
    thread(bench, "t1", *FIX)
    thread(bench, "t2", *FIX, owner=ANN, status="failed")
    thread(bench, "t3", *FIX, owner=Owner("v"))
    thread(bench, "t4", "look", "tell")
    pattern(bench, "fix")
    (fix,) = counted(bench)
    assert (fix.counts.runs, fix.counts.known, fix.counts.good) == (2, 2, 1)
    assert fix.structure.steps == FIX
    pattern(bench, "ann", space=ANN.space)
    assert counted(bench, ANN.space)[0].counts.runs == 1


@pytest.mark.parametrize(
    ("spaces", "runs"),
    [
        (W.spaces, 2),
        ((W.space, ANN.space, None), 2),
        ((ANN.space, None), 2),
        ((ANN.space, BO.space), 1),
        ((None,), 1),
        (("agent:w/user:an",), 0),
    ],
    ids=["wallet", "wallet and user", "user and shared", "users", "shared", "like it"],
)
def test_the_uses_are_the_runs_since_it_was_written_each_counted_once(
    bench: Bench, spaces: tuple[str | None, ...], runs: int
) -> None:
    thread(bench, "old", *FIX, owner=ANN)
    pattern(bench, "fix", space=None)
    for row in range(2):
        pattern(bench, f"in_{row}", space=spaces[0])
    thread(bench, "ann", *FIX, owner=ANN)
    thread(bench, "shared", *FIX, owner=Owner())
    found = [each for each in counted(bench, *spaces) if each.row["space"] == spaces[0]]
    assert {each.used.runs for each in found} == {runs}


def test_a_caller_that_sees_all_spaces_counts_the_uses_of_the_patterns_own(bench: Bench) -> None:
    pattern(bench, "fix")
    thread(bench, "ann", *FIX, owner=ANN)
    thread(bench, "shared", *FIX, owner=Owner())
    (fix,) = read_counted(bench.repo, bench.branch(), PATTERN, None).rows
    assert fix.used.runs == 1


def test_a_run_at_the_instant_of_its_pattern_is_a_use(bench: Bench) -> None:
    pattern(bench, "fix")
    write_thread(bench.repo, W, "t1", called(*FIX))
    assert counted(bench)[0].used.runs == 1
    pattern(bench, "later")
    assert {each.row["id"]: each.used.runs for each in counted(bench)} == {
        "fact_fix": 1,
        "fact_later": 0,
    }


def test_the_surest_pattern_comes_first_then_the_one_with_more_runs(bench: Bench) -> None:
    for name in ("t1", "t2", "t3"):
        thread(bench, name, "a", "b")
        thread(bench, f"{name}_x", "c", "d", status="failed")
    thread(bench, "t4", "e", "f", status="failed")
    for name, steps in (("z", "gh"), ("y", "ef"), ("x", "cd"), ("w", "ij"), ("v", "ab")):
        pattern(bench, name, *steps)
    assert [each.row["id"] for each in counted(bench)] == [
        *("fact_v", "fact_x", "fact_y", "fact_w", "fact_z")
    ]


def test_threads_are_read_once_for_a_state(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mining, "_MAX_CACHED", 3)
    thread(bench, "t1", *FIX)

    def read(space: str | None) -> Any:
        with bench.store.reading(Ref(branch=MAIN)) as reading:
            return mined(bench.repo, reading, space)

    first = read(W.space)
    assert read(W.space) is first
    assert read(None) is not first
    thread(bench, "t2", *FIX)
    assert [len(first.threads), len(read(W.space).threads)] == [1, 2]
    assert len(bench.repo.mined) == 3
    read(None)
    assert len(bench.repo.mined) == 3
    assert read(W.space) is not first


def test_messages_count_in_the_order_in_which_they_were_written(bench: Bench) -> None:
    write_thread(bench.repo, W, "t1", called("grep"))
    bench.now += 10
    write_thread(bench.repo, W, "t1", called("edit", "test"))
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        (uses,) = mined(bench.repo, reading, W.space).threads.values()
    assert [(use.name, use.at, use.agent) for use in uses] == [
        ("grep", bench.now - 9, "w"),
        ("edit", bench.now, "w"),
        ("test", bench.now, "w"),
    ]


def test_a_call_that_is_announced_and_reported_counts_once(bench: Bench) -> None:
    grep = [{"name": "grep", "status": "ok"}]
    turn = [asked(), ("assistant", "I look.", grep), ("tool", "Found.", grep)]
    write_thread(bench.repo, W, "t1", [*turn, *turn])
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        (uses,) = mined(bench.repo, reading, W.space).threads.values()
    assert [use.turn for use in uses] == [1, 2]


def test_a_message_that_says_when_it_happened_counts_at_that_time(bench: Bench) -> None:
    ids = write_thread(bench.repo, W, "t1", called("grep", "edit"))
    with bench.store.changing(MAIN) as work:
        work.change(MESSAGE, ids[0], {"happened_at": 77})
        work.commit(Message("change", "a test's"))
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        (uses,) = mined(bench.repo, reading, W.space).threads.values()
    assert [use.at for use in uses] == [77, 1_001]


# Extracting


def test_an_extraction_writes_each_recurring_run_of_a_wallet_in_one_commit(bench: Bench) -> None:
    thread(bench, "t1", *FIX)
    thread(bench, "t2", *FIX, owner=ANN)
    for name in ("t1", "t2"):
        thread(bench, name, "look", "tell", owner=Owner("v"))
    done = extract(bench, BO)
    assert done.added == (pattern_id(W.space, FIX),)
    assert done.commit == bench.store.history.branches()[MAIN]
    commit = bench.store.commits[str(done.commit)]
    assert (commit.op, commit.line) == ("change", "extract 1 patterns")
    row = bench.present(done.added[0])
    assert read_structure(row["structure"]) == of_tools(FIX)
    assert json.loads(str(row["detail"])) == {"agentWallet": "w", "via": "compose"}
    assert (row["space"], row["category"], row["fact_text"]) == (W.space, PATTERN, of_tools(FIX).text)  # fmt: skip
    assert (row["agent_id"], row["created_at"]) == ("w", bench.now)


def test_an_extraction_again_writes_only_what_is_new(bench: Bench) -> None:
    for name in ("t1", "t2"):
        thread(bench, name, *FIX)
    assert extract(bench).present == 0
    assert extract(bench) == Extracted(present=1)
    for name in ("t3", "t4"):
        thread(bench, name, "look", "tell")
    done = extract(bench)
    assert (done.added, done.present) == ((pattern_id(W.space, ("look", "tell")),), 1)


@pytest.mark.parametrize("how", ["archived", "removed"])
def test_a_pattern_that_somebody_took_away_does_not_come_back(bench: Bench, how: str) -> None:
    for name in ("t1", "t2"):
        thread(bench, name, *FIX)
    (row_id,) = extract(bench).added
    if how == "archived":
        change(bench, row_id, {"status": "archived"})
    else:
        remove(bench.repo, bench.branch(), Removal([row_id]), ADA)
    assert extract(bench) == Extracted(present=1)
    assert counted(bench) == []


def test_patterns_of_too_little_confidence_are_left_out(bench: Bench) -> None:
    for name in ("t1", "t2"):
        thread(bench, name, *FIX)
        thread(bench, f"{name}_x", "look", "tell", status="failed")
    assert extract(bench, least=0.35) == Extracted()
    sure = count_runs(_runs(bench, FIX)).confidence
    assert extract(bench, least=sure).added == (pattern_id(W.space, FIX),)


def _runs(bench: Bench, steps: tuple[str, ...]) -> Any:
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        return mined(bench.repo, reading, W.space).runs(steps)


def test_an_extraction_writes_the_patterns_of_the_most_threads(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mining, "MOST", 1)
    for name in ("t1", "t2", "t3"):
        thread(bench, name, "look", "tell")
    for name in ("t4", "t5"):
        thread(bench, name, *FIX)
    assert extract(bench).added == (pattern_id(W.space, ("look", "tell")),)


def test_what_another_process_writes_meanwhile_is_not_written_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("t1", "t2"):
        thread(bench, name, *FIX)
        thread(bench, f"{name}_x", "look", "tell")
    ours, theirs = (pattern_id(W.space, steps) for steps in (FIX, ("look", "tell")))
    absent = mining._absent

    def slow(reading: Any, ids: Any) -> list[str]:
        found = absent(reading, ids)
        if theirs in found:
            pattern(bench, theirs.removeprefix("fact_"), "look", "tell")
        return found

    monkeypatch.setattr(mining, "_absent", slow)
    done = extract(bench)
    assert (done.added, done.present) == ((ours,), 1)


def test_the_ids_that_are_stored_never_change() -> None:
    assert pattern_id("agent:w", FIX) == "fact_0000000000066W63WNMVZ8DMVM"
    assert pattern_id(None, FIX) == "fact_0000000000Z0EZ54JTVT7MDRH9"
    assert skill_id("fact_a") == "fact_0000000000T0SY7GCEKC64D8Y2"


# Promoting


def promoted(bench: Bench, name: str = "Fix", row_id: str = "fact_fix") -> Promoted:
    bench.now += 10
    found = find_counted(bench.repo, bench.branch(), PATTERN, row_id, W.spaces)
    assert found.counted is not None
    return promote(bench.repo, bench.branch(), found.counted, name, Origin("judge"))


def test_a_pattern_is_found_by_its_id_among_those_that_the_caller_sees(bench: Bench) -> None:
    pattern(bench, "fix")
    pattern(bench, "other", space=Owner("v").space)
    found = find_counted(bench.repo, bench.branch(), PATTERN, "fact_other", W.spaces)
    assert found.counted is None
    assert [each.row["id"] for each in found.read.rows] == ["fact_fix"]
    assert find_counted(bench.repo, bench.branch(), SKILL, "fact_fix", W.spaces).counted is None


@pytest.mark.parametrize("owner", [W, ANN, Owner()], ids=["wallet", "user", "shared"])
def test_a_skill_is_a_fact_of_its_patterns_owner_that_names_the_pattern(
    bench: Bench, owner: Owner
) -> None:
    spaces = (*ANN.spaces,)
    pattern(bench, "fix", space=owner.space, detail=detail_of(owner))
    found = find_counted(bench.repo, bench.branch(), PATTERN, "fact_fix", spaces).counted
    assert found is not None
    done = promote(bench.repo, bench.branch(), found, "Fix a bug", Origin("judge"))
    assert (done.skill_id, done.active, done.notes) == (skill_id("fact_fix"), True, ())
    assert done.after.pending == 2
    row = bench.present(done.skill_id)
    structure = read_structure(row["structure"])
    assert structure is not None
    assert (structure.name, structure.steps, row["fact_text"]) == ("Fix a bug", FIX, structure.text)
    assert (row["category"], row["space"], row["origin_id"]) == (SKILL, owner.space, "fact_fix")
    assert (row["detail"], row["agent_id"]) == (detail_of(owner), "judge")
    assert (row["verification"], row["created_at"]) == ("unverified", bench.now)


def test_promoting_again_changes_nothing_and_tells_of_another_name(bench: Bench) -> None:
    pattern(bench, "fix")
    first, again, other = promoted(bench), promoted(bench), promoted(bench, "Mend")
    assert {first.skill_id, again.skill_id, other.skill_id} == {skill_id("fact_fix")}
    assert (again.notes, again.active, again.after.pending) == ((), True, 2)
    (note,) = other.notes
    assert "another name" in str(note)
    assert other.active
    assert len(counted(bench, category=SKILL)) == 1


def test_an_archived_skill_stays_archived(bench: Bench) -> None:
    pattern(bench, "fix")
    made = promoted(bench).skill_id
    change(bench, made, {"status": "archived"})
    again = promoted(bench)
    assert (again.skill_id, again.active, again.after.pending) == (made, False, 0)
    assert [str(note) for note in again.notes] == ["The skill of this pattern is archived, and stays so."]  # fmt: skip
    assert bench.present(made)["status"] == "archived"


def test_a_removed_skill_stays_away(bench: Bench) -> None:
    pattern(bench, "fix")
    made = promoted(bench).skill_id
    remove(bench.repo, bench.branch(), Removal([made]), ADA)
    again = promoted(bench)
    assert (again.skill_id, again.active, len(again.notes)) == (made, False, 1)
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        assert reading.find(FACT, Query(equal={"category": SKILL})) == []
