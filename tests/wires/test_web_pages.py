"""The pages people look at: branches, memories, search, history; now and then; always inert."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx2
import pytest

from tests.wires.http_server import HttpServer
from tests.wires.scriptless_browser import Browser, Page

SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(2)>"
MARKDOWN = "**bold** [click](javascript:alert(3)) ![](http://evil.example/x.png)"
TURNED = "invoice\u202egnp.exe\u202c \u2066hidden\u2069 a\u200bb"
QUOTES = '" onmouseover="alert(4)" \' autofocus onfocus=\'alert(5)'
ENDING = "</textarea></title></details><b>out</b>{{ 7 * 7 }}{% raw %}"
LONG = "w" * 32_700
HOSTILE = (SCRIPT, MARKDOWN, QUOTES, ENDING)


class Hostile(NamedTuple):
    """A store full of what should be harmless."""

    server: HttpServer
    facts: list[str]
    talk: str
    review: str
    merged: str


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hostile]:
    folder = tmp_path_factory.mktemp("web") / "store"
    with HttpServer(folder, DAY1_HTTP__RATE="0") as server:
        yield _filled(server)


def _filled(server: HttpServer) -> Hostile:
    every = (*HOSTILE, TURNED, LONG)
    who = {"agent_id": SCRIPT, "session_id": QUOTES, "task_id": TURNED}
    for name in ("side", "done"):
        server.ok("memory_branch_create", branch_name=name, description=MARKDOWN)
    shared = server.ok("memory_write_fact", fact_text=f"{SCRIPT} before")["id"]
    server.ok("memory_branch_create", branch_name="task/x", description=QUOTES)
    facts = [shared]
    for branch in ("main", "task/x"):
        for text in every:
            said = {"fact_text": text, "category": QUOTES, "branch": branch, **who}
            facts.append(server.ok("memory_write_fact", **said)["id"])
        server.ok(
            "memory_write_observation",
            observation_type="tool_use",
            tool_name=SCRIPT,
            summary=TURNED,
            raw_input=LONG,
            branch=branch,
            **who,
        )
        for one, other in ((SCRIPT, QUOTES), (TURNED, ENDING), (LONG[:200], SCRIPT)):
            server.ok(
                "memory_write_relation",
                source_entity=one,
                target_entity=other,
                relation_type=MARKDOWN,
                properties={SCRIPT: [QUOTES, TURNED]},
                branch=branch,
                **who,
            )
    said = server.ok("memory_log_message", role="user", content=SCRIPT, title=ENDING, **who)
    talk = said["conversation_id"]
    more = {"conversation_id": talk, "tool_calls": [{"name": SCRIPT}], "model": QUOTES, **who}
    server.ok("memory_log_message", role="tool", content=TURNED, **more)
    server.ok("memory_snapshot", label=SCRIPT)
    for branch, text in (("main", f"{TURNED} ours"), ("task/x", f"{QUOTES} theirs")):
        changed = {"fact_text": text, "branch": branch, "reason": SCRIPT, **who}
        server.ok("memory_update_fact", fact_id=shared, **changed)
    review = server.ok(
        "review_open", source_branch="task/x", title=SCRIPT, description=MARKDOWN, agent_id=QUOTES
    )["id"]
    server.ok("memory_write_fact", fact_text=SCRIPT, branch="done", **who)
    done = server.ok("review_open", source_branch="done", title=TURNED, agent_id=SCRIPT)["id"]
    merged = server.ok("review_merge", review_id=done, agent_id=SCRIPT)["merge_id"]
    closed = server.ok("review_open", source_branch="side")["id"]
    server.ok("review_close", review_id=closed, reason=SCRIPT, agent_id=TURNED)
    return Hostile(server, facts, talk, review, merged)


@pytest.fixture
def browser(hostile: Hostile) -> Iterator[Browser]:
    with Browser(hostile.server) as found:
        yield found


PAGES = {
    "/review": [SCRIPT, QUOTES, MARKDOWN],
    "/review/reviews": [SCRIPT],
    "/review/branches/task/x": [*HOSTILE, LONG],
    "/review/branches/main?tab=observations": [SCRIPT],
    "/review/branches/main?tab=relations": [SCRIPT, ENDING, MARKDOWN],
    "/review/branches/main?tab=conversations": [ENDING, SCRIPT],
    "/review/branches/main?tab=conversations&conversation={talk}": [SCRIPT, QUOTES, ENDING],
    "/review/branches/main?tab=log": [SCRIPT],
    "/review/branches/main?at=%3Cscript%3Ealert(1)%3C/script%3E%3Cimg%20src=x%20onerror=alert(2)%3E": [
        SCRIPT
    ],
    "/review/branches/main?tab=relations&entity=%3Cscript%3Ealert(1)%3C/script%3E%3Cimg%20src=x%20onerror=alert(2)%3E": [
        QUOTES,
        SCRIPT,
    ],
    "/review/search?q=alert&mode=keyword": [SCRIPT, QUOTES],
    "/review/search?q=%22%20onmouseover%3D%22alert(4)%22&mode=keyword": [QUOTES],
    "/review/rows/{fact}?branch=task/x": [QUOTES, SCRIPT],
    "/review/reviews/{review}": [*HOSTILE, LONG],
    "/review/reviews/{review}/merge": [],
    "/review/revert?commit={merged}&branch=main": [SCRIPT],
}


@pytest.mark.parametrize("path", PAGES)
def test_what_memory_holds_is_shown_and_does_nothing(
    hostile: Hostile, browser: Browser, path: str
) -> None:
    fact, talk, review, merged = hostile.facts[0], hostile.talk, hostile.review, hostile.merged
    page = browser.get(path.format(fact=fact, talk=talk, review=review, merged=merged))
    for text in PAGES[path]:
        assert " ".join(text.split()) in page.text, text
    assert "49" not in page.text.split(), "no text is a template"


def test_marks_that_turn_the_writing_are_shown_by_name(browser: Browser) -> None:
    page = browser.get("/review/branches/task/x")
    assert "invoice U+202E gnp.exe U+202C" in page.text
    assert "a U+200B b" in page.text
    assert 'title="U+202E right-to-left override"' in page.html


def test_a_long_text_is_folded_and_all_there(browser: Browser) -> None:
    page = browser.get("/review/branches/task/x")
    assert "32,700 characters" in page.text
    assert '<details class="long">' in page.html
    assert LONG in page.text


def test_the_root_leads_to_the_pages(browser: Browser) -> None:
    assert browser.get("/").address == "/review"


def test_who_asks_for_the_head_of_the_events_goes_on(browser: Browser) -> None:
    with httpx2.Client(base_url=browser.server.address, timeout=10) as http:
        head = http.head("/review/events")
        assert head.headers["content-type"].startswith("text/event-stream")
        assert http.get("/health").status_code == 200  # by the same connection


@pytest.mark.parametrize(
    "path", ["/review", "/review/reviews", "/review/branches/main", "/review/rows/x/y"]
)
def test_a_page_with_a_slash_at_its_end_leads_to_the_one_without(
    browser: Browser, path: str
) -> None:
    answer = browser.http.get(f"{path}/?tab=log", follow_redirects=False)
    assert answer.status_code == 307
    assert answer.headers["location"].removeprefix(browser.server.address) == f"{path}?tab=log"


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/review/nothing", 404, "no such page"),
        ("/review/branches/nowhere", 404, "nowhere"),
        ("/review/branches/main?at=no-such-label", 404, "no-such-label"),
        ("/review/rows/fact_1?branch=main", 404, "fact_1"),
        ("/review/rows/nonsense", 404, "nonsense"),
        ("/review/reviews/review_1", 404, "review_1"),
        ("/review/branches/main?tab=relations&entity=" + "e" * 300, 400, "entity"),
        ("/review/branches/main?offset=999999", 400, "offset"),
        ("/review/revert?commit=nothing&branch=main", 404, "nothing"),
    ],
)
def test_what_is_not_there_is_said_on_a_page(
    browser: Browser, path: str, status: int, said: str
) -> None:
    page = browser.get(path, status)
    assert said in page.text
    assert "/review" in page.links


@pytest.mark.parametrize(
    "body",
    [
        {"data": {f"field-{number}": "x" for number in range(65)}},
        {"files": {"csrf": ("name.txt", b"x")}},
        {"content": b"x", "headers": {"content-type": "multipart/form-data"}},
    ],
    ids=["fields", "file", "boundary"],
)
def test_a_form_that_cannot_be_read_is_refused_on_a_page(
    browser: Browser, body: dict[str, Any]
) -> None:
    answer = browser.http.post("/review/reviews", **body)
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "The form cannot be read" in answer.text


def test_files_are_kept_as_long_as_their_content_is_the_same(browser: Browser) -> None:
    page = browser.get("/review")
    for name in ("day1.css", "day1.js", "keys.js", "day1.svg"):
        start = page.html.index(f"/review/static/{name}?v=")
        address = page.html[start:].partition('"')[0]
        first = browser.http.get(address)
        assert first.headers["cache-control"] == "public, max-age=31536000, immutable"
        again = browser.http.get(address, headers={"If-None-Match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        assert browser.http.get(address.partition("?")[0]).headers["cache-control"] == "no-cache"
        assert first.headers["x-content-type-options"] == "nosniff"
    assert browser.http.get("/review/static/../site.py").status_code == 404


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A small memory of ordinary texts."""
    folder = tmp_path_factory.mktemp("plain") / "store"
    with HttpServer(folder, DAY1_HTTP__RATE="0") as server, Browser(server) as browser:
        yield browser


