"""Why a test has no server in a container: each reason is told apart.

The engine is a stand-in that speaks as much of Docker's API as testcontainers asks for.
"""

import atexit
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests import containers, servers

config = pytest.importorskip("testcontainers.core.config").testcontainers_config

IMAGE = "dolthub/dolt-sql-server:2.3.1"


class Engine(ThreadingHTTPServer):
    """A container engine that has some images, and whose containers do nothing."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Speaking)
        self.images: list[str] = []
        self.created: list[dict[str, Any]] = []
        self.removed = 0


class Speaking(BaseHTTPRequestHandler):
    server: Engine
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def _say(self, status: int, body: Any = None) -> None:
        raw = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def do_GET(self) -> None:
        path = re.sub(r"^/v[\d.]+|\?.*$", "", self.path)
        known = {
            "/version": {"ApiVersion": "1.44", "Version": "26.1"},
            "/images/json": [{"Id": f"sha256:{n}", "RepoTags": [name]} for n, name in enumerate(self.server.images)],
            "/networks": [],
        }  # fmt: skip
        if path in known:
            return self._say(200, known[path])
        if path.startswith("/containers/"):
            state = {"Status": "running", "Running": True}
            ports = {"3306/tcp": [{"HostIp": "127.0.0.1", "HostPort": "9"}]}
            return self._say(200, {"Id": "c0", "State": state, "Config": {"Labels": {}}, "Image": "sha256:0", "Name": "/c0", "NetworkSettings": {"Ports": ports}})  # fmt: skip
        return self._say(200, {"Id": "sha256:0", "RepoTags": self.server.images, "Config": {}})

    def do_POST(self) -> None:
        given = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if "/images/create" in self.path:
            return self._say(404, {"message": "pull access denied"})
        if self.path.partition("?")[0].endswith("/containers/create"):
            self.server.created.append(json.loads(given))
            return self._say(201, {"Id": "c0", "Warnings": []})
        return self._say(204)

    def do_DELETE(self) -> None:
        self.server.removed += 1
        self._say(204)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    for name in ("DAY1_TEST_DOLT_URL", "TESTCONTAINERS_HUB_IMAGE_NAME_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(config, "hub_image_name_prefix", "")
    monkeypatch.setattr(config, "_ryuk_disabled", True)
    monkeypatch.setattr(config, "connection_mode_override", None)
    monkeypatch.setattr(servers, "has_dolt", lambda: False)
    monkeypatch.setattr(containers, "UP_S", 0.0)
    monkeypatch.setattr(atexit, "register", lambda *_: None)
    with Engine() as serving:
        monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{serving.server_port}")
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        yield serving
        serving.shutdown()
        thread.join()


def reason() -> str:
    url, why = servers._find_dolt.__wrapped__()
    assert url is None
    return why


def test_no_engine_is_told_as_that(monkeypatch: pytest.MonkeyPatch, engine: Engine) -> None:
    """E5: not every reason is "Docker does not answer"."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    assert "no `dolt` on the PATH, and no container engine answers: " in reason()


def test_an_image_that_is_not_to_be_had_is_named(engine: Engine) -> None:
    """E5: an engine answers, and the image is missing."""
    assert f"and the image {IMAGE} can't be fetched: pull access denied" in reason()


def test_the_image_of_the_reaper_is_named_as_that(
    monkeypatch: pytest.MonkeyPatch, engine: Engine
) -> None:
    """E5: the server's image is there, and that of testcontainers' own helper is missing."""
    monkeypatch.setattr(config, "_ryuk_disabled", False)
    engine.images = [IMAGE]
    assert f"the image {config.ryuk_image} (testcontainers' reaper) can't be fetched: " in reason()
    assert not engine.created


def test_a_server_that_does_not_answer_is_told_as_that(engine: Engine) -> None:
    """E5: the container runs, and nobody listens in it."""
    engine.images = [IMAGE]
    assert f"the server in the container of {IMAGE} does not answer" in reason()


def test_a_container_is_published_on_loopback_with_a_password_of_its_own(engine: Engine) -> None:
    """E5: nobody else on the network can come in, nor anybody here who knows a usual password."""
    engine.images = [IMAGE]
    reason(), reason()
    first, second = engine.created
    bindings = [one for each in first["HostConfig"]["PortBindings"].values() for one in each]
    assert bindings == [{"HostIp": "127.0.0.1", "HostPort": ""}]
    passwords = {
        value for one in (first, second) for name, _, value in (e.partition("=") for e in one["Env"])
        if name == "DOLT_ROOT_PASSWORD"
    }  # fmt: skip
    assert len(passwords) == 2
    assert all(len(password) == 32 for password in passwords)
