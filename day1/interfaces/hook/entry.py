"""`day1 hook EVENT --client C`: take an event from a client without ever delaying it.

The exit code is always 0, within a second. So this process only reads stdin and waits for a child
for a limited time. The child does all that may hang or fail: it finds the store, reads the prime or
adds a line to the spool. A child that hangs, on a lost network disk, is left behind and ends alone.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, NoReturn

from day1.interfaces.hook import answers

CLOCK_S: Final = 0.8
"""Maximum time in seconds from the start of `run` to the exit."""
_READ_S: Final = 0.4
"""Maximum time in seconds for reading stdin, which some clients leave open."""
_IDLE_S: Final = 0.03
"""Seconds of silence after a complete document at which stdin counts as read."""
_ALONE_S: Final = 10
"""Seconds after which a child that its parent left behind ends."""
_MOST_READ: Final = 8 * 1024 * 1024
"""Maximum number of bytes of stdin; a longer event is ignored."""
_CHUNK: Final = 1024 * 1024
"""Bytes of one read."""


def run(arguments: Sequence[str]) -> NoReturn:
    """Take an event from stdin, print the answer and exit with 0."""
    try:
        start = time.monotonic()
        for number in (signal.SIGINT, signal.SIGHUP):  # a closed terminal must not lose the event
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
        signal.setitimer(signal.ITIMER_REAL, CLOCK_S)
        event, client = _event_and_client(arguments)
        data = _stdin(start + _READ_S)
        answer = _in_a_child(lambda: _answer(event, client, data), start + CLOCK_S * 0.9)
        _write_answer((answer or answers.nothing(client)).encode())
    except BaseException:  # noqa: BLE001, S110 - a hook reports no failure
        pass
    finally:
        os._exit(0)


def _event_and_client(arguments: Sequence[str]) -> tuple[str, str]:
    """Read the event and the client from the arguments; a missing one is empty."""
    event = client = ""
    remaining_arguments = iter(arguments)
    for word in remaining_arguments:
        if word == "--client":
            client = next(remaining_arguments, "")
        elif word.startswith("--client="):
            client = word.partition("=")[2]
        elif not word.startswith("-"):
            event = event or word
    return event, client


def _stdin(until: float) -> bytes:
    """Read stdin until it ends, is a whole document, or time is up; empty if it is too long."""
    if os.isatty(0):
        return b""
    parts: list[bytes] = []
    size = 0
    while (remaining := until - time.monotonic()) > 0:
        is_whole = bool(parts) and parts[-1].rstrip().endswith(b"}")
        ready, _, _ = select.select([0], [], [], min(remaining, _IDLE_S) if is_whole else remaining)
        if not ready and is_whole and _is_sound(b"".join(parts)):
            break
        part = os.read(0, _CHUNK) if ready else b""
        if ready and not part:
            break
        size += len(part)
        if size <= _MOST_READ and part:
            parts.append(part)
    return b"".join(parts) if size <= _MOST_READ else b""


def _is_sound(data: bytes) -> bool:
    import json  # noqa: PLC0415 - only a client that leaves stdin open needs it here

    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


def _in_a_child(work: Callable[[], str], until: float) -> str:
    """Run some work in a child and return its text; empty if it fails or takes too long."""
    reads, writes = os.pipe()
    try:
        child = os.fork()
    except OSError:  # no process is left: do it here
        return work()
    if not child:
        _run_as_child(work, writes)
    os.close(writes)
    parts: list[bytes] = []
    while (remaining := until - time.monotonic()) > 0:
        ready, _, _ = select.select([reads], [], [], remaining)
        part = os.read(reads, _CHUNK) if ready else b""
        if ready and not part:
            return b"".join(parts).decode()
        parts.append(part)
    return ""


def _run_as_child(work: Callable[[], str], writes: int) -> NoReturn:
    """Close the client's pipes, for whose end it waits, then do the work and write its text."""
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, _ALONE_S)
        null_device = os.open(os.devnull, os.O_RDWR)
        for handle in (0, 1, 2):
            os.dup2(null_device, handle)
        answer = work().encode()
        while answer:
            answer = answer[os.write(writes, answer) :]
    except BaseException:  # noqa: BLE001, S110 - the parent then gets no text
        pass
    finally:
        os._exit(0)


def _write_answer(answer: bytes) -> None:
    with suppress(OSError):
        while answer:
            answer = answer[os.write(1, answer) :]


def _answer(event: str, client: str, data: bytes) -> str:
    """Handle an event and return the answer for its client."""
    from day1.interfaces.hook import hearing  # noqa: PLC0415 - in the child, under the clock

    return hearing.hear(event, client, data)
