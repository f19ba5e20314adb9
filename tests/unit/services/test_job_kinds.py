"""What the kinds of jobs change, in which rows, and in how many commits."""

import json
from dataclasses import replace
from typing import Any

import pytest

from day1.model.branches.branch import MAIN
from day1.model.jobs.job import Job
from day1.model.layers.row_detail import detail_of
from day1.model.records.desk import Desk, next_desk
from day1.model.records.review import Review
from day1.model.redaction.mask import REDACTED_HASH
from day1.model.rows.change import Message, Ref
from day1.model.rows.kind import CONVERSATION, FACT, MESSAGE, canonical
from day1.model.values.instant import DAY
from day1.model.values.wallet_space import Owner
from day1.services.history.reverting import RevertRequest, revert
from day1.services.jobs.jobs import claim, run
from day1.services.merges.protection import protect
from tests.unit.services.conftest import ADA, Bench
from tests.unit.services.maintained import Maintained, W, go_on

DARK = "Ada likes the dark mode of the editor."
SAME = "Ada likes the dark mode of the editor"


@pytest.fixture
def memory(bench: Bench) -> Maintained:
    return Maintained(bench)


def commits(memory: Maintained, branch: str = MAIN) -> list[str]:
    return [commit.op for commit in memory.repo.history.log(branch)]


def test_what_is_said_twice_in_one_space_is_superseded_in_one_commit(memory: Maintained) -> None:
    memory.filler(8)
    memory.fact("a", SAME)
    memory.fact("b", DARK)
    memory.fact("c", "Ada likes tea.")
    memory.repo.store.commit_pending(MAIN)
    before = len(commits(memory))
    done = memory.done("consolidate")
    assert memory.statuses() == {"fact_a": "superseded", "fact_b": "active", "fact_c": "active"}
    assert memory.bench.present("fact_a")["superseded_by"] == "fact_b"
    assert (done.data["superseded"], done.data["examined"]) == (1, 11)
    assert done.commit == done.data["commit"]
    assert len(commits(memory)) == before + 1


def test_a_consolidation_can_be_reverted(memory: Maintained) -> None:
    memory.filler(8)
    memory.fact("a", SAME)
    memory.fact("b", DARK)
    done = memory.done("consolidate")
    assert done.commit is not None
    revert(memory.repo, RevertRequest(memory.bench.branch(), done.commit), ADA)
    assert memory.statuses() == {"fact_a": "active", "fact_b": "active"}


def test_a_fact_that_somebody_brought_back_is_not_superseded_again(memory: Maintained) -> None:
    memory.filler(8)
    memory.fact("a", SAME)
    memory.fact("b", DARK)
    done = memory.done("consolidate")
    assert done.commit is not None
    revert(memory.repo, RevertRequest(memory.bench.branch(), done.commit), ADA)
    assert memory.done("consolidate").data["superseded"] == 0
    assert memory.statuses() == {"fact_a": "active", "fact_b": "active"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Owner(W, "ann"), Owner(W, "bob")),
        (Owner(W), Owner(W, "ann")),
        (Owner(W, "ann"), Owner(W, "ann", "phone")),
        (Owner("w2"), Owner("w2")),
        (Owner(), Owner()),
    ],
    ids=["two users", "wallet and user", "user and device", "another wallet", "shared"],
)
def test_nothing_is_superseded_across_spaces_or_for_others(
    memory: Maintained, one: Owner, other: Owner
) -> None:
    memory.filler(8)
    memory.fact("a", DARK, one)
    memory.fact("b", DARK, other)
    done = memory.done("consolidate")
    assert {*memory.statuses().values()} == {"active"}
    assert (done.data["superseded"], done.commit) == (0, None)


