"""`day1 serve --workers N` answers as one process does, whichever worker gets a request."""

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from day1.interfaces.mcp.apps import EXTENSION, HTML, REVIEW
from tests.waiting import until
from tests.wires.http_server import HttpSession
from tests.wires.mcp_session import WAIT_S
from tests.wires.test_http_sse import SseSession
from tests.wires.worker_server import EventStream, OldSession, WorkerServer, is_alive, open_files

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="the test finds workers in /proc"
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerServer]:
    folder = tmp_path_factory.mktemp("workers") / "store"
    with WorkerServer(folder, "--sse", DAY1_HTTP__RATE="0") as served:
        yield served


@pytest.fixture
def pids(server: WorkerServer) -> list[int]:
    return server.all_ready()


def test_a_session_of_2025_goes_on_at_any_worker(server: WorkerServer, pids: list[int]) -> None:
    one, other = pids
    session = OldSession(server, one)
    session.call(other, "memory_branch_create", branch_name="session/2025")
    session.call(one, "memory_branch_switch", branch_name="session/2025")
    written = session.call(other, "memory_write_fact", fact_text="The session has a branch.")
    assert written["written"]["branch"] == "session/2025"
    stranger = OldSession(server, other)
    assert stranger.id != session.id
    assert stranger.call(one, "memory_write_fact", fact_text="Main.")["written"]["branch"] == "main"
    assert session.end(other) == 200
    assert session.ask(one, "ping").status == 404
    assert session.ask(other, "ping").status == 404
    assert stranger.ask(one, "ping").status == 200


def test_a_subscriber_of_2025_hears_by_a_stream_of_another_worker(
    server: WorkerServer, pids: list[int]
) -> None:
    one, other = pids
    session = OldSession(server, one)
    session.call(one, "memory_branch_create", branch_name="heard/2025")
    uri = "day1://branches/heard%2F2025"
    assert session.ask(other, "resources/subscribe", uri=uri).status == 200
    with EventStream(server, other, "/mcp", **session.headers) as stream:
        assert stream.answer.status == 200
        server.call(one, "memory_write_fact", fact_text="Hear this.", branch="heard/2025")
        assert stream.data("resources/updated")["params"]["uri"] == uri


def test_a_view_is_offered_to_a_client_that_announced_itself_at_another_worker(
    server: WorkerServer, pids: list[int]
) -> None:
    one, other = pids
    views = {EXTENSION: {"mimeTypes": [HTML]}}
    session = OldSession(server, one, "/mcp/review", capabilities={"extensions": views})
    by_name = {
        tool["name"]: tool for tool in session.ask(other, "tools/list").body["result"]["tools"]
    }
    assert by_name["review_open"]["_meta"]["ui"]["resourceUri"] == REVIEW
    plain = OldSession(server, one, "/mcp/review")
    by_name = {
        tool["name"]: tool for tool in plain.ask(other, "tools/list").body["result"]["tools"]
    }
    assert "ui" not in by_name["review_open"].get("_meta", {})


def test_the_official_client_of_2025_works_without_a_lasting_connection(
    server: WorkerServer,
) -> None:
    with HttpSession(server, mode="legacy", headers={"Connection": "close"}) as agent:
        agent.ok("memory_branch_create", branch_name="client/2025")
        agent.ok("memory_branch_switch", branch_name="client/2025")
        for number in range(10):
            written = agent.ok("memory_write_fact", fact_text=f"Fact {number} of a client.")
            assert written["written"]["branch"] == "client/2025"
        texts = {row["content"] for row in agent.found("memory_timeline", limit=50)}
        assert {f"Fact {number} of a client." for number in range(10)} <= texts


def test_the_older_transport_works_without_a_lasting_connection(server: WorkerServer) -> None:
    headers = {"Connection": "close"}
    with SseSession(server, path="/sse", mode="legacy", headers=headers) as agent:
        for number in range(10):
            agent.ok("memory_write_fact", fact_text=f"Fact {number} by events.")


def test_a_repeated_request_gets_its_answer_from_another_worker(
    server: WorkerServer, pids: list[int]
) -> None:
    one, other = pids
    text = "Written once, asked for twice."
    first = server.call(one, "memory_write_fact", key="repeated-1", fact_text=text)
    again = server.call(other, "memory_write_fact", key="repeated-1", fact_text=text)
    assert again["id"] == first["id"]


