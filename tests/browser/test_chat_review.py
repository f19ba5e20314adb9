"""A review inside a chat: the decisions of the web page, by mouse and by keys, as a client hosts it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, expect

from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT
from tests.browser.chat_host import KNOWS, SERVED, Chat
from tests.browser.page_visit import PHONE
from tests.browser.review_scene import Scene
from tests.engine import beside
from tests.fetching import npm_file
from tests.wires.http_server import HttpServer, HttpSession

AXE = "4.14.1"

Chatting = Callable[..., Chat]


@pytest.fixture
def scene(server: HttpServer, secret: str) -> Scene:
    return Scene.made(server, secret)


@pytest.fixture
def chatting(chromium: Browser, server: HttpServer, secret: str) -> Iterator[Chatting]:
    """Chat as somebody: `chatting()`, with the options of a browser's context."""
    with ExitStack() as opened:

        def chat(token: str = secret, **options: Any) -> Chat:
            session = HttpSession(server, token=token)
            session.extensions = [KNOWS]
            made = Chat(chromium, opened.enter_context(session), **options)
            opened.callback(made.close)
            return made

        yield chat


def point(chat: Chat, row: str, cell: str) -> Locator:
    return chat.main.locator(f'[id="{row}.{cell}"]')


def rows_of_main(server: HttpServer) -> list[dict[str, Any]]:
    """The facts of `main` as the store has them, read beside the server."""
    with ExitStack() as opened:
        store = beside(server.folder, opened)
        with store.reading(Ref(branch="main")) as reading:
            return [dict(row) for row in reading.find(FACT, Query())]


def choose(chat: Chat, row: str, cell: str, name: str) -> None:
    point(chat, row, cell).get_by_role("button", name=name).click()


def decided(chat: Chat, row: str, cell: str, how: str) -> None:
    verdict = point(chat, row, cell).locator(".verdict")
    expect(verdict).to_contain_text(f"Decided: {how} by ada")


def test_a_review_is_done_by_mouse(scene: Scene, chatting: Chatting) -> None:
    chat = chatting()
    chat.show("review_open", source_branch=scene.branch)
    chat.says("2 conflicts, 1 held, 1 possible duplicate, 1 new")
    for side in ("It waits 60 s.", "It runs in Rome.", "Bo is on call.", "The car is crimson."):
        chat.says(side)
    chat.fits()
    choose(chat, scene.timeout, "fact_text", "Theirs")
    decided(chat, scene.timeout, "fact_text", "theirs")
    region = point(chat, scene.region, "fact_text")
    region.get_by_text("Edit", exact=False).first.click()
    region.get_by_label("fact_text").fill("It runs in Rome and Bern.")
    region.get_by_role("button", name="Keep this").click()
    decided(chat, scene.region, "fact_text", "as edited")
    choose(chat, scene.held, "fact_text", "Ours")
    choose(chat, scene.held, "fact_text", "Clear")
    expect(point(chat, scene.held, "fact_text").locator(".verdict")).to_have_count(0)
    choose(chat, scene.held, "fact_text", "Theirs")
    decided(chat, scene.held, "fact_text", "theirs")
    choose(chat, scene.car, "row", "Skip")
    decided(chat, scene.car, "row", "skip")
    chat.says("4 decisions, 0 to go")
    assert scene.main() == scene.before, "nothing is merged by deciding"

    chat.main.get_by_role("button", name="Merge…").click()
    chat.main.get_by_role("button", name="Back to the review").click()
    chat.main.get_by_role("button", name="Merge…").click()
    assert scene.main() == scene.before, "nor by asking"
    chat.main.get_by_role("button", name="Merge", exact=True).click()
    chat.says("Merged by ada")
    scene.check_merged("It runs in Rome and Bern.")
    chat.fits()
    told = [said["content"][0]["text"] for said in chat.heard("ui/update-model-context")]
    review = scene.review()
    assert (review["id"] in told[-1], review["merge_id"] in told[-1]) == (True, True)
    assert len(told) == 7, "after each deed"
    assert not any(word in text for text in told for word in ("Rome", "crimson", "waits"))
    merges = [given for name, given in chat.calls if name == "review_merge"]
    assert [set(given) for given in merges] == [{"review_id", "expect"}]


