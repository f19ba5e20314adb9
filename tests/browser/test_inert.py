"""What memory holds does nothing in a browser, whatever it is."""

from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser

from tests.browser.visit import PHONE, Visit
from tests.wires.http_server import HttpServer

HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(2)><svg onload=alert(3)>",
    '<a href="javascript:alert(4)">click</a> javascript:alert(5) [x](javascript:alert(6))',
    "![](http://elsewhere.example/x.png) <link rel=stylesheet href=//elsewhere.example>",
    "{{ 7 * 7 }} {% raw %} ${7 * 7} <%= 7 * 7 %>",
    "</textarea></title></details></form></svg><style>* { display: none }</style>",
    "\" onmouseover=\"alert(7)\" ' onfocus='alert(8)' autofocus `",
    "invoice\u202egnp.exe \u2066hidden\u2069 a\u200bb",
    "null",
    "undefined",
)
WIDE = "\u2d30" * 32_700
"""A word of 98 KB: as long as a text can be, in letters of three bytes."""
_TOUCH = """(all) => all.forEach((one) => {
  for (const kind of ["mouseover", "focus"]) one.dispatchEvent(new Event(kind, {bubbles: true}));
})"""


class Store(NamedTuple):
    """A store full of it, and the pages that show it."""

    server: HttpServer
    pages: list[str]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with HttpServer(tmp_path_factory.mktemp("inert") / "store", DAY1_HTTP__RATE="0") as server:
        yield Store(server, _filled(server.ok))


def _filled(say: Any) -> list[str]:
    script, image, *_ = HOSTILE
    who = {"agent_id": image, "session_id": HOSTILE[6], "task_id": HOSTILE[7]}
    clash = say("memory_write_fact", fact_text=f"{script} at first")["id"]
    for text in HOSTILE:
        say("memory_write_fact", fact_text=text, category=text[:60], **who)
        triple = {"source_entity": text[:60], "target_entity": image, "relation_type": text[:60]}
        say("memory_write_relation", **triple, properties={script: text})
    say("memory_branch_create", branch_name="task/x", description=image)
    talk: dict[str, Any] = {"title": script}
    for text in (*HOSTILE, WIDE):
        say("memory_write_fact", fact_text=f"{text} new", branch="task/x", **who)
        said = say("memory_log_message", role="user", content=text, model=image, **talk, **who)
        talk = {"conversation_id": said["conversation_id"]}
    for branch, text in (("main", image), ("task/x", WIDE)):
        changed = {"fact_text": text, "reason": script, "branch": branch}
        say("memory_update_fact", fact_id=clash, **changed, **who)
    made = say("review_open", source_branch="task/x", title=image, description=script, **who)
    review = f"/review/reviews/{made['id']}"
    main = "/review/branches/main"
    tabs = ("facts", "relations", "conversations", "log")
    return [
        "/review",
        *(f"{main}?tab={tab}" for tab in tabs),
        f"{main}?tab=conversations&conversation={talk['conversation_id']}",
        f"{main}?tab=relations&entity={quote(image)}",
        f"/review/search?q={quote(script)}&mode=keyword",
        f"/review/rows/{clash}?branch=task/x",
        review,
        f"{review}/merge",
    ]


def test_hostile_texts_are_shown_and_do_nothing(store: Store, chromium: Browser) -> None:
    visit = Visit(chromium, store.server.address, viewport=PHONE)
    seen = ""
    for path in store.pages:
        page = visit.open(path)
        visit.fits()
        seen += page.locator("body").inner_text()
        # Nothing of it is an element, nothing leads elsewhere, and nothing hides anything.
        assert page.locator("main :is(script, img, iframe, style, link)").count() == 0, path
        links = page.locator("a").evaluate_all(
            "(all) => all.map((a) => new URL(a.getAttribute('href'), location).origin)"
        )
        assert set(links) == {store.server.address}, (path, set(links))
        page.locator("summary").evaluate_all("(all) => all.forEach((one) => one.click())")
        visit.fits()
        page.locator("main *").evaluate_all(_TOUCH)
    visit.close()
    for text in HOSTILE:
        if text.isprintable():
            assert " ".join(text.split()) in " ".join(seen.split()), text
    assert "invoiceU+202Egnp.exe" in seen.replace(" ", "").replace("\n", "")
    assert "49" not in seen.replace("49,", "").split()
