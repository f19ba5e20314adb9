"""A store that does not answer keeps nobody waiting who asks nothing of it."""

import threading

import anyio
from starlette.responses import PlainTextResponse
from starlette.types import Message, Scope

from day1.interfaces.http.bodies import BodySizes
from day1.interfaces.http.middleware import AccessMiddleware, AccessRules
from day1.interfaces.http.probes import Metrics
from day1.model.access.permissions import EVERYTHING, Access


class SlowAuthenticator:
    """An authenticator whose tokens cannot be read until somebody lets it."""

    def __init__(self) -> None:
        self.asked, self.go = threading.Event(), threading.Event()

    def admit(self, _secret: str, _now: int) -> Access:
        self.asked.set()
        assert self.go.wait(20)
        return EVERYTHING

    def admit_browser(self, _cookie: str | None, _now: int) -> Access:
        return self.admit("", 0)


def test_a_token_is_looked_up_beside_the_event_loop() -> None:
    """B5: while a token is read, the server answers others."""
    authenticator = SlowAuthenticator()
    rules = AccessRules(
        names=(),
        rate=0,
        bodies=BodySizes(4_096),
        public=lambda path: path == "/health",
        page=lambda _: False,
        cookie=lambda _: None,
        refused=lambda _, __: PlainTextResponse("refused", 401),
    )
    app = AccessMiddleware(PlainTextResponse("in"), authenticator, rules, Metrics(), lambda: 0)  # type: ignore[arg-type]  # stands for an Authenticator

    async def ask(path: str) -> int:
        scope: Scope = {
            "type": "http",
            "method": "GET",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": [(b"host", b"localhost"), (b"authorization", b"Bearer day1_x")],
        }
        sent: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            sent.append(message)

        await app(scope, receive, send)
        return int(sent[0]["status"])

    statuses = []

    async def call() -> None:
        statuses.append(await ask("/api/v1/memory_list"))

    async def both() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            with anyio.fail_after(60):
                while not authenticator.asked.is_set():
                    await anyio.lowlevel.checkpoint()
                assert await ask("/health") == 200
            assert not authenticator.go.is_set()
            authenticator.go.set()

    anyio.run(both)
    assert statuses == [200]