def test_a_review_is_done_by_keys(scene: Scene, chatting: Chatting) -> None:
    chat = chatting()
    chat.show("review_open", source_branch=scene.branch)
    order = chat.main.locator(".point").evaluate_all("(all) => all.map((one) => one.id)")
    assert set(order[:2]) == {f"{row}.fact_text" for row in (scene.timeout, scene.region)}
    keys = chat.page.keyboard
    chat.main.focus()
    keys.press("j")
    for place in order[:2]:
        expect(chat.main.locator(f'[id="{place}"]')).to_be_focused()
        if place.startswith(scene.timeout):
            keys.press("t")
            decided(chat, scene.timeout, "fact_text", "theirs")
        else:
            keys.press("e")
            expect(chat.main.locator(f'[id="{place}"] textarea')).to_be_focused()
            keys.press("Control+a")
            keys.type("It jets to Oslo.")
            keys.press("Tab")
            keys.press("Enter")
            decided(chat, scene.region, "fact_text", "as edited")
    expect(point(chat, scene.held, "fact_text")).to_be_focused()
    keys.press("t")
    decided(chat, scene.held, "fact_text", "theirs")
    expect(point(chat, scene.held, "fact_text")).to_be_focused()
    for key in "kjjs":
        keys.press(key)
    decided(chat, scene.car, "row", "skip")
    keys.press("m")
    expect(chat.main.get_by_role("button", name="Merge", exact=True)).to_be_focused()
    keys.press("Enter")
    chat.says("Merged by ada")
    scene.check_merged("It jets to Oslo.")


def test_another_plan_than_the_one_that_was_seen_is_not_merged(
    scene: Scene, chatting: Chatting, server: HttpServer, secret: str
) -> None:
    chat = chatting()
    chat.show("review_open", source_branch=scene.branch)
    chat.main.get_by_role("button", name="Merge…").click()
    server.ok("memory_write_fact", secret, fact_text="Tea of the bakery.", branch=scene.branch)
    chat.main.get_by_role("button", name="Merge", exact=True).click()
    alert = chat.main.get_by_role("alert")
    expect(alert).to_contain_text("You saw: ")
    expect(alert).to_contain_text("2 new")
    chat.says("Tea of the bakery.")
    assert scene.main() == scene.before
    assert scene.review()["status"] == "open"


def test_a_decision_about_what_changed_is_not_kept(
    scene: Scene, chatting: Chatting, server: HttpServer, secret: str
) -> None:
    chat = chatting()
    chat.show("review_open", source_branch=scene.branch)
    change = {"fact_id": scene.timeout, "fact_text": "It waits 46 s.", "branch": scene.branch}
    server.ok("memory_update_fact", secret, **change)
    choose(chat, scene.timeout, "fact_text", "Theirs")
    expect(chat.main.get_by_role("alert")).to_be_visible()
    chat.says("0 decisions, 2 to go")
    chat.says("46")


def test_what_is_typed_stays_until_it_is_kept(
    scene: Scene, chatting: Chatting, server: HttpServer, secret: str
) -> None:
    chat = chatting()
    chat.show("review_open", source_branch=scene.branch)
    edit = point(chat, scene.timeout, "fact_text")
    edit.get_by_text("Edit", exact=False).first.click()
    edit.get_by_label("fact_text").fill("It waits as long as it takes.")
    choose(chat, scene.region, "fact_text", "Theirs")
    decided(chat, scene.region, "fact_text", "theirs")
    change = {"fact_id": scene.timeout, "fact_text": "It waits 46 s.", "branch": scene.branch}
    server.ok("memory_update_fact", secret, **change)
    edit.get_by_role("button", name="Keep this").click()
    expect(chat.main.get_by_role("alert")).to_be_visible()
    expect(edit.get_by_label("fact_text")).to_have_value("It waits as long as it takes.")
    edit.get_by_role("button", name="Keep this").click()
    decided(chat, scene.timeout, "fact_text", "as edited")
    expect(edit.locator(".edit[open]")).to_have_count(0)


