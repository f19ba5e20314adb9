"""A page that is open tells of what others write, to those who may know of it."""

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import Visiting
from tests.wires.http_server import HttpServer

SOON_MS = 5_000


def listening(page: Page, path: str) -> None:
    """Open a page, and wait until it hears."""
    with page.expect_response(re.compile("/review/events")):
        page.goto(path)


def test_a_page_says_that_its_branch_moved(
    server: HttpServer, secret: str, visiting: Visiting
) -> None:
    server.ok("memory_branch_create", secret, branch_name="live")
    page = visiting().page
    listening(page, "/review/branches/live")
    notice = page.get_by_role("status")
    expect(notice).to_be_hidden()
    server.ok("memory_write_fact", secret, fact_text="Fresh.", branch="live")
    expect(notice).to_contain_text("live has moved.", timeout=SOON_MS)
    expect(page.locator("main")).not_to_contain_text("Fresh.")
    notice.get_by_role("link", name="Reload").click()
    expect(page.locator("main")).to_contain_text("Fresh.")
    expect(page.get_by_role("status")).to_be_hidden()


def test_the_first_page_brings_itself_up_to_date(
    server: HttpServer, secret: str, visiting: Visiting
) -> None:
    page = visiting().page
    listening(page, "/review")
    server.ok("memory_branch_create", secret, branch_name="newborn")
    server.ok("memory_write_fact", secret, fact_text="Cry.", branch="newborn")
    expect(page.locator("#list")).to_contain_text("newborn", timeout=SOON_MS)


def test_who_may_not_see_main_hears_nothing_of_it(
    server: HttpServer, boss: str, secret: str, visiting: Visiting
) -> None:
    limited = server.token("limited", "read", boss, branches=["quiet/*"])
    server.ok("memory_branch_create", secret, branch_name="quiet/a")
    page = visiting(limited).page
    # What arrives is what counts, not what the page makes of it.
    page.add_init_script("""const Source = EventSource;
      window.EventSource = class extends Source {
        constructor(...all) {
          super(...all);
          this.addEventListener("moved", (event) => {
            const root = document.documentElement.dataset;
            root.heard = (root.heard ?? "") + JSON.parse(event.data).branch + " ";
          });
        }
      };""")
    listening(page, "/review")
    expect(page.locator("#list")).to_contain_text("quiet/a")
    expect(page.locator("#list")).not_to_contain_text("main")
    for branch in ("main", "quiet/a"):
        server.ok("memory_write_fact", secret, fact_text="Psst.", branch=branch)
    expect(page.locator("html")).to_have_attribute("data-heard", "quiet/a ", timeout=SOON_MS)
