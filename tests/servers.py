"""Where the servers that tests need come from: given, started here, or in a container.

`DAY1_TEST_DOLT_URL`, `DAY1_TEST_MATRIXONE_URL` and `DAY1_TEST_CHROMA_URL` name servers that run. Else
Dolt is started by the `dolt` program on the PATH, and Chroma by its own package; else both MySQL
engines by testcontainers, where a Docker engine answers (DAY1_TEST_CONTAINERS=1 asks for that even
where there is a `dolt`). Each is started once in a test process,
when it is first needed, and ends with it. Where there is none the test is skipped, and says why.
"""

import atexit
import contextlib
import itertools
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.containers import NoContainer, started
from tests.waiting import until

_UP_S = 60.0
_OF_A_DATABASE = ("", "_ledger", "_graph")
"""What a store's databases are called after its own."""
_numbers = itertools.count(1)
_run = secrets.token_hex(3)
REASONS: set[str] = set()
"""Why tests of this process were skipped for want of a server."""


class Program:
    """A server program of the tests' own: started, killed and started again on the same data."""

    def __init__(self, command: Callable[[Path, int], list[str]], folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, answers: Callable[[int], bool]) -> None:
        """Start it and wait until it answers."""
        surroundings = {
            **os.environ,
            "HOME": str(self.folder),
            "DOLT_ROOT_PATH": str(self.folder),
            "TZ": "UTC",
            "ANONYMIZED_TELEMETRY": "False",
        }
        with (self.folder / "log").open("ab") as log:
            command = self._command(self.folder, self.port)
            self._process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=surroundings,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the tests
            )
        process = self._process
        with suppress(AssertionError):
            until(lambda: answers(self.port) or process.poll() is not None, "an answer", _UP_S)
        if not answers(self.port):
            said = (self.folder / "log").read_text(encoding="utf-8", errors="replace")
            self.stop()
            raise RuntimeError(f"{command[0]!r} did not start: {said[-500:]}")

    def kill(self) -> None:
        """As a crash does."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """As a shutdown does; twice is harmless."""
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(how)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class DoltServer(Program):
    """A Dolt server of one test's own, which it may kill."""

    def __init__(self, folder: Path, connections: int = 400, behavior: str = "") -> None:
        """`behavior` is YAML of that section of the server's settings."""
        super().__init__(partial(_dolt_command, connections=connections, behavior=behavior), folder)

    @property
    def url(self) -> str:
        return f"mysql+pymysql://root@127.0.0.1:{self.port}"

    def up(self) -> None:
        self.start(lambda _port: _mysql_answers(self.url))


class ChromaServer(Program):
    """A Chroma server of one test's own, which it may kill."""

    def __init__(self, folder: Path) -> None:
        super().__init__(_chroma_command, folder)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def up(self) -> None:
        self.start(_chroma_answers)


def dolt_url() -> str:
    """A Dolt server, as a URL that names no database."""
    return _asked(_find_dolt())


def matrixone_url() -> str:
    """A MatrixOne server, as a URL that names no database."""
    return _asked(_find_matrixone())


@cache
def chroma_url() -> str:
    """A Chroma server."""
    given = os.environ.get("DAY1_TEST_CHROMA_URL")
    if given:
        return given.rstrip("/")
    server = ChromaServer(_folder())
    server.up()
    atexit.register(server.stop)
    return server.url


@contextmanager
def database(server: str) -> Iterator[str]:
    """The URL of a store that is not there yet; what was made for it is dropped at the end."""
    name = f"t_{_run}_{os.getpid()}_{next(_numbers)}"
    try:
        yield f"{server}/{name}"
    finally:
        drop(server, name)


def drop(server: str, name: str) -> None:
    """Drop what a store has on a server."""
    mine = {name + more for more in _OF_A_DATABASE}
    with connection(server) as opened, opened.cursor() as cursor:
        cursor.execute("SHOW DATABASES")
        for (found,) in cursor.fetchall():
            if found in mine or found.startswith(f"{name}_b_"):
                with contextlib.suppress(Exception):  # what stays disturbs no other test
                    cursor.execute(f"DROP DATABASE `{found}`")


