"""How a server of several workers ends, and what it says when it cannot start."""

import errno
import os
import signal
import subprocess
import sys
from multiprocessing import forkserver
from pathlib import Path
from unittest.mock import Mock

import pytest

from day1.app import workers
from tests.sampling import sampled
from tests.waiting import until
from tests.wires.http_server import HttpServer
from tests.wires.mcp_session import WAIT_S, environment
from tests.wires.worker_server import EventStream, WorkerServer, fork_server, is_alive

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="the test finds workers in /proc"
)


@pytest.mark.parametrize("sent", sampled((signal.SIGTERM, signal.SIGINT), {signal.SIGTERM}))
def test_a_signal_ends_all_workers(tmp_path: Path, sent: signal.Signals) -> None:
    with WorkerServer(tmp_path / "store") as server:
        one, other = server.all_ready()
        folder = server.shared_folder(one)
        with EventStream(server, one, "/review/events") as stream:
            os.kill(fork_server(server.supervisor) or 0, sent)  # all get it, as from systemd
            server.process.send_signal(sent)
            assert server.process.wait(WAIT_S) == 0
            while stream.answer.readline():
                pass  # the stream ends, rather than break off
        assert not is_alive(one)
        assert not is_alive(other)
    assert not folder.exists()


def test_workers_end_with_a_killed_supervisor(tmp_path: Path) -> None:
    """Nobody else would end them, and they would keep the address."""
    with WorkerServer(tmp_path / "store") as server:
        pids = server.all_ready()
        folder = server.shared_folder(pids[0])
        server.process.kill()
        until(lambda: not any(map(is_alive, pids)), "the end of the workers", WAIT_S)
        assert not folder.exists()
        port = int(server.address.rpartition(":")[2])
    with HttpServer(tmp_path / "store", port=port) as again:
        assert again.ask("GET", "/ready").status == 200


def test_workers_are_replaced_when_the_process_that_forked_them_is_killed(tmp_path: Path) -> None:
    """Nobody could tell how they end."""
    with WorkerServer(tmp_path / "store") as server:
        before = server.all_ready()
        os.kill(fork_server(server.supervisor) or 0, signal.SIGKILL)
        until(lambda: not any(map(is_alive, before)), "the end of the workers", WAIT_S)
        assert set(server.all_ready()).isdisjoint(before)


@pytest.mark.parametrize("hindrance", ["an old Python", "no room for a socket"])
def test_workers_start_one_by_one_where_they_cannot_be_forked(
    monkeypatch: pytest.MonkeyPatch, hindrance: str
) -> None:
    if hindrance == "an old Python":
        monkeypatch.setattr(workers, "CAN_FORK", False)
    else:
        full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        monkeypatch.setattr(forkserver, "ensure_running", Mock(side_effect=full))
    assert workers.start_method() == "spawn"


def refusal(folder: Path, *arguments: str) -> str:
    """What `day1 serve` says when it cannot start."""
    ended = subprocess.run(
        [sys.executable, "-m", "day1", "serve", "--port", "0", *arguments],
        env={**os.environ, **environment(folder)},
        cwd=folder.parent,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stdout == ""
    (line,) = (line for line in ended.stderr.splitlines() if line.startswith("error: "))
    return line


def errors_in(log: Path) -> list[str]:
    """The errors that a server printed."""
    lines = log.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.startswith("error: ")]


@pytest.mark.weekly
def test_a_server_that_cannot_start_says_what_one_process_says(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    with WorkerServer(folder) as server:
        served = refusal(folder)
        assert served == refusal(folder, "--workers", "2")
        assert f"{server.address} (process {server.supervisor})" in served
    strange = refusal(tmp_path / "none", "--host", "0.0.0.0")
    assert strange == refusal(tmp_path / "none", "--host", "0.0.0.0", "--workers", "2")


def test_a_worker_that_cannot_start_ends_the_server(tmp_path: Path) -> None:
    """The store is gone, so every further worker would fail as well."""
    folder = tmp_path / "store"
    with WorkerServer(folder) as server:
        one, _ = server.all_ready()
        folder.rename(tmp_path / "elsewhere")
        os.kill(one, signal.SIGKILL)
        assert server.process.wait(WAIT_S) == 1
        errors = until(lambda: errors_in(server.log), "the error")
        assert errors == [f"error: {folder} holds no day1 store; `day1 init` makes one."]
        assert server.pids == []


@pytest.mark.weekly
def test_a_worker_that_hangs_delays_the_end_and_is_killed(tmp_path: Path) -> None:
    with WorkerServer(tmp_path / "store", DAY1_HTTP__GRACE_S="0") as server:
        one, other = server.all_ready()
        os.kill(one, signal.SIGSTOP)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(WAIT_S) == 0
        assert not is_alive(one)
        assert not is_alive(other)
        assert f"worker {one} did not end" in server.log.read_text(encoding="utf-8")
