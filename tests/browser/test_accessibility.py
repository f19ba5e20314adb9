"""Every page can be used by everybody: axe finds nothing serious, and small screens have room."""

import json
import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

import pytest

from tests.browser.conftest import Visiting
from tests.browser.page_visit import PHONE, Visit
from tests.browser.review_scene import Scene
from tests.fetching import npm_file
from tests.wires.http_server import HttpServer

AXE = "4.14.1"
GRAVE = ("serious", "critical")
RULES: dict[Literal["light", "dark"], dict[str, object]] = {
    "light": {},
    "dark": {"runOnly": ["color-contrast"]},
}
"""All of them by day; only the colours are others in the dark."""


@pytest.fixture(scope="module")
def pages(server: HttpServer, secret: str) -> list[str]:
    """Where there is something of every kind."""
    scene = Scene.made(server, secret)

    def say(operation: str, /, **arguments: object) -> dict[str, str]:
        return server.ok(operation, secret, **arguments)

    for source, target in (("Gateway", "Cache"), ("Cache", "Node"), ("Gateway", "Node")):
        say(
            "memory_write_relation",
            source_entity=source,
            target_entity=target,
            relation_type="needs",
        )
    say("memory_write_observation", observation_type="decision", summary="We keep the cache.")
    talk = say("memory_log_message", role="user", content="How long?", title="Waiting")
    review = f"/review/reviews/{say('review_open', source_branch=scene.branch)['id']}"
    decision = {"id": scene.timeout, "cell": "fact_text", "take": "theirs"}
    say("review_decide", review_id=review.rpartition("/")[2], decisions=[decision])
    say("memory_branch_create", branch_name="guarded")
    given = {"branch_name": "guarded", "tiers": ["none kind=relation", "two category=policy"]}
    server.ok("memory_branch_protect", secret, **given, requires=["tiers"])
    say("memory_write_fact", fact_text="Doors are shut.", category="policy", branch=scene.branch)
    looked = say("review_open", source_branch=scene.branch, target_branch="guarded")["id"]
    main = "/review/branches/main?tab="
    return [
        "/review",
        *(main + tab for tab in ("facts", "observations", "relations", "conversations", "log")),
        f"{main}conversations&conversation={talk['conversation_id']}",
        "/review/search?q=car&branch=main",
        "/review/jobs",
        f"/review/rows/{scene.timeout}?branch={scene.branch}",
        "/review/reviews",
        review,
        f"{review}/merge",
        f"/review/reviews/{looked}",
        "/review/nothing",
    ]


class Finding(NamedTuple):
    """What axe says of something on a page."""

    page: str
    scheme: str
    rule: str
    what: list[str]


def findings(visit: Visit, path: str) -> Iterator[Finding]:
    """What is grave on a page, by day and in the dark."""
    visit.page.goto(path)
    for scheme, rules in RULES.items():
        visit.page.emulate_media(color_scheme=scheme)
        asked = {"resultTypes": ["violations"], **rules}
        found = visit.page.evaluate("(asked) => axe.run(document, asked)", asked)["violations"]
        for one in found:
            if one["impact"] in GRAVE:
                what = [f"{n['html'][:200]} {n['failureSummary']}" for n in one["nodes"]]
                yield Finding(path, scheme, one["id"], what)


def test_axe_finds_nothing_serious(pages: list[str], visiting: Visiting) -> None:
    axe = npm_file("axe-core", AXE, "axe.min.js")
    visit, stranger = visiting(), visiting(None)
    for one in (visit, stranger):
        one.page.add_init_script(path=axe)
    found = list(findings(stranger, "/review/login"))
    for path in pages:
        found += findings(visit, path)
    visit.complaints.clear()  # of the page that is not there
    assert not found, json.dumps(found, indent=1)


@pytest.mark.weekly
@pytest.mark.parametrize(
    "room",
    [
        pytest.param({"viewport": PHONE, "has_touch": True, "is_mobile": True}, id="phone"),
        # Twice as large on a small laptop: a page has half of its width and height.
        pytest.param(
            {"viewport": {"width": 640, "height": 400}, "device_scale_factor": 2}, id="200%"
        ),
    ],
)
def test_pages_fit_and_what_is_pressed_is_in_sight(
    pages: list[str], visiting: Visiting, room: dict[str, object]
) -> None:
    visit = visiting(**room)
    assert visit.page.viewport_size
    width = visit.page.viewport_size["width"]
    for path in pages[:-1]:
        page = visit.open(path)
        visit.fits()
        small = page.locator("main button:visible, main .button:visible, main input:visible").all()
        for thing in small[:12]:
            box = thing.bounding_box()
            assert box is not None
            assert box["x"] >= 0, path
            assert box["x"] + box["width"] <= width, path
            assert thing.get_attribute("type") == "checkbox" or box["height"] >= 24, path
    review = next(path for path in pages if path.startswith("/review/reviews/"))
    page = visit.open(review)
    # Another run of this test may have decided something before.
    decided = re.search(r"(\d+) decision", page.locator(".progress").first.inner_text())
    assert decided is not None
    page.locator(".point.open button[value=ours]").first.click()
    visit.says(f"{int(decided[1]) + 1} decisions")