@contextmanager
def connection(url: str) -> Iterator[Any]:
    """A plain connection of the driver, in autocommit, on the URL's database if it names one."""
    import pymysql
    from sqlalchemy import make_url

    parsed = make_url(url)
    opened = pymysql.connect(
        host=parsed.host,
        port=parsed.port or 3306,
        user=parsed.username,
        password=parsed.password or "",
        database=parsed.database,
        autocommit=True,
        connect_timeout=5,
    )
    try:
        yield opened
    finally:
        with contextlib.suppress(Exception):
            opened.close()


def has_dolt() -> bool:
    """Whether a test can have a Dolt server of its own."""
    return shutil.which("dolt") is not None


_Found = tuple[str | None, str]
"""A URL, or why there is none."""


def _asked(found: _Found) -> str:
    url, reason = found
    return skip(reason) if url is None else url


def skip(reason: str) -> NoReturn:
    """Skip the test that asks; the closing lines say it once for all of them."""
    REASONS.add(reason)
    pytest.skip(reason)


@cache
def _find_dolt() -> _Found:
    given = os.environ.get("DAY1_TEST_DOLT_URL")
    if given:
        return given.rstrip("/"), ""
    if has_dolt() and not os.environ.get("DAY1_TEST_CONTAINERS"):
        server = DoltServer(_folder())
        server.up()
        atexit.register(server.stop)
        return server.url, ""
    password = secrets.token_hex(16)
    environment = {"DOLT_ROOT_HOST": "%", "DOLT_ROOT_PASSWORD": password}
    url, why = _container("dolthub/dolt-sql-server:2.3.1", 3306, environment, f"root:{password}")
    return url, f"no Dolt server: DAY1_TEST_DOLT_URL is not set, no `dolt` on the PATH, and {why}"


@cache
def _find_matrixone() -> _Found:
    given = os.environ.get("DAY1_TEST_MATRIXONE_URL")
    if given:
        return given.rstrip("/"), ""
    url, why = _container("matrixorigin/matrixone:4.2.0", 6001, {}, "root:111")
    if url is None:
        return None, f"no MatrixOne server: DAY1_TEST_MATRIXONE_URL is not set, and {why}"
    password = secrets.token_hex(16)  # everybody knows those that the image comes with
    with connection(url) as opened, opened.cursor() as cursor:
        for user in ("dump", "root"):
            cursor.execute(f"ALTER USER {user} IDENTIFIED BY '{password}'")
    return url.replace("root:111@", f"root:{password}@"), ""


def _container(image: str, port: int, environment: dict[str, str], user: str) -> _Found:
    """A server in a container as a URL, or why there is none."""

    def url(exposed: int) -> str:
        return f"mysql+pymysql://{user}@127.0.0.1:{exposed}"

    try:
        return url(started(image, port, environment, lambda found: _mysql_answers(url(found)))), ""
    except NoContainer as error:
        return None, str(error)


def _dolt_command(folder: Path, port: int, connections: int, behavior: str) -> list[str]:
    """Its own HOME, so that nobody's settings count; no socket file; it tells nobody of itself."""
    (folder / ".dolt").mkdir(exist_ok=True)
    (folder / ".dolt" / "config_global.json").write_text(
        '{"metrics.disabled":"true","user.name":"tests","user.email":"tests@day1"}',
        encoding="utf-8",
    )
    (folder / "data").mkdir(exist_ok=True)
    (folder / "server.yaml").write_text(
        f"log_level: warning\nbehavior: {{{behavior}}}\n"
        f"listener: {{host: 127.0.0.1, port: {port}, max_connections: {connections}}}\n"
        f"data_dir: {folder / 'data'}\ncfg_dir: {folder / 'cfg'}\n",
        encoding="utf-8",
    )
    return ["dolt", "sql-server", "--config", str(folder / "server.yaml")]


def _chroma_command(folder: Path, port: int) -> list[str]:
    code = "import sys; sys.argv[0] = 'chroma'; from chromadb.cli.cli import app; app()"
    where = ["--path", str(folder / "data"), "--host", "127.0.0.1", "--port", str(port)]
    return [sys.executable, "-c", code, "run", *where]


def _mysql_answers(url: str) -> bool:
    with contextlib.suppress(Exception), connection(url):
        return True
    return False


def _chroma_answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v2/heartbeat", timeout=5):
            return True
    except (urllib.error.URLError, OSError):
        return False


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="day1-server-"))
    # Registered first, so done last: after the server has stopped.
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