def test_each_space_of_a_wallet_is_consolidated_by_itself(memory: Maintained) -> None:
    memory.filler(12)
    for user in ("ann", "bob"):
        memory.fact(f"{user}1", DARK, Owner(W, user))
        memory.fact(f"{user}2", DARK, Owner(W, user))
    done = memory.done("consolidate")
    superseded = [i for i, status in memory.statuses().items() if status == "superseded"]
    assert len(superseded) == 2
    assert {i.removeprefix("fact_")[:3] for i in superseded} == {"ann", "bob"}
    assert done.data["spaces"] == 3


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("Ada does not like the dark mode of the editor.", {}),
        ("Ada likes 2 dark modes of the editor.", {}),
        (DARK, {"category": "preference"}),
        (DARK, {"detail": detail_of(Owner(W), metadata={"project": "mill"})}),
        (DARK, {"detail": detail_of(Owner(W), key="mode")}),
        (DARK, {"detail": None}),
        (DARK, {"content_hash": REDACTED_HASH}),
        (DARK, {"verification": "invalidated"}),
        (DARK, {"sensitivity": "secret"}),
        (DARK, {"expires_at": 2**60}),
        (DARK, {"valid_until": 2**60}),
        (DARK, {"status": "archived"}),
    ],
    ids=["denied", "number", "category", "metadata", "key", "not of Compose", "redacted", "invalidated", "secret", "expiring", "ending", "archived"],
)  # fmt: skip
def test_what_differs_in_more_than_wording_stays(
    memory: Maintained, text: str, columns: dict[str, Any]
) -> None:
    memory.filler(8)
    memory.fact("a", DARK)
    memory.fact("b", text, **columns)
    before = memory.statuses()
    assert memory.done("consolidate").data["superseded"] == 0
    assert memory.statuses() == before


def test_a_verified_fact_stays(memory: Maintained) -> None:
    memory.filler(8)
    memory.fact("a", SAME, verification="verified")
    memory.fact("b", DARK)
    memory.done("consolidate")
    assert memory.statuses() == {"fact_a": "active", "fact_b": "superseded"}


def test_more_than_a_third_is_refused(memory: Maintained) -> None:
    memory.filler(1)
    for name in ("a", "b", "c"):
        memory.fact(name, DARK)
    done = memory.done("consolidate")
    assert (done.status, done.commit) == ("failed", None)
    assert "2 of 4 rows, more than a third of the branch" in str(done.error)
    assert {*memory.statuses().values()} == {"active"}


def test_a_job_looks_only_at_its_time_range_and_its_newest_facts(memory: Maintained) -> None:
    memory.filler(8)
    memory.fact("a", DARK)
    first = memory.bench.now
    memory.fact("b", DARK)
    assert memory.done("consolidate", end=first).data["superseded"] == 0
    assert memory.done("consolidate", start=first + 1).data["superseded"] == 0
    assert memory.done("consolidate", batchSize=1).data["superseded"] == 0
    assert memory.done("consolidate", start=first, end=first + 1).data["superseded"] == 1


def test_a_job_may_work_on_several_wallets(memory: Maintained) -> None:
    memory.filler(12)
    for wallet in (W, "w2"):
        memory.fact(f"{wallet}1", DARK, Owner(wallet))
        memory.fact(f"{wallet}2", DARK, Owner(wallet))
    assert memory.done("consolidate", W, "w2").data["superseded"] == 2


# A protected branch


def protected(memory: Maintained, *requires: str, rules: tuple[str, ...] = ()) -> None:
    memory.filler(8)
    memory.fact("a", SAME)
    memory.fact("b", DARK)
    protect(memory.repo, memory.bench.branch(), requires, rules)


@pytest.mark.parametrize(
    ("requires", "rules"), [(("review",), ()), (("tiers",), ("one",))], ids=["review", "tiers"]
)
def test_on_a_protected_branch_a_review_proposes_the_change(
    memory: Maintained, requires: tuple[str, ...], rules: tuple[str, ...]
) -> None:
    protected(memory, *requires, rules=rules)
    done = memory.done("consolidate")
    review = memory.repo.ledger.record(Review, str(done.data["review_id"]))
    assert (review is not None and review.status) == "open"
    assert (done.status, done.commit) == ("completed", None)
    assert {*memory.statuses().values()} == {"active"}
    assert memory.statuses("jobs/consolidate")["fact_a"] == "superseded"


