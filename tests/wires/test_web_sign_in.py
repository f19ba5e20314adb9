"""Who gets a page: signing in and out, forms of this browser only, limited tokens, events."""

import json
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.waiting import until
from tests.wires.http_server import HttpServer
from tests.wires.scriptless_browser import Browser

SECRETS: dict[str, dict[str, Any]] = {
    "admin": {"scope": "admin"},
    "reader": {"scope": "read"},
    "writer": {"scope": "write"},
    "merger": {"scope": "merge", "agent_id": "mia"},
    "limited": {"scope": "merge", "branches": ["task/*"]},
}


class Guarded:
    """A server that asks for tokens, and a memory with what only some may see."""

    def __init__(self, server: HttpServer) -> None:
        self.server = server
        self.secrets: dict[str, str] = {}
        for name, given in SECRETS.items():
            more: dict[str, Any] = {**given}
            scope = more.pop("scope")
            self.secrets[name] = server.token(name, scope, self.secrets.get("admin"), **more)
        self.say("memory_write_fact", fact_text="Known before the fork.")
        self.say("memory_branch_create", branch_name="task/a")
        self.say("memory_branch_create", branch_name="task/b", parent_branch="task/a")
        self.say("memory_branch_create", branch_name="hush")
        self.hidden = self.say("memory_write_fact", fact_text="A quiet zebra.")["id"]
        self.say("memory_write_fact", fact_text="A loud zebra.", branch="hush")
        self.seen = self.say("memory_write_fact", fact_text="A task.", branch="task/a")["id"]
        both = {"source_branch": "hush", "title": "Of zebras"}
        self.hidden_review = self.say("review_open", **both)["id"]
        mixed = {"source_branch": "task/a", "title": "From within"}
        self.mixed_review = self.say("review_open", **mixed)["id"]
        self.say("memory_write_fact", fact_text="Of b.", branch="task/b")
        inner = {"source_branch": "task/b", "target_branch": "task/a", "title": "Inner"}
        self.seen_review = self.say("review_open", **inner)["id"]

    def say(self, operation: str, /, **arguments: Any) -> dict[str, Any]:
        """Call an operation with all rights."""
        return self.server.ok(operation, self.secrets["admin"], **arguments)

    def browser(self, name: str, **headers: str) -> Browser:
        """A browser that signed in."""
        found = Browser(self.server, **headers)
        assert found.sign_in(self.secrets[name]).address == "/review"
        return found


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    folder = tmp_path_factory.mktemp("guarded") / "store"
    with HttpServer(folder, DAY1_HTTP__RATE="0") as server:
        yield Guarded(server)


def test_who_did_not_sign_in_is_sent_there_and_back(guarded: Guarded) -> None:
    with Browser(guarded.server) as browser:
        wanted = "/review/search?q=task&branch=task%2Fa"
        page = browser.get(wanted)
        assert page.address.startswith("/review/login?back=")
        assert "zebra" not in page.text
        page = browser.send(page.form("/review/login"), token=guarded.secrets["admin"])
        assert page.address == wanted
        assert "A task." in page.text


@pytest.mark.parametrize(
    "back",
    [
        "//evil.example",
        "https://evil.example/review",
        "/\\evil.example",
        "/reviewer",
        "/review\n/x",
    ],
)
def test_signing_in_leads_nowhere_else(guarded: Guarded, back: str) -> None:
    with Browser(guarded.server) as browser:
        form = browser.get("/review/login").form("/review/login")
        page = browser.send(form, token=guarded.secrets["admin"], back=back)
        assert page.address == "/review"


def test_the_cookie_is_for_nobody_else(guarded: Guarded) -> None:
    port = guarded.server.address.rpartition(":")[2]
    for headers, secure in (({}, False), ({"X-Forwarded-Proto": "https"}, True)):
        with Browser(guarded.server, **headers) as browser:
            form = browser.get("/review/login").form("/review/login")
            browser.http.follow_redirects = False
            if secure:  # a client does not give such a cookie back over http
                cookies = browser.http.get("/review/login").headers["set-cookie"].partition(";")[0]
                given = browser.http.get("/review/login", headers={"Cookie": cookies})
                assert "set-cookie" not in given.headers
                csrf = given.text.partition('name="csrf" value="')[2].partition('"')[0]
                data = {"csrf": csrf, "token": guarded.secrets["admin"]}
                sent = {"Cookie": cookies}
            else:
                data, sent = {**form.fields, "token": guarded.secrets["admin"]}, {}
            answer = browser.http.post("/review/login", data=data, headers=sent)
            assert answer.status_code == 303
            name, *flags = answer.headers["set-cookie"].split("; ")
            assert name.startswith(f"day1-{port}=")
            assert guarded.secrets["admin"] not in name
            assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(flags)
            assert ("Secure" in flags) is secure


