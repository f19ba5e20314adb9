"""An embedding embedding_server on loopback that knows what a few words mean.

It pretends to be an OpenAI-compatible `POST /v1/embeddings`: each text is the sum of the meanings
of its words, so that "car" and "automobile" are one and the same; or what a test says it is.
"""

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MEANINGS = (
    {"car", "automobile", "vehicle"},
    {"bread", "loaf", "bakery"},
    {"tea", "infusion"},
    {"red", "crimson"},
)
"""Words that mean the same; every other word means the last dimension."""


def vector(text: str) -> list[float]:
    """One number for each meaning, and one for all other words."""
    numbers = [0.0] * len(MEANINGS) + [0.01]
    for word in re.findall(r"\w+", text.lower()):
        for place, words in enumerate(MEANINGS):
            numbers[place] += word in words
    return numbers


class _Endpoint(BaseHTTPRequestHandler):
    meaning = staticmethod(vector)

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        data = [{"index": n, "embedding": self.meaning(t)} for n, t in enumerate(asked["input"])]
        body = json.dumps({"data": data}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Say nothing."""


@contextmanager
def embedding_server(meaning: Callable[[str], list[float]] = vector) -> Iterator[str]:
    """Serve; gives the base address."""
    endpoint = type("Endpoint", (_Endpoint,), {"meaning": staticmethod(meaning)})
    server = ThreadingHTTPServer(("127.0.0.1", 0), endpoint)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
