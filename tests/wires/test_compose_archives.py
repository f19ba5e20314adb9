"""Archives over HTTP: which rows they hold, the id of their bytes, and pinning that is not faked."""

import base64
import hashlib
import json
import logging
import time
from collections.abc import Iterator
from typing import Any

import pytest

from day1.app.models import pinning
from day1.interfaces.open_store import OpenStore
from day1.model.layers.row_detail import detail_of
from day1.model.rows.kind import FACT, RELATION
from day1.model.rows.origin import Origin
from day1.model.values.wallet_space import Owner
from day1.services.rows.recording import NewFact, NewRelation, fact_row, relation_row
from day1.services.sharing.bundles import export_bundle
from day1.settings import PinningSettings
from tests.fakes.pinning_server import PinningServer
from tests.flows.opened_store import opened
from tests.tool_threads import write_thread
from tests.wires.compose_client import WALLET, ComposeClient
from tests.wires.served_toolsets import served

OWNER, ANN, OTHER = Owner(WALLET), Owner(WALLET, "ann"), Owner("0xb2")
KEY = "pin-key-9cf1"


def independent(content: bytes) -> str:
    raw = b"\x01\x55\x12\x20" + hashlib.sha256(content).digest()
    return "b" + base64.b32encode(raw).decode().lower().rstrip("=")


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[OpenStore, ComposeClient]]:
    folder = tmp_path_factory.mktemp("archives") / "store"
    with opened(folder, create=True) as store, served(store) as http:
        yield store, ComposeClient(http)


class Scene:
    """A client on a branch of its own, and the store behind it."""

    def __init__(self, store: OpenStore, client: ComposeClient) -> None:
        self.store, self.client = store, client
        self.branch = client.headers["Day1-Branch"]

    def fact(self, text: str, owner: Owner = OWNER, **more: Any) -> str:
        repo = self.store.repo
        with repo.store.adding(self.branch) as work:
            new = NewFact(text, space=owner.space, **more)
            row = fact_row(repo.new_id("fact", work.now), new, Origin(owner.wallet), work.now)
            work.add(FACT, [row | {"detail": detail_of(owner)}])
        return str(row["id"])

    def say(self, thread: str, text: str, owner: Owner = OWNER) -> list[str]:
        return write_thread(self.store.repo, owner, thread, [("user", text, None)], branch=self.branch)  # fmt: skip

    def archive(self, **more: Any) -> dict[str, Any]:
        job = self.client.ok("jobs_create", type="archive_create", agentWallet=WALLET, **more)
        assert job["status"] == "completed", job
        (archive,) = job["data"]["archives"]
        made: dict[str, Any] = archive
        return made

    def sync(self, archive: str, wallet: str = WALLET) -> tuple[dict[str, Any], str]:
        """The answer, and the notes."""
        self.client.ok("archives_sync", archiveId=archive, agentWallet=wallet)
        response = self.client.send("archives_sync", archiveId=archive, agentWallet=wallet)
        return response.json(), response.headers.get("Day1-Notes", "")

    def file(self, archive: str) -> bytes:
        """The bytes of an archive's file."""
        bundle = self.sync(archive)[0]["bundleId"]
        return b"".join(export_bundle(self.store.repo, bundle))


@pytest.fixture
def scene(serving: tuple[OpenStore, ComposeClient]) -> Scene:
    store, client = serving
    return Scene(store, client.on_a_branch())


@pytest.fixture
def service(scene: Scene) -> Iterator[PinningServer]:
    """A pinning service that the store has for one test."""
    with PinningServer().serving() as server:
        settings = PinningSettings.model_validate({"url": server.url, "key": KEY, "timeout_s": 1})
        scene.store.pinning = pinning(settings)
        yield server
        scene.store.pinning = None


def texts(content: bytes) -> set[str]:
    rows = [json.loads(line) for line in content.splitlines()[1:]]
    return {text for row in rows for text in (row.get("fact_text"), row.get("content"), row.get("source_entity")) if text}  # fmt: skip