def test_a_page_hears_of_a_write_at_another_worker(server: WorkerServer, pids: list[int]) -> None:
    one, other = pids
    server.call(one, "memory_branch_create", branch_name="watched")
    with EventStream(server, other, "/review/events") as stream:
        server.call(one, "memory_write_fact", fact_text="Look.", branch="watched")
        assert stream.data('"watched"')["branch"] == "watched"


def test_requests_and_failed_sign_ins_of_a_token_count_at_all_workers(tmp_path: Path) -> None:
    """One request at once, and one more after 100 seconds: so a second worker refuses."""
    with WorkerServer(tmp_path / "store", DAY1_HTTP__RATE="0.01") as server:
        one, other = server.all_ready()
        root = server.call(one, "token_create", name="root", scope="admin")["secret"]
        path, bearer = "/api/v1/memory_timeline", f"Bearer {root}"
        assert server.at(one, "POST", path, {}, Authorization=bearer).status == 200
        refused = server.at(other, "POST", path, {}, Authorization=bearer)
        assert (refused.status, refused.code) == (429, "too_many_requests")
        assert 0 < int(refused.headers["retry-after"]) <= 100

        login = server.at(one, "GET", "/review/login")
        csrf = re.search('name="csrf" value="([^"]+)"', login.body)
        assert csrf is not None
        form = f"csrf={csrf[1]}&token=day1_guess"
        headers = {
            "Cookie": login.headers["set-cookie"].partition(";")[0],
            "Content_Type": "application/x-www-form-urlencoded",
        }
        statuses = [
            server.at(pid, "POST", "/review/login", form, **headers).status
            for pid in (one, other, one, other, one, other)
        ]
        assert statuses == [401] * 5 + [429]


def test_metrics_count_the_requests_of_all_workers_also_of_a_killed_one(
    server: WorkerServer, pids: list[int]
) -> None:
    one, other = pids

    def counted(pid: int) -> float:
        text = server.at(pid, "GET", "/metrics").body
        found = re.search(r'requests_total\{part="static",status="404"\} ([\d.]+)', text)
        return float(found[1]) if found else 0.0

    before = counted(one)
    for pid in (one, one, other):
        assert server.at(pid, "GET", "/static/nothing").status == 404
    assert counted(one) == counted(other) == before + 3
    os.kill(one, signal.SIGKILL)
    replaced = server.all_ready(but=one)
    assert [counted(pid) for pid in replaced] == [before + 3] * 2


def test_a_killed_worker_is_replaced_and_its_sessions_begin_anew(
    server: WorkerServer, pids: list[int]
) -> None:
    one, other = pids
    session, kept = OldSession(server, one), OldSession(server, other)
    assert session.ask(other, "ping").status == 200
    os.kill(one, signal.SIGKILL)
    until(lambda: not is_alive(one), "the end of the worker")
    assert session.ask(other, "ping").status == 404, "by which MCP has a client begin anew"
    new = next(pid for pid in server.all_ready(but=one) if pid != other)
    assert session.ask(new, "ping").status == 404
    assert kept.ask(new, "ping").status == 200


def test_one_worker_does_the_chores_and_another_one_takes_over(server: WorkerServer) -> None:
    def holder() -> list[int]:
        names = {pid: {file.name for file in open_files(pid)} for pid in server.pids}
        return [pid for pid in names if "chores.lock" in names[pid]]

    (one,) = until(holder, "a worker that does the chores")
    os.kill(one, signal.SIGKILL)
    server.all_ready(but=one)
    (other,) = until(holder, "another one that does the chores")
    assert other != one


def test_workers_are_replaced_one_after_the_other_at_sighup(
    server: WorkerServer, pids: list[int]
) -> None:
    server.process.send_signal(signal.SIGHUP)

    def replaced() -> bool:
        # A worker that ends closes its idle connections, at which a request may just have been sent.
        answer = server.ask("GET", "/ready", headers={"Connection": "close"})
        assert answer.status == 200, "somebody serves all the time"
        return not set(server.pids) & set(pids)

    until(replaced, "new workers", 3 * WAIT_S)
    server.all_ready()
