"""A wire between day1 and a SQL server, on which a test counts what is sent, or stops it.

It hands bytes on as they are. Of what clients send it reads the heads of packets, so that it knows
each command: statements, pings, rollbacks, whoever sends them.
"""

import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Self

_QUERY, _PING = 3, 14
_LOGIN = 1
"""The number of the packet with which a client answers the server's greeting."""
_SHOWN = 300


class Wire:
    """A TCP server in front of another; without one it lets clients in and never says anything."""

    def __init__(
        self, port: int | None, host: str = "127.0.0.1", round_trip_s: float = 0.0
    ) -> None:
        """Name the server's port, where it is, and how far away it is to seem."""
        self._to, self._host = port, host
        self._away_s = round_trip_s / 2
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._open = threading.Event()
        self._open.set()
        self._ended = False
        self._sockets: list[socket.socket] = []
        self.commands: list[str] = []
        """What clients sent since the wire was made, in order; a ping is `PING`."""

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended = True
        self._open.set()
        for one in (self._listening, *self._sockets):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def hang(self) -> None:
        """Hand nothing on any more, as a server that is stopped, or behind a dead network."""
        self._open.clear()

    def go_on(self) -> None:
        """Hand on again what came meanwhile, and all that follows."""
        self._open.set()

    @contextmanager
    def counted(self) -> Iterator[list[str]]:
        """The commands that are sent during the block."""
        start, found = len(self.commands), list[str]()
        yield found
        found += self.commands[start:]

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            self._sockets.append(client)
            if self._to is None:
                continue
            server = socket.create_connection((self._host, self._to))
            self._sockets.append(server)
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            reader = _Commands(self.commands)
            for source, sink, read in ((client, server, reader), (server, client, None)):
                threading.Thread(
                    target=self._hand_on, args=(source, sink, read), daemon=True
                ).start()

    def _hand_on(
        self, source: socket.socket, sink: socket.socket, read: "_Commands | None"
    ) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                if read is not None:
                    read.feed(data)
                self._open.wait()
                if self._ended:
                    return
                time.sleep(self._away_s)
                sink.sendall(data)
        for one in (source, sink):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


class _Commands:
    """Packets of one client: three bytes of length, one that counts them, then what is said."""

    def __init__(self, found: list[str]) -> None:
        self._found, self._data, self._begun = found, b"", False

    def feed(self, data: bytes) -> None:
        self._data += data
        while len(self._data) >= 5:
            low, high, number = struct.unpack("<HBB", self._data[:4])
            end = 4 + low + (high << 16)
            if len(self._data) < end:
                return
            self._packet(number, self._data[4:end])
            self._data = self._data[end:]

    def _packet(self, number: int, said: bytes) -> None:
        """A command begins to count anew; what comes before the first is the greeting's answer."""
        if number:
            self._begun |= number == _LOGIN
            return
        if not self._begun:
            return
        text = said[1 : 1 + _SHOWN].decode("utf-8", "replace")
        self._found.append({_QUERY: text, _PING: "PING"}.get(said[0], f"COMMAND {said[0]}"))
