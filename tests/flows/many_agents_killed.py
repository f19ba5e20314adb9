"""Many agents on one store, while its workers, nodes and server are killed under them."""

import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Self

from pydantic import SecretStr

from day1.app.open import open_store
from day1.interfaces.open_store import OpenStore
from day1.settings import EmbedderSettings, SearchSettings, Settings, StoreSettings
from tests.flows.many_agents import Team
from tests.flows.many_agents_kept import check_all
from tests.servers import DoltServer, free_port
from tests.waiting import until
from tests.wires.http_server import HttpServer
from tests.wires.worker_server import WorkerServer

SERVER_KILLS = 2
"""How often the Dolt server is killed, at equal distances."""
_AWAY_S = 1.0
_LOOK_S = 0.1


@dataclass(frozen=True)
class Plan:
    """How many agents work, and how often something is killed; `seed` chooses what."""

    agents: int
    every_s: float
    seed: int = 8


class FourWorkers(WorkerServer):
    """A server with four workers."""

    workers = 4


@dataclass
class Killer:
    """Kills something every few seconds until the team is done; counts what it killed.

    `due`, if there is one, says whether something is to be killed between two kills.
    """

    plan: Plan
    team: Team
    kill: Callable[[random.Random], str]
    due: Callable[[], bool] = lambda: False
    kills: dict[str, int] = field(default_factory=dict)
    _seconds: float = 0.0
    _over: threading.Event = field(default_factory=threading.Event)
    _failed: list[Exception] = field(default_factory=list)

    def run(self) -> None:
        """Let the team work, and kill meanwhile; fails if either does."""
        begun = time.monotonic()
        thread = threading.Thread(target=self._work)
        thread.start()
        try:
            self.team.work()
        finally:
            self._seconds = time.monotonic() - begun
            self._over.set()
            thread.join()
        if self._failed:
            raise self._failed[0]

    def told(self) -> str:
        """What was done, in one line."""
        done, calls = self.team.done, self.team.calls
        slowest, tool = calls.slowest
        facts = sum(len(each.facts) for each in done)
        kills = ", ".join(f"{count} of a {what}" for what, count in self.kills.items())
        return (
            f"{len(done)} agents in {self._seconds:.0f} s, {facts} facts, {len(done)} merges; "
            f"kills: {kills or 'none'}; {calls.cut_off} calls cut off, refused: "
            f"{dict(calls.refused)}; slowest: {tool} {slowest:.1f} s"
        )

    def _work(self) -> None:
        chance = random.Random(self.plan.seed)
        killed_at = time.monotonic()
        try:
            while not self._over.wait(_LOOK_S):
                if self.due() or time.monotonic() >= killed_at + self.plan.every_s:
                    what = self.kill(chance)
                    self.kills[what] = self.kills.get(what, 0) + 1
                    killed_at = time.monotonic()
        except Exception as exc:
            self._failed.append(exc)


def on_a_folder(folder: Path, plan: Plan) -> str:
    """Serve a folder by four workers, one of which is killed every few seconds; says how it was."""
    with FourWorkers(folder, DAY1_HTTP__RATE="0") as server:
        server.all_ready()
        team = Team([server.address], plan.agents)

        def kill(chance: random.Random) -> str:
            victim = chance.choice(server.pids)
            os.kill(victim, signal.SIGKILL)
            return "worker"

        killer = Killer(plan, team, kill)
        killer.run()
        server.all_ready()
        assert server.process.poll() is None
    _check_log(server)
    with closing(_opened(folder, None)) as store:
        check_all(store, team)
    return killer.told()


class Nodes:
    """Two day1 servers on a Dolt server's store; one that is killed is started again."""

    def __init__(self, folder: Path, dolt: DoltServer) -> None:
        self.url = f"{dolt.url}/agents"
        self._folder = folder
        self._ports = [free_port() for _ in range(2)]
        self.servers: list[HttpServer] = []

    def __enter__(self) -> Self:
        self._folder.mkdir(exist_ok=True)
        for number in range(2):
            self.servers.append(self._started(number))
        return self

    def __exit__(self, *_: object) -> None:
        for server in self.servers:
            server.__exit__()

    def _started(self, number: int) -> HttpServer:
        server = HttpServer(
            self._folder / f"node-{number}",
            port=self._ports[number],
            DAY1_STORE__URL=self.url,
            DAY1_HTTP__RATE="0",
        )
        server.command = [sys.executable]  # Python itself, since it is killed
        return server.__enter__()

    def kill(self, number: int) -> None:
        """Kill a node, and start it again at its address."""
        self.servers[number].process.kill()
        self.servers[number].__exit__()
        self.servers[number] = self._started(number)

    def all_ready(self) -> None:
        """Wait until both nodes serve."""
        for server in self.servers:
            until(partial(self._is_ready, server), "a ready node")

    @staticmethod
    def _is_ready(server: HttpServer) -> bool:
        return server.ask("GET", "/ready").status == 200


def on_two_nodes(folder: Path, dolt: DoltServer, plan: Plan) -> str:
    """Serve a Dolt server's store by two nodes; kill nodes, and the server twice."""
    server_kills = [plan.agents * n // (SERVER_KILLS + 1) for n in range(1, SERVER_KILLS + 1)]
    with Nodes(folder, dolt) as nodes:
        team = Team([server.address for server in nodes.servers], plan.agents)

        def due() -> bool:
            return bool(server_kills) and len(team.done) >= server_kills[0]

        def kill(chance: random.Random) -> str:
            if not due():
                nodes.kill(chance.randrange(2))
                return "node"
            server_kills.pop(0)
            dolt.kill()
            time.sleep(_AWAY_S)  # so that calls find nobody there
            dolt.up()
            return "Dolt server"

        killer = Killer(plan, team, kill, due)
        killer.run()
        assert server_kills == [], "too few agents: they had ended before the server was killed"
        nodes.all_ready()
    for server in nodes.servers:
        _check_log(server)
    with closing(_opened(folder / "reader", nodes.url)) as store:
        check_all(store, team)
    return killer.told()


def _opened(folder: Path, url: str | None) -> OpenStore:
    settings = Settings(
        home=folder,
        embedder=EmbedderSettings(kind="none"),
        search=SearchSettings(chroma=False),
        store=StoreSettings(url=None if url is None else SecretStr(url)),
    )
    return open_store(settings, create=url is not None)


def _check_log(server: HttpServer) -> None:
    """The server never failed by itself."""
    log = server.log.read_text(encoding="utf-8")
    assert "Traceback" not in log, log[log.index("Traceback") - 500 :][:3000]
