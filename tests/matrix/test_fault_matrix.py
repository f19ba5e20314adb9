"""Each fault x each process that stays: clear answers meanwhile, no spinning, no restart after.

`faults.py` is the table of faults, and `server_processes.py` starts the processes. While a fault lasts, every
call answers what the table says, in time; no process takes a fifth of a processor; `/ready` says
what is wrong, `/health` lives, and `day1 doctor` names it. Afterwards everything works again.
"""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from tests import servers
from tests.engine import needs_files
from tests.flows.opened_store import mounted
from tests.matrix.connection_proxy import ConnectionProxy
from tests.matrix.faults import FAULTS, OK, Fault, Scene
from tests.matrix.server_processes import CALLS, ServerProcesses
from tests.waiting import until
from tests.wires.mcp_session import ROOT, environment

BUSY = 0.2
"""Of one processor: more is spinning."""
HOST = "memory.test"


@contextmanager
def scene_of(fault: Fault, place: Path) -> Iterator[tuple[Scene, list[str], dict[str, str]]]:
    """What the fault needs; the command that runs Python there, and settings."""
    settings = {"DAY1_STORE__WAIT_S": "2", **fault.settings}
    command, model = [sys.executable], place / "model"
    with ExitStack() as opened_:
        proxy = hosts = None
        if fault.needs in {"server", "names"}:
            url = opened_.enter_context(servers.database(servers.dolt_url()))
            proxy = ConnectionProxy(_port(url))
            opened_.callback(proxy.close)
            host = "127.0.0.1"
            if fault.needs == "names":
                host, (hosts, command) = HOST, own_names(place)
            settings["DAY1_STORE__URL"] = url.replace(
                f"127.0.0.1:{_port(url)}", f"{host}:{proxy.port}"
            )
        else:
            needs_files()
        if fault.needs == "model":
            settings |= with_model(model)
        if fault.needs == "disk":
            place = opened_.enter_context(
                mounted(place / "disk", "-t", "tmpfs", "-o", "size=8m", "tmpfs")
            )
        settings["DAY1_HOME"] = str(place / "store")
        yield Scene(place / "store", model, proxy, hosts), command, settings


def _port(url: str) -> int:
    return int(url.rpartition("/")[0].rpartition(":")[2])


def with_model(folder: Path) -> dict[str, str]:
    named = os.environ.get("DAY1_EMBEDDER__MODEL_DIR")
    if not named or not Path(named).is_dir():
        pytest.skip("DAY1_EMBEDDER__MODEL_DIR names no model folder")
    folder.symlink_to(named)
    return {"DAY1_EMBEDDER__KIND": "minilm", "DAY1_EMBEDDER__MODEL_DIR": str(folder)}


def own_names(place: Path) -> tuple[Path, list[str]]:
    """A file that alone tells names to processes run by a command."""
    hosts, order = place / "hosts", place / "nsswitch.conf"
    hosts.write_text(f"127.0.0.1 {HOST}\n", encoding="utf-8")
    order.write_text("hosts: files\n", encoding="utf-8")
    mounts = f"mount --bind {hosts} /etc/hosts && mount --bind {order} /etc/nsswitch.conf"
    command = ["unshare", "--mount", "sh", "-c", f'{mounts} && exec "$0" "$@"']
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("a process cannot be given names of its own: no superuser, or no `unshare`")
    tried = subprocess.run([*command, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"a process cannot be given names of its own: {tried.stderr.strip()}")
    return hosts, [*command, sys.executable]


def day1(command: list[str], scene: Scene, settings: dict[str, str], *arguments: str) -> str:
    """What a command prints, as a person runs it meanwhile."""
    done = subprocess.run(
        [*command, "-m", "day1", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment(scene.store, **settings)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout + done.stderr


def followed(scene: Scene) -> set[tuple[str, str, int]]:
    """How far the index has followed each branch."""
    file = f"file:{scene.store / 'index.db'}?mode=ro"
    with closing(sqlite3.connect(file, uri=True)) as index:
        return set(index.execute('SELECT key, "commit", newest FROM cursors'))


SAMPLE = {"memory.db away and back", "server down and back"}
"""What every run tries; the others are tried once a week."""


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(fault, id=fault.name, marks=() if fault.name in SAMPLE else pytest.mark.weekly)
        for fault in FAULTS
    ],
)
def test_a_fault_is_said_and_survived(fault: Fault, tmp_path: Path) -> None:
    with scene_of(fault, tmp_path) as (scene, command, settings):
        day1(command, scene, settings, "add", "one")
        with ServerProcesses(scene.store, command, settings) as all_of_them:
            assert set(_flat(all_of_them.ask_all())) == {OK}
            with fault.during(scene):
                check_during(fault, all_of_them)
                assert fault.doctor in day1(command, scene, settings, "doctor")
                assert all(share < BUSY for share in all_of_them.busy().values())
            check_afterwards(all_of_them)
            all_of_them.leave_the_worker()
            before = followed(scene)
            day1(command, scene, settings, "add", "for the worker")
            until(lambda: followed(scene) != before, "the worker follows")
            assert "Traceback" not in all_of_them.logs()


def check_during(fault: Fault, them: ServerProcesses) -> None:
    expected = {name: getattr(fault, name) for name in CALLS}
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(them.ask_all)
        assert them.lives()
        status, wrong = them.ready()
    assert status in fault.ready
    assert wrong == (fault.wrong if status != 200 or fault.ready == (200,) else set())
    for name, answers in asked.result().items():
        assert set(answers.values()) == {expected[name]}, (name, answers, them.said)
    until(lambda: fault.log in them.logs(), f"a log says {fault.log!r}")
    assert them.lives()


def check_afterwards(them: ServerProcesses) -> None:
    """Without a restart, every wire answers, and what was acknowledged is told and there."""
    until(lambda: them.ready() == (200, set()), "/ready")
    with them.page_hears() as heard:
        assert set(_flat(them.ask_all())) == {OK}
        assert heard.wait(60), "the page"
    found = {item["content"] for item in them.agent.found("memory_timeline", limit=500)}
    assert found >= {"one", *them.written}


def _flat(answers: dict[str, dict[str, str]]) -> list[str]:
    return [outcome for doors in answers.values() for outcome in doors.values()]