def test_a_wrong_token_opens_nothing_and_is_not_logged(tmp_path: Path) -> None:
    """C4: who guesses is told to wait; who has a live token comes in from the same address."""
    with HttpServer(tmp_path / "store") as server, Browser(server) as browser:
        secret = server.token("only")
        form = browser.get("/review").form("/review/login")
        for _ in range(5):
            page = browser.send(form, 401, token="day1_wrong-guess")
            assert "not a valid token" in page.text
        page = browser.send(form, 429, token="day1_wrong-guess")
        assert "wait a minute" in page.text
        assert "retry-after" in page.headers
        assert browser.get("/review").address.startswith("/review/login")
        assert browser.send(form, token=secret).address == "/review"
        log = server.log.read_text(encoding="utf-8")
        assert log.count("a sign-in from 127.0.0.1 failed") == 5
        assert "wrong-guess" not in log
        assert secret not in log


def test_a_session_that_signed_out_sees_no_page(guarded: Guarded) -> None:
    with guarded.browser("admin") as browser:
        cookies = dict(browser.http.cookies)
        form = browser.get("/review").form("/review/logout")
        assert browser.send(form).address == "/review/login"
        assert browser.get("/review").address.startswith("/review/login")
        browser.http.cookies.update(cookies)  # what somebody copied opens nothing either
        assert browser.get("/review").address.startswith("/review/login")


def test_a_revoked_token_ends_what_it_opened(guarded: Guarded) -> None:
    secret = guarded.server.token("short", "read", guarded.secrets["admin"])
    with Browser(guarded.server) as browser:
        assert browser.sign_in(secret).address == "/review"
        guarded.say("token_revoke", name="short")
        assert browser.get("/review").address.startswith("/review/login")


def test_a_bearer_token_opens_pages_too(guarded: Guarded) -> None:
    bearer = {"Authorization": f"Bearer {guarded.secrets['reader']}"}
    with Browser(guarded.server, **bearer) as browser:
        assert browser.get("/review").address == "/review"
    with Browser(guarded.server, Authorization="Bearer wrong") as browser:
        assert browser.http.get("/review").status_code == 401


FORMS = [
    "/review/logout",
    "/review/reviews",
    "/review/reviews/{review}/decide",
    "/review/reviews/{review}/merge",
    "/review/reviews/{review}/close",
    "/review/revert",
]


@pytest.mark.parametrize("path", FORMS)
def test_a_form_from_elsewhere_does_nothing(guarded: Guarded, path: str) -> None:
    path = path.format(review=guarded.seen_review)
    every = {
        "source": "task/a",
        "row": guarded.seen,
        "take": "ours",
        "commit": "0" * 8,
        "branch": "task/a",
    }
    shown = guarded.say("review_show", review_id=guarded.seen_review)
    with guarded.browser("merger") as browser, guarded.browser("merger") as other:
        theirs = other.get("/review").form("/review/logout").fields["csrf"]
        for csrf in ({}, {"csrf": ""}, {"csrf": "0" * 64}, {"csrf": theirs}, {"csrf": "\u00e9"}):
            answer = browser.http.post(path, data={**every, **csrf})
            assert answer.status_code == 403, csrf
            assert "not from a page of this browser" in answer.text
        assert browser.get("/review").address == "/review", "still signed in"
    assert guarded.say("review_show", review_id=guarded.seen_review) == shown
    assert len(guarded.say("review_list", status="all")["result"]) == 3


def test_a_sign_in_from_elsewhere_does_nothing(guarded: Guarded) -> None:
    with Browser(guarded.server) as browser:
        data = {"token": guarded.secrets["admin"], "csrf": "0" * 64}
        assert browser.http.post("/review/login", data=data).status_code == 403
        assert browser.get("/review").address.startswith("/review/login")


