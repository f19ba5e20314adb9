"""A review that needs looks, in a browser: what it says, the look, and that a look is of a plan."""

from itertools import count

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visiting
from tests.browser.page_visit import PHONE, Visit
from tests.sampling import sampled
from tests.wires.http_server import HttpServer

_numbers = count(1)


@pytest.mark.parametrize(
    "options", sampled(({}, {"java_script_enabled": False}, {"viewport": PHONE}), [{}])
)
def test_somebody_else_looks_and_the_look_is_of_what_was_seen(
    server: HttpServer, boss: str, visiting: Visiting, options: dict[str, object]
) -> None:
    number = next(_numbers)
    target, source = f"guarded/{number}", f"looked/{number}"
    writer = server.token(f"writer {number}", "write", boss, agent_id="wil")
    server.ok("memory_branch_create", boss, branch_name=target)
    server.ok("memory_branch_create", writer, branch_name=source, parent_branch=target)
    for text, category in (("Doors are shut at six.", "policy"), ("Tea is green.", None)):
        given = {"fact_text": text, "category": category, "branch": source}
        server.ok("memory_write_fact", writer, **given)
    rules = ["one category=policy", "none"]
    protected = {"branch_name": target, "requires": ["tiers"], "tiers": rules}
    server.ok("memory_branch_protect", boss, **protected)
    asked = {"source_branch": source, "target_branch": target}
    review = server.ok("memory_branch_merge", writer, **asked, strategy="auto")["review_id"]

    visit: Visit = visiting(**options)
    page = visit.open(f"/review/reviews/{review}")
    expect(page.locator(".tier")).to_have_text("needs a look one category=policy")
    visit.says("0 of 1 look that it needs: one category=policy.")
    visit.says("Doors are shut at six.")
    given = {"fact_text": "Doors are shut at seven.", "category": "policy", "branch": source}
    server.ok("memory_write_fact", writer, **given)
    page.get_by_role("button", name="I looked, and agree").click()
    visit.says("not the previewed one any more")
    visit.complaints.clear()  # browsers complain of the status 409
    visit.says("Doors are shut at seven.")
    page.get_by_role("button", name="I looked, and agree").click()
    visit.says("1 of 1 look that it needs")
    visit.says("ada approved")
    page.get_by_role("button", name="Take it back").click()
    visit.says("0 of 1 look that it needs")
    page.get_by_role("button", name="I looked, and agree").click()
    page.get_by_role("link", name="Merge").click()
    page.get_by_role("button", name="Merge", exact=True).click()
    visit.says("Merged by ada")
