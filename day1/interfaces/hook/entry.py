"""`day1 hook EVENT --client C`: take an event of a client's in, and never be in its way.

Whatever happens, the exit code is 0, within a second. So this process only reads what the client
says and waits for a child, up to its clock; the child does all that may hang or fail: it looks for
the store, reads the prime or adds a line to the spool. A child that hangs, on a disk that is away,
is left behind and ends by itself.
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
"""From the first line here to the exit, at most."""
_READ_S: Final = 0.4
"""For stdin, which some clients leave open."""
_IDLE_S: Final = 0.03
"""A client that has said a whole document and is silent for so long has said everything."""
_ALONE_S: Final = 10
"""How long a child may live that its parent has left behind."""
_MOST_READ: Final = 8 * 1024 * 1024
_CHUNK: Final = 1024 * 1024


def run(arguments: Sequence[str]) -> NoReturn:
    """Take an event in and leave."""
    try:
        began = time.monotonic()
        for ignored in (signal.SIGINT, signal.SIGHUP):  # the terminal was closed: all the more so
            signal.signal(ignored, signal.SIG_IGN)
        signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
        signal.setitimer(signal.ITIMER_REAL, CLOCK_S)
        event, client = _asked(arguments)
        data = _stdin(began + _READ_S)
        answer = _in_a_child(lambda: _answer(event, client, data), began + CLOCK_S * 0.9)
        _say((answer or answers.nothing(client)).encode())
    except BaseException:  # noqa: BLE001, S110 - there is nobody to tell, and nothing to be done
        pass
    finally:
        os._exit(0)


def _asked(arguments: Sequence[str]) -> tuple[str, str]:
    """The event and the client that the command line names; empty where it names none."""
    event = client = ""
    rest = iter(arguments)
    for word in rest:
        if word == "--client":
            client = next(rest, "")
        elif word.startswith("--client="):
            client = word.partition("=")[2]
        elif not word.startswith("-"):
            event = event or word
    return event, client


def _stdin(until: float) -> bytes:
    """What the client says; nothing if it says too much or nothing whole in time."""
    if os.isatty(0):
        return b""
    parts: list[bytes] = []
    size = 0
    while (left := until - time.monotonic()) > 0:
        whole = bool(parts) and parts[-1].rstrip().endswith(b"}")
        ready, _, _ = select.select([0], [], [], min(left, _IDLE_S) if whole else left)
        if not ready and whole and _is_sound(b"".join(parts)):
            break
        part = os.read(0, _CHUNK) if ready else b""
        if ready and not part:
            break
        size += len(part)
        if size <= _MOST_READ and part:
            parts.append(part)
    return b"".join(parts) if size <= _MOST_READ else b""


def _is_sound(data: bytes) -> bool:
    import json  # noqa: PLC0415 - beside what else begins so

    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


def _in_a_child(work: Callable[[], str], until: float) -> str:
    """What some work answers; nothing if it fails or takes too long."""
    reads, writes = os.pipe()
    try:
        child = os.fork()
    except OSError:  # no more processes: then without
        return work()
    if not child:
        _as_a_child(work, writes)
    os.close(writes)
    parts: list[bytes] = []
    while (left := until - time.monotonic()) > 0:
        ready, _, _ = select.select([reads], [], [], left)
        part = os.read(reads, _CHUNK) if ready else b""
        if ready and not part:
            return b"".join(parts).decode()
        parts.append(part)
    return ""


def _as_a_child(work: Callable[[], str], writes: int) -> NoReturn:
    """Do the work, let go of the client's pipes first: a client waits for their end."""
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, _ALONE_S)
        null = os.open(os.devnull, os.O_RDWR)
        for handle in (0, 1, 2):
            os.dup2(null, handle)
        answer = work().encode()
        while answer:
            answer = answer[os.write(writes, answer) :]
    except BaseException:  # noqa: BLE001, S110 - the parent hears nothing, and says nothing
        pass
    finally:
        os._exit(0)


def _say(answer: bytes) -> None:
    with suppress(OSError):
        while answer:
            answer = answer[os.write(1, answer) :]


def _answer(event: str, client: str, data: bytes) -> str:
    """Do what an event asks for; what the client is told."""
    from day1.interfaces.hook import hearing  # noqa: PLC0415 - in the child, under the clock

    return hearing.hear(event, client, data)
