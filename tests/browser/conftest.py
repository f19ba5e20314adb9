"""A real Chromium on a real server: one of each for the tests of a process, a new visit for each."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.browser.chromium import NoChromium, launched
from tests.browser.page_visit import Visit
from tests.fakes.embedding_server import embedding_server
from tests.wires.http_server import HttpServer

expect.set_options(timeout=60_000)


# For a module only: while it is open no other test of the process can run a loop of its own.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """The machine's own Chromium, headless."""
    try:
        with sync_playwright() as driver, launched(driver) as browser:
            yield browser
    except NoChromium as exc:
        pytest.skip(str(exc))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """A server that knows synonyms; who comes needs a token."""
    with (
        embedding_server() as url,
        HttpServer(
            tmp_path_factory.mktemp("browser") / "store",
            DAY1_HTTP__RATE="0",
            DAY1_EMBEDDER__KIND="openai",
            DAY1_EMBEDDER__URL=url,
            DAY1_EMBEDDER__MODEL="meaning",
        ) as served,
    ):
        yield served


@pytest.fixture(scope="session")
def boss(server: HttpServer) -> str:
    """The token that makes others; made first, it shuts out who has none."""
    return server.token("boss")


@pytest.fixture(scope="session")
def secret(server: HttpServer, boss: str) -> str:
    """An agent's token that may do everything else."""
    return server.token("ada", "admin", boss, agent_id="ada")


Visiting = Callable[..., Visit]


@pytest.fixture
def visiting(chromium: Browser, server: HttpServer, secret: str) -> Iterator[Visiting]:
    """Visit the pages as somebody: `visiting()`, with the options of a browser's context.

    At the end every visit is held against what all pages promise.
    """
    made: list[Visit] = []

    def visit(token: str | None = secret, **options: Any) -> Visit:
        found = Visit(chromium, server.address, **options)
        made.append(found)
        if token is not None:
            # Who signs in by the form is tried by the reviews; here it costs time.
            answer = found.context.request.get("/review/login")
            csrf = re.search('name="csrf" value="([0-9a-f]+)"', answer.text())
            assert csrf is not None
            found.context.request.post(
                "/review/login",
                form={"csrf": csrf[1], "token": token},
                headers={"Origin": server.address},
            )
        return found

    yield visit
    for one in made:
        one.close()
