"""What memory holds does nothing in a browser, whatever it is."""

from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser

from tests.browser.page_visit import PHONE, Visit, origin
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


KINDS = ("fact", "observation", "message")


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
    conflict = say("memory_write_fact", fact_text=f"{script} at first")["id"]
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
        say("memory_update_fact", fact_id=conflict, **changed, **who)
    others = _beside(say, who)
    made = say("review_open", source_branch="task/x", title=image, description=script, **who)
    review = f"/review/reviews/{made['id']}"
    main = "/review/branches/main"
    tabs = ("facts", "observations", "relations", "conversations", "log")
    return [
        "/review",
        *(f"{main}?tab={tab}" for tab in tabs),
        f"{main}?tab=conversations&conversation={talk['conversation_id']}",
        f"{main}?tab=relations&entity={quote(image)}",
        f"/review/search?q={quote(script)}&mode=keyword",
        f"/review/rows/{conflict}?branch=task/x",
        review,
        f"{review}/merge",
        *others,
    ]


def _beside(say: Any, who: dict[str, str]) -> list[str]:
    """Every other field that holds a text of somebody's, and the pages that show it."""
    script, image, link, *_ = HOSTILE
    pages, seen = [], {"id": ""}
    for text in HOSTILE:
        raw = {"raw_input": text, "raw_output": text, "tool_name": text[:60]}
        seen = say(
            "memory_write_observation", observation_type="insight", summary=text, **raw, **who
        )
    pages.append(f"/review/rows/{seen['id']}")
    triple = {"source_entity": script, "target_entity": image, "relation_type": link[:60]}
    tie = say("memory_write_relation", **triple, properties={image: [script, {link: image}]}, **who)
    pages.append(f"/review/rows/{tie['id']}")
    say("memory_branch_create", branch_name="told", description=script)
    notes = {"purpose": script, "owner": image, "tags": [link, image]}
    say("memory_branch_enrich", branch_name="told", **notes)
    say("memory_snapshot", label=image, branch="told")
    for text in (script, image):
        task = say("memory_task_create", name=text, description=link)
        pages.append(f"/review/branches/{task['branch_name']}")
    row = say("memory_write_fact", fact_text=f"{image} of two minds", branch="told", **who)["id"]
    say("memory_branch_create", branch_name="told/other", parent_branch="told")
    for branch, text in (("told", link), ("told/other", script)):
        change = {"fact_text": text, "reason": image, "category": text[:60]}
        say("memory_update_fact", fact_id=row, branch=branch, **change, **who)
    sides = {"source_branch": "told/other", "target_branch": "told"}
    say("memory_branch_merge", **sides, strategy="auto", **who)  # holds it
    gone = say("memory_write_fact", fact_text=f"{script} is gone", branch="told", **who)["id"]
    say("memory_retract_fact", fact_id=gone, branch="told", reason=image, **who)
    commit = say("memory_timeline", branch="told")["read"]["commit"]
    say("memory_write_fact", fact_text=f"{script} to decide", branch="told/other", **who)
    closed = say("review_open", **sides, title=script, description=image, **who)["id"]
    say("review_close", review_id=closed, **who)
    at = quote(image)
    return [
        *pages,
        "/review/reviews?status=all",
        f"/review/reviews/{closed}",
        *(f"/review/branches/told?tab={tab}" for tab in ("facts", "log")),
        f"/review/branches/told?tab=facts&at={at}",
        f"/review/rows/{row}?branch=told",
        f"/review/rows/{gone}?branch=told",
        f"/review/rows/{row}?branch=told&at={at}",
        f"/review/revert?commit={commit}&branch=told&back=javascript:alert(9)",
        *(f"/review/search?q={quote(script)}&mode=keyword&type={kind}&all=1" for kind in KINDS),
    ]


@pytest.mark.weekly
def test_hostile_addresses_do_nothing(store: Store, chromium: Browser) -> None:
    """Pages that say why there is nothing, and name what was asked for."""
    visit = Visit(chromium, store.server.address, viewport=PHONE)
    for text in HOSTILE[:7]:
        word = quote(text, safe="")
        for path in (
            f"/review/branches/{word}",
            f"/review/branches/main?tab={word}&at={word}",
            f"/review/rows/{word}?branch={word}",
            f"/review/reviews/{word}",
            f"/review/reviews?status={word}",
            f"/review/revert?commit={word}&branch={word}&back={word}",
            f"/review/search?q=x&branch={word}&mode={word}&type={word}&at={word}",
            f"/review/{word}",
        ):
            page = visit.page
            page.goto(path)
            assert page.locator("main").count() == 1, path
            assert page.locator("main :is(script, img, iframe, style, link)").count() == 0, path
            page.locator("main *").evaluate_all(_TOUCH)
    elsewhere = {origin(url) for url in visit.asked} - {store.server.address, "data:"}
    assert (visit.dialogs, elsewhere) == ([], set())
    visit.context.close()


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
