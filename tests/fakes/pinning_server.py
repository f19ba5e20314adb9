"""A pinning service on loopback: it takes a file as a form, and answers what a test says."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class PinningServer:
    """Keeps the last file that it was handed, and the header with the key."""

    def __init__(self) -> None:
        self.answer: Callable[[bytes], tuple[int, Any]] = lambda _: (500, {})
        self.files: list[bytes] = []
        self.keys: list[str | None] = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                boundary = self.headers["Content-Type"].rpartition("boundary=")[2].encode()
                part = body.removeprefix(b"--" + boundary).removesuffix(b"\r\n--" + boundary + b"--\r\n")  # fmt: skip
                service.files.append(part.partition(b"\r\n\r\n")[2])
                service.keys.append(self.headers["Authorization"])
                status, answer = service.answer(service.files[-1])
                content = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/add?cid-version=1"

    @contextmanager
    def serving(self) -> Iterator["PinningServer"]:
        thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()
