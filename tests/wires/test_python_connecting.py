"""`day1.connect`: which memory a target means, what is refused, and what a host program keeps."""

import errno
import json
import os
import pickle
import socket
import ssl
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, NoReturn

import pytest

import day1
from day1 import errors
from day1.interfaces.python.remote import _trusted
from tests.engine import needs_files
from tests.wires.command_line import CommandLine
from tests.wires.http_server import HttpServer
from tests.wires.mcp_session import ROOT
from tests.wires.python_places import QUIET

HEAVY = {"sqlalchemy", "pydantic", "numpy", "mcp", "typing", "dataclasses", "asyncio"}


def run(code: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a program of its own, which has day1 and nothing else of this environment."""
    kept = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**kept, **variables},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_to_import_day1_loads_nothing_else(tmp_path: Path) -> None:
    code = "import sys; before = set(sys.modules); import day1; print(*set(sys.modules) - before)"
    loaded = set(run(code, tmp_path).stdout.split())
    assert loaded == {"day1", "day1.version"}
    assert not HEAVY & loaded


def test_a_server_is_called_without_an_engine(tmp_path: Path) -> None:
    with HttpServer(tmp_path / "store") as server:
        code = (
            f"import sys, day1; m = day1.connect({server.address!r}); m.add('Over HTTP.');"
            "print(m.search('HTTP')[0].fact_text); m.close();"
            "print({'sqlalchemy', 'numpy', 'mcp', 'day1.adapters'} & set(sys.modules))"
        )
        assert run(code, tmp_path).stdout.splitlines() == ["Over HTTP.", "set()"]


def test_the_nearest_store_is_found_and_never_made_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_files()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("DAY1_HOME", raising=False)
    (tmp_path / "shop" / "inside").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "shop" / "inside")
    with pytest.raises(errors.NotAStore):
        day1.connect(settings=QUIET)
    assert not list(tmp_path.rglob("memory.db"))
    with day1.connect(tmp_path / "shop" / ".day1", settings=QUIET) as made:
        made.add("The shop is near.")
    with day1.connect(settings=QUIET) as near, day1.connect("..", settings=QUIET) as named:
        assert near.place == str(tmp_path / "shop" / ".day1")
        assert len(near.rows("fact")) == len(named.rows("fact")) == 1


def test_a_folder_with_other_files_is_no_store_unless_that_is_said(tmp_path: Path) -> None:
    needs_files()
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(errors.NotAStore, match="create=True"):
        day1.connect(tmp_path, settings=QUIET)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    with pytest.raises(errors.NotAStore):
        day1.connect(tmp_path / "new", create=False, settings=QUIET)
    assert not (tmp_path / "new").exists()
    day1.connect(tmp_path, create=True, settings=QUIET).close()
    day1.connect(tmp_path, settings=QUIET).close()


def test_a_folder_that_may_not_be_listed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> NoReturn:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(errors.StoreUnavailable, match="may not be read"):
        day1.connect(tmp_path, settings=QUIET)


@pytest.mark.parametrize(
    ("target", "options", "says"),
    [
        ("m", {"colour": "red"}, "colour"),
        ("m", {"token": "t"}, "address of a server"),
        ("m", {"agent": "a" * 256}, "agent must be a name of at most 255"),
        ("m", {"session": "a\nb"}, "session must be a name of at most 255"),
        ("m", {"agent": 5}, "agent must be a text"),
        ("m", {"settings": {"colour": 1}}, "There is no setting colour"),
        ("m", {"settings": {"search": {"exact_rows": -1}}}, "DAY1_SEARCH__EXACT_ROWS"),
        ("m", {"space": "*:*:*", "now": True}, "now"),
        ("http://127.0.0.1:1", {"settings": QUIET}, "leave it out"),
        ("http://127.0.0.1:1/review", {}, "http://HOST:PORT"),
        ("http://user:secret@127.0.0.1:1", {}, "`token`"),
        ("ftp://127.0.0.1/m", {}, "mysql"),
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, options: Any, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(errors.InvalidRequest) as refused:
        day1.connect(target, **options)
    assert says in str(refused.value)
    assert "secret" not in str(refused.value)
    assert not list(tmp_path.iterdir())


def test_a_server_that_is_not_there_or_another_one_is_told_apart(tmp_path: Path) -> None:
    with pytest.raises(errors.StoreUnavailable, match="day1 serve") as gone:
        day1.connect("http://127.0.0.1:1")
    assert gone.value.retryable

    class Other(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>")

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Other)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with pytest.raises(errors.NotAStore, match="check the address"):
            day1.connect(f"http://127.0.0.1:{server.server_port}")
    finally:
        server.shutdown()
        server.server_close()


def test_a_token_is_needed_known_and_limits_what_is_done(tmp_path: Path) -> None:
    with HttpServer(tmp_path / "store") as server:
        admin = server.token("admin")
        for token, says in ((None, "`token`"), ("day1_wrong", "token")):
            with pytest.raises(errors.Unauthorized, match=says):
                day1.connect(server.address, token=token)
        reader = server.token("reader", "read", admin)
        bound = server.token("bound", "write", admin, agent_id="ada", branches=["ada/*"])
        with day1.connect(server.address, token=reader) as memory:
            assert not memory.search("anything")
            with pytest.raises(errors.Forbidden):
                memory.add("This is refused.")
        with day1.connect(server.address, token=admin) as memory:
            memory.create_branch("ada/one")
            memory.add("Only for main.")
        with day1.connect(server.address, token=bound, branch="ada/one") as ada:
            assert ada.row(ada.add("Hers.").id).row["agent_id"] == "ada"
            with pytest.raises(errors.Day1Error):
                ada.branch("main").search("main")
            with pytest.raises(errors.Forbidden):
                ada.add("As another.", agent_id="bob")
            with pytest.raises(errors.Day1Error), ada.branch("main").batch() as batch:
                batch.add("Elsewhere.")


def test_a_server_that_goes_away_and_comes_back(tmp_path: Path) -> None:
    with HttpServer(tmp_path / "store") as server:
        memory = day1.connect(server.address)
        first = memory.add("Before.")
        port = int(server.address.rpartition(":")[2])
    with pytest.raises(errors.StoreUnavailable):
        memory.add("Meanwhile.", request_id="meanwhile")
    with HttpServer(tmp_path / "store", port=port):
        memory.add("Meanwhile.", request_id="meanwhile")
        memory.add("Meanwhile.", request_id="meanwhile")
        assert {row["fact_text"] for row in memory.rows("fact")} == {"Before.", "Meanwhile."}
        assert memory.rows("fact").total == 2
        assert memory.row(first.id).row["id"] == first.id
        memory.close()


def test_a_write_whose_connection_breaks_is_sent_again_under_one_id() -> None:
    """The first server of two hangs up after it has read the call; then both do."""
    said: list[dict[str, Any]] = []
    hangs_up = [False, True, False, True, True]

    class Breaking(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            said.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            if hangs_up[len(said) - 1]:
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            written = {"branch": "main", "commit": "c"}
            answer = {
                "id": "f",
                "created_at": "t",
                "written": written,
                "result": [],
                "read": written,
            }
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Breaking)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with day1.connect(f"http://127.0.0.1:{server.server_port}") as memory:
            assert memory.add("Sent twice.").id == "f"
            with pytest.raises(errors.StoreUnavailable, match="request_id=") as broken:
                memory.add("Never answered.")
    finally:
        server.shutdown()
        server.server_close()
    ids = [each.get("request_id") for each in said[1:]]
    assert ids[0] == ids[1] != ids[2] == ids[3] == broken.value.details["request_id"]


def test_a_handle_is_of_one_process(tmp_path: Path) -> None:
    memory = day1.connect(tmp_path / "store", settings=QUIET)
    memory.add("Of the parent.")
    for handle in (memory, memory.branch("b"), memory.as_of("2026-01-01")):
        with pytest.raises(TypeError, match=r"day1\.connect"):
            pickle.dumps(handle)
    code = f"""
import os, day1
from day1 import errors
with day1.connect({str(tmp_path / "store")!r}, settings={QUIET!r}) as memory:
    memory.add("Before the fork.")
    if os.fork() == 0:
        try:
            memory.add("Never written.")
        except errors.UsedAfterFork as exc:
            print(exc.code, flush=True)
        memory.close()
        with day1.connect({str(tmp_path / "store")!r}, settings={QUIET!r}) as own:
            own.add("Of the child.")
        os._exit(0)
    print(os.WEXITSTATUS(os.wait()[1]), flush=True)
    memory.add("After the fork.")
"""
    done = run(code, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["used_after_fork", "0"]
    texts = {row["fact_text"] for row in memory.rows("fact")}
    assert texts == {"Of the parent.", "Before the fork.", "Of the child.", "After the fork."}
    memory.close()


def test_threads_share_a_handle_and_lose_nothing(tmp_path: Path) -> None:
    with day1.connect(tmp_path / "store", settings=QUIET) as memory:

        def write(name: int) -> None:
            for number in range(10):
                memory.add(f"Thread {name} wrote {number}.")

        threads = [threading.Thread(target=write, args=(name,)) for name in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert memory.rows("fact").total == 40


def test_closing_waits_for_the_call_that_runs(tmp_path: Path) -> None:
    memory = day1.connect(tmp_path / "store", settings=QUIET)
    outcome: list[str] = []

    def write() -> None:
        try:
            for number in range(1_000):
                outcome.append(memory.add(f"Number {number}.").id)
        except errors.HandleClosed as exc:
            outcome.append(exc.code)

    thread = threading.Thread(target=write)
    thread.start()
    while len(outcome) < 3:
        pass
    memory.close()
    thread.join()
    assert outcome[-1] == "handle_closed"
    with day1.connect(tmp_path / "store", settings=QUIET) as again:
        assert again.rows("fact").total == len(outcome) - 1


def test_the_host_program_keeps_its_logging_signals_warnings_and_output(tmp_path: Path) -> None:
    code = f"""
import gc, logging, os, signal, sys, warnings
import day1
def state():
    handlers = [*logging.getLogger().handlers]
    hooks = (sys.excepthook, sys.unraisablehook, sys.stdout, sys.stderr)
    signals = [signal.getsignal(number) for number in signal.valid_signals()]
    collection = (gc.isenabled(), gc.get_threshold(), gc.get_freeze_count())
    return handlers, logging.getLogger().level, hooks, signals, [*warnings.filters], collection
before = state(), dict(os.environ), os.getcwd()
memory = day1.connect({str(tmp_path / "store")!r}, settings={QUIET!r})
memory.add("The password is hunter2 hunter2.")
with memory.branch("b") as b:
    b.add("Elsewhere.")
try:
    b.row("fact_x")
except day1.Day1Error:
    pass
logging.getLogger("day1").error("nobody asked for this")
b.preview().merge()
memory.search("password")
told = os.environ.pop("ORT_DISABLE_TELEMETRY", "1")  # the two things that day1 adds
os.environ.pop("DOLTLITE_WAL_CHECKPOINT_THRESHOLD", None)
after = state(), dict(os.environ), os.getcwd()
assert told == "1"
assert repr(before) == repr(after), (before, after)
"""
    done = run(code, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_program_that_forgets_to_close_loses_nothing(tmp_path: Path) -> None:
    code = f"""
import day1
memory = day1.connect({str(tmp_path / "store")!r}, settings={QUIET!r})
memory.add("This is kept.")
"""
    done = run(code, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    with day1.connect(tmp_path / "store", settings=QUIET) as memory:
        assert memory.rows("fact").total == 1


def test_the_command_line_sees_what_a_program_wrote(bare: CommandLine) -> None:
    needs_files()
    with day1.connect(bare.folder / ".day1", settings=QUIET) as memory:
        made = memory.add("Shared by all wires.")
    shown = json.loads(bare("show", made.id, "--json").out)
    assert shown["fact_text"] == "Shared by all wires."


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
def test_the_nearest_store_of_another_user_is_refused(tmp_path: Path) -> None:
    needs_files()
    theirs = tmp_path / "theirs"
    day1.connect(theirs / ".day1", settings=QUIET).close()
    os.chown(theirs / ".day1", 4_711, 4_711)
    done = run(
        "import day1\ntry:\n    day1.connect()\nexcept day1.Day1Error as exc:\n    print(exc.code)",
        theirs,
    )
    assert done.stdout.strip() == "store_of_another"


def test_certificates_are_checked_and_read_only_for_https() -> None:
    assert _trusted("https://host") is True
    plain = _trusted("http://host")
    assert isinstance(plain, ssl.SSLContext)
    assert plain.verify_mode == ssl.CERT_REQUIRED
    assert plain.get_ca_certs() == []
