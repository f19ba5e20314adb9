"""A whole review in a browser: by mouse, by keyboard alone, and without script."""

import re

import pytest
from playwright.sync_api import Page, Request, Response, expect

from tests.browser.conftest import Visiting
from tests.browser.page_visit import Visit
from tests.browser.review_scene import Scene
from tests.sampling import sampled
from tests.wires.http_server import HttpServer


@pytest.fixture
def scene(server: HttpServer, secret: str) -> Scene:
    return Scene.made(server, secret)


def point(row: str, cell: str) -> str:
    """The selector of where something is decided."""
    return f'[id="{row}.{cell}"]'


def choose(page: Page, row: str, cell: str, name: str) -> None:
    page.locator(point(row, cell)).get_by_role("button", name=name).click()


def decided(page: Page, row: str, cell: str, how: str) -> None:
    """The page says what was decided."""
    verdict = page.locator(point(row, cell)).locator(".verdict")
    expect(verdict).to_contain_text(f"Decided: {how}")


@pytest.mark.parametrize("scripted", sampled((True, False), {True}), ids=["mouse", "no-script"])
def test_a_review_is_done_by_mouse_with_script_and_without(
    scene: Scene, visiting: Visiting, secret: str, scripted: bool
) -> None:
    visit: Visit = visiting(None, java_script_enabled=scripted)
    page = visit.page
    page.goto("/review")
    page.get_by_label("Token").fill(secret)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("link", name=scene.branch).first).to_be_visible()
    page.locator("#source").fill(scene.branch)
    page.get_by_role("button", name="Open the review").click()
    visit.says("2 conflicts, 1 held, 1 possible duplicate, 1 new")
    for side in ("It waits 60 s.", "It runs in Rome.", "Bo is on call.", "The car is crimson."):
        visit.says(side)

    choose(page, scene.timeout, "fact_text", "Theirs")
    decided(page, scene.timeout, "fact_text", "theirs")
    region = page.locator(point(scene.region, "fact_text"))
    region.get_by_text("Edit", exact=False).first.click()
    region.get_by_label("fact_text").fill("It runs in Rome and Bern.")
    region.get_by_role("button", name="Keep this").click()
    decided(page, scene.region, "fact_text", "as edited")
    choose(page, scene.held, "fact_text", "Theirs")
    decided(page, scene.held, "fact_text", "theirs")
    choose(page, scene.car, "row", "Skip")
    decided(page, scene.car, "row", "skip")
    visit.says("4 decisions, 0 to go")
    assert scene.main() == scene.before, "nothing is merged by deciding"

    page.get_by_role("link", name="Merge…").click()
    page.get_by_role("button", name="Merge").click()
    visit.says("Merged by")
    scene.check_merged("It runs in Rome and Bern.")
    page.get_by_role("link", name="Revert this merge").click()
    page.get_by_role("button", name="Undo it").click()
    visit.says("went back")
    scene.check_reverted()


def test_a_review_is_done_by_keyboard_alone(scene: Scene, visiting: Visiting, secret: str) -> None:
    visit: Visit = visiting(None)
    page, type_ = visit.page, visit.page.keyboard.type
    page.goto("/review")
    visit.sees_focus()
    type_(secret)
    page.keyboard.press("Enter")
    visit.says("Open a review")
    visit.tab_to("#source")
    type_(scene.branch)
    visit.tab_to("#title")
    type_("By keys")
    page.keyboard.press("Enter")
    visit.says("0 decisions")

    order = page.locator(".point").evaluate_all("(all) => all.map((one) => one.id)")
    assert set(order[:2]) == {f"{row}.fact_text" for row in (scene.timeout, scene.region)}
    visit.press("j")
    for place in order[:2]:
        # Whoever decides is led on to what is open next.
        expect(page.locator(f'[id="{place}"]')).to_be_focused()
        visit.sees_focus()
        if place.startswith(scene.timeout):
            visit.press("t")
            decided(page, scene.timeout, "fact_text", "theirs")
        else:
            visit.press("e")
            expect(page.locator(f'[id="{place}"] textarea')).to_be_focused()
            visit.press("Control+a")
            type_("It jets to Oslo.")  # with letters that are keys elsewhere
            visit.press("Tab")
            page.keyboard.press("Enter")
            decided(page, scene.region, "fact_text", "as edited")
        visit.sees_focus()
    visit.says("2 decisions, 0 to go")
    # What an earlier merge held is open too; it may stay so.
    expect(page.locator(point(scene.held, "fact_text"))).to_be_focused()
    visit.press("t")
    decided(page, scene.held, "fact_text", "theirs")
    expect(page.locator(point(scene.held, "fact_text"))).to_be_focused()
    visit.press("k", "j", "j", "s")
    decided(page, scene.car, "row", "skip")
    expect(page.locator(point(scene.car, "row"))).to_be_focused()
    visit.sees_focus()
    page.keyboard.press("m")
    expect(page.get_by_role("button", name="Merge")).to_be_focused()
    visit.sees_focus()
    page.keyboard.press("Enter")
    visit.says("Merged by")
    scene.check_merged("It jets to Oslo.")
    visit.tab_to(".notice .button")
    page.keyboard.press("Enter")
    visit.says("back to what was before")
    visit.tab_to("main button")
    page.keyboard.press("Enter")
    visit.says("went back")
    scene.check_reverted()