def test_rights_are_the_callers(
    scene: Scene, chatting: Chatting, server: HttpServer, boss: str
) -> None:
    """What the caller may not do, nothing in the chat does."""
    number = scene.branch.rpartition("-")[2]
    writer = server.token(f"writer-{number}", "write", boss, agent_id="ada")
    reader = server.token(f"reader-{number}", "read", boss)
    chat = chatting(writer)
    chat.show("review_open", source_branch=scene.branch)
    choose(chat, scene.timeout, "fact_text", "Theirs")
    decided(chat, scene.timeout, "fact_text", "theirs")
    chat.main.get_by_role("button", name="Merge…").click()
    chat.main.get_by_role("button", name="Merge", exact=True).click()
    expect(chat.main.get_by_role("alert")).to_contain_text("merge")
    assert scene.review()["status"] == "open"
    other = chatting(reader)
    other.show("review_show", review_id=scene.review()["id"])
    choose(other, scene.region, "fact_text", "Theirs")
    expect(other.main.get_by_role("alert")).to_contain_text("write")
    assert scene.review()["decided"] == 1
    assert scene.main() == scene.before


def test_the_words_of_a_secret_do_not_come(
    scene: Scene, chatting: Chatting, server: HttpServer, secret: str
) -> None:
    hidden = {"fact_text": "The PIN of the quokka.", "sensitivity": "secret"}
    server.ok("memory_write_fact", secret, **hidden, branch=scene.branch)
    chat = chatting()
    chat.show("review_open", source_branch=scene.branch)
    chat.says("2 new")
    assert "quokka" not in chat.frame.content()
    new = chat.main.locator("article", has_text="[secret]")
    new.get_by_text("Edit", exact=False).first.click()
    expect(new.get_by_label("fact_text")).to_have_count(0)
    new.get_by_label("confidence").fill("0.5")
    new.get_by_role("button", name="Keep this").click()
    expect(new.locator(".verdict")).to_contain_text("Decided: as edited")
    chat.main.get_by_role("button", name="Merge…").click()
    chat.main.get_by_role("button", name="Merge", exact=True).click()
    chat.says("Merged by ada")
    kept = [row for row in rows_of_main(server) if row["sensitivity"] == "secret"]
    assert {(row["fact_text"], row["confidence"]) for row in kept} == {
        ("The PIN of the quokka.", 0.5)
    }


def test_a_review_is_closed_with_a_reason(scene: Scene, chatting: Chatting) -> None:
    chat = chatting()
    chat.show("review_open", source_branch=scene.branch)
    chat.main.get_by_text("Close without merging").click()
    chat.main.get_by_label("Why").fill("<b>Not now</b>")
    chat.main.get_by_role("button", name="Close the review").click()
    chat.says("Closed by ada")
    chat.says("<b>Not now</b>")
    expect(chat.main.get_by_role("button")).to_have_count(0)
    assert scene.review()["status"] == "closed"


def test_a_person_may_refuse_each_call(scene: Scene, chatting: Chatting) -> None:
    chat = chatting()
    chat.show("review_open", source_branch=scene.branch)
    chat.refuses = "<i>The person said no.</i>"
    choose(chat, scene.timeout, "fact_text", "Theirs")
    expect(chat.main.get_by_role("alert")).to_contain_text("<i>The person said no.</i>")
    chat.refuses = None
    choose(chat, scene.timeout, "fact_text", "Theirs")
    decided(chat, scene.timeout, "fact_text", "theirs")


def test_a_client_that_passes_no_calls_on_shows_the_review(
    scene: Scene, chatting: Chatting
) -> None:
    chat = chatting()
    review = chat.agent.ok("review_open", source_branch=scene.branch)["id"]
    asked = {"review_id": review}
    result = chat.agent.raw("tools/call", name="review_show", arguments=asked)
    chat.begin(result, asked, {})
    chat.says("This client shows the review only")
    chat.says("It waits 60 s.")
    expect(chat.main.get_by_role("button")).to_have_count(0)
    assert chat.calls == []


def test_what_a_host_says_is_followed(scene: Scene, chatting: Chatting) -> None:
    chat = chatting(viewport=PHONE)
    result = chat.agent.raw(
        "tools/call", name="review_open", arguments={"source_branch": scene.branch}
    )
    chat.begin(result, {}, SERVED, theme="dark")
    chat.says("2 conflicts")
    chat.fits()
    papers = set()
    for theme in ("dark", "light"):
        chat.say(method="ui/notifications/host-context-changed", params={"theme": theme})
        chat.page.wait_for_timeout(50)
        paper = "getComputedStyle(document.body).backgroundColor"
        papers.add(chat.frame.evaluate(paper))
    assert papers == {"rgb(21, 24, 27)", "rgb(251, 250, 248)"}
    chat.say(id="a", method="ping")
    chat.say(id="b", method="ui/resource-teardown", params={"reason": "over"})
    chat.say(id="c", method="tools/list")
    chat.say(method="ui/notifications/of-tomorrow", params={})
    chat.page.wait_for_function("answers.length === 3")
    answers = {one["id"]: one for one in chat.page.evaluate("answers")}
    assert (answers["a"]["result"], answers["b"]["result"]) == ({}, {})
    assert answers["c"]["error"]["code"] == -32601
    sizes = chat.heard("ui/notifications/size-changed")
    assert sizes[-1]["width"] == PHONE["width"]


