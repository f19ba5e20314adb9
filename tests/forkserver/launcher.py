"""Stands for `python`: has the server fork a process for what is asked, and ends as that ends.

It imports nothing that takes time: `signal` and `socket` would take longer than all the rest, so it
has what they are made of. What the server cannot do, Python does itself.
"""

import marshal
import os
import sys
from _signal import (  # type: ignore[import-not-found]  # it has no stubs
    SIG_BLOCK,
    SIG_DFL,
    SIG_IGN,
    SIG_UNBLOCK,
    SIGHUP,
    SIGINT,
    SIGTERM,
    getsignal,
    pthread_sigmask,
    signal,
)
from _socket import AF_UNIX, SCM_RIGHTS, SOCK_STREAM, SOL_SOCKET, socket

address, *arguments = sys.argv[1:]
alike = {"PYTHONPATH", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"}
if (
    arguments[:1] not in (["-m"], ["-c"])
    or {name for name in os.environ if name.startswith("PYTHON")} - alike
):
    os.execv(sys.executable, [sys.executable, *arguments])

os.umask(mask := os.umask(0))
here = os.getcwd()  # noqa: PTH109 - pathlib takes longer to import than all of this takes
ignores_interrupts = getsignal(SIGINT) == SIG_IGN
asked = marshal.dumps((arguments, dict(os.environ), here, mask, ignores_interrupts))
passed_on = {SIGHUP, SIGINT, SIGTERM}
pthread_sigmask(SIG_BLOCK, passed_on)  # the forked process may be heard of before the loop below
server = socket(AF_UNIX, SOCK_STREAM)
server.connect(address)
streams = b"".join(stream.to_bytes(4, sys.byteorder) for stream in (0, 1, 2))
server.sendmsg([len(asked).to_bytes(4, "big")], [(SOL_SOCKET, SCM_RIGHTS, streams)])
server.sendall(asked)
for number in passed_on:
    signal(number, lambda caught, _: server.send(bytes([caught])) and None)
pthread_sigmask(SIG_UNBLOCK, passed_on)
for stream in (0, 1, 2):
    os.close(stream)  # who reads to the end of one waits for the forked process itself
ended = int.from_bytes(server.recv(4), "big", signed=True)
if -ended in passed_on:
    signal(-ended, SIG_DFL)
if ended < 0:
    os.kill(os.getpid(), -ended)
os._exit(ended)
