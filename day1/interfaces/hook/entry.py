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
        start_time = time.monotonic()
        # A closed terminal must not lose the event.
        for signal_number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(signal_number, signal.SIG_IGN)
        signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
        signal.setitimer(signal.ITIMER_REAL, CLOCK_S)
        event, client = _event_and_client(arguments)
        stdin_bytes = _stdin(start_time + _READ_S)
        answer = _in_a_child(
            lambda: _answer(event, client, stdin_bytes), start_time + CLOCK_S * 0.9
        )
        _write_answer((answer or answers.nothing(client)).encode())
    except BaseException:  # noqa: BLE001, S110 - a hook reports no failure
        pass
    finally:
        os._exit(0)


def _event_and_client(arguments: Sequence[str]) -> tuple[str, str]:
    """Read the event and the client from the arguments; a missing one is empty."""
    event = client = ""
    remaining_arguments = iter(arguments)
    for argument in remaining_arguments:
        if argument == "--client":
            client = next(remaining_arguments, "")
        elif argument.startswith("--client="):
            client = argument.partition("=")[2]
        elif not argument.startswith("-"):
            event = event or argument
    return event, client


def _stdin(until: float) -> bytes:
    """Read stdin until it ends, is a whole document, or time is up; empty if it is too long."""
    if os.isatty(0):
        return b""
    chunks: list[bytes] = []
    byte_count = 0
    while (remaining_seconds := until - time.monotonic()) > 0:
        may_be_complete = bool(chunks) and chunks[-1].rstrip().endswith(b"}")
        readable_fds, _, _ = select.select(
            [0], [], [], min(remaining_seconds, _IDLE_S) if may_be_complete else remaining_seconds
        )
        if not readable_fds and may_be_complete and _is_sound(b"".join(chunks)):
            break
        chunk = os.read(0, _CHUNK) if readable_fds else b""
        if readable_fds and not chunk:
            break
        byte_count += len(chunk)
        if byte_count <= _MOST_READ and chunk:
            chunks.append(chunk)
    return b"".join(chunks) if byte_count <= _MOST_READ else b""


def _is_sound(data: bytes) -> bool:
    import json  # noqa: PLC0415 - only a client that leaves stdin open needs it here

    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


def _in_a_child(work: Callable[[], str], until: float) -> str:
    """Run some work in a child and return its text; empty if it fails or takes too long."""
    read_fd, write_fd = os.pipe()
    try:
        child_pid = os.fork()
    except OSError:  # no process is left: do it here
        return work()
    if not child_pid:
        _run_as_child(work, write_fd)
    os.close(write_fd)
    chunks: list[bytes] = []
    while (remaining_seconds := until - time.monotonic()) > 0:
        readable_fds, _, _ = select.select([read_fd], [], [], remaining_seconds)
        chunk = os.read(read_fd, _CHUNK) if readable_fds else b""
        if readable_fds and not chunk:
            return b"".join(chunks).decode()
        chunks.append(chunk)
    return ""


def _run_as_child(work: Callable[[], str], writes: int) -> NoReturn:
    """Close the standard streams that the client waits for, then do the work and write its text."""
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, _ALONE_S)
        null_fd = os.open(os.devnull, os.O_RDWR)
        for standard_fd in (0, 1, 2):
            os.dup2(null_fd, standard_fd)
        unwritten_bytes = work().encode()
        while unwritten_bytes:
            unwritten_bytes = unwritten_bytes[os.write(writes, unwritten_bytes) :]
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