def test_who_did_not_sign_in_may_not_send_much(guarded: Guarded) -> None:
    with Browser(guarded.server) as browser:
        assert browser.http.post("/review/login", content=b"x" * 20_000).status_code == 413


def test_where_nobody_needs_a_token_forms_are_of_this_browser_all_the_same(tmp_path: Path) -> None:
    with HttpServer(tmp_path / "store") as server, Browser(server) as browser:
        server.ok("memory_branch_create", branch_name="side")
        assert browser.get("/review/login").address == "/review"
        form = browser.get("/review").form("/review/reviews")
        assert browser.http.post("/review/reviews", data={"source": "side"}).status_code == 403
        with Browser(server) as other:
            assert (
                other.http.post(form.action, data={**form.fields, "source": "side"}).status_code
                == 403
            )
        assert server.ok("review_list")["result"] == []
        assert browser.send(form, source="side").address.startswith("/review/reviews/review_")


def test_a_browser_may_send_forms_as_browsers_do(guarded: Guarded) -> None:
    with guarded.browser("admin") as browser:
        policy = browser.get("/review").headers["referrer-policy"]
        # With `no-referrer` a browser says `Origin: null` of its own forms, which the middleware refuses.
        assert policy == "same-origin"


@pytest.mark.parametrize(
    ("name", "merges"), [("reader", False), ("writer", False), ("merger", True)]
)
def test_a_page_offers_what_the_token_may_do_and_no_more(
    guarded: Guarded, name: str, merges: bool
) -> None:
    with guarded.browser(name) as browser:
        page = browser.get(f"/review/reviews/{guarded.seen_review}")
        decide = [form for form in page.forms if form.action.endswith("/decide") and form.buttons]
        assert bool(decide) is (name != "reader")
        assert any(link.endswith("/merge") for link in page.links) is merges
        csrf = page.form("/review/logout").fields["csrf"]
        merge = f"/review/reviews/{guarded.seen_review}/merge"
        if not merges:
            answer = browser.http.post(merge, data={"csrf": csrf, "expect": "x"})
            assert answer.status_code == 403
            assert "needs the scope" in answer.text
    shown = guarded.say("review_show", review_id=guarded.seen_review)
    assert shown["status"] == "open"


def test_what_a_page_writes_is_by_the_agent_of_the_token(guarded: Guarded) -> None:
    with guarded.browser("merger") as browser:
        form = browser.get("/review").form("/review/reviews")
        page = browser.send(form, source="hush", target="task/a", title="By Mia")
        assert "opened by mia" in page.text
        close = page.form(f"{page.address}/close")
        assert "Closed by mia" in browser.send(close, reason="done with it").text


LIMITED = [
    "/review/branches/main",
    "/review/branches/main?tab=log",
    "/review/branches/main?at=2100-01-01",
    "/review/branches/hush",
    "/review/search?q=zebra&branch=main",
    "/review/search?q=zebra&branch=hush",
    "/review/rows/{hidden}?branch=main",
    "/review/rows/{hidden}?branch=task/a",
    "/review/rows/{hidden}",
    "/review/branches/task/a?at={commit}",
    "/review/rows/{hidden}?branch=task/a&at={commit}",
    "/review/reviews/{hidden_review}",
    "/review/reviews/{mixed_review}",
    "/review/revert?commit={commit}&branch=main",
    "/review/revert?commit={commit}&branch=task/a",
]


@pytest.mark.parametrize("path", LIMITED)
def test_a_limited_token_sees_nothing_beyond_its_branches(guarded: Guarded, path: str) -> None:
    commit = guarded.say("memory_snapshot", branch="main")["written"]["commit"]
    with guarded.browser("limited") as browser:
        answer = browser.http.get(
            path.format(
                hidden=guarded.hidden,
                commit=commit,
                hidden_review=guarded.hidden_review,
                mixed_review=guarded.mixed_review,
            )
        )
        assert answer.status_code in {403, 404}
        assert "zebra" not in answer.text.replace("q=zebra", "")
        assert "From within" not in answer.text


