"""Imports day1 once, and forks a process for each that is asked for."""

import atexit
import gc
import marshal
import os
import runpy
import selectors
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from pkgutil import iter_modules
from socket import AF_UNIX, MSG_WAITALL, SOCK_STREAM, recv_fds, socket
from typing import Any, NamedTuple

IMPORTED = (
    "anyio._backends._asyncio",
    "anyio._core._signals",
    "day1.adapters.archive.file_copy",
    "day1.adapters.clients.setup",
    "day1.adapters.file_lease",
    "day1.adapters.index.index",
    "day1.app.cli",
    "day1.app.commands",
    "day1.app.http",
    "day1.app.library",
    "day1.app.stdio",
    "day1.interfaces.cli.main",
    "day1.interfaces.python.local",
    "day1.services.exchange.backup",
    "day1.services.exchange.importing",
    "day1.services.health.compacting",
    "day1.services.health.doctor",
    "day1.services.jobs.worker",
    "day1.services.prime.renewing",
    "day1.services.upkeep.embedding",
    "day1.services.upkeep.retirable",
    "day1.services.upkeep.status",
    "day1.services.upkeep.worker",
    "day1.toolsets.finding",
    "uvicorn.lifespan.on",
    "uvicorn.loops.uvloop",
)
"""Modules that most commands or servers load, beside those of `COMMANDS`."""
COMMANDS = "day1.interfaces.cli.commands"
"""The package of the commands' modules."""


class Asked(NamedTuple):
    """A process that is to be forked."""

    arguments: list[str]
    """`-m` and a module, or `-c` and a program, and what follows it."""
    variables: dict[str, str]
    folder: str
    umask: int
    ignores_interrupts: bool
    streams: list[int]


class Server:
    """Forks until its standard input ends."""

    def __init__(self, address: str) -> None:
        self._listening = socket(AF_UNIX, SOCK_STREAM)
        self._listening.bind(address)
        self._listening.listen()
        self._waiting = selectors.DefaultSelector()
        self._wait_for(0, self._end)
        self._wait_for(self._listening.fileno(), self._fork)
        self._launchers: dict[int, socket] = {}

    def serve(self) -> Asked:
        """Answers in each process that is forked, and never in this one."""
        while True:
            for key, _ in self._waiting.select():
                asked: Asked | None = key.data()
                if asked is not None:
                    return asked

    def _wait_for(self, file: int, deed: Callable[[], Asked | None]) -> None:
        self._waiting.register(file, selectors.EVENT_READ, deed)

    def _fork(self) -> Asked | None:
        launcher, _ = self._listening.accept()
        try:
            asked = _read(launcher)
        except (OSError, EOFError, ValueError):  # it was killed meanwhile
            launcher.close()
            return None
        process = os.fork()
        if process == 0:
            self._waiting.close()
            for file in (self._listening, launcher, *self._launchers.values()):
                file.close()
            return asked
        for stream in asked.streams:
            os.close(stream)
        self._launchers[process] = launcher
        self._wait_for(launcher.fileno(), partial(self._signal, process))
        ended = os.pidfd_open(process)
        self._wait_for(ended, partial(self._forget, process, ended))
        return None

    def _signal(self, process: int) -> None:
        """Pass on what the launcher was sent; its own end is a kill."""
        if process not in self._launchers:
            return  # it has ended, and was seen to a moment ago
        said = b""
        with suppress(ConnectionError):
            said = self._launchers[process].recv(64)
        for number in said or [signal.SIGKILL]:
            os.kill(process, number)

    def _forget(self, process: int, ended: int) -> None:
        self._waiting.unregister(ended)
        os.close(ended)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        launcher = self._launchers.pop(process)
        self._waiting.unregister(launcher.fileno())
        with launcher, suppress(ConnectionError):
            launcher.sendall(code.to_bytes(4, "big", signed=True))

    def _end(self) -> None:
        for process in self._launchers:
            os.kill(process, signal.SIGKILL)
        os._exit(0)


def _read(launcher: socket) -> Asked:
    size, streams, _, _ = recv_fds(launcher, 4, 3)
    said = launcher.recv(int.from_bytes(size, "big"), MSG_WAITALL)
    arguments, variables, folder, umask, ignores_interrupts = marshal.loads(said)
    return Asked(arguments, variables, folder, umask, ignores_interrupts, streams)


def become(asked: Asked) -> None:
    """Be as if Python had been started so."""
    for stream, given in enumerate(asked.streams):
        os.dup2(given, stream)
        os.close(given)
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(number, mode, encoding="utf-8", errors=errors, closefd=False)
        for number, mode, errors in ((0, "r", None), (1, "w", None), (2, "w", "backslashreplace"))
    )
    # The server's own may be another one: a shell lets what it runs in the background ignore them.
    heard = signal.SIG_IGN if asked.ignores_interrupts else signal.default_int_handler
    signal.signal(signal.SIGINT, heard)
    os.umask(asked.umask)
    os.chdir(asked.folder)
    for name, value in asked.variables.items():
        os.environ.setdefault(name, value)  # what is there, imports have set
    time.tzset()
    further = asked.variables.get("PYTHONPATH", "").split(os.pathsep)
    here = asked.folder if asked.arguments[0] == "-m" else ""
    sys.path[:1] = [here, *(place for place in further if place not in sys.path)]


class Exit:
    """Ends a forked process as Python would, but without clearing its modules first.

    In a forked process that copies most pages of memory: it takes 0.1 s, more than most commands.
    """

    def __init__(self) -> None:
        self.code: int | None = None
        """The exit code; None where Python has an error to report, or a signal to die of."""
        atexit.register(self._leave)  # before all others are registered, so it is called last

    def _leave(self) -> None:
        if self.code is not None:
            with suppress(Exception):  # Python itself reports what could not be written
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(self.code)


def _import_day1() -> None:
    """Import what processes of day1 load, and build what every server builds at its start."""
    commands = import_module(COMMANDS)
    names = [f"{COMMANDS}.{found.name}" for found in iter_modules(commands.__path__)]
    for module in (*IMPORTED, *names):
        import_module(module)

    from day1.interfaces.http.rest import routes
    from day1.interfaces.mcp.server import listing
    from day1.toolsets import TOOLSETS
    from tests.forkserver.first_use import use_a_store

    for _, choice in TOOLSETS.endpoints():
        for tool in TOOLSETS.choose(choice):
            listing(tool.operation)
    nobody: Any = None
    routes(TOOLSETS, nobody)  # `re` keeps the expressions of their paths
    use_a_store()


def main() -> None:
    """Import, listen, say so by closing the standard output; and be each process asked for."""
    leaving = Exit()
    os.environ.clear()
    address, *modules = sys.argv[1:]
    for module in modules:
        import_module(module)
    if not modules:
        _import_day1()
    gc.freeze()
    server = Server(address)
    os.dup2(2, 1)
    asked = server.serve()
    become(asked)
    try:
        _run(*asked.arguments)
        leaving.code = 0
    except SystemExit as exc:
        if exc.code is None or isinstance(exc.code, int):
            leaving.code = (exc.code or 0) & 0xFF
        raise


def _run(how: str, what: str, *arguments: str) -> None:
    if how == "-m":
        sys.argv = [what, *arguments]
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        sys.argv = [how, *arguments]
        exec(what, {"__name__": "__main__"})


if __name__ == "__main__":
    main()
