"""The machine's own Chromium."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Playwright

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
_QUIET = ("--disable-background-networking", "--disable-component-update", "--no-first-run")


class NoChromium(Exception):
    """There is none."""


@contextmanager
def launched(driver: Playwright) -> Iterator[Browser]:
    """Start it, without a window."""
    found = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    if found is None:
        raise NoChromium("There is no Chromium: install Debian's package chromium.")
    # Its sandbox refuses to run as root.
    more = ("--no-sandbox",) if os.geteuid() == 0 else ()
    browser = driver.chromium.launch(executable_path=found, args=[*_QUIET, *more])
    try:
        yield browser
    finally:
        browser.close()