def test_enter_in_a_line_of_an_edit_keeps_the_edit(scene: Scene, visiting: Visiting) -> None:
    review = scene.server.ok("review_open", scene.secret, source_branch=scene.branch)
    visit: Visit = visiting()
    page = visit.open(f"/review/reviews/{review['id']}")
    form = page.locator(point(scene.bread, "row"))
    form.get_by_text("Edit", exact=False).first.click()
    form.get_by_label("category").fill("bakery")
    page.keyboard.press("Enter")
    decided(page, scene.bread, "row", "as edited")
    expect(form.locator(".verdict")).to_contain_text("bakery")


def opened(scene: Scene, visit: Visit) -> Page:
    """Open the page of the scene's review."""
    review = scene.server.ok("review_open", scene.secret, source_branch=scene.branch)
    return visit.open(f"/review/reviews/{review['id']}")


def test_the_choice_that_is_pressed_last_counts(scene: Scene, visiting: Visiting) -> None:
    page = opened(scene, visiting())
    order: list[str] = []
    for event in ("request", "response"):

        def note(one: Request | Response, event: str = event) -> None:
            order.extend([event] if one.url.endswith("/decide") else [])

        page.on(event, note)
    form = page.locator(point(scene.bread, "row"))
    form.evaluate("""(form) => ["ours", "theirs"].forEach(
      (take) => form.querySelector(`button[value=${take}]`).click())""")
    decided(page, scene.bread, "row", "theirs")
    assert order == ["request", "response"] * 2


def test_an_edit_stays_while_others_are_decided_and_the_server_fails(
    scene: Scene, visiting: Visiting
) -> None:
    visit: Visit = visiting()
    page = opened(scene, visit)
    edit = page.locator(point(scene.bread, "row"))
    edit.get_by_text("Edit", exact=False).first.click()
    edit.get_by_label("fact_text").fill("Bread of an hour.")
    choose(page, scene.timeout, "fact_text", "Theirs")
    decided(page, scene.timeout, "fact_text", "theirs")
    expect(edit.get_by_label("fact_text")).to_have_value("Bread of an hour.")
    broken = "<html><body>Bad gateway</body></html>"
    page.route("**/decide", lambda route: route.fulfill(status=502, body=broken))
    edit.get_by_role("button", name="Keep this").click()
    expect(page.get_by_role("status")).to_contain_text("The server did not answer")
    page.unroute("**/decide")
    edit.get_by_role("button", name="Keep this").click()
    decided(page, scene.bread, "row", "as edited")
    assert [line for line in visit.complaints if "502" not in line] == []
    visit.complaints.clear()


def test_what_is_typed_stays_when_its_writer_is_signed_out(
    scene: Scene, visiting: Visiting
) -> None:
    page = opened(scene, visiting())
    edit = page.locator(point(scene.bread, "row"))
    edit.get_by_text("Edit", exact=False).first.click()
    edit.get_by_label("fact_text").fill("Bread of an hour.")
    page.context.clear_cookies()
    edit.get_by_role("button", name="Keep this").click()
    expect(page.get_by_role("status")).to_contain_text("You are signed out")
    expect(edit.get_by_label("fact_text")).to_have_value("Bread of an hour.")
    page.reload()
    expect(page).to_have_url(re.compile("/review/login"))


def test_a_refused_decision_is_said_where_it_was_made(scene: Scene, visiting: Visiting) -> None:
    visit: Visit = visiting()
    page = opened(scene, visit)
    given = {"fact_text": "It waits 50 s.", "branch": scene.branch}
    scene.server.ok("memory_update_fact", scene.secret, fact_id=scene.timeout, **given)
    choose(page, scene.timeout, "fact_text", "Theirs")
    expect(page.locator("#moved")).to_contain_text("changed since you saw it")
    expect(page.locator(point(scene.timeout, "fact_text"))).to_be_focused()
    expect(page.locator(point(scene.timeout, "fact_text"))).to_contain_text("50")
    choose(page, scene.timeout, "fact_text", "Theirs")
    decided(page, scene.timeout, "fact_text", "theirs")
    expect(page.locator("#moved")).to_be_hidden()
    assert [line for line in visit.complaints if "409" not in line] == []
    visit.complaints.clear()


def test_a_key_that_is_held_down_decides_once(scene: Scene, visiting: Visiting) -> None:
    page = opened(scene, visiting())
    first = page.locator(".point.open").first.get_attribute("id")
    page.keyboard.press("j")
    page.keyboard.down("t")
    expect(page.locator(f'[id="{first}"] .verdict')).to_contain_text("Decided: theirs")
    expect(page.locator(".point:focus")).not_to_have_id(first or "")
    page.keyboard.down("t")  # a browser repeats it until it is released
    page.evaluate("sending")
    page.keyboard.up("t")
    expect(page.locator(".point .verdict")).to_have_count(1)