def rows(page: Page) -> list[str]:
    """The ids of the memories that a page links to."""
    found = (link.partition("?")[0] for link in page.links if link.startswith("/review/rows/"))
    return [link.rpartition("/")[2] for link in found]


def test_a_branch_shows_its_facts_page_by_page_and_as_they_were(plain: Browser) -> None:
    server = plain.server
    server.ok("memory_branch_create", branch_name="deep/er")
    ids = [
        server.ok("memory_write_fact", fact_text=f"Fact {n}.", branch="deep/er")["id"]
        for n in range(51)
    ]
    first = plain.get("/review/branches/deep/er")
    assert rows(first) == ids[:0:-1]
    (older,) = [link for link in first.links if "offset=50" in link]
    assert rows(plain.get(f"/review/branches/deep/er{older}")) == ids[:1]
    row = server.ok("memory_get", id=ids[1], branch="deep/er")["row"]
    form = first.form("/review/branches/deep/er")
    then = plain.send(form, at=row["created_at"])
    assert rows(then) == ids[1::-1]
    assert "As it was at" in then.text


def test_facts_that_are_not_in_force_are_shown_when_asked_for(plain: Browser) -> None:
    server = plain.server
    server.ok("memory_branch_create", branch_name="force")
    old = server.ok("memory_write_fact", fact_text="Old.", branch="force")["id"]
    new = server.ok("memory_supersede_fact", fact_id=old, fact_text="New.", branch="force")["id"]
    assert rows(plain.get("/review/branches/force")) == [new]
    assert set(rows(plain.get("/review/branches/force?all=1"))) == {old, new}
    assert "Superseded by" in plain.get(f"/review/rows/{old}?branch=force").text


