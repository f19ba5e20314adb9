"""The page of jobs: schedules, their last jobs, and who may change them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from day1.model.jobs.job import KINDS
from tests.engine import variables
from tests.waiting import until
from tests.wires.command_line import CommandLine
from tests.wires.http_server import HttpServer
from tests.wires.scriptless_browser import Browser, Page

HOSTILE = "<script>alert(1)</script>"
PAGE = "/review/jobs"
NAME = "decay_update:w"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with HttpServer(tmp_path_factory.mktemp("jobs") / "store", DAY1_HTTP__RATE="0") as server:
        made = server.ask("POST", "/api/memory/schedules", json={"agentWallets": ["w", HOSTILE]})
        assert made.status == 200
        yield server


@pytest.fixture
def browser(server: HttpServer) -> Iterator[Browser]:
    with Browser(server) as browser:
        yield browser


def press(browser: Browser, page: Page, what: str) -> Page:
    """Send the form of the schedule with this button."""
    return browser.send(page.form(PAGE, schedule=NAME), do=what)


def test_the_page_lists_schedules_and_is_linked(browser: Browser) -> None:
    assert PAGE in browser.get("/review").links
    page = browser.get(PAGE)
    assert HOSTILE in page.text
    assert page.text.count("decay_update") == 2
    assert "counts faded facts, and changes nothing" in page.text
    assert "No background work fails." in page.text
    assert "day1 serve" not in page.text, "this server runs them"


def test_a_schedule_is_paused_resumed_and_run_by_the_page(
    browser: Browser, server: HttpServer
) -> None:
    assert "paused" not in browser.get(PAGE).text
    assert "paused" in press(browser, browser.get(PAGE), "pause").text
    assert "paused" not in press(browser, browser.get(PAGE), "resume").text
    press(browser, browser.get(PAGE), "trigger")
    until(lambda: "completed" in browser.get(PAGE).text, "the job")
    found = server.ask("GET", "/api/memory/schedules?agentWallets=w").body["schedules"]
    assert [each["scheduleId"] for each in found if "lastJobId" in each] == [NAME]


def test_a_schedule_of_another_branch_is_shown_with_its_branch(tmp_path: Path) -> None:
    with HttpServer(tmp_path / "store") as server, Browser(server) as browser:
        server.ok("memory_branch_create", branch_name="trial")
        for headers in ({}, {"Day1-Branch": "trial"}):
            server.ask("POST", "/api/memory/schedules", json={"agentWallets": ["w"]}, headers=headers)  # fmt: skip
        text = browser.get(PAGE).text
        assert (text.count("cleanup"), text.count("cleanup on trial")) == (2, 1)
        listed = server.ask("GET", "/api/memory/schedules").body["schedules"]
        assert {schedule["branch"] for schedule in listed} == {"main", "trial"}


def test_an_unknown_action_or_schedule_is_an_error(browser: Browser) -> None:
    form = browser.get(PAGE).form(PAGE, schedule=NAME)
    browser.send(form, 400, do="explode")
    browser.send(form, 404, do="pause", schedule="cleanup:nobody")


def test_who_may_only_read_sees_no_buttons(tmp_path: Path) -> None:
    with HttpServer(tmp_path / "store") as server:
        server.ask("POST", "/api/memory/schedules", json={"agentWallets": ["w"]})
        admin = server.token("admin")
        reader = server.token("reader", "read", admin)
        with Browser(server) as browser:
            browser.sign_in(reader)
            page = browser.get(PAGE)
            assert "decay_update" in page.text
            assert [form for form in page.forms if form.action == PAGE] == []


def test_a_schedule_goes_on_when_its_token_is_revoked_and_who_revokes_is_told(
    tmp_path: Path,
) -> None:
    line = CommandLine(tmp_path)
    line.env |= variables(tmp_path / "store")
    with HttpServer(tmp_path / "store") as server:
        admin = server.token("admin")
        writer = server.token("writer", "write", admin)
        server.ask("POST", "/api/memory/schedules", writer, json={"agentWallets": ["w"]})
        assert server.ok("token_revoke", admin, name="writer")["schedules"] == len(KINDS)
        server.ask("POST", f"/api/memory/schedules/{NAME}/trigger", admin)
        with Browser(server) as browser:
            browser.sign_in(admin)
            until(lambda: "completed" in browser.get(PAGE).text, "the job")
            press(browser, browser.get(PAGE), "pause")
        other = server.token("other", "write", admin)
        server.ask("POST", "/api/memory/schedules", other, json={"agentWallets": ["w"]})
        listed = server.ask("GET", "/api/memory/schedules", admin).body["schedules"]
        assert [each["scheduleId"] for each in listed if each["paused"]] == [NAME]
    assert "It made 5 schedules, which go on" in line("token", "revoke", "other").out
    assert "schedules" not in line("token", "revoke", "admin").out
