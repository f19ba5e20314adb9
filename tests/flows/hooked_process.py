"""Processes beside a store: hooks of a session (`hear SESSION COUNT`), and takers (`take`).

A hook's part is done as `day1 hook` does it, without a process for each event. A taker opens the
store as a command does, and again; `DAY1_KILL_AT` names the point at which it kills itself.
"""

import sys
import time
from pathlib import Path
from typing import Any

from day1.formats import spool
from day1.formats.events import event_of, line_of


def tell(store: Path, event: str, client: str = "claude", /, **said: Any) -> None:
    """Do what a hook does when a client tells it of an event."""
    now = said.pop("at", time.time_ns() // 1000)
    environment = said.pop("environment", {})
    told = event_of(event, client, {"session_id": "one", **said}, environment, now)
    assert told is not None
    spool.append(spool.path_of(store, told["session"]), line_of(told), lambda _: False)


def hear(store: Path, session: str, count: int) -> None:
    for number in range(count):
        event = "turn-end" if number % 2 else "prompt"
        key = "last_assistant_message" if number % 2 else "prompt"
        said = {key: f"{session} says {number}", "prompt_id": f"turn {number // 2}"}
        for _ in range(1 + (number % 5 == 0)):  # some clients tell twice
            tell(store, event, session_id=session, **said)


def take(store: Path) -> None:
    from tests.flows.opened_store import opened

    while True:
        with opened(store):
            pass
        print("taken", flush=True)


if __name__ == "__main__":
    action, folder, *rest = sys.argv[1:]
    if action == "hear":
        hear(Path(folder), rest[0], int(rest[1]))
    else:
        take(Path(folder))