@pytest.mark.parametrize(
    "result",
    [
        {"isError": True, "content": [{"type": "text", "text": "<b>It failed.</b>"}]},
        {"content": [{"type": "text", "text": "It failed."}]},
        {"content": []},
        {"structuredContent": {"id": None, "rows": "x"}},
        {"structuredContent": {"id": "review_gone"}},
    ],
)
def test_a_result_that_is_no_review_is_said(chatting: Chatting, result: dict[str, Any]) -> None:
    chat = chatting()
    chat.begin(result, {})
    expect(chat.main.get_by_role("alert")).to_be_visible()
    expect(chat.main.get_by_role("button")).to_have_count(0)


def test_a_call_that_was_cancelled_is_said(chatting: Chatting) -> None:
    chat = chatting()
    chat.begin(None, {})
    chat.says("The review is being read.")
    chat.say(method="ui/notifications/tool-cancelled", params={"reason": "<b>no</b>"})
    chat.says("The call was cancelled.")


def test_axe_finds_nothing_serious(scene: Scene, chatting: Chatting) -> None:
    chat = chatting()
    chat.show("review_open", source_branch=scene.branch)
    choose(chat, scene.timeout, "fact_text", "Theirs")
    decided(chat, scene.timeout, "fact_text", "theirs")
    chat.frame.evaluate(npm_file("axe-core", AXE, "axe.min.js").read_text("utf-8"))
    for theme in ("light", "dark"):
        chat.say(method="ui/notifications/host-context-changed", params={"theme": theme})
        chat.page.wait_for_timeout(100)
        found = chat.frame.evaluate("axe.run(document, {resultTypes: ['violations']})")
        grave = [one for one in found["violations"] if one["impact"] in {"serious", "critical"}]
        assert not grave, grave


def test_somebody_else_looks_and_the_look_is_of_what_was_seen(
    server: HttpServer, secret: str, boss: str, chatting: Chatting
) -> None:
    writer = server.token("chat writer", "merge", boss, agent_id="wil")
    for name, parent in (("chat/guarded", "main"), ("chat/looked", "chat/guarded")):
        server.ok("memory_branch_create", writer, branch_name=name, parent_branch=parent)
    given = {"fact_text": "Doors are shut at six.", "category": "policy", "branch": "chat/looked"}
    server.ok("memory_write_fact", writer, **given)
    rules = {"requires": ["tiers"], "tiers": ["one category=policy"]}
    server.ok("memory_branch_protect", boss, branch_name="chat/guarded", **rules)
    sides = {"source_branch": "chat/looked", "target_branch": "chat/guarded"}
    author = chatting(writer)
    author.show("review_open", **sides)
    expect(author.main.locator(".tier")).to_have_text("needs a look one category=policy")
    author.says("0 of 1 look that it needs: one category=policy.")
    author.main.get_by_role("button", name="I looked, and agree").click()
    expect(author.main.get_by_role("alert")).to_contain_text("Somebody else must approve")

    chat = chatting(secret)
    chat.show("review_open", **sides)
    server.ok("memory_write_fact", writer, **{**given, "fact_text": "Doors are shut at seven."})
    agree = chat.main.get_by_role("button", name="I looked, and agree")
    agree.click()
    expect(chat.main.get_by_role("alert")).to_contain_text("not the previewed one any more")
    agree.click()
    chat.says("1 of 1 look that it needs")
    chat.says("ada approved")
    chat.fits()
    assert chat.heard("ui/update-model-context")[-1]["content"][0]["text"].endswith("1 of 1 look.")
    chat.main.get_by_role("button", name="Take it back").click()
    chat.says("0 of 1 look that it needs")
    agree.click()
    chat.says("1 of 1 look that it needs")
    chat.main.get_by_role("button", name="Merge…").click()
    chat.main.get_by_role("button", name="Merge", exact=True).click()
    chat.says("Merged by ada")
