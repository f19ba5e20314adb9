"""A client with hooks: it runs `day1 hook` as a process, tells it of an event, and has a clock."""

import atexit
import json
import os
import shutil
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from day1.formats import prime_file
from tests.engine import needs_files, url_of
from tests.flows.opened_store import make
from tests.wires.command_line import ROOT

CLOCK_S = 30.0
"""Only a hook that hangs takes so long: the machine of a test may be busy."""
HOOK = [sys.executable, "-m", "day1", "hook"]


class Client:
    """One client in one project; `store` is the folder of the project's store."""

    def __init__(self, place: Path, name: str = "claude") -> None:
        self.name, self.project, self.home = name, place / "work", place / "home"
        for folder in (self.project, self.home):
            folder.mkdir(parents=True, exist_ok=True)
        self.store = self.project / ".day1"
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("DAY1_", "CLAUDE_"))}
        self.env = {**kept, "HOME": str(self.home), "PYTHONPATH": str(ROOT)}
        self.env["DAY1_EMBEDDER__KIND"] = "none"
        url = url_of(self.project)
        if url is not None:
            self.env |= {"DAY1_STORE__URL": url, "DAY1_HOME": str(self.store)}

    def begin(self, event: str, client: str | None = None) -> subprocess.Popen[bytes]:
        """Start a hook, which waits for what it is told."""
        return subprocess.Popen(
            [*HOOK, event, "--client", client or self.name],
            cwd=self.project,
            env=self.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def raw(self, event: str, said: bytes, client: str | None = None) -> str:
        """What a hook prints; it must leave with 0 and say nothing on stderr."""
        hook = self.begin(event, client)
        out, err = hook.communicate(said, timeout=CLOCK_S)
        assert (hook.returncode, err) == (0, b""), err
        return out.decode()

    def tell(self, event: str, *, client: str | None = None, **said: Any) -> str:
        """Tell a hook of an event."""
        payload = {"session_id": "one", "cwd": str(self.project), **said}
        return self.raw(event, json.dumps(payload).encode(), client)

    def lines(self) -> list[dict[str, Any]]:
        """What waits in the spool."""
        files = sorted((self.store / "spool").glob("*.jsonl"))
        return [json.loads(line) for file in files for line in file.read_bytes().splitlines()]

    def log(self) -> str:
        """What hooks have noted."""
        log = self.store / "hooks.log"
        return log.read_text() if log.exists() else ""


def ended_in(hook: subprocess.Popen[bytes]) -> float:
    """How long a hook goes on from now, in seconds; its stdin stays open."""
    begun = time.monotonic()
    assert hook.wait(CLOCK_S) == 0
    return time.monotonic() - begun


PRIME = "The gateway answers at noon."


def with_store(folder: Path) -> Client:
    """A client in a project with a store."""
    needs_files()
    client = Client(folder)
    shutil.copytree(_made(), client.store)
    return client


@cache
def _made() -> Path:
    """A store that the tests of this process get copies of; it goes when the process ends."""
    place = TemporaryDirectory(prefix="day1-hooked-")
    atexit.register(place.cleanup)
    make(Path(place.name) / "store")
    return Path(place.name) / "store"


def prime(client: Client, text: str = PRIME, **changed: Any) -> None:
    """Write a prime as a long-lived process does."""
    path = prime_file.path_of(client.store, changed.get("branch", "main"))
    path.parent.mkdir(exist_ok=True)
    made: dict[str, Any] = {"format": 1, "branch": "main", "at": "c0ffee" * 5, "made_at": "now"}
    made |= {"chars": len(text), "text": text, "stamp": prime_file.stamp_of(client.store)}
    path.write_text(json.dumps(made | changed))


def context(answer: str) -> str:
    """The text that an answer brings into a session."""
    if not answer.startswith("{"):
        return answer
    said = json.loads(answer)
    if "additional_context" in said:
        assert said.keys() == {"additional_context"}
        return str(said["additional_context"])
    assert said.keys() <= {"hookSpecificOutput"}, "Codex refuses other fields"
    inner = said.get("hookSpecificOutput", {"hookEventName": "SessionStart"})
    assert inner["hookEventName"] == "SessionStart"
    assert inner.keys() <= {"hookEventName", "additionalContext"}
    return str(inner.get("additionalContext", ""))