def test_an_archive_has_the_rows_of_one_wallet(scene: Scene) -> None:
    scene.fact("The wallet's.")
    scene.fact("The user's.", ANN)
    scene.fact("Another's.", OTHER)
    scene.fact("Everybody's.", Owner())
    scene.fact("Like the wallet's name.", Owner(f"{WALLET}1"))
    scene.fact("Secret.", sensitivity="secret")
    scene.fact("Over.", expires_at=1)
    scene.say("a1", "Said by the user.", ANN)
    scene.say("a1", "Said to another.", OTHER)
    repo = scene.store.repo
    with repo.store.adding(scene.branch) as work:
        for owner, name in ((OWNER, "Kestrel"), (OTHER, "Marlow")):
            new = NewRelation(name, "likes", "tea", space=owner.space)
            work.add(
                RELATION, [relation_row(repo.new_id("rel", work.now), new, Origin(), work.now)]
            )
    archive = scene.archive()
    content = scene.file(archive["archiveId"])
    assert texts(content) == {"The wallet's.", "The user's.", "Said by the user.", "Kestrel"}
    fact = scene.client.day1("memory_get", id=archive["archiveId"])["row"]
    assert fact["category"] == "archive"
    assert fact["fact_text"].startswith("Archive of 2 facts, 1 relation, 1 conversation, 1 message until ")  # fmt: skip
    assert fact["structure"]["archive"]["cid"] == archive["cid"] == independent(content)
    assert fact["structure"]["archive"]["format"].startswith("day1-bundle ")


def test_the_id_stays_while_nothing_is_redacted(scene: Scene) -> None:
    scene.fact("Stays.")
    ending = scene.store.clock() + 2_000_000
    scene.fact("Ends soon.", expires_at=ending)
    archive = scene.archive()
    first = scene.sync(archive["archiveId"])
    assert first[0]["ipfsHash"] == archive["cid"]
    assert first[0]["pinned"] is False
    assert "No pinning service" in first[1]
    assert "another one" not in first[1]
    scene.fact("Written later.")
    time.sleep(max(0, ending - scene.store.clock()) / 1e6 + 0.01)
    assert scene.sync(archive["archiveId"]) == first


def test_a_redaction_changes_the_bytes_and_the_id(scene: Scene) -> None:
    scene.fact("The vault of Quill is at gate 77.")
    said = scene.say("a2", "Quill has the key to gate 78.")
    archive = scene.archive()
    before = scene.file(archive["archiveId"])
    scene.client.day1("memory_redact", id=said[0], confirm=said[0], reason="gone")
    after, notes = scene.sync(archive["archiveId"])
    content = scene.file(archive["archiveId"])
    assert b"gate 78" in before
    assert b"gate 78" not in content
    assert b"gate 77" in content
    assert after["ipfsHash"] == independent(content) != archive["cid"]
    assert archive["cid"] in notes


def test_an_archive_of_a_time(scene: Scene) -> None:
    scene.fact("Before.")
    scene.say("a3", "Said before.")
    scene.say("a4", "Begun before.")
    time.sleep(0.003)
    start = scene.store.clock() // 1_000
    time.sleep(0.003)
    scene.fact("Within.")
    write_thread(scene.store.repo, OWNER, "a4", [("user", "Said within.", None)], branch=scene.branch)  # fmt: skip
    time.sleep(0.003)
    end = scene.store.clock() // 1_000
    time.sleep(0.003)
    scene.fact("After.")
    archive = scene.archive(timeRange={"start": start, "end": end})
    content = scene.file(archive["archiveId"])
    assert texts(content) == {"Within.", "Said within."}
    assert json.loads(content.splitlines()[0])["counts"]["conversation_count"] == 1


def test_nothing_to_archive_makes_no_archive(scene: Scene) -> None:
    scene.fact("Another's.", OTHER)
    job = scene.client.ok("jobs_create", type="archive_create", agentWallet=WALLET)
    assert (job["status"], job["data"]["archives"]) == ("completed", [])
    assert "commit" not in job["data"]


