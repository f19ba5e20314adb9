"""Jobs and schedules of Compose over HTTP."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from day1.app.background import failures_of, job_runner
from day1.interfaces.open_store import OpenStore
from day1.model.jobs.job import Job
from day1.model.layers.row_detail import detail_of
from day1.model.rows.change import Ref
from day1.model.rows.kind import FACT
from day1.model.rows.origin import Origin
from day1.model.values.wallet_space import Owner
from day1.services.rows.recording import NewFact, fact_row
from tests.fakes.hashing_embedder import HashingEmbedder
from tests.flows.opened_store import opened
from tests.waiting import until
from tests.wires.compose_client import WALLET, ComposeClient
from tests.wires.served_toolsets import served

DARK = "Ada likes the dark mode of the editor."
LONG = "A" * 300


class Scene:
    """A client of a served store, and the store."""

    def __init__(self, client: ComposeClient, store: OpenStore) -> None:
        self.client, self.store = client, store

    def alone(self) -> "Scene":
        """The same on a new branch."""
        return Scene(self.client.on_a_branch(), self.store)

    def remember(self, *texts: str, owner: Owner = Owner(WALLET)) -> list[str]:  # noqa: B008 - a value
        """Store facts of an owner as Compose does; gives their ids."""
        branch = self.client.headers.get("Day1-Branch", "main")
        with self.store.repo.store.adding(branch) as work:
            rows = [
                {
                    **fact_row(self.store.repo.new_id("fact", work.now), NewFact(text, space=owner.space), Origin(owner.wallet), work.now),
                    "detail": detail_of(owner),
                }
                for text in texts
            ]  # fmt: skip
            work.add(FACT, rows)
        return [str(row["id"]) for row in rows]

    def status(self, row_id: str) -> str:
        """The status of a fact."""
        with self.store.repo.store.reading(
            Ref(branch=self.client.headers["Day1-Branch"])
        ) as reading:
            return str(reading.get(FACT, [row_id])[row_id]["status"])

    def fill(self) -> None:
        """Store facts of which no two say the same."""
        self.remember(*(f"Door {number} of the mill." for number in range(9)))


@contextmanager
def scene_in(folder: Path) -> Iterator[Scene]:
    with opened(folder, create=True) as store:
        store.search = replace(store.search, embedder=HashingEmbedder())
        with served(store) as http:
            yield Scene(ComposeClient(http), store)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with scene_in(tmp_path_factory.mktemp("jobs") / "store") as scene:
        yield scene


@pytest.fixture
def scene(shared: Scene) -> Scene:
    return shared.alone()


@pytest.fixture
def working(tmp_path: Path) -> Iterator[Scene]:
    """A store of its own, with a process that runs its jobs."""
    with scene_in(tmp_path / "store") as scene:
        runner = job_runner(scene.store, failures_of(scene.store))
        assert runner is not None
        runner.start_s = 0.0
        runner.start()
        until(scene.store.jobs.is_served, "the worker")
        yield scene
        runner.stop()


# Jobs


def test_an_inline_job_is_answered_when_it_is_done(scene: Scene) -> None:
    scene.fill()
    scene.remember(DARK, DARK)
    job = scene.client.ok("jobs_create", type="consolidate", agentWallet=WALLET)
    assert (job["status"], job["execution"], job["agentWallet"]) == ("completed", "inline", WALLET)
    assert job["data"]["superseded"] == 1
    assert job["createdAt"] <= job["completedAt"]
    assert scene.client.ok("jobs_get", jobId=job["jobId"]) == job
    log = scene.client.day1("memory_log", limit=1)["result"]
    assert log[0]["commit"] == job["data"]["commit"]
    undone = scene.client.day1("memory_revert", commit=job["data"]["commit"])
    assert undone["written"]["commit"] != job["data"]["commit"]


def test_a_job_that_is_asked_for_again_under_one_key_is_the_same_job(scene: Scene) -> None:
    scene.remember(DARK)
    client = scene.client
    keyed = ComposeClient(client.http, **client.headers, **{"Idempotency-Key": "k1"})
    first = keyed.ok("jobs_create", type="archive_create", agentWallet=WALLET)
    assert first["status"] == "completed"
    assert keyed.ok("jobs_create", type="archive_create", agentWallet=WALLET) == first
    error = keyed.refused(409, "jobs_create", type="consolidate", agentWallet=WALLET)
    assert error["code"] == "request_reused"
    other = client.ok("jobs_create", type="archive_create", agentWallet=WALLET)
    assert other["jobId"] != first["jobId"]


def test_near_vectors_alone_are_not_the_same(scene: Scene) -> None:
    scene.fill()
    long = "Ada always opens the editor in the morning and reads the notes of the day before lunch"
    one, _, two = scene.remember(f"{long}.", f"{long}, but never at night.", f"{long} quietly.")
    job = scene.client.ok("jobs_create", type="consolidate", agentWallet=WALLET)
    assert job["data"]["superseded"] == 1
    assert "notes" not in job["data"]
    assert {scene.status(one), scene.status(two)} == {"active", "superseded"}


def test_the_answer_names_no_temporal_ids(working: Scene) -> None:
    job = working.client.ok("jobs_create", type="cleanup", execution="temporal", agentWallet=WALLET)
    assert not {"temporalWorkflowId", "temporalRunId"} & job.keys()


def test_a_background_job_is_running_until_a_server_has_done_it(working: Scene) -> None:
    working.fill()
    working.remember(DARK, DARK)
    job = working.client.ok("jobs_create", type="consolidate", execution="temporal", agentWallet=WALLET)  # fmt: skip
    assert (job["status"], job["execution"]) == ("running", "temporal")
    assert "completedAt" not in job

    def done() -> Any:
        now = working.client.ok("jobs_get", jobId=job["jobId"])
        return now if now["status"] != "running" else None

    assert until(done, "the job")["data"]["superseded"] == 1


def test_a_background_job_needs_a_server_that_runs_jobs(scene: Scene) -> None:
    arguments = {"type": "cleanup", "execution": "temporal", "agentWallet": WALLET}
    assert scene.client.problems("jobs_create", **arguments) == ["execution"]


def test_a_job_that_fails_is_answered_with_its_error(scene: Scene) -> None:
    scene.remember(DARK, DARK)
    job = scene.client.ok("jobs_create", type="consolidate", agentWallet=WALLET)
    assert job["status"] == "failed"
    assert "more than a third of the branch" in job["error"]
    assert "data" not in job


def test_a_job_on_a_protected_branch_opens_a_review(scene: Scene) -> None:
    scene.fill()
    ids = scene.remember(DARK, DARK)
    branch = scene.client.headers["Day1-Branch"]
    scene.client.day1("memory_branch_protect", branch_name=branch, requires=["review"])
    job = scene.client.ok("jobs_create", type="consolidate", agentWallet=WALLET)
    review = scene.client.day1("review_show", review_id=job["data"]["review_id"])
    assert job["status"] == "completed"
    assert "commit" not in job["data"]
    assert review["target_branch"] == branch
    assert [scene.status(row_id) for row_id in ids] == ["active", "active"]


def test_an_unknown_job_is_not_found(scene: Scene) -> None:
    scene.client.refused(404, "jobs_get", jobId="job_none")


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("type", {"type": "defragment"}),
        ("type", {"type": None}),
        ("agentWallet", {"agentWallet": LONG}),
        ("agentWallet", {"agentWallet": ""}),
        ("agentWallet", {"agentWallet": "a\0b"}),
        ("agentWallet", {"agentWallet": None}),
        ("agentWallet", {"agent_id": "w2"}),
        ("agentWallet", {"agentWallets": ["w2"]}),
        ("agentWallets", {"agentWallets": []}),
        ("agentWallets", {"agentWallets": ["w"] * 101}),
        ("execution", {"execution": "later"}),
        ("olderThanDays", {"olderThanDays": -1}),
        ("olderThanDays", {"olderThanDays": 10**9}),
        ("olderThanDays", {"olderThanDays": 1, "older_than_days": 2}),
        ("halfLifeDays", {"halfLifeDays": 0}),
        ("halfLifeDays", {"halfLifeDays": -1}),
        ("batchSize", {"batchSize": 0}),
        ("batchSize", {"batchSize": 2_001}),
        ("confidenceThreshold", {"confidenceThreshold": 1.5}),
        ("confidenceThreshold", {"confidenceThreshold": -0.1}),
        ("timeRange", {"timeRange": {"start": 2, "end": 1}}),
        ("timeRange", {"dateRange": {"start": 2, "end": 1}}),
        ("timeRange", {"timeRange": {"start": 1, "end": 2}, "dateRange": {"start": 1, "end": 3}}),
        ("timeRange.end", {"timeRange": {"start": 1, "end": 10**18}}),
        ("timeRange.end", {"timeRange": {"start": 1}}),
    ],
)
def test_bad_arguments_are_named(scene: Scene, field: str, arguments: dict[str, Any]) -> None:
    before = len(scene.store.repo.ledger.records(Job))
    whole = {"type": "decay_update", "agentWallet": WALLET, **arguments}
    given = {name: value for name, value in whole.items() if value is not None}
    assert scene.client.problems("jobs_create", **given) == [field]
    assert len(scene.store.repo.ledger.records(Job)) == before


# Schedules


def mine(scene: Scene) -> str:
    """A wallet of this branch alone."""
    return f"w-{scene.client.headers['Day1-Branch'].rpartition('/')[2]}"


def listed(scene: Scene, wallet: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = scene.client.ok("schedules_list", agentWallets=wallet)["schedules"]  # fmt: skip
    return found


def test_schedules_made_twice_are_the_same_and_stay_paused(scene: Scene) -> None:
    wallet = mine(scene)
    assert scene.client.ok("schedules_create", agentWallets=[wallet])["created"] is True
    first = listed(scene, wallet)
    assert {schedule["type"] for schedule in first} == {
        "consolidate",
        "patterns_extract",
        "archive_create",
        "decay_update",
        "cleanup",
    }
    name = first[0]["scheduleId"]
    assert scene.client.ok("schedules_pause", scheduleId=name) == {"paused": True}
    assert scene.client.ok("schedules_create", agentWallets=[wallet])["created"] is True
    second = listed(scene, wallet)
    assert [each["scheduleId"] for each in second] == [each["scheduleId"] for each in first]
    assert [each["paused"] for each in second] == [True, False, False, False, False]
    assert "nextRunAt" not in second[0]
    assert scene.client.ok("schedules_resume", scheduleId=name) == {"resumed": True}
    assert listed(scene, wallet) == first


def test_on_main_the_ids_are_plain(shared: Scene) -> None:
    shared.client.ok("schedules_create", agentWallets=["plain"])
    ids = {schedule["scheduleId"] for schedule in listed(shared, "plain")}
    kinds = ("consolidate", "patterns_extract", "archive_create", "decay_update", "cleanup")
    assert ids == {f"{kind}:plain" for kind in kinds}


def test_the_list_says_when_no_server_runs_the_schedules(scene: Scene, working: Scene) -> None:
    for each in (scene, working):
        each.client.ok("schedules_create", agentWallets=["noted"])
    assert all("day1 serve" in schedule["note"] for schedule in listed(scene, "noted"))
    assert not any("note" in schedule for schedule in listed(working, "noted"))


def test_a_triggered_schedule_has_made_a_job(scene: Scene) -> None:
    wallet = mine(scene)
    scene.client.ok("schedules_create", agentWallets=[wallet])
    schedule = listed(scene, wallet)[0]
    triggered = scene.client.ok("schedules_trigger", scheduleId=schedule["scheduleId"])
    job = scene.client.ok("jobs_get", jobId=triggered["jobId"])
    assert (triggered["triggered"], job["type"], job["status"]) == (True, schedule["type"], "completed")  # fmt: skip
    after = listed(scene, wallet)[0]
    assert (after["lastJobId"], after["lastRunAt"]) == (job["jobId"], job["createdAt"])


def test_a_server_runs_a_triggered_schedule(working: Scene) -> None:
    working.client.ok("schedules_create", agentWallets=["w"])
    made = working.client.ok("schedules_trigger", scheduleId="cleanup:w")

    def done() -> bool:
        found = working.client.ok("jobs_get", jobId=made["jobId"])
        assert found["execution"] == "temporal"
        return bool(found["status"] == "completed")

    until(done, "the job")


def test_schedules_are_listed_and_deleted_by_wallet(scene: Scene) -> None:
    one, other = f"{mine(scene)}-1", f"{mine(scene)}-2"
    scene.client.ok("schedules_create", agentWallets=[one, other])
    both = listed(scene, f"{one},{other}")
    assert {schedule["agentWallet"] for schedule in both} == {one, other}
    repeated = scene.client.http.get(
        "/api/memory/schedules", params=[("agentWallets", one), ("agentWallets", other)]
    )
    assert repeated.json()["schedules"] == both
    assert scene.client.ok("schedules_delete", agentWallets=one) == {"deleted": True}
    assert scene.client.ok("schedules_delete", agentWallets=one) == {"deleted": False}
    assert {each["agentWallet"] for each in listed(scene, f"{one},{other}")} == {other}


def test_nothing_is_deleted_without_a_wallet(scene: Scene) -> None:
    scene.client.ok("schedules_create", agentWallets=[mine(scene)])
    assert scene.client.problems("schedules_delete") == ["agentWallets"]
    assert scene.client.problems("schedules_delete", agentWallets="") == ["agentWallets.0"]
    assert len(listed(scene, mine(scene))) == 5


@pytest.mark.parametrize("operation", ["pause", "resume", "trigger"])
def test_an_unknown_schedule_is_not_found(scene: Scene, operation: str) -> None:
    scene.client.refused(404, f"schedules_{operation}", scheduleId="cleanup:nobody")


@pytest.mark.parametrize("wallets", [[], [LONG], [""], ["w"] * 101, None])
def test_bad_lists_of_wallets_are_named(scene: Scene, wallets: list[str] | None) -> None:
    given = {} if wallets is None else {"agentWallets": wallets}
    (problem,) = scene.client.problems("schedules_create", **given)
    assert problem in {"agentWallets", "agentWallets.0"}


@pytest.mark.parametrize("path", ["/api/memory/jobs", "/api/memory/schedules"])
def test_no_path_is_read_as_a_wallet(scene: Scene, path: str) -> None:
    for method in ("PUT", "PATCH"):
        assert scene.client.http.request(method, path).status_code == 405
    assert scene.client.http.get("/api/memory/jobs").status_code == 405


# Tokens


@pytest.fixture
def tokens(tmp_path: Path) -> Iterator[tuple[ComposeClient, ComposeClient, ComposeClient]]:
    """Clients with a token bound to the agent ann, one bound to bob, and one bound to nobody."""
    with scene_in(tmp_path / "store") as scene:
        texts: list[str] = []
        for name, agent in (("admin", None), ("ann", "ann"), ("bob", "bob")):
            bound = {} if agent is None else {"agent_id": agent}
            headers = {"Authorization": f"Bearer {texts[0]}"} if texts else {}
            made = scene.client.http.post("/api/v1/token_create", json={"name": name, "scope": "admin" if agent is None else "write", **bound}, headers=headers)  # fmt: skip
            texts.append(made.json()["secret"])
        admin, ann, bob = (
            ComposeClient(scene.client.http, Authorization=f"Bearer {text}") for text in texts
        )
        yield ann, bob, admin


def test_a_token_bound_to_another_wallet_is_refused(
    tokens: tuple[ComposeClient, ComposeClient, ComposeClient],
) -> None:
    ann, bob, admin = tokens
    job = ann.ok("jobs_create", type="decay_update")
    assert job["agentWallet"] == "ann"
    ann.ok("schedules_create", agentWallets=["ann"])
    admin.ok("schedules_create", agentWallets=["bob"])
    bob.refused(403, "jobs_create", type="decay_update", agentWallet="ann")
    bob.refused(403, "jobs_create", type="decay_update", agentWallets=["bob", "ann"])
    bob.refused(403, "schedules_create", agentWallets=["ann"])
    bob.refused(403, "schedules_delete", agentWallets="ann")
    bob.refused(403, "schedules_list", agentWallets="ann")
    bob.refused(404, "jobs_get", jobId=job["jobId"])
    for operation in ("pause", "resume", "trigger"):
        bob.refused(404, f"schedules_{operation}", scheduleId="cleanup:ann")
    assert {each["agentWallet"] for each in bob.ok("schedules_list")["schedules"]} == {"bob"}
    assert {each["agentWallet"] for each in admin.ok("schedules_list")["schedules"]} == {"ann", "bob"}  # fmt: skip