def test_conversations_are_listed_and_read(plain: Browser) -> None:
    server = plain.server
    said = server.ok("memory_log_message", role="user", content="How long?", title="Waiting")
    talk = said["conversation_id"]
    more = {"role": "assistant", "conversation_id": talk}
    server.ok("memory_log_message", content="As long as it takes.", **more)
    listed = plain.get("/review/branches/main?tab=conversations")
    assert "Waiting" in listed.text
    assert "2 messages" in listed.text
    (link,) = [link for link in listed.links if f"conversation={talk}" in link]
    read = plain.get(f"/review/branches/main{link}").text
    assert read.index("How long?") < read.index("As long as it takes.")


def test_relations_are_drawn_and_listed(plain: Browser) -> None:
    for one, other in (("Kestrel", "Redis"), ("Redis", "node-3"), ("Tea", "cup")):
        triple = {"source_entity": one, "relation_type": "needs", "target_entity": other}
        plain.server.ok("memory_write_relation", **triple)
    page = plain.get("/review/branches/main?tab=relations")
    assert page.html.count('class="edge"') == 3
    near = plain.send(page.form("/review/branches/main", tab="relations"), entity="Redis")
    assert near.html.count('class="edge"') == 3 - 1
    assert "Tea" not in near.text


def test_search_finds_what_a_branch_says_and_said(plain: Browser) -> None:
    server = plain.server
    server.ok("memory_branch_create", branch_name="find")
    made = server.ok("memory_write_fact", fact_text="The gateway waits 30 seconds.", branch="find")
    before = server.ok("memory_get", id=made["id"], branch="find")["row"]["created_at"]
    changed = {"fact_text": "The gateway waits 60 seconds.", "branch": "find"}
    server.ok("memory_update_fact", fact_id=made["id"], **changed)
    form = plain.get("/review/search").form("/review/search")
    page = plain.send(form, q="gateway", branch="find", mode="keyword")
    assert "waits 60 seconds" in page.text
    assert rows(page) == [made["id"]]
    assert "Searched by words" in page.text
    then = plain.send(form, q="gateway", branch="find", at=before)
    assert "waits 30 seconds" in then.text
    assert "Nothing found" in plain.send(form, q="gateway", branch="main").text


