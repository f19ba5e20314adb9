"""Secret and expired rows are on no page, whatever of a branch, a review or the past it shows."""

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.wires.hidden_scene import Scene, clean
from tests.wires.hidden_scene import scene as scene  # noqa: PLC0414 - a fixture
from tests.wires.http_server import HttpServer


class Served(NamedTuple):
    server: HttpServer
    ids: dict[str, str]


@pytest.fixture(scope="module")
def served(scene: Scene) -> Iterator[Served]:
    with HttpServer(scene.store.folder, DAY1_HTTP__RATE="0") as server:
        yield Served(server, scene.ids)


TABS = ("facts", "observations", "relations", "conversations", "log")
PAGES = [
    "/review",
    *(
        f"/review/branches/{branch}?tab={tab}&all=1"
        for branch in ("main", "side", "{instance}")
        for tab in TABS
    ),
    "/review/branches/main?tab=facts&at=2100-01-01",
    "/review/search?q=PIN+gone+left+went&all=1",
    "/review/search?q=PIN+gone+left+went&branch={instance}&mode=keyword",
    "/review/rows/{secret}",
    "/review/rows/{secret}?at=2100-01-01",
    "/review/rows/{secret}?branch=side",
    "/review/reviews",
    "/review/reviews/{review}",
    "/review/reviews/{review}/merge",
    "/review/revert?commit={commit}&branch=main",
]


@pytest.mark.parametrize("page", PAGES)
def test_no_page_has_the_words(served: Served, page: str) -> None:
    answer = served.server.http.get(page.format(**served.ids))
    assert answer.status_code == 200, answer.text
    clean(answer.text)


def test_the_page_of_a_review_says_why_the_words_are_not_there(served: Served) -> None:
    text = served.server.http.get(f"/review/reviews/{served.ids['review']}").text
    assert "[secret]" in text
    assert "[expired]" in text


@pytest.mark.parametrize("branch", ["main", "side"])
def test_an_expired_row_has_no_page(served: Served, branch: str) -> None:
    page = f"/review/rows/{served.ids['expired']}?branch={branch}"
    answer = served.server.http.get(page)
    assert answer.status_code in {200, 404}
    clean(answer.text)
