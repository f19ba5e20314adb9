"""`day1` as a person runs it: in this process, in a process of its own, or on a terminal."""

import atexit
import io
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from day1.app.cli import run
from tests.engine import FOLDER, engine, url_of
from tests.forkserver import python

ROOT = Path(__file__).parents[2]
_DEADLINE_S = 60.0
_ANSI = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


class Answer(NamedTuple):
    """What a command printed, and its exit code."""

    out: str
    err: str
    code: int


class TerminalStream(io.TextIOWrapper):
    """A stream that says that it is a terminal, and so do the bytes below it."""

    def __init__(self, raw: io.BytesIO, **more: str) -> None:
        """Write to bytes of its own."""
        del raw
        super().__init__(_TerminalBytes(), **more)  # type: ignore[arg-type]  # encoding and errors


class _TerminalBytes(io.BytesIO):
    def isatty(self) -> bool:
        return True


class CommandLine:
    """Runs commands in one folder, with a home of its own and no model."""

    def __init__(self, folder: Path) -> None:
        """Make the folder and its home."""
        self.folder = folder / "work"
        self.home = folder / "home"
        for place in (self.folder, self.home):
            place.mkdir(parents=True)
        kept = {k: v for k, v in os.environ.items() if not k.startswith("DAY1_")}
        self.env = {
            **kept,
            "HOME": str(self.home),
            "DAY1_EMBEDDER__KIND": "none",
            "TERM": "xterm",
            "PYTHONPATH": str(ROOT),
        }
        url = url_of(self.folder)
        if url is not None:
            self.env["DAY1_STORE__URL"] = url

    def __call__(self, *arguments: str, stdin: str = "", code: int = 0) -> Answer:
        """Run a command in this process; it must end with the exit code `code`."""
        answer = self._run(arguments, stdin, io.TextIOWrapper)
        assert answer.code == code, answer
        return answer

    def shown(self, *arguments: str) -> Answer:
        """Run a command in this process whose stdout and stderr are terminals to it."""
        return self._run(arguments, "", TerminalStream)

    def _run(
        self, arguments: tuple[str, ...], stdin: str, stream: type[io.TextIOWrapper]
    ) -> Answer:
        out, err = (
            stream(io.BytesIO(), encoding="utf-8", errors="backslashreplace") for _ in range(2)
        )
        before, here, stdin_before = dict(os.environ), Path.cwd(), sys.stdin
        os.environ.clear()
        os.environ.update(self.env)
        os.chdir(self.folder)
        sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
        try:
            with redirect_stdout(out), redirect_stderr(err):
                ended = run(arguments)
        finally:
            sys.stdin = stdin_before
            os.chdir(here)
            os.environ.clear()
            os.environ.update(before)
        return Answer(_text(out), _text(err), ended)

    def json(self, *arguments: str, code: int = 0, stdin: str = "") -> Any:
        """The one JSON document that a command prints with `--json`."""
        return json.loads(self(*arguments, "--json", code=code, stdin=stdin).out)

    def refused(self, *arguments: str, code: int = 1) -> Any:
        """The error that a command says with `--json`."""
        answer = self(*arguments, "--json", code=code)
        assert answer.out == ""
        return json.loads(answer.err)["error"]

    def add(self, text: str, *more: str) -> str:
        """Remember a fact; answers its id."""
        return str(self.json("add", text, *more)["id"])

    def process(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run a command in a process of its own, in a pipe."""
        return subprocess.run(
            [*python(), "-m", "day1", *arguments],
            cwd=self.folder,
            env={**self.env, **env},
            capture_output=True,
            text=True,
            timeout=_DEADLINE_S,
            stdin=subprocess.DEVNULL,
            check=False,
        )

    @contextmanager
    def terminal(self, *arguments: str, **env: str) -> Iterator["Terminal"]:
        """Run a command on a terminal."""
        command = [*python(), "-m", "day1", *arguments]
        child, handle = pty.fork()
        if child == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # a background shell has it ignored
            os.chdir(self.folder)
            os.execve(command[0], command, {**self.env, **env})
        terminal = Terminal(child, handle)
        try:
            yield terminal
        finally:
            terminal.close()


def made_once(make: Callable[[CommandLine], None], folder: Path) -> CommandLine:
    """A command line for which `make` was called, in this process once: this one has a copy."""
    cli = CommandLine(folder)
    if engine() != FOLDER:
        make(cli)
        return cli
    pattern = _pattern(make)
    shutil.copytree(pattern.folder, cli.folder, dirs_exist_ok=True)
    shutil.copytree(pattern.home, cli.home, dirs_exist_ok=True)
    cli.env |= {name: pattern.env[name] for name in pattern.env.keys() - cli.env.keys()}
    return cli


@cache
def _pattern(make: Callable[[CommandLine], None]) -> CommandLine:
    """What is copied; it goes when the process ends."""
    place = TemporaryDirectory(prefix="day1-pattern-")
    atexit.register(place.cleanup)
    cli = CommandLine(Path(place.name))
    make(cli)
    return cli


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    return stream.buffer.getvalue().decode()  # type: ignore[attr-defined]  # a BytesIO


class Terminal:
    """A command on a pseudo terminal: what it printed, and keys for it."""

    def __init__(self, child: int, handle: int) -> None:
        self.raw = ""
        self._child, self._handle = child, handle
        self._code: int | None = None
        self._seen = 0

    @property
    def said(self) -> str:
        """What was printed, without colours."""
        return _ANSI.sub("", self.raw).replace("\r\n", "\n")

    def wait_for(self, text: str) -> None:
        """Read until a text that was not waited for yet is there."""
        deadline = time.monotonic() + _DEADLINE_S
        while text not in self.said[self._seen :]:
            assert self._read(deadline), f"{text!r} never came: {self.said}"
        self._seen = self.said.index(text, self._seen) + len(text)

    def press(self, keys: str) -> None:
        os.write(self._handle, keys.encode())

    def interrupt(self) -> int:
        """Press Ctrl-C to the end; answers the exit code.

        One alone may come just before the command begins to wait for a key, and pass unseen.
        """
        for _ in range(6):
            self.press("\x03")
            patience = time.monotonic() + _DEADLINE_S / 6
            while self._read(patience):
                pass
            if time.monotonic() < patience:
                break
        return self.end()

    def end(self) -> int:
        """Read to the end; answers the exit code."""
        deadline = time.monotonic() + _DEADLINE_S
        while self._read(deadline):
            pass
        assert time.monotonic() < deadline, f"it does not end: {self.said}"
        _, status = os.waitpid(self._child, 0)
        self._code = os.waitstatus_to_exitcode(status)
        return self._code

    def _read(self, deadline: float) -> bool:
        ready, _, _ = select.select([self._handle], [], [], max(0, deadline - time.monotonic()))
        if not ready:
            return False
        try:
            found = os.read(self._handle, 65_536)
        except OSError:  # the command is gone
            return False
        self.raw += found.decode(errors="replace")
        return bool(found)

    def close(self) -> None:
        if self._code is None:
            os.kill(self._child, 9)
            os.waitpid(self._child, 0)
        os.close(self._handle)