def test_an_unknown_archive_is_bad_input(scene: Scene) -> None:
    fact = scene.fact("No archive.")
    said = scene.say("a5", "Bo has 5 cats.")
    assert said
    archive = scene.archive()["archiveId"]
    for unknown in ("none", fact):
        assert scene.client.problems("archives_sync", archiveId=unknown, agentWallet=WALLET) == ["archiveId"]  # fmt: skip
    for wallet in ("0xb2", f"{WALLET}/user:ann", WALLET.upper()):
        assert scene.client.problems("archives_sync", archiveId=archive, agentWallet=wallet) == ["archiveId"]  # fmt: skip
    assert scene.client.problems("archives_sync", archiveId=archive) == ["agentWallet"]


def test_a_summary_of_a_session_has_no_file(scene: Scene) -> None:
    write_thread(scene.store.repo, OWNER, "a6", [("user", "Bo has 6 cats.", None)], branch=scene.branch, session="s")  # fmt: skip
    summary = scene.client.ok("sessions_compress", sessionId="s", agentWallet=WALLET, coordinatorModel="x")  # fmt: skip
    assert scene.client.problems("archives_sync", archiveId=summary["archiveId"], agentWallet=WALLET) == ["archiveId"]  # fmt: skip


@pytest.mark.parametrize("form", ["Hash", "IpfsHash", "cid", "data", "value", "pin"])
def test_pinned_if_the_service_names_our_id(
    scene: Scene, service: PinningServer, form: str
) -> None:
    inner = form in {"data", "value", "pin"}
    service.answer = lambda file: (200, {form: {"cid": independent(file)} if inner else independent(file)})  # fmt: skip
    scene.fact("Pinned.")
    archive = scene.archive()
    answer, notes = scene.sync(archive["archiveId"])
    assert (answer["pinned"], answer["ipfsHash"], notes) == (True, archive["cid"], "")
    assert service.files[-1] == scene.file(archive["archiveId"])
    assert service.keys[-1] == f"Bearer {KEY}"


def test_an_id_of_the_services_own_is_told(scene: Scene, service: PinningServer) -> None:
    own = "QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG"
    service.answer = lambda _: (200, {"IpfsHash": own})
    scene.fact("Pinned elsewhere.")
    archive = scene.archive()
    answer, notes = scene.sync(archive["archiveId"])
    assert (answer["pinned"], answer["ipfsHash"]) == (False, own)
    assert archive["cid"] in notes


@pytest.mark.parametrize(
    "reply",
    [(500, {}), (401, {"error": KEY}), (200, {}), (200, []), (200, {"cid": "no id"}), (200, {"cid": 7})],
)  # fmt: skip
def test_not_pinned_if_the_service_fails(
    scene: Scene,
    service: PinningServer,
    reply: tuple[int, Any],
    caplog: pytest.LogCaptureFixture,
) -> None:
    service.answer = lambda _: reply
    scene.fact("Not pinned.")
    archive = scene.archive()
    with caplog.at_level(logging.DEBUG):
        answer, notes = scene.sync(archive["archiveId"])
    assert (answer["pinned"], answer["ipfsHash"]) == (False, archive["cid"])
    assert "does not keep the file" in notes
    assert KEY not in notes + caplog.text
    assert "Not pinned." not in notes + caplog.text


def test_not_pinned_if_the_service_is_silent(scene: Scene, service: PinningServer) -> None:
    def late(_: bytes) -> tuple[int, Any]:
        time.sleep(1.5)
        return 200, {}

    service.answer = late
    scene.fact("Never answered.")
    archive = scene.archive()
    response = scene.client.send("archives_sync", archiveId=archive["archiveId"], agentWallet=WALLET)  # fmt: skip
    assert response.json()["pinned"] is False
    assert "does not keep the file" in response.headers["Day1-Notes"]
