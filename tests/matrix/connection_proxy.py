"""A proxy on this machine before a server, whose connections can be cut and held back."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class ConnectionProxy:
    """Passes connections on to a port of this machine."""

    def __init__(self, port: int) -> None:
        self._behind = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._open: set[socket.socket] = set()
        self._whole, self._flowing = True, threading.Event()
        self._flowing.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                near, _ = self._listening.accept()
                if not self._whole:
                    near.close()
                    continue
                far = socket.create_connection(("127.0.0.1", self._behind))
                self._open |= {near, far}
                for ends in ((near, far), (far, near)):
                    threading.Thread(target=self._pass_on, args=ends, daemon=True).start()

    def _pass_on(self, here: socket.socket, there: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := here.recv(65_536):
                self._flowing.wait()
                there.sendall(data)
        self._end(here, there)

    def _end(self, *ends: socket.socket) -> None:
        for end in ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
            self._open.discard(end)

    @contextmanager
    def cut(self) -> Iterator[None]:
        """Nobody is there for the block."""
        self._whole = False
        self._end(*list(self._open))
        try:
            yield
        finally:
            self._whole = True

    @contextmanager
    def held(self, seconds: float) -> Iterator[None]:
        """Nothing that is said comes through for some seconds, or until the block ends."""
        self._flowing.clear()
        release = threading.Timer(seconds, self._flowing.set)
        release.start()
        try:
            yield
        finally:
            release.cancel()
            self._flowing.set()

    def close(self) -> None:
        self._flowing.set()
        self._listening.close()
        self._end(*list(self._open))