def test_a_memory_tells_its_history_and_who_wrote_what(plain: Browser) -> None:
    server = plain.server
    made = server.ok("memory_write_fact", fact_text="Tea is served at four.", agent_id="ada")["id"]
    server.ok("memory_branch_create", branch_name="tea")
    changed = {"fact_text": "Tea is served at five.", "agent_id": "bo", "reason": "clock moved"}
    server.ok("memory_update_fact", fact_id=made, branch="tea", **changed)
    server.ok("memory_branch_merge", source_branch="tea", strategy="auto", agent_id="eve")
    page = plain.get(f"/review/rows/{made}?branch=main")
    assert "<del>four</del><ins>five</ins>" in page.html
    assert "clock moved" in page.text
    blame = page.text.partition("Who wrote each part")[2].partition("History")[0]
    assert "Tea is served at five. bo" in blame
    assert "by merge" in blame
    assert "(eve)" in " ".join(blame.split()).replace("( eve )", "(eve)")
    then = plain.get(next(link for link in page.links[::-1] if "at=" in link))
    assert "Tea is served at four." in then.text.partition("History")[0]


def test_a_memory_that_was_removed_still_has_its_history(plain: Browser) -> None:
    made = plain.server.ok("memory_write_fact", fact_text="Gone soon.")["id"]
    plain.server.ok("memory_retract_fact", fact_id=made)
    page = plain.get(f"/review/rows/{made}?branch=main")
    assert "not on this branch any more" in page.text
    assert "Gone soon." in page.text


def test_the_first_page_draws_forks_and_merges(plain: Browser) -> None:
    plain.server.ok("memory_branch_create", branch_name="drawn")
    plain.server.ok("memory_write_fact", fact_text="Drawn.", branch="drawn")
    before = plain.get("/review").html.count('class="join"')
    plain.server.ok("memory_branch_merge", source_branch="drawn", strategy="auto")
    page = plain.get("/review")
    assert page.html.count('class="join"') == before + 1
    assert "drawn into main" in page.text
    assert "/review/branches/drawn" in page.links