def test_a_review_that_is_still_open_is_not_proposed_again(memory: Maintained) -> None:
    protected(memory, "review")
    first, second = memory.done("consolidate"), memory.done("consolidate")
    assert first.data["review_id"] == second.data["review_id"]
    assert len(memory.repo.ledger.records(Review)) == 1
    assert "still open" in str(second.data["notes"])


def test_a_job_with_nothing_to_change_opens_no_review(memory: Maintained) -> None:
    memory.filler(3)
    protect(memory.repo, memory.bench.branch(), ["review"])
    assert "review_id" not in memory.done("consolidate").data
    assert len(memory.repo.ledger.branches()) == 1


# Decay


def test_decay_scores_are_computed_and_change_nothing(memory: Maintained) -> None:
    memory.fact("old", DARK)
    memory.repo.store.commit_pending(MAIN)
    memory.bench.now += 60 * DAY
    memory.fact("new", "Ada likes tea.")
    before = commits(memory)
    done = memory.done("decay_update", halfLifeDays=30, confidenceThreshold=0.26)
    assert (done.data["items"], done.data["below"], done.commit) == (2, 1, None)
    assert memory.done("decay_update", halfLifeDays=90, confidenceThreshold=0.26).data["below"] == 0
    assert commits(memory) == before


# Cleaning up


def test_facts_that_expired_long_ago_are_archived_in_one_commit(memory: Maintained) -> None:
    now = memory.bench.now
    memory.fact("long", "a", expires_at=now - 31 * DAY)
    memory.fact("late", "b", expires_at=now - 29 * DAY)
    memory.fact("never", "c")
    memory.fact("other", "d", Owner("w2"), expires_at=now - 31 * DAY)
    memory.fact("foreign", "e", expires_at=now - 31 * DAY, detail=None)
    done = memory.done("cleanup")
    archived = [i for i, status in memory.statuses().items() if status == "archived"]
    assert archived == ["fact_long"]
    assert (done.data["archivedFacts"], done.data["olderThanDays"]) == (1, 30)
    assert done.commit is not None
    assert memory.done("cleanup").commit is None
    assert memory.done("cleanup", olderThanDays=29).data["archivedFacts"] == 1


def test_ended_working_sessions_are_dropped(memory: Maintained) -> None:
    branch = memory.bench.branch()
    desks = (("compose", W, "old", DAY), ("compose", W, "new", DAY - 1), ("compose", "w2", "other", DAY), ("day1", W, "plan", DAY))  # fmt: skip
    for client, wallet, session, age in desks:
        whose = branch.id, client, canonical([wallet, session])
        memory.repo.ledger.put(next_desk(None, whose, "{}", memory.bench.now - age))
    assert memory.done("cleanup").data["endedSessions"] == 1
    left = {json.loads(desk.name)[1] for desk in memory.repo.ledger.records(Desk)}
    assert left == {"new", "other", "plan"}


def transcript(
    memory: Maintained, name: str, age: int, tool_calls: str | None = None, **columns: Any
) -> None:
    """Add a conversation of the wallet with two messages of an age, and calls in the first."""
    memory.bench.now -= age
    owner = Owner(W)
    with memory.bench.store.adding(MAIN) as work:
        conversation = {**dict.fromkeys(CONVERSATION.columns), "id": f"conv_{name}"}
        own = {"space": owner.space, "detail": detail_of(owner), "created_at": memory.bench.now}
        work.add(CONVERSATION, [{**conversation, **own, **columns}])
    message(memory, name, 1, role="assistant", tool_calls=tool_calls)
    message(memory, name, 2)
    memory.bench.now += age


def message(memory: Maintained, conversation: str, number: int, **columns: Any) -> None:
    row = {**dict.fromkeys(MESSAGE.columns), "id": f"msg_{conversation}{number}", "content": "Hi."}
    row |= {"conversation_id": f"conv_{conversation}", "content_hash": "x", "created_at": memory.bench.now}  # fmt: skip
    with memory.bench.store.adding(MAIN) as work:
        work.add(MESSAGE, [{**row, **columns}])


