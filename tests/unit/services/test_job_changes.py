"""How jobs write: their commits, authors and reviews, their bounds, and what they report."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from day1.errors import BranchClosed
from day1.model.branches.branch import MAIN
from day1.model.jobs.job import WAITS, Job
from day1.model.layers.row_detail import detail_of
from day1.model.records.review import Review
from day1.model.records.session import Session
from day1.model.redaction.mask import REDACTED_HASH
from day1.model.rows.change import Message, Query, Ref
from day1.model.rows.kind import CONVERSATION, EDIT, FACT, MESSAGE, Row
from day1.model.values.instant import DAY
from day1.model.values.wallet_space import Owner
from day1.services.jobs import jobs
from day1.services.jobs.jobs import NewJob, claim, create, find_job, run, waiting
from day1.services.merges.protection import protect
from day1.services.rows.recording import new_row
from tests.fakes.hashing_embedder import HashingEmbedder
from tests.unit.services.conftest import ADA, Bench
from tests.unit.services.maintained import Maintained, W, go_on

DARK, SAME = "Ada likes the dark mode of the editor.", "Ada likes the dark mode of the editor"


@pytest.fixture
def memory(bench: Bench) -> Maintained:
    return Maintained(bench)


def repeated(memory: Maintained) -> None:
    """Add two facts that say the same, among enough others."""
    memory.filler(8)
    memory.fact("a", SAME)
    memory.fact("b", DARK)


def done_by(memory: Maintained, token: str | None, *wallets: str) -> Job:
    new = NewJob("consolidate", "temporal", memory.bench.branch(), wallets or (W,), {}, token)
    held = claim(memory.repo, create(memory.repo, new), "process_1")
    assert held is not None
    return run(memory.shop, held, go_on)


# Records


def test_a_new_job_waits_with_all_that_was_asked(memory: Maintained) -> None:
    branch, now = memory.bench.branch(), memory.bench.now
    new = NewJob("cleanup", "temporal", branch, ("w",), {"olderThanDays": 3}, "t1", "s1")
    job = create(memory.repo, new)
    assert job == Job(
        job.id, "cleanup", "temporal", "running", branch.id, "w", ("w",), {"olderThanDays": 3}, {},
        None, None, "s1", "t1", None, now + WAITS, now,
    )  # fmt: skip
    assert job.id.startswith("job_")
    assert memory.repo.ledger.records(Job) == [job]
    both = create(memory.repo, replace(new, wallets=("w", "v")))
    assert (both.wallet, both.wallets) == (None, ("w", "v"))


def test_a_job_of_one_id_is_created_once(memory: Maintained) -> None:
    new = NewJob("cleanup", "temporal", memory.bench.branch(), (W,), {})
    first = create(memory.repo, new, "job_1")
    memory.bench.now += 1
    assert create(memory.repo, replace(new, kind="consolidate"), "job_1") == first
    assert waiting(memory.repo) == [first]


def test_a_running_job_has_its_holder_and_a_done_one_its_times(memory: Maintained) -> None:
    job = memory.queued()
    memory.bench.now += 5
    worker = memory.worker("process_7")
    worker.run(go_on)
    done = find_job(memory.repo, job.id)
    assert (done.status, done.holder) == ("completed", "process_7")
    assert (done.started_at, done.completed_at) == (memory.bench.now, memory.bench.now)


def test_a_worker_that_is_stopped_begins_no_other_job(memory: Maintained) -> None:
    waits = [memory.queued(), memory.queued()]
    memory.worker().run(lambda: True)
    assert waiting(memory.repo) == waits


def test_a_job_tells_the_message_of_an_error_that_quotes_no_memory(
    memory: Maintained, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Any) -> Any:
        raise BranchClosed("It is closed.")

    monkeypatch.setattr(jobs, "RUNS", {"consolidate": fail})
    assert memory.done("consolidate").error == "It is closed."


# Commits and their authors


def test_a_jobs_commit_names_the_kind_and_its_edits_give_it_as_reason(memory: Maintained) -> None:
    repeated(memory)
    done = memory.done("consolidate")
    commit = memory.bench.store.commits[str(done.commit)]
    assert (commit.op, commit.line) == ("change", "consolidate: supersede 1")
    with memory.bench.store.reading(Ref(branch=MAIN)) as reading:
        edits = reading.find(EDIT, Query())
    assert {(e["row_id"], e["reason"], e["agent_id"], e["source"]) for e in edits} == {
        ("fact_a", "consolidate", W, "tool")
    }


@pytest.mark.parametrize("token", [None, "token_1"])
def test_whoever_asked_for_a_job_is_an_author_of_what_it_writes(
    memory: Maintained, token: str | None
) -> None:
    repeated(memory)
    done_by(memory, token)
    writers = {(each.agent_id, each.token_id) for each in memory.repo.ledger.records(Session)}
    assert writers == {(W, None), *([] if token is None else [(None, token)])}


def test_a_job_that_must_end_commits_nothing(memory: Maintained) -> None:
    repeated(memory)
    stopped = False

    def point(name: str) -> None:
        nonlocal stopped
        stopped = stopped or name == "job.before_commit"

    shop = replace(memory.shop, repo=replace(memory.repo, point=point))
    held = claim(memory.repo, memory.queued(), "process_1")
    assert held is not None
    given_back = run(shop, held, lambda: stopped)
    assert (given_back.status, given_back.holder) == ("running", None)
    assert {*memory.statuses().values()} == {"active"}


def test_a_job_on_a_closed_branch_has_failed(memory: Maintained) -> None:
    repeated(memory)
    memory.repo.ledger.put(replace(memory.bench.branch(), closed=True))
    done = memory.done("consolidate")
    assert done.status == "failed"
    assert MAIN in str(done.error)


# Reviews


def test_a_review_says_which_job_proposes_and_for_whom(memory: Maintained) -> None:
    repeated(memory)
    protect(memory.repo, memory.bench.branch(), ["review"])
    done_by(memory, "token_1")
    (review,) = memory.repo.ledger.records(Review)
    assert (review.title, review.description) == ("Maintenance: consolidate", None)
    assert (review.opened_by, review.opened_token) == (W, "token_1")
    assert review.created_at == memory.bench.now


@pytest.mark.parametrize("status", ["closed", "merged"])
def test_after_a_closed_review_a_job_proposes_again(memory: Maintained, status: Any) -> None:
    repeated(memory)
    protect(memory.repo, memory.bench.branch(), ["review"])
    first = memory.done("consolidate")
    (review,) = memory.repo.ledger.records(Review)
    memory.repo.ledger.put(replace(review, status=status))
    second = memory.done("consolidate")
    assert first.data["review_id"] != second.data["review_id"]
    assert "still open" not in str(second.data)


def test_the_open_review_of_another_wallet_or_kind_does_not_count(memory: Maintained) -> None:
    repeated(memory)
    memory.fact("c", SAME, Owner("w2"))
    memory.fact("d", DARK, Owner("w2"))
    memory.fact("over", "x", expires_at=1)
    protect(memory.repo, memory.bench.branch(), ["review"])
    done = [memory.done("consolidate"), memory.done("consolidate", "w2"), memory.done("cleanup")]
    assert len({each.data["review_id"] for each in done}) == 3
    assert memory.done("consolidate").data["review_id"] == done[0].data["review_id"]
    again = memory.done("cleanup", olderThanDays=29).data
    assert again["review_id"] == done[2].data["review_id"]
    assert "still open" in str(again["notes"])


def test_with_tiers_what_needs_no_approval_is_merged(memory: Maintained) -> None:
    repeated(memory)
    protect(memory.repo, memory.bench.branch(), ["tiers"], ["none"])
    done = memory.done("consolidate")
    assert memory.statuses()["fact_a"] == "superseded"
    assert done.commit == memory.bench.store.history.branches()[MAIN]
    assert "review_id" not in done.data


# Consolidating


@pytest.mark.parametrize(("fillers", "status"), [(1, "completed"), (0, "failed")])
def test_a_third_of_a_branch_may_be_superseded_and_not_more(
    memory: Maintained, fillers: int, status: str
) -> None:
    memory.filler(fillers)
    memory.fact("a", SAME)
    memory.fact("b", DARK)
    assert memory.done("consolidate").status == status


def test_the_better_worded_fact_stays_then_the_newer_one(memory: Maintained) -> None:
    memory.filler(8)
    memory.fact("b", DARK)
    memory.fact("a", SAME)
    memory.fact("d", "Bo sails.")
    memory.fact("c", "Bo sails.")
    memory.done("consolidate")
    active = {name for name, status in memory.statuses().items() if status == "active"}
    assert active == {"fact_b", "fact_c"}


TEA = "Ann prefers green tea with honey and fresh lemon from her garden in the morning."
EARLY = TEA.replace("morning", "early morning")


@pytest.mark.parametrize(
    ("one", "other", "params", "superseded"),
    [
        (TEA, EARLY, {}, 1),
        (EARLY, TEA, {}, 1),
        (TEA, EARLY, {"confidenceThreshold": 0.999}, 0),
        (TEA, EARLY, {"confidenceThreshold": 0.1}, 1),
        (TEA, TEA.replace("prefers", "never prefers"), {}, 0),
        (DARK, SAME, {"confidenceThreshold": 0.999}, 1),
    ],
    ids=["longer later", "longer first", "too far", "low", "denied", "the same words"],
)
def test_by_meaning_a_rewording_is_superseded(
    memory: Maintained, one: str, other: str, params: dict[str, Any], superseded: int
) -> None:
    engine = replace(memory.shop.engine, embedder=HashingEmbedder())
    memory.shop = replace(memory.shop, engine=engine)
    memory.filler(8)
    memory.fact("a", one)
    memory.fact("b", other)
    data = memory.done("consolidate", **params).data
    assert data["superseded"] == superseded


def test_a_consolidation_tells_what_it_looked_at(memory: Maintained) -> None:
    repeated(memory)
    memory.fact("c", "Bo sails.", Owner(W, "ann"))
    memory.fact("d", "x", content_hash=REDACTED_HASH)
    data = memory.done("consolidate").data
    assert (data["spaces"], data["examined"], data["superseded"]) == (2, 11, 1)
    assert memory.done("consolidate", batchSize=3).data["examined"] == 4


# Decay


def test_a_fact_that_was_used_lately_has_not_faded(memory: Maintained) -> None:
    memory.fact("used", DARK)
    memory.fact("unused", "Bo sails.")
    memory.fact("shared", "Cy swims.", Owner())
    memory.fact("secret", "Dee runs.", sensitivity="secret")
    memory.fact("archived", "Eve rows.", status="archived")
    first = memory.bench.now
    memory.bench.now += 120 * DAY
    used: Any = SimpleNamespace(of=lambda ids: {i: SimpleNamespace(last=memory.bench.now) for i in ids if i == "fact_used"})  # fmt: skip
    memory.shop = replace(memory.shop, engine=replace(memory.shop.engine, uses=used))
    data = dict(memory.done("decay_update").data)
    assert data.pop("notes")
    assert data == {"computed": True, "items": 2, "below": 1, "threshold": 0.1, "halfLifeDays": 30}
    assert memory.done("decay_update", end=first - 10).data["items"] == 0


# Archives


def test_each_wallet_is_archived_by_itself(memory: Maintained) -> None:
    memory.fact("a", DARK)
    memory.fact("b", "Bo sails.", Owner("w2"))
    done = memory.done("archive_create", W, "w2", "w3")
    archives: Any = done.data["archives"]
    assert len(archives) == 2
    assert all(each["archiveId"] and each["cid"].startswith("bafkrei") for each in archives)
    with memory.bench.store.reading(Ref(branch=MAIN)) as reading:
        rows = reading.find(FACT, Query(equal={"category": "archive"}))
    assert {(row["space"], row["agent_id"]) for row in rows} == {(Owner(w).space, w) for w in (W, "w2")}  # fmt: skip
    assert done.commit == memory.bench.store.history.branches()[MAIN]


@pytest.mark.parametrize(
    ("start", "end", "count"), [(0, None, 1), (1, None, 0), (None, 0, 1), (None, -1, 0)]
)
def test_an_archive_has_the_rows_of_its_time(
    memory: Maintained, start: int | None, end: int | None, count: int
) -> None:
    memory.fact("a", DARK)
    bounds = {"start": start, "end": end}
    params = {n: memory.bench.now + at for n, at in bounds.items() if at is not None}
    archives: Any = memory.done("archive_create", **params).data["archives"]
    assert len(archives) == count


# Cleaning up


def transcript(memory: Maintained, name: str, *ages: int) -> None:
    """Add a conversation, and a message of each age in days, counted from now."""
    now, owner = memory.bench.now, Owner(W)
    with memory.bench.store.adding(MAIN) as work:
        own: Row = {"space": owner.space, "detail": detail_of(owner)}
        row = new_row(CONVERSATION, f"conv_{name}", own, ADA, now - max(ages) * DAY)
        work.add(CONVERSATION, [row])
        for age in ages:
            said: Row = {"conversation_id": f"conv_{name}", "content": "Hi.", "role": "user"}
            work.add(MESSAGE, [new_row(MESSAGE, f"msg_{name}{age}", said, ADA, now - age * DAY)])


def test_a_cleanup_tells_what_it_did(bench: Bench) -> None:
    memory = Maintained(bench, transcript_days=10)
    transcript(memory, "old", 12, 10)
    transcript(memory, "young", 12, 9)
    memory.fact("over", "x", expires_at=memory.bench.now - 10 * DAY)
    memory.fact("later", "y", expires_at=memory.bench.now - 10 * DAY + 1_000)
    done = memory.done("cleanup", olderThanDays=10)
    assert dict(done.data) == {
        "olderThanDays": 10,
        "archivedFacts": 1,
        "removedConversations": 1,
        "removedMessages": 2,
        "endedSessions": 0,
        "commit": done.commit,
    }
    line = bench.store.commits[str(done.commit)].line
    assert line == "cleanup: archivedFacts 1, removedConversations 1, removedMessages 2"
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        assert {str(row["id"]) for row in reading.find(MESSAGE, Query())} == {"msg_young12", "msg_young9"}  # fmt: skip
        edits = reading.find(EDIT, Query())
    assert {(edit["row_id"], edit["cell"]) for edit in edits} == {
        ("fact_over", "status"),
        *((name, "*") for name in ("conv_old", "msg_old12", "msg_old10")),
    }


@pytest.mark.parametrize(
    ("setting", "note"),
    [(None, "DAY1_JOBS__TRANSCRIPT_DAYS is not set"), (31, "before it is 31 days old")],
)
def test_a_cleanup_tells_why_no_transcript_is_removed(
    bench: Bench, setting: int | None, note: str
) -> None:
    memory = Maintained(bench, transcript_days=setting)
    notes: Any = memory.done("cleanup").data["notes"]
    assert [note in told for told in notes] == [True]


def test_what_changed_while_a_cleanup_looked_stays(bench: Bench) -> None:
    memory = Maintained(bench, transcript_days=1)
    transcript(memory, "grown", 40)
    transcript(memory, "old", 40)
    for name in ("renewed", "restored", "over"):
        memory.fact(name, name, expires_at=5)

    def point(name: str) -> None:
        if name == "job.before_commit":
            with bench.store.changing(MAIN) as work:
                said: Row = {"conversation_id": "conv_grown", "content": "Ho.", "role": "user"}
                work.add(MESSAGE, [new_row(MESSAGE, "msg_new", said, ADA, work.now)])
                work.change(FACT, "fact_renewed", {"expires_at": None})
                work.change(FACT, "fact_restored", {"status": "superseded"})
                work.commit(Message("change", "meanwhile"))

    shop = replace(memory.shop, repo=replace(memory.repo, point=point))
    held = claim(memory.repo, memory.queued("cleanup"), "process_1")
    assert held is not None
    done = run(shop, held, go_on)
    assert [done.data[name] for name in ("archivedFacts", "removedConversations", "removedMessages")] == [1, 1, 1]  # fmt: skip
    assert memory.statuses() == {
        "fact_renewed": "active",
        "fact_restored": "superseded",
        "fact_over": "archived",
    }
