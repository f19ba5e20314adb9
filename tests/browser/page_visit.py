"""Somebody's visit to the pages, and what every page promises whoever comes."""

from typing import Any, Final
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, expect

PHONE: Final = {"width": 375, "height": 740}

# A browser tells of what its policy stopped; playwright's own scripts are not subject to it.
_LISTEN = """addEventListener("securitypolicyviolation", (event) => {
  (window.violations ??= []).push(`${event.violatedDirective}: ${event.blockedURI}`);
});"""
_FOCUS = """() => {
  const at = document.activeElement;
  if (!at || at === document.body) return "nothing has the focus";
  const style = getComputedStyle(at), box = at.getBoundingClientRect();
  if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 1)
    return `no outline: ${at.outerHTML.slice(0, 120)}`;
  if (box.bottom <= 0 || box.top >= innerHeight || box.right <= 0 || box.left >= innerWidth)
    return `out of sight: ${at.outerHTML.slice(0, 120)}`;
  return "";
}"""


class Visit:
    """One browser with cookies of its own, and one page."""

    def __init__(self, browser: Browser, address: str, **options: Any) -> None:
        """Come to a server."""
        self.address = address
        self.context = browser.new_context(base_url=address, reduced_motion="reduce", **options)
        self.context.set_default_timeout(60_000)
        self.context.add_init_script(_LISTEN)
        self.page: Page = self.context.new_page()
        self.scripted = options.get("java_script_enabled", True)
        self.dialogs: list[str] = []
        self.complaints: list[str] = []
        self.asked: list[str] = []
        self.page.on("dialog", self._dismissed)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._heard)
        self.context.on("request", lambda request: self.asked.append(request.url))

    def _dismissed(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def _heard(self, said: ConsoleMessage) -> None:
        if said.type in {"error", "warning"}:
            self.complaints.append(f"{said.type}: {said.text}")

    def open(self, path: str) -> Page:
        """Go to a page, and hold it against what all promise."""
        answer = self.page.goto(path)
        assert answer is not None
        assert answer.ok, path
        self.check()
        return self.page

    def check(self) -> None:
        """What is promised of the page that is shown now."""
        stopped = self.page.evaluate("window.violations ?? []") if self.scripted else []
        elsewhere = {origin(url) for url in self.asked} - {self.address, "data:"}
        found = (self.dialogs, self.complaints, stopped, elsewhere)
        assert not any(found), found

    def fits(self) -> None:
        """Nobody needs to scroll sideways, but within a picture or table."""
        wide, room = self.page.evaluate(
            "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
        assert wide <= room, (self.page.url, wide, room)

    def press(self, *keys: str) -> None:
        """Press keys; whoever uses no mouse always sees where they are."""
        for key in keys:
            self.page.keyboard.press(key)
        self.sees_focus()

    def sees_focus(self) -> None:
        """Something in sight has the focus, and shows it."""
        wrong = self.page.evaluate(_FOCUS)
        assert not wrong, wrong

    def tab_to(self, selector: str) -> None:
        """Go to something by Tab alone."""
        for _ in range(120):
            self.press("Tab")
            if self.page.evaluate("(s) => document.activeElement.matches(s)", selector):
                return
        raise AssertionError(f"Tab does not lead to {selector}")

    def says(self, text: str) -> None:
        """The page says something, soon."""
        expect(self.page.locator("main")).to_contain_text(text)

    def close(self) -> None:
        """Leave, with a last look."""
        try:
            self.check()
        finally:
            self.context.close()


def origin(url: str) -> str:
    """Whom a browser asked."""
    parts = urlsplit(url)
    return "data:" if parts.scheme == "data" else f"{parts.scheme}://{parts.netloc}"