def test_tools_that_recur_become_patterns_in_one_commit(memory: Maintained) -> None:
    tools = canonical([{"name": name} for name in ("grep", "edit", "test")])
    for name in ("one", "two", "three"):
        transcript(memory, name, DAY, tool_calls=tools)
    done = memory.done("patterns_extract")
    assert (done.data["added"], done.data["present"]) == (1, 0)
    assert done.data["commit"] == done.commit
    again = memory.done("patterns_extract")
    assert (again.data["added"], again.data["present"], again.commit) == (0, 1, None)


def test_on_a_protected_branch_patterns_are_proposed(memory: Maintained) -> None:
    tools = canonical([{"name": name} for name in ("grep", "edit", "test")])
    for name in ("one", "two"):
        transcript(memory, name, DAY, tool_calls=tools)
    protect(memory.repo, memory.bench.branch(), ["review"])
    done = memory.done("patterns_extract")
    assert (done.data["added"], done.commit) == (1, None)
    assert memory.repo.ledger.record(Review, str(done.data["review_id"])) is not None


def test_a_fork_on_which_nothing_was_written_is_deleted(memory: Maintained) -> None:
    protect(memory.repo, memory.bench.branch(), ["review"])
    done = memory.done("patterns_extract")
    assert (done.status, done.data) == ("completed", {"added": 0, "present": 0})
    assert [branch.name for branch in memory.repo.ledger.branches()] == [MAIN]


def test_a_fork_whose_job_failed_is_deleted(memory: Maintained) -> None:
    """A schedule would leave one every day."""
    memory.fact("a", DARK)
    memory.fact("b", DARK)
    protect(memory.repo, memory.bench.branch(), ["review"])
    done = memory.done("consolidate")
    assert done.status == "failed"
    assert "more than a third" in str(done.error)
    assert [branch.name for branch in memory.repo.ledger.branches()] == [MAIN]


def transcripts(memory: Maintained) -> tuple[int, int]:
    with memory.bench.store.reading(Ref(branch=MAIN)) as reading:
        return reading.count(CONVERSATION), reading.count(MESSAGE)


@pytest.mark.parametrize(
    ("setting", "days", "left"),
    [(None, 0, (3, 7)), (30, 29, (3, 7)), (30, 30, (2, 5)), (30, 60, (3, 7)), (30, 0, (3, 7))],
    ids=["no setting", "too young", "old", "older than all", "at once"],
)
def test_transcripts_are_removed_only_by_the_setting(
    bench: Bench, setting: int | None, days: int, left: tuple[int, int]
) -> None:
    memory = Maintained(bench, transcript_days=setting)
    transcript(memory, "foreign", 40 * DAY, detail=None)
    transcript(memory, "old", 40 * DAY)
    transcript(memory, "alive", 40 * DAY)
    message(memory, "alive", 3)
    done = memory.done("cleanup", olderThanDays=days)
    assert transcripts(memory) == left
    removed = 3 - left[0]
    assert (done.data["removedConversations"], done.data["removedMessages"]) == (removed, 2 * removed)  # fmt: skip
    assert bool(done.data.get("notes")) == (setting is None or days < setting)


def test_a_removed_transcript_comes_back_by_a_revert(bench: Bench) -> None:
    memory = Maintained(bench, transcript_days=1)
    transcript(memory, "old", 40 * DAY)
    done = memory.done("cleanup")
    assert done.commit is not None
    assert transcripts(memory) == (0, 0)
    revert(memory.repo, RevertRequest(memory.bench.branch(), done.commit), ADA)
    assert transcripts(memory) == (1, 2)


def test_a_fact_that_changes_meanwhile_is_not_superseded(memory: Maintained) -> None:
    memory.filler(8)
    memory.fact("a", SAME)
    memory.fact("b", DARK)

    def point(name: str) -> None:
        if name == "job.before_commit":
            with memory.repo.store.changing(MAIN) as work:
                work.change(FACT, "fact_a", {"category": "other"})
                work.commit(Message("change", "x"))

    shop = replace(memory.shop, repo=replace(memory.repo, point=point))
    held = claim(memory.repo, memory.queued(), "process_1")
    assert held is not None
    done: Job = run(shop, held, go_on)
    assert (done.status, done.data["superseded"], done.commit) == ("completed", 0, None)
    assert memory.statuses() == {"fact_a": "active", "fact_b": "active"}