def test_a_token_without_a_branch_yet_is_shown_pages(guarded: Guarded) -> None:
    admin = guarded.secrets["admin"]
    early = guarded.server.token("early", "write", admin, branches=["early/*"])
    with Browser(guarded.server) as browser:
        browser.sign_in(early)
        for path in ("/review", "/review/search", "/review/reviews"):
            browser.get(path)
        browser.get("/review/search?q=zebra", 403)


def test_the_pages_of_a_limited_token_have_its_branches(guarded: Guarded) -> None:
    with guarded.browser("limited") as browser:
        for path in ("/review", "/review/reviews?status=all", "/review/search?q=zebra"):
            page = browser.get(path)
            assert "zebra" not in page.text.replace("zebra", "", path.count("zebra"))
            assert "hush" not in page.html
            assert not [link for link in page.links if link.startswith("/review/branches/main")]
        home = browser.get("/review")
        assert {"/review/branches/task/a", "/review/branches/task/b"} <= set(home.links)
        assert "Inner" in home.text
        assert "From within" not in home.text
        task = browser.get("/review/branches/task/a")
        assert "A task." in task.text
        assert "Known before the fork." in task.text
        assert "zebra" not in task.text
        review = browser.get(f"/review/reviews/{guarded.seen_review}")
        assert "Of b." in review.text


def test_who_asks_too_often_is_told_so_on_a_page(tmp_path: Path) -> None:
    with HttpServer(tmp_path / "store", DAY1_HTTP__RATE="2") as server, Browser(server) as browser:
        for method, path in (("GET", "/review"), ("POST", "/review/reviews")):
            answers = [browser.http.request(method, path) for _ in range(8)]
            refused = [answer for answer in answers if answer.status_code == 429]
            assert refused
            assert refused[0].headers["content-type"].startswith("text/html")
            assert refused[0].headers["retry-after"]
            assert "Too fast" in refused[0].text


class Listener:
    """A page that listens."""

    def __init__(self, browser: Browser) -> None:
        self.told: list[dict[str, Any]] = []
        self.ended = threading.Event()
        self._open = threading.Event()
        self._browser = browser
        threading.Thread(target=self._listen, daemon=True).start()
        assert self._open.wait(30)

    def _listen(self) -> None:
        try:
            with self._browser.http.stream("GET", "/review/events") as answer:
                self.kind = answer.headers["content-type"]
                for line in answer.iter_lines():
                    self._open.set()
                    if line.startswith("data: "):
                        self.told.append(json.loads(line.removeprefix("data: ")))
        except httpx2.HTTPError:
            pass
        self.ended.set()

    def wait(self, branch: str) -> dict[str, Any]:
        """What is told first of a branch."""
        return until(lambda: self.of(branch), f"news of {branch}")[0]

    def of(self, branch: str) -> list[dict[str, Any]]:
        """All that was told of a branch."""
        return [one for one in self.told if one["branch"] == branch]


def test_a_page_is_told_what_moved_and_only_where_it_may_look(guarded: Guarded) -> None:
    with guarded.browser("limited") as limited, guarded.browser("reader") as reader:
        some, every = Listener(limited), Listener(reader)
        assert some.kind.startswith("text/event-stream")
        guarded.say("memory_write_fact", fact_text="Main moves.")
        guarded.say("memory_write_fact", fact_text="A task moves.", branch="task/a")
        guarded.say("memory_branch_create", branch_name="zoo")
        every.wait("main")
        moved = every.wait("task/a")
        assert set(moved) == {"branch", "commit", "pending"}
        every.wait("zoo")
        assert some.wait("task/a") == moved
        guarded.say("memory_write_fact", fact_text="The task moves once more.", branch="task/a")
        until(lambda: len(some.of("task/a")) > 1, "what comes after all that was hidden")
        assert {one["branch"] for one in some.told} == {"task/a"}


def test_who_did_not_sign_in_hears_nothing(guarded: Guarded) -> None:
    with Browser(guarded.server) as browser:
        assert browser.get("/review/events").address.startswith("/review/login")


def test_a_server_that_leaves_ends_its_streams(tmp_path: Path) -> None:
    with HttpServer(tmp_path / "store") as server, Browser(server) as browser:
        listener = Listener(browser)
        began = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        assert listener.ended.wait(30)
        assert server.process.wait(30) == 0
        assert time.monotonic() - began < 8
